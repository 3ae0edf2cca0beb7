package analyse

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is one word of a text as the index sees it.
type Token struct {
	Term string
	// Start and End are the word's bytes in the text.
	Start, End int
	// Position counts words, those that are left out included.
	Position int
	// Stop says that the word says nothing about what the text is on.
	Stop bool
	// Note is a number that the caller may keep with the word for as long as the
	// analyser remembers it: 0 at first, and nil for what is not remembered.
	Note *uint32
}

// cacheWords bounds what an Analyser remembers, in words per language.
const cacheWords = 1 << 17

type seenWord struct {
	term string
	stop bool
	note uint32
}

// Analyser turns text into tokens. It remembers words that it has met, since
// few words make up most of a text; it is not for use by several goroutines.
type Analyser struct {
	seen map[Language]map[string]*seenWord
}

// NewAnalyser returns an analyser that has met nothing.
func NewAnalyser() *Analyser {
	return &Analyser{seen: make(map[Language]map[string]*seenWord)}
}

// Tokens appends the tokens of a text to out.
func (a *Analyser) Tokens(out []Token, language Language, text string) []Token {
	seen := a.seen[language]
	if seen == nil {
		seen = make(map[string]*seenWord)
		a.seen[language] = seen
	}
	position := 0
	for at := 0; ; {
		w, ok := nextWord(text, at)
		if !ok {
			return out
		}
		at = w.end
		if w.pairs {
			out, position = appendPairs(out, text, w, position)
			continue
		}
		piece := text[w.start:w.end]
		known, ok := seen[piece]
		if !ok {
			small := lower(cut(piece, 4*MaxTerm))
			known = &seenWord{term: strings.Clone(stem(language, small)), stop: isStop(language, small)}
			if len(seen) >= cacheWords {
				clear(seen)
			}
			if len(piece) <= 2*MaxTerm {
				seen[strings.Clone(piece)] = known
			}
		}
		if known.term != "" {
			out = append(out, Token{
				Term: known.term, Start: w.start, End: w.end, Position: position, Stop: known.stop, Note: &known.note,
			})
		}
		position++
	}
}

// appendPairs reads a run without spaces as overlapping pairs of characters.
func appendPairs(out []Token, text string, w word, position int) ([]Token, int) {
	at := w.start
	for {
		_, first := decode(text, at)
		next := at + first
		end := next
		if next < w.end {
			_, second := utf8.DecodeRuneInString(text[next:])
			end += second
		} else if at > w.start {
			return out, position
		}
		if term := cut(fold(lower(text[at:end])), MaxTerm); term != "" {
			out = append(out, Token{Term: term, Start: at, End: end, Position: position})
		}
		position++
		if end >= w.end {
			return out, position
		}
		at = next
	}
}

// Word is one word of a query with all terms that it may stand as in an index.
type Word struct {
	Forms []string
	// Roots are stems that it may come from: too unsure to look for, but the lexicon may
	// know what they mean.
	Roots    []string
	Stop     bool
	Position int
	// Common says that it is a stop word in one of the languages: an index may not
	// have it.
	Common bool
	// Name says that it has a digit, or a capital although it is not the first word.
	Name bool
	// Part is the word as longer ones may contain it; empty when it is so short that
	// too many would.
	Part string
}

// minPart is how many characters a part of a word has at least, in scripts with
// spaces between words.
const minPart = 3

// Words reads a query in each of the languages. The first language decides what
// is a stop word.
func (a *Analyser) Words(languages []Language, text string) []Word {
	first := Undetermined
	if len(languages) > 0 {
		first = languages[0]
	}
	met := languages
	if len(met) == 0 {
		met = Languages()
	}
	tokens := a.Tokens(nil, first, text)
	words := make([]Word, len(tokens))
	for i, t := range tokens {
		small := lower(cut(text[t.Start:t.End], 4*MaxTerm))
		words[i] = Word{Stop: t.Stop, Position: t.Position}
		words[i].Common = slices.ContainsFunc(met, func(l Language) bool { return isStop(l, small) })
		initial, _ := utf8.DecodeRuneInString(text[t.Start:])
		words[i].Name = hasDigit(small) || i > 0 && unicode.IsUpper(initial)
		words[i].add(t.Term)
		for _, language := range languages {
			words[i].add(stem(language, small))
			words[i].add(stem(language, fold(small))) // accents left out by who asks
			if language == Swahili {
				words[i].Roots = swahiliRoots(small)
			}
		}
		typed := cut(fold(small), MaxTerm)
		words[i].add(typed)
		first, _ := decode(text, t.Start)
		if isUnspaced(first) || utf8.RuneCountInString(typed) >= minPart {
			words[i].Part = typed
		}
	}
	return words
}

func (w *Word) add(form string) {
	if form != "" && !slices.Contains(w.Forms, form) {
		w.Forms = append(w.Forms, form)
	}
}
