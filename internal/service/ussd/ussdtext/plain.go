// Package ussdtext makes answers fit for telephones.
package ussdtext

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

var (
	mdLink   = regexp.MustCompile(`!?\[([^\]\n]*)\]\([^)\s]*\)`)
	mdPrefix = regexp.MustCompile(`(?m)^(#{1,6} +|> ?|\s*[*+-] +|` + "```" + `.*$)`)
	mdRule   = regexp.MustCompile(`(?m)^([-*_=] *){3,}$|^\|?[-:| ]{3,}\|?$`)
)

// Plain takes the marks of Markdown out of an answer: a telephone shows them as
// they are, and each costs a septet. Marks that networks lack are written as they have
// them where that is all that the answer takes two bytes a character for.
func Plain(s string) string {
	s = mdRule.ReplaceAllString(s, "")
	s = mdPrefix.ReplaceAllStringFunc(s, func(m string) string {
		if strings.ContainsAny(m, "*+-") {
			return "- "
		}
		return ""
	})
	s = mdLink.ReplaceAllString(s, "$1")
	return typed(strings.NewReplacer("**", "", "__", "", "`", "").Replace(s))
}

// typed writes the marks and spaces of word processors as the alphabet of networks has
// them, if s is in that alphabet then; else it is as it was. Words are spelled as before.
func typed(s string) string {
	if !ussdmenu.Measure(s).UCS2 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		plain, ok := ussdmenu.Lookalike(r)
		switch {
		case unicode.IsSpace(r) && r != '\n':
			b.WriteByte(' ')
		case ok && (!unicode.IsLetter(r) || plain == "'"):
			b.WriteString(plain)
		default:
			b.WriteRune(r)
		}
	}
	if out := b.String(); !ussdmenu.Measure(out).UCS2 {
		return out
	}
	return s
}

// Bounded cleans a text and cuts it between two words, with dots that say so, if
// it has more characters than most.
func Bounded(s string, most int) string {
	s = ussdmenu.CleanText(s)
	const dots = "..."
	n, end := 0, 0 // end is where the dots would come
	for i := range s {
		if n == most-len(dots) {
			end = i
		}
		if n == most {
			cut := s[:end]
			// A word that is longer than half of it is no word of the user's.
			if at := strings.LastIndexAny(cut, " \n"); s[end] != ' ' && s[end] != '\n' && at > len(cut)/2 {
				cut = cut[:at]
			}
			return strings.TrimRight(cut, " \n") + dots
		}
		n++
	}
	return s
}

// ShortDID is enough of a DID to compare it with the one that a browser shows.
func ShortDID(did string) string {
	const ends = 12
	if len(did) <= 2*ends {
		return did
	}
	return did[:ends] + ".." + did[len(did)-ends:]
}
