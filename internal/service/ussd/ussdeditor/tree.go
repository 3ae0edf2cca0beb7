package ussdeditor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

const (
	// maxDepth bounds how deep a tree is nested; menus need seven levels.
	maxDepth = 32
	// maxComments bounds the comments of a part, lines of them.
	maxComments = 10_000
)

var errComments = fmt.Errorf("more than %d comments are read as text alone", maxComments)

// Map is a map that keeps the order of the file. Its values are a Map, a []any of
// values, a string, an int64 or a bool.
type Map []Pair

// Pair is a key and its value.
type Pair struct {
	Key   string
	Value any
}

// Get returns the value of a key, or nil.
func (m Map) Get(key string) any {
	for _, p := range m {
		if p.Key == key {
			return p.Value
		}
	}
	return nil
}

// MarshalJSON writes the map as an object in its own order.
func (m Map) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(p.Key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.Value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object and keeps its order.
func (m *Map) UnmarshalJSON(source []byte) error {
	d := json.NewDecoder(bytes.NewReader(source))
	d.UseNumber()
	v, err := readJSON(d, maxDepth)
	if err != nil {
		return err
	}
	object, ok := v.(Map)
	if !ok {
		return errors.New("a menu must be an object")
	}
	*m = object
	return nil
}

func readJSON(d *json.Decoder, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			list := []any{}
			for d.More() {
				v, err := readJSON(d, depth-1)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err := d.Token()
			return list, err
		}
		object := Map{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readJSON(d, depth-1)
			if err != nil {
				return nil, err
			}
			object = append(object, Pair{fmt.Sprint(key), v})
		}
		_, err := d.Token()
		return object, err
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.String(), nil
	case nil:
		return "", nil
	}
	return t, nil // a string or a bool
}

// reader turns the syntax of a part into a tree.
type reader struct {
	anchors map[string]ast.Node
	// paths has the outermost key of every line.
	paths map[int]string
}

// readTree reads a part, with the comments of each field.
func readTree(source []byte) (Map, map[string][]string, error) {
	file, err := yamlfile.Tree(source, 0)
	if err != nil {
		return nil, nil, err
	}
	r := &reader{anchors: map[string]ast.Node{}, paths: map[int]string{}}
	tree := Map{}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		v, err := r.value("", doc.Body, maxDepth)
		if err != nil {
			return nil, nil, err
		}
		m, ok := v.(Map)
		if !ok {
			return nil, nil, errors.New("a menu is a map")
		}
		tree = append(tree, m...)
	}
	comments, err := r.comments(source)
	return tree, comments, err
}

func (r *reader) value(path string, node ast.Node, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch n := node.(type) {
	case *ast.MappingNode:
		out := Map{}
		for _, one := range n.Values {
			p, err := r.pair(path, one, depth)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
		return out, nil
	case *ast.MappingValueNode:
		p, err := r.pair(path, n, depth)
		return Map{p}, err
	case *ast.SequenceNode:
		out := []any{}
		for i, one := range n.Values {
			v, err := r.value(fmt.Sprintf("%s[%d]", path, i), one, depth-1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case *ast.AnchorNode:
		r.anchors[n.Name.String()] = n.Value
		return r.value(path, n.Value, depth)
	case *ast.AliasNode:
		meant := r.anchors[n.Value.String()]
		if meant == nil {
			return nil, fmt.Errorf("unknown alias %s", n.Value.String())
		}
		return (&reader{anchors: r.anchors, paths: map[int]string{}}).value(path, meant, depth-1)
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.NullNode, nil:
		return "", nil
	case *ast.IntegerNode:
		text := n.GetToken().Value
		if whole, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(whole, 10) == text {
			return whole, nil
		}
		return text, nil
	case *ast.FloatNode:
		return n.GetToken().Value, nil
	}
	return nil, fmt.Errorf("line %d: this kind of YAML is read as text alone", node.GetToken().Position.Line)
}

func (r *reader) pair(path string, n *ast.MappingValueNode, depth int) (Pair, error) {
	if _, merges := n.Key.(*ast.MergeKeyNode); merges {
		return Pair{}, fmt.Errorf("line %d: << is read as text alone", n.Key.GetToken().Position.Line)
	}
	key := n.Key.GetToken().Value
	at := key
	if path != "" {
		at = path + "." + key
	}
	line := n.Key.GetToken().Position.Line
	if _, known := r.paths[line]; !known {
		r.paths[line] = at
	}
	v, err := r.value(at, n.Value, depth-1)
	return Pair{key, v}, err
}

// afterAll is the field of comments that nothing follows.
const afterAll = "."

// comments finds the comments of a part, each by the field that it stands above or
// behind. Those within lists belong to the list.
func (r *reader) comments(source []byte) (map[string][]string, error) {
	lines := slices.Sorted(maps.Keys(r.paths))
	out := map[string][]string{}
	count := 0
	for _, t := range lexer.Tokenize(string(source)) {
		if t.Position == nil || t.Type != token.CommentType {
			continue
		}
		if count++; count > maxComments {
			return nil, errComments
		}
		for len(lines) > 0 && lines[0] < t.Position.Line {
			lines = lines[1:] // comments come in the order of their lines
		}
		path := afterAll
		if len(lines) > 0 {
			path, _, _ = strings.Cut(r.paths[lines[0]], "[")
		}
		out[path] = append(out[path], strings.TrimSpace(t.Value))
	}
	return out, nil
}
