// Package strictjson reads JSON that strangers wrote. It promises that a text
// says one thing: an object that names a member twice is refused, at any depth.
// encoding/json takes the last of them, other programs the first, and a proxy, a
// log or an approval page in between may have judged the other one.
//
// encoding/json also takes "Path" for a field `json:"path"`. Where an object
// becomes a Go struct, two members that differ in case alone are therefore refused
// too; in maps and in values that stay JSON they are two members, as their writer
// meant them.
//
// Count bounds how many values there are, which is asked before they are decoded.
//
// It refuses nothing else, but where CheckNames is asked: unknown members, and one
// member in an unusual case, are left to who decodes. It stands with the public contract because plugins read
// bodies by the same rule, and imports nothing.
//
// Decision: ADR 0196.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxDepth bounds how deep values nest: far more than anybody writes, and less than
// the ten thousand of encoding/json, which each cost a frame of its stack.
const MaxDepth = 1000

// few is how many members of an object are compared one by one; more are kept in a
// map, so that a large object costs no more than its size.
const few = 16

// DuplicateError is the refusal of an object that names a member twice.
type DuplicateError struct {
	// Name is the second spelling, shortened.
	Name string
}

// Error implements error.
func (e *DuplicateError) Error() string {
	return "member " + strconv.Quote(e.Name) + " comes twice"
}

// NameError is the refusal of a member that no field is called, as CheckNames finds it.
type NameError struct {
	// Name is as it was written, shortened.
	Name string
}

// Error implements error.
func (e *NameError) Error() string {
	return "no member is called " + strconv.Quote(e.Name)
}

// DepthError is the refusal of values that nest deeper than MaxDepth.
type DepthError struct{}

// Error implements error.
func (DepthError) Error() string {
	return fmt.Sprintf("values nest deeper than %d", MaxDepth)
}

// Unmarshal is json.Unmarshal for the JSON of strangers. What it fails with may have
// been decoded in part, as with json.Unmarshal.
func Unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	return Check(data, v)
}

// Check looks at the member names of JSON that was found valid, and was or will be
// decoded into v. With a v of nil every object counts as a map.
func Check(data []byte, v any) error {
	s := scanner{data: data, open: make([]container, 0, 4), names: make([][]byte, 0, 8)}
	var of reflect.Type
	if v != nil {
		of = reflect.TypeOf(v)
	}
	return s.run(of)
}

// CheckNames is Check, and also refuses members of structs that are not spelt as their
// fields are: "Decision" where a field is `json:"decision"`.
func CheckNames(data []byte, v any) error {
	s := scanner{data: data, exact: true}
	return s.run(reflect.TypeOf(v))
}

// scanner walks over valid JSON once. Of invalid JSON it may say anything, but it ends.
type scanner struct {
	data []byte
	at   int
	// open are the containers around the place, the innermost last.
	open []container
	// names are those of all open objects, those of the innermost last.
	names [][]byte
	// exact says that members of structs must be spelt as their fields.
	exact bool
}

// container is an object or a list that is not closed yet.
type container struct {
	object bool
	// fold says that the object becomes a struct.
	fold bool
	// of is what the container becomes, without pointers; nil where nobody knows.
	of reflect.Type
	// member is the name of the value that comes next in an object.
	member []byte
	// from is where its names begin.
	from int
	// many has the names once they are more than a few.
	many map[string]bool
	// name says that the next text is a member's name.
	name bool
}

func (s *scanner) run(root reflect.Type) error {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case '{', '[':
			if len(s.open) == MaxDepth {
				return DepthError{}
			}
			s.enter(c == '{', s.inside(root))
		case '}', ']':
			s.leave()
		case ',':
			if n := len(s.open); n > 0 {
				s.open[n-1].name = s.open[n-1].object
			}
		case '"':
			if err := s.text(); err != nil {
				return err
			}
		}
		s.at++
	}
	return nil
}

// inside is what the value at this place becomes.
func (s *scanner) inside(root reflect.Type) reflect.Type {
	if len(s.open) == 0 {
		return root
	}
	c := &s.open[len(s.open)-1]
	if c.of == nil {
		return nil
	}
	switch c.of.Kind() {
	case reflect.Struct:
		return fieldType(c.of, string(c.member))
	case reflect.Map, reflect.Slice, reflect.Array:
		return c.of.Elem()
	}
	return nil
}

func (s *scanner) enter(object bool, of reflect.Type) {
	c := container{object: object, name: object, from: len(s.names), of: plain(of)}
	c.fold = object && c.of != nil && c.of.Kind() == reflect.Struct
	s.open = append(s.open, c)
}

