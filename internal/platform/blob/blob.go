// Package blob keeps bytes under keys: the one door to object storage.
//
// A Store promises that Put is all or nothing and durable when it returns, that
// a key is listed as soon as it can be read, and that ranges do not read the
// rest. It refuses keys that are not plain: so that every backend can hold every
// key, and no key leads out of the store.
package blob

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Store holds objects. Implementations are safe for concurrent use.
type Store interface {
	// Put stores body under key, replacing what was there unless CreateOnly is
	// set (then ErrExists). When body fails or ctx ends, nothing is stored.
	Put(ctx context.Context, key string, body io.Reader, opt PutOptions) (Info, error)
	// Get returns n bytes from off, or to the end when n < 0; what lies beyond the
	// end is left out. An off beyond the end is RangeUnsatisfiable; ErrNotFound
	// when the key is absent. The caller closes the reader.
	Get(ctx context.Context, key string, off, n int64) (io.ReadCloser, error)
	// Stat returns what is known of the key, or ErrNotFound.
	Stat(ctx context.Context, key string) (Info, error)
	// Delete removes the key. That it is absent is no error.
	Delete(ctx context.Context, key string) error
	// List yields the keys that begin with prefix, in byte order.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Ping reports whether the store can be reached.
	Ping(ctx context.Context) error
}

// PutOptions of a Put.
type PutOptions struct {
	// Size is the length of the body when Known; a body of another length is an error.
	Size int64
	// Known says that Size counts.
	Known bool
	// CreateOnly refuses to replace an object.
	CreateOnly bool
	// Large says that the body may have hundreds of gigabytes: a store may then take more
	// memory for it.
	Large bool
}

// Sized returns the options for a body of known length.
func Sized(n int64) PutOptions { return PutOptions{Size: n, Known: true} }

// Info describes an object.
type Info struct {
	Key     string
	Size    int64
	ModTime time.Time
}

// What a store answers besides failures of its own.
var (
	ErrNotFound = fault.New(fault.NotFound, "no such object")
	ErrExists   = fault.New(fault.Conflict, "the object exists")
	ErrRange    = fault.New(fault.RangeUnsatisfiable, "the range lies beyond the object")
	ErrLength   = fault.New(fault.Invalid, "the body has another length than was said")
)

// MaxKey is the longest key.
const MaxKey = 512

// CheckKey reports whether key is plain: segments of letters, digits, '-', '_'
// and '.', none of which begins with a dot, joined by single slashes.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return fault.Newf(fault.Invalid, "object key of %d characters", len(key))
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment[0] == '.' || len(segment) > 200 {
			return fault.New(fault.Invalid, "object key has a bad segment")
		}
		for i := range len(segment) {
			if !plain(segment[i]) {
				return fault.New(fault.Invalid, "object key has a bad character")
			}
		}
	}
	return nil
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// CheckPrefix is CheckKey for List: a prefix may be empty or end anywhere.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return CheckKey(strings.TrimSuffix(prefix, "/"))
}

// Fill reads until buf is full or body has no more, which is io.EOF whatever came
// before it. io.ReadFull would call that io.ErrUnexpectedEOF, which is also what
// the body of a request says when it was cut.
func Fill(body io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = body.Read(buf[n:])
		n += more
	}
	if n == len(buf) {
		return n, nil // the next call says the rest
	}
	return n, err
}

// Exactly returns a reader that fails when body does not have exactly n bytes.
func Exactly(body io.Reader, n int64) io.Reader { return &exactly{r: body, left: n} }

type exactly struct {
	r    io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.left -= int64(n)
	switch {
	case e.left < 0, err == io.EOF && e.left > 0:
		return n, ErrLength
	case err != nil && err != io.EOF:
		return n, fmt.Errorf("read body: %w", err)
	}
	return n, err
}
