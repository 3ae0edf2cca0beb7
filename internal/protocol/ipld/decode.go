package ipld

import (
	"math"
	"unicode/utf8"
)

// Decode reads one canonical dag-cbor value that fills the whole block.
func Decode(block string) (Node, error) {
	d := decoder{in: block, budget: MaxValues}
	n, err := d.value(0)
	if err != nil {
		return Node{}, err
	}
	if d.pos != len(d.in) {
		return Node{}, malformed("%d bytes after the value", len(d.in)-d.pos)
	}
	return n, nil
}

// The major types of CBOR.
const (
	majorUint = iota
	majorNegative
	majorBytes
	majorText
	majorList
	majorMap
	majorTag
	majorSimple
)

const tagLink = 42

type decoder struct {
	in     string
	pos    int
	budget int
}

// head reads an initial byte and its argument. For simple values and floats
// the argument is returned as it stands, with its additional information.
func (d *decoder) head() (major, info byte, arg uint64, err error) {
	if d.pos >= len(d.in) {
		return 0, 0, 0, malformed("unexpected end")
	}
	b := d.in[d.pos]
	d.pos++
	major, info = b>>5, b&0x1f
	if info < 24 {
		return major, info, uint64(info), nil
	}
	if info > 27 {
		return 0, 0, 0, malformed("indefinite length or reserved head 0x%02x", b)
	}
	size := 1 << (info - 24)
	if len(d.in)-d.pos < size {
		return 0, 0, 0, malformed("unexpected end")
	}
	for range size {
		arg = arg<<8 | uint64(d.in[d.pos])
		d.pos++
	}
	if major == majorSimple {
		return major, info, arg, nil
	}
	minimum := [...]uint64{24, 1 << 8, 1 << 16, 1 << 32}
	if arg < minimum[info-24] {
		return 0, 0, 0, nonCanonical("argument %d is written too long", arg)
	}
	return major, info, arg, nil
}

func (d *decoder) value(depth int) (Node, error) {
	if d.budget--; d.budget < 0 {
		return Node{}, malformed("more than %d values", MaxValues)
	}
	if depth > MaxDepth {
		return Node{}, malformed("nested deeper than %d", MaxDepth)
	}
	major, info, arg, err := d.head()
	if err != nil {
		return Node{}, err
	}
	switch major {
	case majorUint, majorNegative:
		return Node{Kind: Int, Negative: major == majorNegative, Num: arg}, nil
	case majorBytes:
		s, err := d.take(arg)
		return Node{Kind: Bytes, Str: s}, err
	case majorText:
		s, err := d.text(arg)
		return Node{Kind: Text, Str: s}, err
	case majorList:
		return d.list(arg, depth)
	case majorMap:
		return d.mapping(arg, depth)
	case majorTag:
		return d.link(arg)
	}
	return simple(info, arg)
}

// count turns an argument into a number of things of which each takes at least
// the given bytes, so that a large one needs a long block.
func (d *decoder) count(arg uint64, each int) (int, error) {
	if arg > math.MaxInt32 || int(arg) > (len(d.in)-d.pos)/each {
		return 0, malformed("length %d goes beyond the block", arg)
	}
	return int(arg), nil
}

func (d *decoder) take(arg uint64) (string, error) {
	n, err := d.count(arg, 1)
	if err != nil {
		return "", err
	}
	s := d.in[d.pos : d.pos+n]
	d.pos += n
	return s, nil
}

func (d *decoder) text(n uint64) (string, error) {
	s, err := d.take(n)
	if err == nil && !utf8.ValidString(s) {
		err = malformed("text is not UTF-8")
	}
	return s, err
}

func (d *decoder) list(arg uint64, depth int) (Node, error) {
	n, err := d.count(arg, 1)
	if err != nil {
		return Node{}, err
	}
	items := make([]Node, 0, min(n, 64))
	for range n {
		item, err := d.value(depth + 1)
		if err != nil {
			return Node{}, err
		}
		items = append(items, item)
	}
	return Node{Kind: List, List: items}, nil
}

func (d *decoder) mapping(arg uint64, depth int) (Node, error) {
	n, err := d.count(arg, 2)
	if err != nil {
		return Node{}, err
	}
	entries := make([]Entry, 0, min(n, 64))
	for range n {
		major, _, length, err := d.head()
		if err != nil {
			return Node{}, err
		}
		if major != majorText {
			return Node{}, malformed("map key is not text")
		}
		key, err := d.text(length)
		if err != nil {
			return Node{}, err
		}
		if len(entries) > 0 {
			switch previous := entries[len(entries)-1].Key; {
			case key == previous:
				return Node{}, malformed("map key %q appears twice", key)
			case !keyLess(previous, key):
				return Node{}, nonCanonical("map keys are not sorted")
			}
		}
		if key == slashKey {
			return Node{}, nonCanonical("a map reads as a link or as bytes")
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return Node{}, err
		}
		entries = append(entries, Entry{Key: key, Value: v})
	}
	return Node{Kind: Map, Entries: entries}, nil
}

// slashKey is what dag-json marks links and bytes with. It has no way to write a
// map that has the key: such a block would be signed as what it is not.
const slashKey = "/"

// keyLess is the order of dag-cbor: by length, then by bytes.
func keyLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func (d *decoder) link(tag uint64) (Node, error) {
	if tag != tagLink {
		return Node{}, malformed("tag %d", tag)
	}
	major, _, n, err := d.head()
	if err != nil {
		return Node{}, err
	}
	if major != majorBytes {
		return Node{}, malformed("link is not bytes")
	}
	s, err := d.take(n)
	if err != nil {
		return Node{}, err
	}
	if s == "" || s[0] != 0 {
		return Node{}, malformed("link has no identity prefix")
	}
	if err := CheckCID(s[1:]); err != nil {
		return Node{}, err
	}
	return Node{Kind: Link, Str: s[1:]}, nil
}

// maxSafe is the largest integer that JavaScript keeps apart from its neighbours.
const maxSafe = 1<<53 - 1

func simple(info byte, arg uint64) (Node, error) {
	switch info {
	case 20, 21:
		return Node{Kind: Bool, Num: arg - 20}, nil
	case 22:
		return Node{Kind: Null}, nil
	case 27:
		f := math.Float64frombits(arg)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return Node{}, malformed("float is not a number")
		}
		// JavaScript writes such a value as an integer, in the block and in
		// what is signed: as a float it would be a second spelling.
		if f == math.Trunc(f) && math.Abs(f) <= maxSafe {
			return Node{}, nonCanonical("whole number written as a float")
		}
		return Node{Kind: Float, Num: arg}, nil
	case 25, 26:
		return Node{}, nonCanonical("short float")
	}
	return Node{}, malformed("simple value %d", arg)
}
