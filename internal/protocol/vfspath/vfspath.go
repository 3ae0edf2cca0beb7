// Package vfspath is how paths of the file store are written and compared: the
// one form of a path, which subtree contains it, which names are hidden, and what
// of a subtree a capability shows (Area).
//
// Whoever decides what a token reaches asks here, from the verification of a
// chain down to the query, so that two places cannot disagree about a slash. The
// package promises that a path has one spelling (Clean), that containment goes by
// segments and never by text (Root.Contains), and that what is missing contains
// nothing. It refuses what could be a trick and never repairs it. It knows no
// namespace and no file: a path that nothing is at is a path like others.
package vfspath

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxLength is the longest path, in characters.
const MaxLength = 1024

// The reasons to refuse a path. They may be shown to whoever wrote it.
var (
	errTooLong      = errors.New("path is longer than 1024 characters")
	errNotUTF8      = errors.New("path is not UTF-8")
	errRelative     = errors.New("path must be absolute: begin it with /")
	errNoFile       = errors.New("path names no file")
	errEmptySegment = errors.New("path has an empty segment")
	errDotSegment   = errors.New("path has a segment . or ..") //nolint:staticcheck // the dots are what is refused
	errControl      = errors.New("path has a control character")
)

// Clean checks the path of a file and returns it in the one form that is stored:
// absolute, NFC, without empty, "." or ".." segments, control or direction
// characters, or a slash at the end. It refuses; it never repairs what could be a
// trick, because two spellings of a path would be two permissions.
func Clean(path string) (string, error) {
	p, err := clean(path)
	if err == nil && p == "/" {
		return "", errNoFile
	}
	return p, err
}

// CleanFolder is Clean for a folder: "/" and "" are the root, and a slash at the
// end is allowed.
func CleanFolder(path string) (string, error) {
	if path == "" || path == "/" {
		return "/", nil
	}
	return clean(strings.TrimSuffix(path, "/"))
}

func clean(path string) (string, error) {
	switch {
	case len(path) > MaxLength*utf8.UTFMax:
		return "", errTooLong
	case !utf8.ValidString(path):
		return "", errNotUTF8
	}
	path = norm.NFC.String(path)
	switch {
	case utf8.RuneCountInString(path) > MaxLength:
		return "", errTooLong
	case !strings.HasPrefix(path, "/"):
		return "", errRelative
	case path == "/":
		return path, nil
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		switch segment {
		case "":
			return "", errEmptySegment
		case ".", "..":
			return "", errDotSegment
		}
		for _, r := range segment {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0xFEFF || r == 0x2028 || r == 0x2029 {
				return "", errControl
			}
		}
	}
	return path, nil
}

// IsHidden reports whether a segment of the path begins with a dot.
func IsHidden(path string) bool { return strings.Contains(path, "/.") }

// BaseName returns the last segment of a path.
func BaseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Root is where a subtree begins. "/" is everything, "/a" is the file or folder /a
// and all below it, and "/a/" is what lies below /a without /a itself. The zero
// value is nowhere: it contains nothing.
type Root string

// Everything is the subtree of a whole namespace.
const Everything Root = "/"

// Below returns the subtree of what lies below a folder, without the folder. In a
// namespace that is everything: no file is at "/".
func Below(folder string) Root {
	if strings.HasSuffix(folder, "/") {
		return Root(folder)
	}
	return Root(folder + "/")
}

// Contains reports whether the clean path lies in the subtree.
func (r Root) Contains(path string) bool {
	root := string(r)
	switch {
	case root == "":
		return false
	case strings.HasSuffix(root, "/"):
		return strings.HasPrefix(path, root)
	}
	return path == root || strings.HasPrefix(path, root) && path[len(root)] == '/'
}

// Covers reports whether all that the other subtree contains lies in this one.
// The forms of Root are such that its text answers like a path.
func (r Root) Covers(other Root) bool { return r.Contains(string(other)) }