func (s *scanner) leave() {
	n := len(s.open)
	if n == 0 {
		return
	}
	s.names = s.names[:s.open[n-1].from]
	s.open = s.open[:n-1]
}

// text passes over a string, and looks at it when it is a name. It ends at the
// closing quote.
func (s *scanner) text() error {
	s.at++
	from, escaped := s.at, false
	for quote := -1; ; {
		if quote < s.at { // once for each quote, not for each escape before it
			n := bytes.IndexByte(s.data[s.at:], '"')
			if n < 0 {
				s.at = len(s.data)
				return nil
			}
			quote = s.at + n
		}
		escape := bytes.IndexByte(s.data[s.at:quote], '\\')
		if escape < 0 {
			s.at = quote
			break
		}
		escaped = true
		s.at = min(s.at+escape+2, len(s.data)) // what is escaped may be a quote
	}
	n := len(s.open)
	if n == 0 || !s.open[n-1].name {
		return nil
	}
	name := s.data[from:s.at]
	if escaped || !ascii(name) { // the decoder's word for what it spells: escapes, and bytes that are no UTF-8
		var spelt string
		if err := json.Unmarshal(s.data[from-1:s.at+1], &spelt); err != nil {
			return err // of text that was not valid
		}
		name = []byte(spelt)
	}
	return s.member(&s.open[n-1], name)
}

func ascii(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// member notes a name of an object.
func (s *scanner) member(c *container, name []byte) error {
	c.name, c.member = false, name
	if s.exact && c.fold && !hasField(c.of, string(name)) {
		return &NameError{Name: shortened(name)}
	}
	equal := bytes.Equal
	if c.fold {
		equal = bytes.EqualFold
	}
	mine := s.names[c.from:]
	switch {
	case c.many != nil:
		key := c.key(name)
		if c.many[string(key)] {
			return duplicate(name)
		}
		c.many[string(key)] = true
		return nil
	case slices.ContainsFunc(mine, func(other []byte) bool { return equal(other, name) }):
		return duplicate(name)
	case len(mine) < few:
		s.names = append(s.names, name)
		return nil
	}
	c.many = make(map[string]bool, 4*few)
	for _, other := range mine {
		c.many[string(c.key(other))] = true
	}
	c.many[string(c.key(name))] = true
	return nil
}

// key is the same for names that count as one.
func (c *container) key(name []byte) []byte {
	if !c.fold || !bytes.ContainsFunc(name, func(r rune) bool { return one(r) != r }) {
		return name
	}
	return bytes.Map(one, name)
}

// one stands for a letter in all its cases: the least of them, or in ASCII the small
// one, in which most names are written already.
func one(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}

func duplicate(name []byte) error { return &DuplicateError{Name: shortened(name)} }

func shortened(name []byte) string {
	const shown = 64
	if len(name) > shown {
		name = append(bytes.ToValidUTF8(name[:shown:shown], nil), "…"...)
	}
	return string(name)
}

// plain is a type behind its pointers. A type that decodes itself says nothing of
// what becomes of members.
func plain(t reflect.Type) reflect.Type {
	for t != nil {
		if t.Implements(decoder) || reflect.PointerTo(t).Implements(decoder) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}

var decoder = reflect.TypeFor[json.Unmarshaler]()

// fieldType is the type of the field that a member goes to, or nil. A field of the
// struct itself goes before those of structs inside it.
func fieldType(of reflect.Type, name string) reflect.Type {
	for f := range of.Fields() {
		tag, inside := fieldName(f)
		if !inside && strings.EqualFold(tag, name) {
			return f.Type
		}
	}
	for f := range of.Fields() {
		if _, inside := fieldName(f); !inside {
			continue
		}
		if inner := plain(f.Type); inner != nil && inner.Kind() == reflect.Struct {
			if t := fieldType(inner, name); t != nil {
				return t
			}
		}
	}
	return nil
}

// fieldName is what a field's member is called; inside says that its members belong to
// the struct around it.
func fieldName(f reflect.StructField) (name string, inside bool) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name, f.Anonymous
	}
	return name, false
}

// hasField reports whether a struct has a field for a member of exactly this name.
func hasField(of reflect.Type, name string) bool {
	for f := range of.Fields() {
		spelt, inside := fieldName(f)
		if !inside && spelt == name {
			return true
		}
		if inner := plain(f.Type); inside && inner != nil && inner.Kind() == reflect.Struct && hasField(inner, name) {
			return true
		}
	}
	return false
}
