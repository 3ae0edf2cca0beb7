package filestore

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// maxPath is the longest path, in characters.
const maxPath = 1024

// CleanPath checks the path of a file and returns it in the one form that is
// stored: absolute, NFC, without empty, "." or ".." segments, control or
// direction characters, or a slash at the end. It refuses; it never repairs what
// could be a trick, because two spellings of a path would be two permissions.
func CleanPath(path string) (string, error) {
	p, err := cleanFolder(path)
	if err == nil && p == "/" {
		return "", badPath("names no file")
	}
	return p, err
}

// CleanFolder is CleanPath for a folder: "/" and "" are the root, and a slash at
// the end is allowed.
func CleanFolder(path string) (string, error) {
	if path == "" || path == "/" {
		return "/", nil
	}
	return cleanFolder(strings.TrimSuffix(path, "/"))
}

func cleanFolder(path string) (string, error) {
	switch {
	case len(path) > maxPath*utf8.UTFMax:
		return "", badPath("is longer than 1024 characters")
	case !utf8.ValidString(path):
		return "", badPath("is not UTF-8")
	}
	path = norm.NFC.String(path)
	switch {
	case utf8.RuneCountInString(path) > maxPath:
		return "", badPath("is longer than 1024 characters")
	case !strings.HasPrefix(path, "/"):
		return "", badPath("must be absolute: begin it with /")
	case path == "/":
		return path, nil
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		switch segment {
		case "":
			return "", badPath("has an empty segment")
		case ".", "..":
			return "", badPath("has a segment . or ..")
		}
		for _, r := range segment {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0xFEFF || r == 0x2028 || r == 0x2029 {
				return "", badPath("has a control character")
			}
		}
	}
	return path, nil
}

func badPath(why string) error { return fault.New(fault.Invalid, "path "+why).WithCode("bad_path") }

// isHidden reports whether a segment of the path begins with a dot.
func isHidden(path string) bool { return strings.Contains(path, "/.") }

// within reports whether path is root or lies below it, by segments. A root that
// ends in a slash is what lies below it alone.
func within(path, root string) bool {
	if strings.HasSuffix(root, "/") {
		return strings.HasPrefix(path, root)
	}
	return path == root || strings.HasPrefix(path, root) && path[len(root)] == '/'
}
