package textindex

import "math"

// Answerable is the confidence from which on a question counts as answered.
const Answerable = 0.5

// Evidence is what speaks for and against a passage's answering a question, each 0 to
// 1. Parts of a question are by the rarity of its words.
type Evidence struct {
	// InPassage is the part that the passage has, and InAnswer the part that its best
	// sentences, title and headings have.
	InPassage, InAnswer float64
	// Known is the part of which something is known: words of the lexicon or the
	// community, and names.
	Known float64
	// Missing is how much the passage lacks of words that the lexicon or the community
	// knows, and could have said in many others. Two such words say more than one, and
	// one that is half of a question more than two that are a quarter each.
	Missing float64
	// NamesMissing is how rare a name or number is that they lack.
	NamesMissing float64
}

// Weights say what evidence is worth; those of what is missing are below zero.
type Weights struct{ Always, Missing, NamesMissing float64 }

// fittedWeights are from "go run ./test/knowledge -fit": do not change them by hand,
// fit them anew when evidence or words change (ADR 0272).
var fittedWeights = Weights{Always: 1.952, Missing: -9.220, NamesMissing: -2.910}

// evidence gathers what a passage and its best sentences say about a question. A
// question may share most of its words with a passage and still be about something
// else: what tells is what is missing.
func evidence(p plan, c rescored, said reading) (e Evidence) {
	if p.total == 0 {
		return e
	}
	rarest := float64(rarity(p.passages, 0))
	for i, g := range p.groups {
		part := float64(g.rarity) / float64(p.total)
		missing := 1 - said.said[i]
		lacked := part * missing
		e.InPassage += part * float64(min(c.matched[i], wholeWeight)) / wholeWeight
		if g.meant || g.name {
			e.Known += part
		}
		if g.meant {
			e.Missing += lacked * lacked * lacked
		}
		if g.name {
			e.NamesMissing = max(e.NamesMissing, float64(g.rarity)/rarest*missing)
		}
	}
	e.InAnswer = said.context
	e.Missing = math.Cbrt(e.Missing)
	return e
}

// Covered is how much of the question the passage has, in all and in its best
// sentences, 0 to 1: for whoever judges texts of one sort by a line of their own.
func (e Evidence) Covered() float64 { return min((e.InPassage+e.InAnswer)/2, 1) }

// perKnown is how often more than what is covered confidence may be in a question of
// which everything is known.
const perKnown = 4

// Likely says how likely a passage answers. A passage that has little of a question
// answers it by no evidence, and nothing is known of words in a language without a
// lexicon: of them, what is covered decides.
func (e Evidence) Likely(w Weights) float64 {
	sum := w.Always + w.Missing*e.Missing + w.NamesMissing*e.NamesMissing
	return min(1/(1+math.Exp(-sum)), (1+(perKnown-1)*e.Known)*e.Covered())
}

// confidence says how likely a passage answers a question, 0 to 1. Where there is no
// lexicon, what is covered decides.
func confidence(e Evidence, lexicon bool) float64 {
	if !lexicon {
		return e.Covered()
	}
	return e.Likely(fittedWeights)
}

// farBeyond is the likeness at which a passage may answer as well as not by that alone.
// What is merely alike is about the same things, and so are passages that do not answer:
// the nearest passage of a question without an answer is as near as that of one in other
// words.
const farBeyond = 1.6

// either is the confidence by words or by likeness. That a passage is not alike says
// nothing: a model may not know its language (ADR 0283).
func either(words, likeness float64) float64 {
	return max(words, min(max(Answerable+likeness-farBeyond, 0), 1))
}
