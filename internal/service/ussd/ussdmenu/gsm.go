package ussdmenu

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	gsmBasic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtension = "^{}\\[~]|€\f"
)

// gsmTable holds the septets that each character below U+0400 takes; 0 means
// that the character is not in the alphabet. The euro sign lies above.
var gsmTable = func() (table [0x400]uint8) {
	for _, r := range gsmBasic {
		table[r] = 1
	}
	for _, r := range gsmExtension {
		if r < 0x400 {
			table[r] = 2
		}
	}
	return table
}()

// septets returns what r takes in the GSM default alphabet, 0 when it is not in it.
func septets(r rune) int {
	if r >= 0 && r < 0x400 {
		return int(gsmTable[r])
	}
	if r == '€' {
		return 2
	}
	return 0
}

// units returns what r takes in UCS-2 (UTF-16 code units).
func units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// Size is how much of a USSD message a text takes.
type Size struct {
	Septets int  // in the GSM default alphabet, when GSM
	Units   int  // in UCS-2
	UCS2    bool // some character is not in the GSM alphabet
}

// Measure returns the size of s.
func Measure(s string) Size {
	var z Size
	z.add(s)
	return z
}

// measureWide returns the size of s, and a number of bytes: the rest of s behind as many
// or more is in the GSM alphabet.
func measureWide(s string) (z Size, wide int) {
	for i, r := range s {
		n := septets(r)
		if n == 0 {
			wide = i + 1
		}
		z.Septets += n
		z.Units += units(r)
	}
	z.UCS2 = wide > 0
	return z, wide
}

func (z *Size) add(s string) {
	for _, r := range s {
		n := septets(r)
		if n == 0 {
			z.UCS2 = true
		}
		z.Septets += n
		z.Units += units(r)
	}
}

func (z *Size) plus(o Size) {
	z.Septets += o.Septets
	z.Units += o.Units
	z.UCS2 = z.UCS2 || o.UCS2
}

// Clean makes a value that came from outside safe to store and to show: no
// control or formatting characters, no invalid UTF-8, single spaces.
func Clean(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x21 || c >= 0x7F {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r == utf8.RuneError, unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// CleanText is Clean for texts of several lines: it keeps line breaks, at most
// two in a row.
func CleanText(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	kept := lines[:0]
	for _, line := range lines {
		line = Clean(line)
		if line == "" && (len(kept) == 0 || kept[len(kept)-1] == "") {
			continue
		}
		kept = append(kept, line)
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n")
}

// transliterate rewrites s in the GSM alphabet: letters lose the accents that
// the alphabet lacks, anything else becomes a question mark. It says whether
// there was such a thing.
func transliterate(s string) (_ string, lost bool) {
	if !Measure(s).UCS2 {
		return s, false
	}
	var b strings.Builder
	for _, r := range norm.NFC.String(s) {
		if septets(r) > 0 {
			b.WriteRune(r)
			continue
		}
		if plain, ok := Lookalike(r); ok {
			b.WriteString(plain)
			continue
		}
		wrote := false
		for _, d := range norm.NFKD.String(string(r)) {
			if septets(d) > 0 {
				b.WriteRune(d)
				wrote = true
			}
		}
		if !wrote && !unicode.Is(unicode.Mn, r) {
			b.WriteByte('?')
			lost = true
		}
	}
	return b.String(), lost
}

// Lookalike maps the marks that word processors write and letters that do not
// decompose.
func Lookalike(r rune) (string, bool) {
	switch r {
	case '‘', '’', 'ʼ', '`', '´':
		return "'", true
	case '“', '”', '«', '»':
		return `"`, true
	case '–', '—', '−', '‐', '‑':
		return "-", true
	case '…':
		return "...", true
	case '•', '·':
		return "*", true
	case 'ł':
		return "l", true
	case 'Ł':
		return "L", true
	case 'đ', 'ɗ':
		return "d", true
	case 'Đ', 'Ɗ':
		return "D", true
	case 'ɓ':
		return "b", true
	case 'ƙ':
		return "k", true
	case 'ı':
		return "i", true
	case 'œ':
		return "oe", true
	}
	return "", false
}

// clip cuts s so that it takes at most max septets (or UCS-2 units, when it is
// not in the GSM alphabet), never inside a character.
func clip(s string, limit int) string { return cutTo(s, limit, Measure(s).UCS2) }

// cutTo is clip for a text of which is known whether it is in the GSM alphabet. It looks
// at no more than what it returns.
func cutTo(s string, limit int, ucs2 bool) string {
	used := 0
	for i, r := range s {
		n := septets(r)
		if ucs2 {
			n = units(r)
		}
		if used+n > limit {
			return s[:i]
		}
		used += n
	}
	return s
}
