package filetext

import "github.com/castalia-org/castalia/internal/service/filestore"

// escape is how long a character is that JSON writes as its number: \u0001.
const escape = 6

// Written is how many bytes a text has as a JSON string, without its quotes: what an
// answer holds is what is written, and a control character is six times as long there. Some
// encoders write <, > and & as numbers too; it counts as if all did.
func Written(s string) int64 {
	n := int64(len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ', c == '<', c == '>', c == '&', c == 0x7f:
			n += escape - 1
		case c == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xA8: // U+2028 and U+2029, of three
			n += escape - 3
		}
	}
	return n
}

// Holder names whose answers count together where they are bounded: those of a namespace's
// owner, and beside them those of all whom the owner let in, so that none of these keeps the
// owner waiting.
func Holder(a filestore.Access) string {
	if len(a.Chain) == 0 {
		return a.Namespace
	}
	return a.Namespace + " by delegation"
}
