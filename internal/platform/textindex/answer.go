package textindex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

const (
	// maxSentences is how many sentences answer at most.
	maxSentences = 3
	// maxAnswer ends an answer that is long enough, in bytes.
	maxAnswer = 600
)

// reader finds the sentences of a passage that answer a question.
type reader struct {
	analyser *analyse.Analyser
	plan     plan
	terms    map[string][]wordMatch
	told     map[string][]toldMatch
	tokens   []analyse.Token
}

// wordMatch says that a term stands for a word of the question, and how surely.
type wordMatch struct {
	group int
	share float64 // 0 to 1
}

// toldMatch says that a term of the lexicon says a word of the question in a language.
type toldMatch struct {
	group    int
	language analyse.Language
}

func newReader(analyser *analyse.Analyser, p plan) *reader {
	r := &reader{analyser: analyser, plan: p, terms: make(map[string][]wordMatch), told: make(map[string][]toldMatch)}
	for i, g := range p.groups {
		for _, v := range g.variants {
			r.terms[v.term] = append(r.terms[v.term], wordMatch{i, float64(v.weight) / wholeWeight})
		}
		for _, t := range g.told {
			r.told[t.term] = append(r.told[t.term], toldMatch{i, t.language})
		}
	}
	return r
}

// reading is what a passage's sentences say about a question.
type reading struct {
	answer []analyse.Span
	// covered is how much of the question the answer has, by rarity, 0 to 1;
	// context counts what the title and the headings have as well.
	covered, context float64
	// said is for each word of the question how surely the answer, the title, the headings
	// or, in words of the lexicon, the passage say it.
	said []float64
	// words are where words of the question stand in the text.
	words []Place
}

// read chooses the sentences of a passage.
func (r *reader) read(p Passage) reading {
	sentences := analyse.Sentences(p.Text)
	if len(sentences) == 0 {
		return reading{said: make([]float64, len(r.plan.groups))}
	}
	n := len(r.plan.groups)
	head := make([]float64, n)
	r.cover(head, p.Language, p.Title)
	r.cover(head, p.Language, p.Headings)
	covers, words := r.coverSentences(sentences, p)
	best, top := 0, -1.0
	for i, s := range sentences {
		score := r.weigh(covers[i])
		if score > 0 && hasAsked(r.plan.asked, p.Text[s.Start:s.End]) {
			score += 0.12
		}
		if score > top {
			best, top = i, score
		}
	}
	first, last := best, best
	covered := append([]float64(nil), covers[best]...)
	length := func() int { return sentences[last].End - sentences[first].Start }
	for last-first+1 < maxSentences && length() < maxAnswer {
		before, after := 0.0, 0.0
		if first > 0 {
			before = r.gain(covered, covers[first-1])
		}
		if last+1 < len(sentences) {
			after = r.gain(covered, covers[last+1])
		}
		if max(before, after) < 0.1 {
			if last+1 < len(sentences) && !r.fits(p.Text, sentences[first:last+1]) && r.fits(p.Text, sentences[last+1:last+2]) {
				last++ // what was asked for comes next
			}
			break
		}
		if after >= before {
			last++
			merge(covered, covers[last])
		} else {
			first--
			merge(covered, covers[first])
		}
	}
	out := reading{answer: sentences[first : last+1], covered: r.weigh(covered), words: words}
	merge(covered, head)
	out.context = r.weigh(covered)
	out.said = covered
	if len(r.told) > 0 {
		for _, text := range []string{p.Text, p.Title, p.Headings} {
			r.coverTold(out.said, p.Language, text)
		}
	}
	return out
}

// coverTold notes which words of the question a text says in words of the lexicon.
func (r *reader) coverTold(into []float64, language analyse.Language, text string) {
	r.tokens = r.analyser.Tokens(r.tokens[:0], language, text)
	for _, t := range r.tokens {
		for _, m := range r.told[t.Term] {
			if m.language == language || language == analyse.Undetermined {
				into[m.group] = max(into[m.group], toldShare)
			}
		}
	}
}

// fits reports whether sentences have the kind of thing that was asked for.
func (r *reader) fits(text string, sentences []analyse.Span) bool {
	return hasAsked(r.plan.asked, text[sentences[0].Start:sentences[len(sentences)-1].End])
}

// cover notes which words of the question a text has.
func (r *reader) cover(into []float64, language analyse.Language, text string) {
	r.tokens = r.analyser.Tokens(r.tokens[:0], language, text)
	for _, t := range r.tokens {
		for _, m := range r.terms[t.Term] {
			into[m.group] = max(into[m.group], m.share)
		}
	}
}

// coverSentences notes it for each sentence of a passage, and where the words are.
func (r *reader) coverSentences(sentences []analyse.Span, p Passage) ([][]float64, []Place) {
	var words []Place
	n := len(r.plan.groups)
	all := make([]float64, n*len(sentences))
	out := make([][]float64, len(sentences))
	for i := range out {
		out[i] = all[i*n : (i+1)*n]
	}
	r.tokens = r.analyser.Tokens(r.tokens[:0], p.Language, p.Text)
	at := 0
	for _, t := range r.tokens {
		for at+1 < len(sentences) && sentences[at].End <= t.Start {
			at++
		}
		for _, m := range r.terms[t.Term] {
			out[at][m.group] = max(out[at][m.group], m.share)
			words = append(words, Place{analyse.Span{Start: t.Start, End: t.End}, m.group})
		}
	}
	return out, words
}

// weigh is how much of the question's rarity is covered, 0 to 1.
func (r *reader) weigh(covered []float64) float64 {
	sum := 0.0
	for i, share := range covered {
		sum += share * float64(r.plan.groups[i].rarity)
	}
	return sum / float64(max(r.plan.total, 1))
}

// gain is what a sentence would add.
func (r *reader) gain(covered, more []float64) float64 {
	sum := 0.0
	for i, share := range more {
		sum += max(share-covered[i], 0) * float64(r.plan.groups[i].rarity)
	}
	return sum / float64(max(r.plan.total, 1))
}

func merge(covered, more []float64) {
	for i, share := range more {
		covered[i] = max(covered[i], share)
	}
}

// hasAsked reports whether a text has the kind of thing that was asked for.
func hasAsked(asked analyse.Asked, text string) bool {
	switch asked {
	case analyse.Time, analyse.Number:
		return strings.ContainsFunc(text, unicode.IsDigit)
	case analyse.Someone:
		return hasName(text)
	case analyse.Anything, analyse.Place:
	}
	return false
}

// hasName reports whether a word other than the first begins with a capital.
func hasName(text string) bool {
	words := strings.Fields(text)
	for _, w := range words[min(1, len(words)):] {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(r) {
			return true
		}
	}
	return false
}
