package analyse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lower writes a word in small letters and in Unicode's composed form, so that
// one word has one spelling before it is stemmed.
func lower(w string) string {
	plain := true
	for i := range len(w) {
		if w[i] >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return strings.ToLower(w)
	}
	return strings.Map(unifyLetter, strings.ToLower(norm.NFKC.String(w)))
}

// unifyLetter takes away what people write or leave out at will.
func unifyLetter(r rune) rune {
	switch {
	case r < 0x300:
		return r
	case r >= 0x64b && r <= 0x65f, r == 0x670, r == 0x640: // Arabic vowel signs and the stretched line
		return -1
	case r == 'أ', r == 'إ', r == 'آ', r == 'ٱ':
		return 'ا'
	case r == 'ى', r == 'ی':
		return 'ي'
	case r == 'ک':
		return 'ك'
	case r == 0x93c: // the dot under Devanagari letters
		return -1
	case r == 'ँ': // nasal signs of Hindi are exchanged freely
		return 'ं'
	case r == 0x200c, r == 0x200d:
		return -1
	case unicode.IsDigit(r):
		return foldDigit(r)
	}
	return r
}

// foldDigit writes digits of other scripts in ASCII. The ten digits of a script
// begin at a code point that ends in 0 or in 6.
func foldDigit(r rune) rune {
	low := r & 0xf
	if low >= 6 && !unicode.IsDigit(r-low) {
		low -= 6
	}
	if low > 9 {
		return r
	}
	return '0' + low
}

// fold takes the accents from letters whose scripts use them lightly.
func fold(w string) string {
	plain := true
	for i := range len(w) {
		if w[i] >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return w
	}
	var b strings.Builder
	b.Grow(len(w))
	for _, r := range norm.NFD.String(w) {
		switch {
		case r >= 0x300 && r <= 0x36f:
			continue
		case r == 'ß':
			b.WriteString("ss")
		case r == 'æ':
			b.WriteString("ae")
		case r == 'œ':
			b.WriteString("oe")
		case r == 'ø':
			b.WriteByte('o')
		case r == 'ł':
			b.WriteByte('l')
		case r == 'đ', r == 'ð':
			b.WriteByte('d')
		case r == 'ı':
			b.WriteByte('i')
		case r == 'ς':
			b.WriteRune('σ')
		default:
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

// Plain writes a text as it is compared when its form matters and its meaning
// does not: small letters without accents.
func Plain(text string) string { return fold(lower(text)) }
