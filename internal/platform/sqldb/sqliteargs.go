package sqldb

import (
	"strconv"
	"strings"
)

// nameless is a statement whose arguments have no names: ? in place of $1, $2 and so on. The
// driver asks for the name of each argument each time that one is bound, and SQLite walks
// through a list of all of them for it. A statement whose arguments do not stand in their
// order, or more than once, is left as it is.
func nameless(query string) string {
	if strings.ContainsAny(query, "?:@`[") || strings.Contains(query, "--") || strings.Contains(query, "/*") {
		return query // what looks like an argument may be something else
	}
	var out strings.Builder
	out.Grow(len(query))
	for rest, next := query, 1; ; {
		at := strings.IndexAny(rest, "$'\"")
		if at < 0 {
			return out.String() + rest
		}
		out.WriteString(rest[:at])
		mark := rest[at]
		rest = rest[at+1:]
		if mark != '$' { // a text or a name goes on to the next mark; one that is written twice begins another
			end := strings.IndexByte(rest, mark)
			if end < 0 {
				return query
			}
			out.WriteByte(mark)
			out.WriteString(rest[:end+1])
			rest = rest[end+1:]
			continue
		}
		digits := 0
		for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
			digits++
		}
		if rest[:digits] != strconv.Itoa(next) {
			return query
		}
		next++
		out.WriteByte('?')
		rest = rest[digits:]
	}
}
