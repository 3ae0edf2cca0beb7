package shell

import (
	"strings"
	"unicode"
)

// Printable leaves out what a terminal would take for a command, or for the direction of
// the text around it: others wrote the text. Lines and tabs stay.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, s)
}

// OneLine is Printable for a place in a table: a text of others adds neither lines nor
// columns.
func OneLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(Printable(s)) }
