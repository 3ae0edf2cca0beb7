// Package yamlfile reads YAML that somebody else wrote.
//
// It promises an error for every input that is not a well-formed, modest
// document: larger than the limit, nested deeper than MaxDepth, with aliases by
// which a few lines stand for gigabytes, with keys that are long, many in one map, or
// lists and maps themselves, with hundreds of empty lines or of < in a row, or with a second
// document behind it, which nobody would read. The decoder below it panics on some
// inputs; here that is an error like any other. Errors do not repeat the text, which may hold
// secrets. It refuses nothing else.
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
)

// MaxDepth is how deep lists and maps may be nested on one line, or in brackets. Of keys
// and entries twice as many may stand in each other: those of a list of maps are two.
const MaxDepth = 64

// MaxRepeated is how many nodes all aliases together may stand for.
const MaxRepeated = 100_000

// MaxRepeatedBytes is how much text all aliases together may stand for: a document is
// at most that much larger than its file, whatever is made of it.
const MaxRepeatedBytes = 1 << 20

// MaxKey is how many bytes a key may have.
const MaxKey = 512

// MaxPaths is how many bytes the paths of all values may have together. The parser keeps
// the path of every value, so that a few long keys above many values take gigabytes.
const MaxPaths = 64 << 20

// MaxKeys is how many keys a map may have: the parser takes time by their square.
const MaxKeys = 4096

// DefaultLimit bounds a file when the caller has no limit of his own.
const DefaultLimit = 1 << 20

// Unmarshal reads the document into dst. limit is the largest size in bytes;
// zero means DefaultLimit.
func Unmarshal(source []byte, dst any, limit int, options ...yaml.DecodeOption) (err error) {
	defer briefly(&err)
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
	defer briefly(&err)
	if err := check(source, limit); err != nil {
		return nil, err
	}
	return parser.ParseBytes(source, 0)
}

// briefly makes errors short, and turns a panic of the decoder into one. What it was doing is
// of no use to the author of the file, and the file is at fault.
func briefly(err *error) {
	if r := recover(); r != nil {
		*err = errors.New("the YAML cannot be read")
	}
	if said, ok := errors.AsType[yaml.Error](*err); ok {
		*err = briefError{said}
	}
}

// briefError is an error of the library without the text around its place: writing that takes
// the library time by the square of how many words stand there.
type briefError struct{ located }

// located is a yaml.Error, whose name a field cannot have beside the method.
type located interface{ yaml.Error }

// Error says what is wrong and where.
func (e briefError) Error() string { return e.FormatError(false, false) }

// check looks at the tokens, which are made without recursion.
func check(source []byte, limit int) error {
	if limit <= 0 {
		limit = DefaultLimit
	}
	if len(source) > limit {
		return fmt.Errorf("the file is larger than %d bytes", limit)
	}
	if err := scannable(source); err != nil {
		return err
	}
	tokens := lexer.Tokenize(string(source))
	var seen shape
	for _, t := range tokens {
		if err := seen.add(t); err != nil {
			return fmt.Errorf("line %d: %w", seen.line, err)
		}
	}
	if !seen.repeats {
		return nil
	}
	file, err := parser.ParseBytes(source, 0)
	if err != nil {
		return err
	}
	return checkAliases(file)
}
