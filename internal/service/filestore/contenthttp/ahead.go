package contenthttp

import (
	"errors"
	"io"
	"sync"
)

// A large body is read ahead by so many pieces, while the one before is sent, of as many
// downloads at once: clients who do not read hold the buffers, so there is an end of them, and
// whoever comes then has its content piece by piece.
const (
	aheadPieces = 3
	aheadSize   = 256 << 10
	aheadMost   = 64
)

type aheadBuffers [aheadPieces][aheadSize]byte

// aheadPool is shared by all downloads.
type aheadPool struct {
	taken chan struct{}
	old   sync.Pool
}

func newAheadPool(most int) *aheadPool {
	return &aheadPool{taken: make(chan struct{}, most), old: sync.Pool{New: func() any { return new(aheadBuffers) }}}
}

var readingAhead = newAheadPool(aheadMost)

// get returns buffers, or nil when too many are in use.
func (p *aheadPool) get() *aheadBuffers {
	select {
	case p.taken <- struct{}{}:
		return p.old.Get().(*aheadBuffers)
	default:
		return nil
	}
}

func (p *aheadPool) put(b *aheadBuffers) {
	p.old.Put(b)
	<-p.taken
}

// readPiece is what one reading gave: bytes, and why no more follow.
type readPiece struct {
	of  []byte // the whole buffer
	n   int
	err error
}

// copyAhead copies r to w, with those buffers. Reading, which waits for the object store
// and decrypts, goes on beside the sending; both have ended when it returns.
func copyAhead(w io.Writer, r io.Reader, buffers *aheadBuffers) error {
	free, read := make(chan []byte, aheadPieces), make(chan readPiece, aheadPieces)
	for i := range buffers {
		free <- buffers[i][:]
	}
	go func() {
		defer close(read)
		for buf := range free {
			p := fill(r, buf)
			read <- p
			if p.err != nil {
				return
			}
		}
	}()
	for p := range read {
		if _, err := w.Write(p.of[:p.n]); err != nil {
			stop(free, read)
			return err
		}
		if p.err == nil {
			free <- p.of
		} else if !errors.Is(p.err, io.EOF) {
			return p.err
		}
	}
	return nil
}

// fill reads until buf is full or nothing follows.
func fill(r io.Reader, buf []byte) readPiece {
	p := readPiece{of: buf}
	for p.n < len(buf) && p.err == nil {
		var n int
		n, p.err = r.Read(buf[p.n:])
		p.n += n
	}
	return p
}

// stop takes the free buffers away and waits for the end of the reading.
func stop(free chan []byte, read <-chan readPiece) {
	for len(free) > 0 {
		select {
		case <-free:
		default:
		}
	}
	close(free)
	for p := range read {
		_ = p // nobody wants it
	}
}
