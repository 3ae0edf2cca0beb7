package analyse

import (
	"unicode"
	"unicode/utf8"
)

// word is a piece of a text that may become a term.
type word struct {
	start, end int
	// pairs says that the script has no spaces: the run is read as pairs.
	pairs bool
}

// nextWord finds the first word at or after a byte. A word is a run of letters,
// marks and digits; letters and digits in one run stay together ("mp3").
// Apostrophes end a word, so that "l'eau" has "eau" and "doctor's" has "doctor".
func nextWord(text string, from int) (word, bool) {
	i := from
	for i < len(text) {
		if c := text[i]; c < utf8.RuneSelf {
			if asciiWord[c] {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if isWordStart(r) {
			break
		}
		i += size
	}
	if i >= len(text) {
		return word{}, false
	}
	w := word{start: i}
	first, size := decode(text, i)
	w.pairs = isUnspaced(first)
	i += size
	for i < len(text) {
		if c := text[i]; c < utf8.RuneSelf {
			if !asciiWord[c] || w.pairs {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isWordPart(r) || isUnspaced(r) != w.pairs && !unicode.Is(unicode.M, r) {
			break
		}
		i += size
	}
	w.end = i
	return w, true
}

func decode(text string, i int) (rune, int) {
	if c := text[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(text[i:])
}

func isWordStart(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

func isWordPart(r rune) bool {
	// Joiners belong to words of Persian and of Indian scripts.
	return isWordStart(r) || unicode.IsMark(r) || r == '\u200c' || r == '\u200d'
}

// asciiWord are the characters of words for which Unicode need not be asked.
var asciiWord = func() (is [utf8.RuneSelf]bool) {
	for c := range is {
		is[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	return is
}()

// isUnspaced reports whether a script is written without spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}
