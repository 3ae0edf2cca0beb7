package filestore

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// newUUID returns a random UUID: the form of file and public identifiers.
func newUUID() string {
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

// objectKey is where an extent is in the object store.
func objectKey(blob string, seq int) string {
	return fmt.Sprintf("files/%s/%s-%d", blob[:2], blob, seq)
}
