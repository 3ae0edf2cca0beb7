package oracle

import "unicode/utf8"

// CutTo returns what is left of the parts of an answer when only a beginning of it
// was heard. It never makes a part longer: where an answer and what was heard of it
// differ, what they have in common stays.
func CutTo(parts []string, heard string) []string {
	out := make([]string, len(parts))
	for i, part := range parts {
		n := 0
		for n < len(part) {
			_, size := utf8.DecodeRuneInString(part[n:])
			if n+size > len(heard) || heard[n:n+size] != part[n:n+size] {
				break
			}
			n += size
		}
		out[i], heard = part[:n], heard[n:]
		if n < len(part) {
			heard = ""
		}
	}
	return out
}
