package call

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestSentence is when text is spoken although no sentence has ended.
const longestSentence = 280

// sentences cuts a growing text into pieces that can be spoken.
type sentences struct{ rest string }

// add takes more text and returns the sentences that are now whole.
func (s *sentences) add(text string) []string {
	s.rest += text
	var out []string
	for {
		n := sentenceEnd(s.rest)
		if n == 0 {
			return out
		}
		if piece := strings.TrimSpace(s.rest[:n]); piece != "" {
			out = append(out, piece)
		}
		s.rest = s.rest[n:]
	}
}

// end returns what is left.
func (s *sentences) end() string {
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

// spoken is text as it sounds: without the marks of Markdown.
func spoken(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(strings.TrimSpace(line), "#>-* \t")
		b.WriteString(strings.NewReplacer("**", "", "__", "", "`", "").Replace(line))
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}
