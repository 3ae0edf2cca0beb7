package blobdisk

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

const (
	// pieceSize is how much goes to the disk at once. Two pieces are in memory
	// while a body is written: one fills while the other goes out.
	pieceSize = 512 << 10
	// alignment suits the direct input and output of every disk that we know.
	alignment = 4 << 10
)

// pieces are aligned and shared by all writers.
var pieces = sync.Pool{New: func() any {
	b := make([]byte, pieceSize+alignment)
	skip := (alignment - int(uintptr(unsafe.Pointer(&b[0]))%alignment)) % alignment //nolint:gosec // an address is read, none is made
	b = b[skip : skip+pieceSize]
	return &b
}}

// writer writes a body to a file. What is longer than a piece goes past the
// page cache: sealed bytes are seldom read at once, the cache has better uses,
// and a core spends a fraction of the time on them. Where the file system does
// not offer that, the bytes go the usual way.
type writer struct {
	f      *os.File
	at     int64
	direct bool
}

// copy writes body to its end and makes it durable.
func (w *writer) copy(ctx context.Context, body io.Reader) error {
	first := pieces.Get().(*[]byte)
	defer pieces.Put(first)
	r := &contextReader{ctx, body}
	n, err := io.ReadFull(r, *first)
	switch {
	case ended(err):
		if _, err := w.f.Write((*first)[:n]); err != nil {
			return err
		}
		return w.f.Sync()
	case err != nil:
		return err
	}
	w.direct = setDirect(w.f, true) == nil
	if err := w.long(r, *first); err != nil {
		return err
	}
	return w.f.Sync()
}

// piece is a buffer on its way back from the disk, and what the disk said.
type piece struct {
	buf []byte
	err error
}

// long writes a full first piece and all that follows; one piece is read while
// the one before is written.
func (w *writer) long(r io.Reader, first []byte) error {
	second := pieces.Get().(*[]byte)
	defer pieces.Put(second)
	full, free := make(chan []byte, 1), make(chan piece, 2)
	free <- piece{buf: *second}
	full <- first
	var running sync.WaitGroup
	running.Go(func() {
		for p := range full {
			free <- piece{p[:pieceSize], w.write(p)}
		}
	})
	err := feed(r, full, free)
	close(full)
	running.Wait()
	close(free)
	for p := range free {
		err = errors.Join(err, p.err)
	}
	return err
}

// feed reads pieces until the body or the disk says that it is over.
func feed(r io.Reader, full chan<- []byte, free <-chan piece) error {
	for p := range free {
		if p.err != nil {
			return p.err
		}
		n, err := io.ReadFull(r, p.buf)
		if err == nil || ended(err) {
			full <- p.buf[:n]
		}
		if ended(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// write writes the next piece. All but the last are full, and so aligned.
func (w *writer) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if w.direct && len(p)%alignment != 0 {
		w.direct = false
		if err := setDirect(w.f, false); err != nil {
			return err
		}
	}
	_, err := w.f.WriteAt(p, w.at)
	if w.direct && errors.Is(err, syscall.EINVAL) { // the flag was taken, the write is not
		w.direct = false
		if err := setDirect(w.f, false); err != nil {
			return err
		}
		_, err = w.f.WriteAt(p, w.at)
	}
	w.at += int64(len(p))
	return err
}
