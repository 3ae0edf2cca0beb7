package blobdisk

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

const (
	// pieceSize is how much goes to the disk at once.
	pieceSize = 512 << 10
	// A long body has two pieces on their way out, so that the disk always has
	// the next one, and one that is being filled.
	pieceCount, writerCount = 3, 2
	// alignment suits the direct input and output of every disk that we know.
	alignment = 4 << 10
)

// pieces are aligned and shared by all writers.
var pieces = sync.Pool{New: func() any {
	b := make([]byte, pieceSize+alignment)
	//nolint:gosec // an address is read, none is made
	skip := (alignment - int(uintptr(unsafe.Pointer(&b[0]))%alignment)) % alignment
	b = b[skip : skip+pieceSize]
	return &b
}}

// writer writes a body to a file. What is longer than a piece goes past the
// page cache: sealed bytes are seldom read at once, the cache has better uses,
// and a core spends a fraction of the time on them. Where the file system does
// not offer that, the bytes go the usual way.
type writer struct {
	f *os.File
	// usual turns the direct way off for the rest of the file.
	usual func() error
}

func newWriter(f *os.File) *writer {
	return &writer{f, sync.OnceValue(func() error { return setDirect(f, false) })}
}

// copy writes body to its end and makes it durable.
func (w *writer) copy(ctx context.Context, body io.Reader) error {
	first := pieces.Get().(*[]byte)
	defer pieces.Put(first)
	r := &contextReader{ctx, body}
	n, err := blob.Fill(r, *first)
	switch {
	case err == nil:
		err = w.long(r, *first)
	case errors.Is(err, io.EOF):
		_, err = w.f.Write((*first)[:n])
	}
	if err != nil {
		return err
	}
	return w.f.Sync()
}

// piece is a part of the body and its place in the file; on its way back it has
// what the disk said.
type piece struct {
	buf []byte
	at  int64
	err error
}

// long writes a full first piece and all that follows: pieces are filled while
// others are written. What does not fill a piece is written at the end, the
// usual way, since the direct one knows whole blocks only.
func (w *writer) long(r io.Reader, first []byte) error {
	_ = setDirect(w.f, true) // a file system that refuses is as good, and slower
	full, free := make(chan piece, pieceCount), make(chan piece, pieceCount)
	full <- piece{buf: first}
	for range pieceCount - 1 {
		b := pieces.Get().(*[]byte)
		defer pieces.Put(b)
		free <- piece{buf: *b}
	}
	var writers sync.WaitGroup
	for range writerCount {
		writers.Go(func() {
			for p := range full {
				p.err = w.write(p)
				free <- p
			}
		})
	}
	tail, err := fill(r, full, free)
	close(full)
	writers.Wait()
	close(free)
	for p := range free {
		err = errors.Join(err, p.err)
	}
	if err != nil || len(tail.buf) == 0 {
		return err
	}
	if err := w.usual(); err != nil {
		return err
	}
	_, err = w.f.WriteAt(tail.buf, tail.at)
	return err
}

// fill hands on full pieces until the body or the disk says that it is over, and
// returns the last one, which is not full.
func fill(r io.Reader, full chan<- piece, free <-chan piece) (tail piece, err error) {
	for at := int64(pieceSize); ; at += pieceSize {
		p := <-free
		if p.err != nil {
			return piece{}, p.err
		}
		n, err := blob.Fill(r, p.buf)
		switch {
		case errors.Is(err, io.EOF):
			return piece{buf: p.buf[:n], at: at}, nil
		case err != nil:
			return piece{}, err
		}
		full <- piece{buf: p.buf, at: at}
	}
}

// write writes a full piece.
func (w *writer) write(p piece) error {
	_, err := w.f.WriteAt(p.buf, p.at)
	if errors.Is(err, syscall.EINVAL) { // the direct way was granted, the write is not
		if err := w.usual(); err != nil {
			return err
		}
		_, err = w.f.WriteAt(p.buf, p.at)
	}
	return err
}
