// Package filename makes the names by which the file store knows things, and the names of objects.
package filename

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/uuid"
)

// New names links, locks and public files: it tells nothing.
func New() string { return uuid.Random() }

// NewFile names files, folders and contents in the database: those of one moment adjoin.
func NewFile() string { return uuid.Dated(time.Now()) }

// NewBlob returns a random name, by which objects are spread over folders.
func NewBlob() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ObjectPrefix is what the names of a blob's objects begin with.
func ObjectPrefix(blob string) string { return "files/" + blob[:2] + "/" + blob + "-" }

// Object is where an extent is to be stored. It is new each time, so that what
// a writer that died has left behind is never in the way.
func Object(blob string, seq int) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%s%d-%x", ObjectPrefix(blob), seq, b)
}
