// Package twinhash hashes the same bytes with two SHA-256 that have seen different
// ones before: a file's hash and that of its open leaf. Where the processor has
// instructions for SHA-256 the two cost half as much again as one, and not twice:
// each waits for its own last round most of the time, and both share the message
// schedule.
//
// The hashes are those of crypto/sha256, before and after; it refuses none, and
// gives what it does not know how to speed up to their own Write.
//
// Decision: ADR 0092.
package twinhash

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"hash"
)

// Fast says whether Write is faster here than writing twice.
func Fast() bool { return fast }

// What crypto/sha256 saves of a hash: a mark, the state, the bytes of an open
// block, and how many bytes it has seen.
const (
	mark      = "sha\x03"
	stateEnd  = len(mark) + 32
	savedSize = stateEnd + blockSize + 8
	blockSize = 64
	// worth is how many bytes repay saving and restoring two hashes.
	worth = 16 * blockSize
)

// order is where the processor wants the eight words of a state.
var order = [8]int{5, 4, 1, 0, 7, 6, 3, 2}

// Write hashes p with a and with b.
func Write(a, b hash.Hash, p []byte) {
	if fast && len(p) >= worth {
		p = together(a, b, p)
	}
	a.Write(p)
	b.Write(p)
}

// together hashes as many bytes as it can and returns the rest.
func together(a, b hash.Hash, p []byte) []byte {
	var one, two saved
	if !one.take(a) || !two.take(b) || one.open() != two.open() {
		return p
	}
	if open := one.open(); open > 0 { // first to the end of a block
		n := blockSize - open
		a.Write(p[:n])
		b.Write(p[:n])
		p = p[n:]
		if !one.take(a) || !two.take(b) {
			return p
		}
	}
	n := len(p) / blockSize
	first, second := one.words(), two.words()
	blocks(&first, &second, &constants, &p[0], n)
	one.put(first, n)
	two.put(second, n)
	if !one.give(a) || !two.give(b) {
		panic("twinhash: a hash refuses its own state")
	}
	return p[n*blockSize:]
}

// saved is a hash of crypto/sha256 as it saves itself.
type saved struct{ b [savedSize]byte }

// take saves h, if it is one that we know.
func (s *saved) take(h hash.Hash) bool {
	m, ok := h.(encoding.BinaryAppender)
	if !ok {
		return false
	}
	b, err := m.AppendBinary(s.b[:0])
	return err == nil && len(b) == savedSize && bytes.HasPrefix(b, []byte(mark))
}

// give makes h the hash that was saved.
func (s *saved) give(h hash.Hash) bool {
	m, ok := h.(encoding.BinaryUnmarshaler)
	return ok && m.UnmarshalBinary(s.b[:]) == nil
}

// length is how many bytes the hash has seen.
func (s *saved) length() uint64 { return binary.BigEndian.Uint64(s.b[savedSize-8:]) }

// open is how many bytes wait for the end of their block.
func (s *saved) open() int { return int(s.length() % blockSize) }

// words are those of the state, as the processor wants them.
func (s *saved) words() (w [8]uint32) {
	for i, at := range order {
		w[i] = binary.BigEndian.Uint32(s.b[len(mark)+4*at:])
	}
	return w
}

// put replaces the state by one that is n blocks further.
func (s *saved) put(w [8]uint32, n int) {
	for i, at := range order {
		binary.BigEndian.PutUint32(s.b[len(mark)+4*at:], w[i])
	}
	binary.BigEndian.PutUint64(s.b[savedSize-8:], s.length()+uint64(n)*blockSize) //nolint:gosec // n is not negative
}
