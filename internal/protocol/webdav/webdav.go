// Package webdav reads and writes what WebDAV (RFC 4918) adds to HTTP: the bodies
// of PROPFIND, PROPPATCH and LOCK, the If header, and multistatus answers.
//
// It promises that what it reads is bounded, that names are resolved by their
// namespaces, and that a property which was read is written with the same meaning
// wherever it is put. It refuses undeclared prefixes, prefixes for no namespace and
// document types. It knows no files and no HTTP.
package webdav

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Space is the namespace of WebDAV itself.
const Space = "DAV:"

// The bounds of a body.
const (
	maxDepth = 64
	maxNodes = 20_000
	// maxAsked bounds the properties of a PROPFIND: each is answered once for every
	// file of the folder, whether it is there or not. Programs ask for a few dozen.
	maxAsked = 256
)

// ErrBody says that a body is not what it should be.
var ErrBody = errors.New("malformed XML body")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBody, fmt.Sprintf(format, args...))
}

// Element is an element with its namespaces resolved.
type Element struct {
	Name  xml.Name
	Attrs []xml.Attr // without declarations of namespaces
	Nodes []Node
}

// Node is an element or text.
type Node struct {
	Element *Element
	Text    string
}

// Is reports whether the element has a name of WebDAV.
func (e *Element) Is(local string) bool { return e.Name.Space == Space && e.Name.Local == local }

// Children returns the elements directly inside.
func (e *Element) Children() []*Element {
	var all []*Element
	for _, n := range e.Nodes {
		if n.Element != nil {
			all = append(all, n.Element)
		}
	}
	return all
}

// Child returns the first child with a name of WebDAV, or nil.
func (e *Element) Child(local string) *Element {
	for _, c := range e.Children() {
		if c.Is(local) {
			return c
		}
	}
	return nil
}

// Text returns the text directly inside, trimmed.
func (e *Element) Text() string {
	var b strings.Builder
	for _, n := range e.Nodes {
		b.WriteString(n.Text)
	}
	return strings.TrimSpace(b.String())
}

// scope is what prefixes mean inside an element.
type scope struct {
	up     *scope
	prefix map[string]string
}

func (s *scope) find(prefix string) (string, bool) {
	for ; s != nil; s = s.up {
		if space, ok := s.prefix[prefix]; ok {
			return space, true
		}
	}
	switch prefix {
	case "":
		return "", true
	case "xml":
		return "http://www.w3.org/XML/1998/namespace", true
	}
	return "", false
}

// reader builds elements from a body.
type reader struct {
	d     *xml.Decoder
	nodes int
}

// Parse reads a body. It returns nil when there is none.
func Parse(body io.Reader) (*Element, error) {
	r := &reader{d: xml.NewDecoder(body)}
	var root *Element
	for {
		token, err := r.d.RawToken()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return nil, readFailed(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if root != nil {
				return nil, malformed("more than one root")
			}
			if root, err = r.element(t, nil, 0); err != nil {
				return nil, err
			}
		case xml.Directive:
			return nil, malformed("document types are refused")
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				return nil, malformed("text outside of the root")
			}
		case xml.EndElement:
			return nil, malformed("an end without a beginning")
		}
	}
}

// readFailed tells bad XML from a body that could not be read.
func readFailed(err error) error {
	if _, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return malformed("%v", err)
	}
	return err
}

func (r *reader) element(start xml.StartElement, up *scope, depth int) (*Element, error) {
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return nil, malformed("too much")
	}
	in, err := declared(start, up)
	if err != nil {
		return nil, err
	}
	e := &Element{}
	if e.Name, err = resolve(start.Name, in); err != nil {
		return nil, err
	}
	for _, a := range start.Attr {
		if a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns" {
			continue
		}
		if a.Name.Space != "" { // an attribute without a prefix has no namespace
			if a.Name, err = resolve(a.Name, in); err != nil {
				return nil, err
			}
		}
		e.Attrs = append(e.Attrs, xml.Attr{Name: a.Name, Value: a.Value})
	}
	for {
		token, err := r.d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil, malformed("%s has no end", start.Name.Local)
		}
		if err != nil {
			return nil, readFailed(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			child, err := r.element(t, in, depth+1)
			if err != nil {
				return nil, err
			}
			e.Nodes = append(e.Nodes, Node{Element: child})
		case xml.CharData:
			e.Nodes = append(e.Nodes, Node{Text: string(t)})
		case xml.EndElement:
			if t.Name != start.Name {
				return nil, malformed("%s ends as %s", start.Name.Local, t.Name.Local)
			}
			return e, nil
		case xml.Directive:
			return nil, malformed("document types are refused")
		}
	}
}

func declared(start xml.StartElement, up *scope) (*scope, error) {
	in := &scope{up: up, prefix: map[string]string{}}
	for _, a := range start.Attr {
		switch {
		case a.Name.Space == "xmlns" && a.Value == "":
			return nil, malformed("the prefix %s is for no namespace", a.Name.Local)
		case a.Name.Space == "xmlns":
			in.prefix[a.Name.Local] = a.Value
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			in.prefix[""] = a.Value
		}
	}
	return in, nil
}

func resolve(name xml.Name, in *scope) (xml.Name, error) {
	space, ok := in.find(name.Space)
	if !ok || name.Local == "" {
		return xml.Name{}, malformed("the prefix %q is not declared", name.Space)
	}
	return xml.Name{Space: space, Local: name.Local}, nil
}

// String writes the element so that it means the same in any place.
func (e *Element) String() string {
	var b strings.Builder
	e.write(&b)
	return b.String()
}

func (e *Element) write(b *strings.Builder) {
	tag := e.Name.Local
	declare := ""
	if e.Name.Space != "" {
		tag, declare = "x:"+tag, ` xmlns:x="`+Escape(e.Name.Space)+`"`
	}
	b.WriteString("<" + tag + declare)
	for i, a := range e.Attrs {
		switch a.Name.Space {
		case "":
			fmt.Fprintf(b, ` %s="%s"`, a.Name.Local, Escape(a.Value))
		case "http://www.w3.org/XML/1998/namespace":
			fmt.Fprintf(b, ` xml:%s="%s"`, a.Name.Local, Escape(a.Value))
		default:
			fmt.Fprintf(b, ` xmlns:a%d="%s" a%d:%s="%s"`, i, Escape(a.Name.Space), i, a.Name.Local, Escape(a.Value))
		}
	}
	if len(e.Nodes) == 0 {
		b.WriteString("/>")
		return
	}
	b.WriteString(">")
	for _, n := range e.Nodes {
		if n.Element != nil {
			n.Element.write(b)
			continue
		}
		b.WriteString(Escape(n.Text))
	}
	b.WriteString("</" + tag + ">")
}

// Escape writes text for an element or an attribute.
func Escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
