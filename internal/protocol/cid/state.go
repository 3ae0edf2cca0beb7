package cid

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/castalia-org/castalia/internal/protocol/twinhash"
)

// emptyDigest is the SHA-256 of nothing.
var emptyDigest = sha256.Sum256(nil)

// Result is what a finished State knows of the content.
type Result struct {
	CID CID
	// Content is the SHA-256 of all bytes; the zero value when it was not asked for.
	Content Digest
	Size    int64
	// Leaves are the digests of the leaves in order: with them a part of the
	// file can be checked without the rest.
	Leaves []Digest
}

// State is how far a pass over some content has come. It can be marshalled
// between two calls of Scan and continued on another machine.
type State struct {
	leaf   int // leaf size; LeafSize but for tests
	fanout int
	leaves []Digest
	size   int64
	// open hashes the leaf that is not yet full. While the first leaf is open
	// it is also the hash of the whole, so that a small file is hashed once.
	open hash.Hash
	// whole hashes everything; nil until the first leaf is full, or when only the CID is wanted.
	whole   hash.Hash
	cidOnly bool
}

// NewState returns the state before the first byte. With cidOnly the hash of the
// whole content is not computed.
func NewState(cidOnly bool) *State {
	return &State{leaf: LeafSize, fanout: Fanout, open: sha256.New(), cidOnly: cidOnly}
}

// Offset returns how many bytes the state has seen.
func (s *State) Offset() int64 { return s.size }

// tail returns how many bytes the open leaf has.
func (s *State) tail() int { return int(s.size - int64(len(s.leaves))*int64(s.leaf)) }

// write hashes p, which must not reach beyond the open leaf.
func (s *State) write(p []byte) {
	if s.whole != nil {
		twinhash.Write(s.open, s.whole, p)
	} else {
		s.open.Write(p)
	}
	s.advance(len(p))
}

// writeLeaf hashes p for its leaf alone.
func (s *State) writeLeaf(p []byte) {
	s.open.Write(p)
	s.advance(len(p))
}

// advance says that the open leaf has n bytes more.
func (s *State) advance(n int) {
	s.size += int64(n)
	if s.tail() == s.leaf {
		s.closeLeaf()
	}
}

func (s *State) closeLeaf() {
	s.leaves = append(s.leaves, Digest(s.open.Sum(nil)))
	if len(s.leaves) == 1 && !s.cidOnly {
		s.whole, s.open = s.open, sha256.New() // the first leaf's hash goes on as the whole's
		return
	}
	s.open.Reset()
}

// Finish closes the content. The state stays usable: more bytes may follow.
func (s *State) Finish() Result {
	r := Result{Size: s.size, Leaves: append([]Digest(nil), s.leaves...)}
	if s.tail() > 0 || len(s.leaves) == 0 {
		r.Leaves = append(r.Leaves, Digest(s.open.Sum(nil)))
	}
	t := &Tree{fanout: s.fanout}
	for i, d := range r.Leaves {
		t.Add(d, int(min(int64(s.leaf), s.size-int64(i)*int64(s.leaf))))
	}
	r.CID = t.Root().CID
	switch {
	case s.cidOnly:
	case s.whole != nil:
		r.Content = Digest(s.whole.Sum(nil))
	default:
		r.Content = r.Leaves[0]
	}
	return r
}

// errFollow ends the reading for a follower that has failed.
var errFollow = errors.New("follower failed")

// errState says that a saved state cannot be continued.
var errState = errors.New("damaged hash state")

const stateVersion = 1

// MarshalBinary saves the state.
func (s *State) MarshalBinary() ([]byte, error) {
	b := binary.AppendUvarint([]byte{stateVersion}, uint64(s.size)) //nolint:gosec // a size is not negative
	b = binary.AppendUvarint(b, uint64(len(s.leaves)))
	for _, d := range s.leaves {
		b = append(b, d[:]...)
	}
	for _, h := range []hash.Hash{s.open, s.whole} {
		var saved []byte
		if h != nil {
			m, ok := h.(encoding.BinaryMarshaler)
			if !ok {
				return nil, errState
			}
			var err error
			if saved, err = m.MarshalBinary(); err != nil {
				return nil, fmt.Errorf("save hash: %w", err)
			}
		}
		b = append(binary.AppendUvarint(b, uint64(len(saved))), saved...)
	}
	return b, nil
}

// UnmarshalBinary continues from a saved state. It never panics, whatever the bytes.
func (s *State) UnmarshalBinary(b []byte) error {
	d := decoder{b: b}
	if d.byte() != stateVersion {
		return errState
	}
	n := NewState(false)
	size, count := d.uvarint(), d.uvarint()
	if d.bad || size > 1<<50 || count != size/LeafSize || count*32 > uint64(len(d.b)) {
		return errState
	}
	n.size = int64(size)
	for range count {
		n.leaves = append(n.leaves, Digest(d.take(32)))
	}
	if !d.hash(n.open) {
		return errState
	}
	if count > 0 {
		n.whole = sha256.New()
		if !d.hash(n.whole) {
			return errState
		}
	} else if d.uvarint() != 0 {
		return errState
	}
	if d.bad || len(d.b) != 0 {
		return errState
	}
	*s = *n
	return nil
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.b)) {
		d.bad = true
		return make([]byte, min(n, 32))
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) byte() byte { return d.take(1)[0] }

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) hash(h hash.Hash) bool {
	n := d.uvarint()
	if n == 0 || n > 256 {
		return false
	}
	saved := d.take(n)
	u, ok := h.(encoding.BinaryUnmarshaler)
	return ok && !d.bad && u.UnmarshalBinary(saved) == nil
}
