// Package ipld reads and writes the two encodings that capability tokens are
// made of: canonical dag-cbor blocks, and dag-json as JavaScript prints it.
//
// The reader accepts exactly one encoding of every value. A block that says the
// same thing in another way (unsorted keys, long integers, short floats, maps that
// dag-json writes like links) is refused with ErrNonCanonical, so that one signed
// statement has one CID. The writers promise byte equality with @ipld/dag-cbor and
// @ipld/dag-json, because signatures are made over those bytes. Everything is
// bounded: size by the caller, nesting and the number of values by the constants
// below.
package ipld

import (
	"errors"
	"fmt"
)

// Bounds on one decoded block; more is malformed.
const (
	MaxDepth  = 32
	MaxValues = 1 << 14
)

// The two ways in which a block can fail to decode.
var (
	ErrMalformed    = errors.New("malformed block")
	ErrNonCanonical = errors.New("block is not in canonical form")
)

// Kind says which member of a Node is meaningful.
type Kind uint8

// The kinds of the IPLD data model.
const (
	Null Kind = iota
	Bool
	Int
	Float
	Text
	Bytes
	Link
	List
	Map
)

var kindNames = [...]string{"null", "bool", "int", "float", "text", "bytes", "link", "list", "map"}

// String returns the kind's name, for error texts.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Node is one value. Strings of decoded nodes are parts of the block's own
// string: decoding copies nothing.
type Node struct {
	Kind Kind
	// Negative marks an Int whose value is -1-Num.
	Negative bool
	// Num is the magnitude of an Int, the bits of a Float, 0 or 1 for a Bool.
	Num uint64
	// Str is a Text, the raw bytes of a Bytes, or the binary CID of a Link.
	Str     string
	List    []Node
	Entries []Entry
}

// Entry is one member of a Map, in the order of dag-cbor.
type Entry struct {
	Key   string
	Value Node
}

// TextNode returns a text value.
func TextNode(s string) Node { return Node{Kind: Text, Str: s} }

// BytesNode returns a bytes value.
func BytesNode(s string) Node { return Node{Kind: Bytes, Str: s} }

// LinkNode returns a link to the binary CID.
func LinkNode(cid string) Node { return Node{Kind: Link, Str: cid} }

// ListNode returns a list.
func ListNode(items ...Node) Node { return Node{Kind: List, List: items} }

// MapNode returns a map; the writers put its keys in order.
func MapNode(entries ...Entry) Node { return Node{Kind: Map, Entries: entries} }

// IntNode returns an integer.
func IntNode(v int64) Node {
	if v < 0 {
		return Node{Kind: Int, Negative: true, Num: uint64(-(v + 1))} //nolint:gosec // -(v+1) is at least 0
	}
	return Node{Kind: Int, Num: uint64(v)}
}

// Int64 returns the integer's value, and false when the node is no integer or
// does not fit.
func (n Node) Int64() (int64, bool) {
	if n.Kind != Int || n.Num > 1<<63-1 {
		return 0, false
	}
	if n.Negative {
		return -1 - int64(n.Num), true
	}
	return int64(n.Num), true
}

// Get returns the member of a Map, and whether it is there.
func (n Node) Get(key string) (Node, bool) {
	if n.Kind != Map {
		return Node{}, false
	}
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return n.Entries[i].Value, true
		}
	}
	return Node{}, false
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func nonCanonical(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNonCanonical, fmt.Sprintf(format, args...))
}
