// Package uuid makes identifiers as RFC 9562 writes them, in lower case.
package uuid

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Random returns a UUID of version 4, which tells nothing.
func Random() string { return text(random(), 4) }

// Dated returns a UUID of version 7: it begins with the time and tells it. What is made in
// one moment is neighbours in every index by such ids, so that a commit of many rows writes
// few pages.
func Dated(now time.Time) string {
	b, ms := random(), now.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // the low byte is wanted
	}
	return text(b, 7)
}

func random() (b [16]byte) {
	_, _ = rand.Read(b[:]) // never fails
	return b
}

func text(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[:8], b[:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
