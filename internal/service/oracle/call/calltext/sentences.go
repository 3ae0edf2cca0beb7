// Package calltext is what calls do with words: it cuts a growing answer into pieces
// that can be spoken (Sentences), leaves out what does not sound (Spoken), keeps account
// of what was heard of it (Progress), and tells by the end of a text whether more of it will
// come (SilenceAfter). It knows nothing of sound or of speech services.
package calltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestSentence is when text is spoken although no sentence has ended.
const longestSentence = 280

// leastClause is how many letters the first clause must have to be spoken by
// itself: with fewer, it is over before the voice has the rest.
const leastClause = 24

// Sentences cuts a growing text into pieces that can be spoken.
type Sentences struct {
	rest  string
	begun bool // something was returned
}

// Add takes more text and returns the sentences that are now whole. Of the first
// one a clause will do, so that the voice begins while the rest is written.
func (s *Sentences) Add(text string) []string {
	s.rest += text
	var out []string
	for {
		n := sentenceEnd(s.rest)
		if n == 0 && !s.begun {
			n = clauseEnd(s.rest)
		}
		if n == 0 {
			return out
		}
		if piece := strings.TrimSpace(s.rest[:n]); piece != "" {
			out = append(out, piece)
			s.begun = true
		}
		s.rest = s.rest[n:]
	}
}

// End returns what is left.
func (s *Sentences) End() string {
	rest := strings.TrimSpace(s.rest)
	s.rest = ""
	return rest
}

// sentenceEnd is the length of the first whole sentence, 0 while there is none.
// A full stop counts only with space behind it, so that 3.5 and a.m. hold.
func sentenceEnd(text string) int {
	lastSpace := 0
	for i, c := range text {
		after := i + utf8.RuneLen(c)
		switch {
		case c == '\n':
			return after
		case c == '。' || c == '！' || c == '？':
			return after
		case c == '.' || c == '!' || c == '?' || c == ';' || c == ':':
			next, size := utf8.DecodeRuneInString(text[after:])
			if size > 0 && unicode.IsSpace(next) {
				return after
			}
		case unicode.IsSpace(c):
			lastSpace = after
		}
		if after > longestSentence && lastSpace > 0 {
			return lastSpace
		}
	}
	if len(text) > 2*longestSentence { // one endless word
		n := longestSentence
		for !utf8.RuneStart(text[n]) {
			n--
		}
		return n
	}
	return 0
}

// clauseEnd is the length of the first clause that is long enough, 0 while there
// is none. A comma counts only with space behind it, so that 1,000 holds.
func clauseEnd(text string) int {
	letters := 0
	for i, c := range text {
		after := i + utf8.RuneLen(c)
		if letters++; letters < leastClause {
			continue
		}
		switch c {
		case '，', '、':
			return after
		case ',', '–', '—':
			next, size := utf8.DecodeRuneInString(text[after:])
			if size > 0 && unicode.IsSpace(next) {
				return after
			}
		}
	}
	return 0
}

// Spoken is text as it sounds: without the marks of Markdown.
func Spoken(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(strings.TrimSpace(line), "#>-* \t")
		b.WriteString(strings.NewReplacer("**", "", "__", "", "`", "").Replace(line))
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}
