package did

import (
	"fmt"
	"strconv"
	"strings"
)

// checkWeb refuses every spelling but one of a did:web: hosts do not distinguish
// capitals, and escapes can stand for what needs none, so that one document would
// have many DIDs. A host is in lower case (a name of other alphabets in its ASCII
// form), a port behind it is %3A and a number that is not the usual one, and a path
// has its segments apart by colons, with escapes where a character needs one.
func checkWeb(id string) error {
	host, path, hasPath := strings.Cut(id, ":")
	name, port, hasPort := strings.Cut(host, "%3A")
	if !plainHost(name) || hasPort && !plainPort(port) {
		return fmt.Errorf("%w: the host of a did:web is written in lower case, with %%3A before a port", ErrInvalid)
	}
	if !hasPath {
		return nil
	}
	for segment := range strings.SplitSeq(path, ":") {
		if !plainSegment(segment) {
			return fmt.Errorf("%w: the path of a did:web has a segment that is not in its one spelling", ErrInvalid)
		}
	}
	return nil
}

func plainHost(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

func plainPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n != 0 && n != 443 && strconv.FormatUint(n, 10) == port
}

func plainSegment(segment string) bool {
	if segment == "" || segment == "." || segment == ".." {
		return false
	}
	for i := 0; i < len(segment); i++ {
		switch c := segment[i]; {
		case unreserved(c):
		case c == '%' && i+2 < len(segment):
			n, err := strconv.ParseUint(segment[i+1:i+3], 16, 8)
			if err != nil || unreserved(byte(n)) || n < ' ' || strings.IndexByte("/?#\\", byte(n)) >= 0 ||
				segment[i+1:i+3] != strings.ToUpper(segment[i+1:i+3]) {
				return false
			}
			i += 2
		default:
			return false
		}
	}
	return true
}

// unreserved are the characters that never need an escape.
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
