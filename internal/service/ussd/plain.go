package ussd

import (
	"regexp"
	"strings"
)

var (
	mdLink   = regexp.MustCompile(`!?\[([^\]\n]*)\]\([^)\s]*\)`)
	mdPrefix = regexp.MustCompile(`(?m)^(#{1,6} +|> ?|\s*[*+-] +|` + "```" + `.*$)`)
	mdRule   = regexp.MustCompile(`(?m)^([-*_=] *){3,}$|^\|?[-:| ]{3,}\|?$`)
)

// plain takes the marks of Markdown out of an answer: a telephone shows them as
// they are, and each costs a septet.
func plain(s string) string {
	s = mdRule.ReplaceAllString(s, "")
	s = mdPrefix.ReplaceAllStringFunc(s, func(m string) string {
		if strings.ContainsAny(m, "*+-") {
			return "- "
		}
		return ""
	})
	s = mdLink.ReplaceAllString(s, "$1")
	return strings.NewReplacer("**", "", "__", "", "`", "").Replace(s)
}
