package filestore

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// NewID returns a random UUID: the form of file and public identifiers.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newBlobID returns a random name. Nothing about the content shows in it.
func newBlobID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ObjectPrefix is what the names of a blob's objects begin with.
func ObjectPrefix(blob string) string { return "files/" + blob[:2] + "/" + blob + "-" }

// objectKey is where an extent is to be stored. It is new each time, so that what
// a writer that died has left behind is never in the way.
func objectKey(blob string, seq int) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%s%d-%x", ObjectPrefix(blob), seq, b)
}
