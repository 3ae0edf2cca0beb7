package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A segment is, in this order: the magic, the sections, the tail (what is in
// the segment and where, and the checksum of every page before the tail), and a
// footer of fixed size that says where the tail is. Numbers are little-endian
// or varints.
const (
	magic      = "ctxseg01"
	footerSize = 8 + 4 + 4 + 4 + len(magic)
	pageSize   = 16 << 10

	blockPostings = 128 // postings per block
	blockTerms    = 32  // terms per block of the dictionary
	blockPassages = 8   // passages per block of the store

	maxTail       = 64 << 20
	maxPassages   = 1<<31 - 1
	maxStoreBlock = blockPassages * (MaxText + 2*MaxHead + MaxMeta + MaxName + 64)
)

// ErrCorrupt says that a segment is not what a Builder or Merge wrote.
var ErrCorrupt = errors.New("search segment is damaged")

func corrupt(what string) error { return fmt.Errorf("%w: %s", ErrCorrupt, what) }

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// section is where a part of a segment lies.
type section struct{ offset, length uint64 }

// sections of a segment.
const (
	storeSection      = iota // compressed blocks of passages
	postingsSection          // postings of all terms
	dictionarySection        // blocks of terms
	storeIndexSection        // where each block of passages ends
	termIndexSection         // the first term of each block of the dictionary
	documentsSection         // the documents and their first passages
	gramsSection             // lists of dictionary blocks by trigram
	gramIndexSection         // the trigrams and where their lists are
	tiesSection              // one number per passage
	sectionCount
)

// contents is what the tail says about a segment.
type contents struct {
	collection string
	passages   uint64
	documents  uint64
	terms      uint64
	textBytes  uint64
	sections   [sectionCount]section
}

func (c contents) encode() []byte {
	out := appendString(nil, c.collection)
	for _, n := range []uint64{c.passages, c.documents, c.terms, c.textBytes} {
		out = binary.AppendUvarint(out, n)
	}
	for _, s := range c.sections {
		out = binary.AppendUvarint(out, s.offset)
		out = binary.AppendUvarint(out, s.length)
	}
	return out
}

func decodeContents(data []byte, end uint64) (contents, error) {
	var c contents
	d := decoder{data: data}
	c.collection = d.text(MaxName)
	c.passages, c.documents, c.terms, c.textBytes = d.number(), d.number(), d.number(), d.number()
	for i := range c.sections {
		s := section{d.number(), d.number()}
		if s.offset > end || s.length > end-s.offset {
			return c, corrupt("a section lies outside")
		}
		c.sections[i] = s
	}
	switch {
	case d.failed || d.at != len(data):
		return c, corrupt("the tail ends early or late")
	case c.passages > maxPassages || c.documents > c.passages:
		return c, corrupt("it has too many passages or documents")
	case c.sections[tiesSection].length != 4*c.passages:
		return c, corrupt("the ties do not fit the passages")
	}
	return c, nil
}

// decoder reads numbers and texts from bytes that may say anything. Once it has
// failed it gives zeros, so that callers check once.
type decoder struct {
	data   []byte
	at     int
	failed bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.data[d.at:])
	if size <= 0 {
		d.fail()
		return 0
	}
	d.at += size
	return n
}

// count is a number that must not be larger than most.
func (d *decoder) count(most int) int {
	n := d.number()
	if n > uint64(most) { //nolint:gosec // bounds are not negative
		d.fail()
		return 0
	}
	return int(n) //nolint:gosec // at most an int
}

func (d *decoder) bytes(n int) []byte {
	if d.failed || n < 0 || n > len(d.data)-d.at {
		d.fail()
		return nil
	}
	d.at += n
	return d.data[d.at-n : d.at]
}

func (d *decoder) byte() byte {
	b := d.bytes(1)
	if b == nil {
		return 0
	}
	return b[0]
}

func (d *decoder) text(most int) string { return string(d.bytes(d.count(most))) }

func (d *decoder) fail() {
	d.failed = true
	d.at = len(d.data)
}

func appendString(out []byte, s string) []byte {
	out = binary.AppendUvarint(out, uint64(len(s)))
	return append(out, s...)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
