package httprule

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The bounds of a path template and of a path that is matched against it.
const (
	maxTemplate = 1024
	maxSegments = 128
)

// segmentKind is what one segment of a template matches. The order is the
// order of preference when several templates match one path.
type segmentKind uint8

const (
	literal  segmentKind = iota // exactly this text
	star                        // any one segment
	deepStar                    // any number of segments, none included
)

type segment struct {
	kind segmentKind
	text string // literals only, percent-decoded
}

// variable names the part of a path that goes into a request field. The
// indexes count segments from the front when they are not negative, and from
// the end otherwise, so that a deep wildcard in the middle needs no capturing.
type variable struct {
	path  string // field path, "pagination.limit"
	first int
	last  int // one past the end
	fromE bool
	lastE bool
}

// Template is a parsed google.api.http path. Other than the published grammar,
// it allows ** in any place (but once), since living chains use it so.
type Template struct {
	source    string
	segments  []segment
	variables []variable
	verb      string
}

// String returns the template as it was written.
func (t *Template) String() string { return t.source }

// FirstSegment returns the leading literal of the template, or "" when it
// starts with a wildcard.
func (t *Template) FirstSegment() string {
	if len(t.segments) == 0 || t.segments[0].kind != literal {
		return ""
	}
	return t.segments[0].text
}

// Variables returns the field paths that the template binds.
func (t *Template) Variables() []string {
	names := make([]string, len(t.variables))
	for i, v := range t.variables {
		names[i] = v.path
	}
	return names
}

// Pattern writes the template without the shapes of its variables.
func (t *Template) Pattern() string {
	var b strings.Builder
	rest := t.source
	for {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			return b.String() + rest
		}
		end := open + strings.IndexByte(rest[open:], '}')
		name, _, _ := strings.Cut(rest[open+1:end], "=")
		b.WriteString(rest[:open] + "{" + name + "}")
		rest = rest[end+1:]
	}
}

// ParseTemplate reads a path template such as "/ixo/entity/{id}" or
// "/v1/{name=shelves/*}/books:list".
func ParseTemplate(source string) (*Template, error) {
	t := &Template{source: source}
	if len(source) > maxTemplate {
		return nil, fmt.Errorf("parse template: longer than %d bytes", maxTemplate)
	}
	rest, ok := strings.CutPrefix(source, "/")
	if !ok {
		return nil, fmt.Errorf("parse template %q: it must start with a slash", source)
	}
	p := templateParser{rest: rest, template: t}
	if err := p.parse(); err != nil {
		return nil, fmt.Errorf("parse template %q: %w", source, err)
	}
	t.countFromEnd()
	return t, nil
}

// countFromEnd rewrites the indexes that lie behind a deep wildcard.
func (t *Template) countFromEnd() {
	deep := -1
	for i, s := range t.segments {
		if s.kind == deepStar {
			deep = i
		}
	}
	if deep < 0 {
		return
	}
	n := len(t.segments)
	for i := range t.variables {
		v := &t.variables[i]
		if v.first > deep {
			v.first, v.fromE = v.first-n, true
		}
		if v.last > deep {
			v.last, v.lastE = v.last-n, true
		}
	}
}

// value returns the text of the variable in a path of these raw segments.
func (v variable) value(segments []string) (string, error) {
	first, last := v.first, v.last
	if v.fromE {
		first += len(segments)
	}
	if v.lastE {
		last += len(segments)
	}
	if last-first == 1 {
		return unescapeSegment(segments[first])
	}
	var b strings.Builder
	for i := first; i < last; i++ {
		s, err := unescapeSegment(segments[i])
		if err != nil {
			return "", err
		}
		if i > first {
			b.WriteByte('/')
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func unescapeSegment(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 {
		return s, nil
	}
	return url.PathUnescape(s)
}

type templateParser struct {
	rest     string
	template *Template
	deep     bool
}

func (p *templateParser) parse() error {
	if p.rest == "" {
		return nil
	}
	for {
		if err := p.segment(); err != nil {
			return err
		}
		switch {
		case p.rest == "":
			return nil
		case p.rest[0] == '/':
			p.rest = p.rest[1:]
		case p.rest[0] == ':':
			return p.parseVerb()
		default:
			return fmt.Errorf("unexpected %q", p.rest[0])
		}
	}
}

func (p *templateParser) parseVerb() error {
	verb := p.rest[1:]
	if verb == "" || strings.ContainsAny(verb, "/{}*:") {
		return fmt.Errorf("bad verb %q", verb)
	}
	p.template.verb = verb
	return nil
}

func (p *templateParser) segment() error {
	if strings.HasPrefix(p.rest, "{") {
		return p.variable()
	}
	end := strings.IndexAny(p.rest, "/:{}=")
	if end < 0 {
		end = len(p.rest)
	}
	text := p.rest[:end]
	p.rest = p.rest[end:]
	return p.add(text)
}

func (p *templateParser) variable() error {
	end := strings.IndexByte(p.rest, '}')
	if end < 0 {
		return errors.New("a brace is not closed")
	}
	inner := p.rest[1:end]
	p.rest = p.rest[end+1:]
	path, pattern, ok := strings.Cut(inner, "=")
	if !ok {
		pattern = "*"
	}
	if err := checkFieldPath(path); err != nil {
		return err
	}
	first := len(p.template.segments)
	for part := range strings.SplitSeq(pattern, "/") {
		if strings.ContainsAny(part, "{}:") {
			return fmt.Errorf("bad pattern %q", pattern)
		}
		if err := p.add(part); err != nil {
			return err
		}
	}
	for _, v := range p.template.variables {
		if v.path == path {
			return fmt.Errorf("variable %q is bound twice", path)
		}
	}
	p.template.variables = append(p.template.variables,
		variable{path: path, first: first, last: len(p.template.segments)})
	return nil
}

func (p *templateParser) add(text string) error {
	if len(p.template.segments) == maxSegments {
		return fmt.Errorf("more than %d segments", maxSegments)
	}
	s := segment{}
	switch {
	case text == "*":
		s.kind = star
	case text == "**":
		if p.deep {
			return errors.New("more than one **")
		}
		p.deep = true
		s.kind = deepStar
	case text == "":
		return errors.New("empty segment")
	case strings.Contains(text, "*"):
		return fmt.Errorf("bad segment %q", text)
	default:
		plain, err := unescapeSegment(text)
		if err != nil {
			return fmt.Errorf("bad segment %q", text)
		}
		s.text = plain
	}
	p.template.segments = append(p.template.segments, s)
	return nil
}

func checkFieldPath(path string) error {
	for name := range strings.SplitSeq(path, ".") {
		if name == "" {
			return fmt.Errorf("bad field path %q", path)
		}
		for i, c := range []byte(name) {
			letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
			if !letter && (i == 0 || c < '0' || c > '9') {
				return fmt.Errorf("bad field path %q", path)
			}
		}
	}
	return nil
}
