package httpserver

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxVars bounds the variables of one pattern, so that matching needs no
// memory of its own.
const maxVars = 12

// node is one segment of the tree of patterns.
type node struct {
	literal map[string]*node
	name    *node // {x}
	rest    *leaf // {x...}
	end     *leaf // a pattern ends here
}

// leaf holds the methods of one path.
type leaf struct{ methods []*mounted }

func (l *leaf) find(method string) *mounted {
	for _, m := range l.methods {
		if m.route.Method == method {
			return m
		}
	}
	if method == http.MethodHead {
		// A stream has no end for HEAD to wait for.
		if m := l.find(http.MethodGet); m != nil && !m.route.Stream {
			return m
		}
	}
	return nil
}

// insert adds m to the tree. It fails when the method and path are taken.
func (n *node) insert(m *mounted) error {
	var at **leaf
	segments := strings.Split(m.route.Pattern[1:], "/")
	for i, seg := range segments {
		kind, name, err := parseSegment(seg)
		if err != nil {
			return err
		}
		if kind != literalSegment {
			if slices.Contains(m.names, name) {
				return fmt.Errorf("name {%s} occurs twice", name)
			}
			m.names = append(m.names, name)
		}
		switch kind {
		case restSegment:
			if i != len(segments)-1 {
				return fmt.Errorf("{%s...} is not the last segment", name)
			}
			at = &n.rest
		case nameSegment:
			if n.name == nil {
				n.name = &node{}
			}
			n = n.name
		case literalSegment:
			if n.literal == nil {
				n.literal = map[string]*node{}
			}
			next := n.literal[seg]
			if next == nil {
				next = &node{}
				n.literal[seg] = next
			}
			n = next
		}
	}
	if len(m.names) > maxVars {
		return fmt.Errorf("more than %d names", maxVars)
	}
	if at == nil {
		at = &n.end
	}
	if *at == nil {
		*at = &leaf{}
	}
	for _, other := range (*at).methods {
		if other.route.Method == m.route.Method {
			return &ownerError{m, other}
		}
	}
	(*at).methods = append((*at).methods, m)
	return nil
}

// ownerError says that two surfaces want the same method and path.
type ownerError struct{ late, early *mounted }

func (e *ownerError) Error() string {
	return fmt.Sprintf("%s %s of %s is already served by %s as %s", e.late.route.Method, e.late.route.Pattern,
		e.late.surface.Name, e.early.surface.Name, e.early.route.Pattern)
}

type segmentKind uint8

const (
	literalSegment segmentKind = iota
	nameSegment
	restSegment
)

func parseSegment(seg string) (segmentKind, string, error) {
	if !strings.ContainsAny(seg, "{}") {
		return literalSegment, "", nil
	}
	if len(seg) < 3 || seg[0] != '{' || seg[len(seg)-1] != '}' || strings.ContainsAny(seg[1:len(seg)-1], "{}") {
		return 0, "", fmt.Errorf("segment %q is neither literal nor {name}", seg)
	}
	name := seg[1 : len(seg)-1]
	if rest, ok := strings.CutSuffix(name, "..."); ok && rest != "" {
		return restSegment, rest, nil
	}
	return nameSegment, name, nil
}

// PathVariables names the variables of a pattern, in order.
func PathVariables(pattern string) []string {
	var names []string
	for seg := range strings.SplitSeq(pattern, "/") {
		if kind, name, err := parseSegment(seg); err == nil && kind != literalSegment {
			names = append(names, name)
		}
	}
	return names
}

// lookup is one walk through the tree.
type lookup struct {
	method  string
	raw     bool // segments are percent-encoded
	vars    [maxVars]string
	n       int
	allowed []string // methods of paths that match, when none has ours
}

// find returns the route for a path. The path is walked as it was sent:
// nothing is cleaned. A route of another method that matches better does not
// hide a route of ours that matches worse.
func (n *node) find(l *lookup, u *url.URL) *mounted {
	path := u.Path
	// RawPath is set only when decoding lost something (%2F); then the
	// segments are split before they are decoded.
	if u.RawPath != "" {
		path, l.raw = u.EscapedPath(), true
	}
	if path == "" || path[0] != '/' {
		return nil
	}
	return n.walk(l, path[1:])
}

func (n *node) walk(l *lookup, path string) *mounted {
	seg, rest, more := strings.Cut(path, "/")
	value := seg
	if l.raw && strings.IndexByte(seg, '%') >= 0 {
		if decoded, err := url.PathUnescape(seg); err == nil {
			value = decoded
		}
	}
	if next := n.literal[value]; next != nil {
		if m := next.step(l, rest, more); m != nil {
			return m
		}
	}
	if n.name != nil && value != "" && l.n < maxVars {
		l.vars[l.n] = value
		l.n++
		if m := n.name.step(l, rest, more); m != nil {
			return m
		}
		l.n--
	}
	if n.rest != nil && l.n < maxVars {
		if m := l.settle(n.rest); m != nil {
			value, err := path, error(nil)
			if l.raw {
				if value, err = url.PathUnescape(path); err != nil {
					value = path
				}
			}
			l.vars[l.n] = value
			l.n++
			return m
		}
	}
	return nil
}

func (n *node) step(l *lookup, rest string, more bool) *mounted {
	if more {
		return n.walk(l, rest)
	}
	if n.end == nil {
		return nil
	}
	return l.settle(n.end)
}

func (l *lookup) settle(at *leaf) *mounted {
	if m := at.find(l.method); m != nil {
		return m
	}
	for _, m := range at.methods {
		if !slices.Contains(l.allowed, m.route.Method) {
			l.allowed = append(l.allowed, m.route.Method)
		}
	}
	return nil
}

// allow is the value of the Allow header.
func (l *lookup) allow() string {
	all := slices.Clone(l.allowed)
	if slices.Contains(all, http.MethodGet) && !slices.Contains(all, http.MethodHead) {
		all = append(all, http.MethodHead)
	}
	if !slices.Contains(all, http.MethodOptions) {
		all = append(all, http.MethodOptions)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// prefixes finds the surface that answers for a path without a route.
type prefixes []prefixOwner

type prefixOwner struct {
	prefix string
	owner  *surface
}

func (p prefixes) find(path string) *surface {
	for _, e := range p { // longest first
		if strings.HasPrefix(path, e.prefix) && (len(path) == len(e.prefix) || path[len(e.prefix)] == '/' ||
			strings.HasSuffix(e.prefix, "/")) {
			return e.owner
		}
	}
	return nil
}

func firstSegment(path string) string {
	seg, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return seg
}
