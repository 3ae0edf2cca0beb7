// Package yamlfile reads YAML that somebody else wrote.
//
// It promises an error for every input that is not a well-formed, modest
// document: larger than the limit, nested deeper than MaxDepth, with aliases by
// which a few lines stand for gigabytes, or with a second document behind it,
// which nobody would read. The decoder below it panics on some
// inputs; here that is an error like any other. It refuses nothing else.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxDepth is how deep lists and maps may be nested on one line.
const MaxDepth = 64

// MaxRepeated is how many nodes all aliases together may stand for.
const MaxRepeated = 100_000

// DefaultLimit bounds a file when the caller has no limit of his own.
const DefaultLimit = 1 << 20

// Unmarshal reads the document into dst. limit is the largest size in bytes;
// zero means DefaultLimit.
func Unmarshal(source []byte, dst any, limit int, options ...yaml.DecodeOption) (err error) {
	defer recovered(&err)
	if err := check(source, limit); err != nil {
		return err
	}
	in := yaml.NewDecoder(bytes.NewReader(source), options...)
	err = in.Decode(dst)
	if errors.Is(err, io.EOF) {
		return nil // an empty document says nothing
	}
	if err != nil {
		return err
	}
	var more any
	if err := in.Decode(&more); !errors.Is(err, io.EOF) && (err != nil || more != nil) {
		return errors.New("there is a second document behind a line of ---: write all in one")
	}
	return nil
}

// Tree returns the document's syntax, for whoever needs lines and columns.
func Tree(source []byte, limit int) (file *ast.File, err error) {
	defer recovered(&err)
	if err := check(source, limit); err != nil {
		return nil, err
	}
	return parser.ParseBytes(source, 0)
}

// recovered turns a panic of the decoder into an error. What it was doing is of
// no use to the author of the file, and the file is at fault.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = errors.New("the YAML cannot be read")
	}
}

// check looks at the tokens, which are made without recursion.
func check(source []byte, limit int) error {
	if limit <= 0 {
		limit = DefaultLimit
	}
	if len(source) > limit {
		return fmt.Errorf("the file is larger than %d bytes", limit)
	}
	flow, line, openers, repeats := 0, 0, 0, false
	for _, t := range lexer.Tokenize(string(source)) {
		at := 1
		if t.Position != nil {
			at = t.Position.Line
		}
		if at != line {
			line, openers = at, 0
		}
		switch t.Type {
		case token.AliasType:
			repeats = true
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			openers++ // each may begin a level: - - - x
		default:
		}
		if flow > MaxDepth || openers > MaxDepth {
			return fmt.Errorf("line %d: nested deeper than %d", at, MaxDepth)
		}
	}
	if !repeats {
		return nil
	}
	file, err := parser.ParseBytes(source, 0)
	if err != nil {
		return err
	}
	return checkAliases(file)
}

// checkAliases counts what aliases would repeat. One inside an anchor would
// multiply, so there may be none.
func checkAliases(file *ast.File) error {
	sizes := make(map[string]int)
	repeated := 0
	for _, doc := range file.Docs {
		for _, n := range ast.Filter(ast.AnchorType, doc.Body) {
			anchor := n.(*ast.AnchorNode)
			if len(ast.Filter(ast.AliasType, anchor.Value)) > 0 {
				return fmt.Errorf("line %d: an alias inside an anchor", anchor.GetToken().Position.Line)
			}
			counter := &counting{}
			ast.Walk(counter, anchor.Value)
			sizes[anchor.Name.String()] = counter.nodes
		}
		for _, n := range ast.Filter(ast.AliasType, doc.Body) {
			if repeated += 1 + sizes[n.(*ast.AliasNode).Value.String()]; repeated > MaxRepeated {
				return fmt.Errorf("line %d: the aliases stand for more than %d values", n.GetToken().Position.Line, MaxRepeated)
			}
		}
	}
	return nil
}

// counting counts nodes.
type counting struct{ nodes int }

// Visit counts one.
func (c *counting) Visit(ast.Node) ast.Visitor {
	c.nodes++
	return c
}
