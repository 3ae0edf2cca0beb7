package turn

import "strings"

// maxTitle is how many letters a title may have.
const maxTitle = 80

// cleanTitle makes one short line of what a model said.
func cleanTitle(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	s = strings.Trim(strings.Join(strings.Fields(s), " "), ` "'“”‘’*#.`)
	return firstRunes(s, maxTitle)
}

// firstRunes cuts a text after n letters.
func firstRunes(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
