package passage

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// The share of a word that a character is, in twelfths: in scripts that write
// without spaces, and in words too long to be one.
const (
	wholeWord  = 12
	ideograph  = 7 // a word of Chinese or Japanese has about 1.7 characters
	syllable   = 2 // one of Thai, Lao, Khmer or Burmese about 6
	longestRun = 40
)

// countWords says how long a text is, in words.
func countWords(text string) int { return (weigh(text) + wholeWord - 1) / wholeWord }

// weigh is the length of a text in twelfths of words.
func weigh(text string) int {
	total, run := 0, 0
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size
		total, run = weighRune(r, total, run)
	}
	return total
}

// weighRune adds a character; run is how many of a word came before it.
func weighRune(r rune, total, run int) (newTotal, newRun int) {
	switch {
	case r < utf8.RuneSelf:
		if r <= ' ' {
			return total, 0
		}
	case unicode.IsSpace(r):
		return total, 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return total + ideograph, 0
	case r >= '\u0e00' && r <= '\u0eff', r >= '\u1000' && r <= '\u109f', r >= '\u1780' && r <= '\u17ff':
		return total + syllable, 0
	}
	if run%longestRun == 0 {
		total += wholeWord
	}
	return total, run + 1
}

// sentenceSpans returns the sentences of one line.
func sentenceSpans(text string) []document.Span {
	var out []document.Span
	start := 0
	keep := func(end int) {
		from := start + len(text[start:end]) - len(strings.TrimLeft(text[start:end], " "))
		to := from + len(strings.TrimRight(text[from:end], " "))
		if to > from {
			out = append(out, document.Span{Start: from, End: to})
		}
		start = end
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end := i + size
		switch r {
		case '。', '！', '？':
			keep(skipClosing(text, end))
			end = start
		case '.', '!', '?', '…', '।', '۔', '؟', '։', '።':
			if after := skipClosing(text, end); after == len(text) || text[after] == ' ' {
				if r != '.' || endsSentence(text[start:i], text[after:]) {
					keep(after)
					end = start
				}
			}
		}
		i = max(end, i+size)
	}
	keep(len(text))
	return out
}

// skipClosing goes over the quotes and brackets that end with a sentence.
func skipClosing(text string, at int) int {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !strings.ContainsRune(`"')]}»”’」』）.!?`, r) {
			return at
		}
		at += size
	}
	return at
}

// endsSentence tells a full stop from that of an abbreviation: what follows begins
// like a sentence, and what stands before is neither an initial nor a number
// that begins a line.
func endsSentence(before, after string) bool {
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, ` "'([«“‘¿¡`))
	if next != utf8.RuneError && unicode.IsLower(next) {
		return false
	}
	word := before[strings.LastIndexByte(before, ' ')+1:]
	word = strings.TrimLeft(word, `"'([«“‘`)
	switch strings.ToLower(word) {
	case "dr", "mr", "mrs", "ms", "prof", "st", "no", "nr", "art", "sec", "fig", "vol", "p", "pp", "cf", "e.g", "i.e", "vs", "sr", "sra", "mme", "bw", "bi":
		return false
	}
	first, size := utf8.DecodeRuneInString(word)
	return len(word) != size || !unicode.IsUpper(first)
}

// wordRuns cuts a text between words into runs of at most so many words, and
// within a word where there is no other way.
func wordRuns(text string, most int) []document.Span {
	var out []document.Span
	start, space, total, run := 0, -1, 0, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == ' ' {
			space = i
		}
		total, run = weighRune(r, total, run)
		if total > most*wholeWord && i > start {
			end, next := i, i
			if space > start {
				end, next = space, space+1
			}
			out = append(out, document.Span{Start: start, End: end})
			start, space, total, run, i = next, -1, 0, 0, next
			continue
		}
		i += size
	}
	if start < len(text) {
		out = append(out, document.Span{Start: start, End: len(text)})
	}
	return out
}

// Sentences returns the sentences of a text of one line, without the spaces
// between them: for answers that quote a few of them.
func Sentences(text string) []string {
	spans := sentenceSpans(text)
	out := make([]string, len(spans))
	for i, span := range spans {
		out[i] = text[span.Start:span.End]
	}
	return out
}
