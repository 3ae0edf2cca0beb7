// Package sealedread reads pieces of sealed objects, wherever they begin.
//
// It promises plain bytes that are what was sealed, or an error. It keeps nothing:
// whoever reads a place twice fetches and opens it twice.
package sealedread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

const (
	// fetchTimeout bounds the reading of a piece from the object store.
	fetchTimeout = 30 * time.Second
	// pieceSize has room for an opened piece.
	pieceSize = 64 << 10
)

// Reader reads the plain bytes of a sealed object.
type Reader struct {
	Blobs blob.Store
	// Name is the object's, and Size how many plain bytes it has.
	Name string
	Size int64
	// Open reads plain bytes from sealed ones that it fetches, in scratch if they fit.
	Open func(fetch func(off, n int64) (io.ReadCloser, error), off, n int64, scratch []byte) (io.ReadCloser, error)

	// scratch has buffers in which pieces are opened, each *[]byte.
	scratch sync.Pool
}

var _ io.ReaderAt = (*Reader)(nil)

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= r.Size {
		return 0, io.EOF
	}
	// What is read is for everybody who asks, so no one's leaving spoils it.
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	scratch, ok := r.scratch.Get().(*[]byte)
	if !ok {
		one := make([]byte, pieceSize)
		scratch = &one
	}
	defer r.scratch.Put(scratch)
	body, err := r.Open(func(off, n int64) (io.ReadCloser, error) {
		return r.Blobs.Get(ctx, r.Name, off, n)
	}, off, int64(len(p)), *scratch)
	if err != nil {
		return 0, fmt.Errorf("fetch segment: %w", err)
	}
	n, err := io.ReadFull(body, p)
	if errors.Is(err, io.ErrUnexpectedEOF) && off+int64(n) == r.Size {
		err = io.EOF
	}
	return n, errors.Join(err, body.Close())
}
