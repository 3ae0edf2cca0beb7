package ucan

import (
	"net/url"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// The two spellings of a place in the file store.
const (
	SchemeVFS      = "vfs"
	filesystemName = "filesystem" // of the scheme ixo
)

// Resource is the "with" of a capability, read so that two spellings of one
// place compare equal and no spelling reaches further than it looks.
type Resource struct {
	// Text is the resource as written.
	Text string
	// File marks a place in the file store; Namespace and Path belong to it.
	File bool
	// Namespace is percent-decoded: an account address or a DID. It is empty
	// for the personal namespace of whoever is at the root ("ixo:filesystem").
	Namespace string
	// Path is absolute, percent-decoded and clean; "/" is the whole namespace.
	Path string
	// Below marks a trailing "/*": what lies under Path, without Path itself.
	Below bool

	scheme string
	rest   string // of a resource that is no file
	any    bool   // ucan:*
	unsafe bool   // dot segments, doubled slashes, query…: covers and claims nothing
	bare   bool   // vfs://did:…, which is not a URL
}

// ParseResource reads a resource. Text that is not a URL is refused as
// malformed, but for vfs://did:…, which people write all the same.
func ParseResource(text string) (Resource, error) {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || !validScheme(scheme) {
		return Resource{}, refuse(Malformed, "resource %q is not a URL", clip(text))
	}
	r := Resource{Text: text, scheme: strings.ToLower(scheme), rest: rest}
	if strings.ContainsAny(rest, "?#") || hasControl(rest) {
		r.unsafe = true
		rest, _, _ = strings.Cut(rest, "?")
		rest, _, _ = strings.Cut(rest, "#")
	}
	switch {
	case r.scheme == "ucan" && rest == "*":
		r.any = true
	case r.scheme == SchemeVFS && strings.HasPrefix(rest, "//"):
		return r.parseVFS(rest[2:])
	case r.scheme == "ixo" && (rest == filesystemName || strings.HasPrefix(rest, filesystemName+"/")):
		r.parseFilesystem(rest[len(filesystemName):])
	case r.scheme == SchemeVFS:
		r.unsafe = true
	default:
		for segment := range strings.SplitSeq(rest, "/") {
			if treacherous(segment) {
				r.unsafe = true
			}
		}
	}
	return r, nil
}

// clip keeps error texts short.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

func validScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return true
		}
	}
	return strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ")
}

// parseVFS reads what follows vfs://: the namespace and a path. With an empty
// authority the first path segment is the namespace.
func (r Resource) parseVFS(rest string) (Resource, error) {
	r.File = true
	authority, path, _ := strings.Cut(rest, "/")
	if authority == "" {
		authority, path, _ = strings.Cut(path, "/")
	} else if port, found := portOf(authority); strings.HasPrefix(authority, "did:") {
		r.bare = true
	} else if found && !isNumber(port) {
		return Resource{}, refuse(Malformed, "resource %q is not a URL", clip(r.Text))
	} else if found || strings.ContainsAny(authority, "@[]\\^|<> ") {
		r.unsafe = true
	}
	r.setNamespace(authority)
	r.setPath(path)
	return r, nil
}

func portOf(authority string) (port string, found bool) {
	_, port, found = strings.Cut(authority, ":")
	return port, found
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// parseFilesystem reads what follows ixo:filesystem: an entity if the first
// segment is a DID, and a path.
func (r *Resource) parseFilesystem(rest string) {
	r.File = true
	path := strings.TrimPrefix(rest, "/")
	first, after, _ := strings.Cut(path, "/")
	if decoded, err := url.PathUnescape(first); err == nil && strings.HasPrefix(decoded, "did:") {
		r.setNamespace(first)
		path = after
	}
	r.setPath(path)
}

func (r *Resource) setNamespace(written string) {
	ns, err := url.PathUnescape(written)
	if err != nil || ns == "" || treacherous(written) {
		r.unsafe = true
	}
	r.Namespace = ns
}

// setPath reads the path after its first slash.
func (r *Resource) setPath(path string) {
	if trimmed, ok := strings.CutSuffix(path, "*"); ok && (trimmed == "" || strings.HasSuffix(trimmed, "/")) {
		r.Below = true
		path = trimmed
	}
	path = strings.TrimSuffix(path, "/")
	r.Path = "/"
	if path == "" {
		return
	}
	var clean strings.Builder
	for segment := range strings.SplitSeq(path, "/") {
		decoded, err := url.PathUnescape(segment)
		if err != nil || segment == "" || treacherous(segment) {
			r.unsafe = true
			return
		}
		clean.WriteByte('/')
		clean.WriteString(decoded)
	}
	r.Path = clean.String()
}

// treacherous reports whether a segment, decoded as often as anyone might
// decode it, is a dot segment or contains a slash or a control character.
func treacherous(segment string) bool {
	for range 8 {
		if segment == "." || segment == ".." || strings.Contains(segment, "/") || hasControl(segment) {
			return true
		}
		decoded, err := url.PathUnescape(segment)
		if err != nil || decoded == segment {
			return false
		}
		segment = decoded
	}
	return true
}

// Unsafe reports whether the resource is written in a way that different
// readers would understand differently. Such a resource covers nothing.
func (r Resource) Unsafe() bool { return r.unsafe }

// Ixo returns what follows "ixo:" in lower case with escapes undone, so that a
// name that is refused cannot be written in another way. ok is false for other
// schemes and for escapes that nobody can read.
func (r Resource) Ixo() (name string, ok bool) {
	if r.scheme != "ixo" {
		return "", false
	}
	name = r.rest
	for strings.Contains(name, "%") {
		decoded, err := url.PathUnescape(name)
		if err != nil {
			return "", false
		}
		name = decoded
	}
	return strings.ToLower(name), true
}

// Personal reports whether the resource means the root's own namespace.
func (r Resource) Personal() bool { return r.File && r.Namespace == "" && r.scheme != SchemeVFS }

// Covers reports whether a grant of r includes the claimed resource: the same
// place, a place below it, or what a trailing "/*" or ":*" stands for.
func (r Resource) Covers(claimed Resource) bool {
	switch {
	case r.unsafe || claimed.unsafe:
		return false
	case r.any:
		return true
	case claimed.any || r.scheme != claimed.scheme || r.File != claimed.File:
		return false
	case r.File:
		return r.Namespace == claimed.Namespace && !r.starOnly(claimed) && r.Root().Covers(claimed.Root())
	case r.rest == claimed.rest:
		return true
	}
	// A pattern needs a separator before its star, so that ixo:a* is no pattern.
	prefix, ok := strings.CutSuffix(r.scheme+":"+r.rest, "*")
	return ok && (strings.HasSuffix(prefix, "/") || strings.HasSuffix(prefix, ":")) &&
		strings.HasPrefix(claimed.scheme+":"+claimed.rest, prefix)
}

// Root returns the subtree of the namespace that the resource names.
func (r Resource) Root() vfspath.Root {
	if r.Below {
		return vfspath.Below(r.Path)
	}
	return vfspath.Root(r.Path)
}

// starOnly reports whether the claim is the folder itself and r what lies below
// it. Their roots tell, but for a whole namespace, where both are "/".
func (r Resource) starOnly(claimed Resource) bool {
	return r.Path == claimed.Path && r.Below && !claimed.Below
}
