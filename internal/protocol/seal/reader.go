package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Opener reads ranges of one piece of sealed content. It holds no bytes and is
// safe for concurrent use.
type Opener struct {
	header Header
	size   int64
	cut    cut
	// cipher is made by the first range, and copied by each.
	cipher func() (*segmentCipher, error)
}

// Fetch returns n sealed bytes from off. The caller closes the reader.
type Fetch func(off, n int64) (io.ReadCloser, error)

// NewOpener returns an Opener of content of size plaintext bytes whose header is
// known, and whose sealed form is sealed bytes long.
func NewOpener(key Key, aad []byte, header Header, size, sealed int64) (*Opener, error) {
	cut, ok := cutOf(size, sealed)
	if !ok || header[0] != HeaderSize {
		return nil, fmt.Errorf("%w: %d sealed bytes are not %d bytes of content", ErrCorrupt, sealed, size)
	}
	made := sync.OnceValues(func() (*segmentCipher, error) { return newCipher(key, aad, header) })
	return &Opener{header, size, cut, made}, nil
}

// Size returns the length of the plaintext.
func (o *Opener) Size() int64 { return o.size }

// Range returns a reader of n plaintext bytes from off; n < 0 means to the end,
// and what lies beyond the end is left out. fetch is called once, for the
// segments that the range touches.
func (o *Opener) Range(fetch Fetch, off, n int64) (io.ReadCloser, error) {
	return o.RangeWith(fetch, off, n, nil)
}

// RangeWith is Range for those who read many short ranges: as many segments are
// fetched at once and opened in scratch as fit into it, which is the caller's again
// once the reader is closed.
func (o *Opener) RangeWith(fetch Fetch, off, n int64, scratch []byte) (io.ReadCloser, error) {
	if off < 0 || off > o.size {
		return nil, fmt.Errorf("range from %d of %d bytes", off, o.size)
	}
	if n < 0 || n > o.size-off {
		n = o.size - off
	}
	if n == 0 && o.size > 0 {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	c, err := o.cipher()
	if err != nil {
		return nil, err
	}
	first, last := o.cut.segmentOf(off), o.cut.segmentOf(max(off+n-1, 0))
	start, end := o.cut.sealedStart(first), o.sealedEnd(last)
	if first == 0 {
		start = 0 // the header is read too, and must be ours
	}
	src, err := fetch(start, end-start)
	if err != nil {
		return nil, err
	}
	return &reader{
		o: o, c: *c, src: src, scratch: scratch, segment: first, end: end, skip: int(off - o.cut.plainStart(first)), left: n,
		fresh: true,
	}, nil
}

// Plain is plaintext that is in memory.
type Plain struct {
	bytes.Reader
	text []byte
}

// Bytes is all of it, whatever was read.
func (p *Plain) Bytes() []byte { return p.text }

// Close does nothing.
func (p *Plain) Close() error { return nil }

// RangeOf is Range of sealed content that is in memory, and stays as it is. All of what
// has one segment is a *Plain, and was opened when it returns.
func (o *Opener) RangeOf(sealed []byte, off, n int64) (io.ReadCloser, error) {
	if off != 0 || n >= 0 && n < o.size || o.cut.segments(o.size) != 1 {
		return o.Range(func(off, n int64) (io.ReadCloser, error) {
			if off+n > int64(len(sealed)) {
				return nil, ErrCorrupt
			}
			return io.NopCloser(bytes.NewReader(sealed[off : off+n])), nil
		}, off, n)
	}
	made, err := o.cipher()
	if err != nil {
		return nil, err
	}
	end := o.sealedEnd(0)
	switch {
	case int64(len(sealed)) < end:
		return nil, fmt.Errorf("%w: cut short in segment 0", ErrCorrupt)
	case Header(sealed[:HeaderSize]) != o.header:
		return nil, fmt.Errorf("%w: another header", ErrCorrupt)
	}
	c := *made
	text, err := c.aead.Open(nil, c.at(0, true), sealed[HeaderSize:end], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: segment 0", ErrCorrupt)
	}
	p := &Plain{text: text}
	p.Reset(text)
	return p, nil
}

func (o *Opener) sealedEnd(segment int64) int64 {
	return min(o.cut.sealedStart(segment+1), o.cut.sealedSize(o.size))
}

// reader decrypts the segments of a range one after the other.
type reader struct {
	o       *Opener
	c       segmentCipher
	src     io.ReadCloser
	segment int64
	end     int64 // where the sealed bytes of the range end
	skip    int   // plaintext bytes of the first segment that were not asked for
	left    int64 // plaintext bytes still to hand out
	scratch []byte
	sealed  []byte // what is left of the segments in scratch
	plain   []byte
	fresh   bool
	err     error
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.plain) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.left == 0 && !r.fresh {
			return 0, io.EOF
		}
		if r.err = r.next(); r.err != nil {
			return 0, r.err
		}
	}
	n := copy(p, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// WriteTo hands whole segments to w.
func (r *reader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for {
		if len(r.plain) > 0 {
			n, err := w.Write(r.plain)
			total += int64(n)
			r.plain = r.plain[n:]
			if err != nil {
				return total, err
			}
		}
		if r.err != nil {
			return total, r.err
		}
		if r.left == 0 && !r.fresh {
			return total, nil
		}
		if r.err = r.next(); r.err != nil {
			return total, r.err
		}
	}
}

func (r *reader) next() error {
	r.fresh = false
	if r.segment == 0 {
		var h Header
		if err := r.fill(h[:]); err != nil {
			return err
		}
		if h != r.o.header {
			return fmt.Errorf("%w: another header", ErrCorrupt)
		}
	}
	length := int(r.o.sealedEnd(r.segment) - r.o.cut.sealedStart(r.segment))
	if len(r.sealed) == 0 {
		if err := r.load(length); err != nil {
			return err
		}
	}
	sealed := r.sealed[:length]
	r.sealed = r.sealed[length:]
	last := r.segment == r.o.cut.segments(r.o.size)-1
	plain, err := r.c.aead.Open(sealed[:0], r.c.at(r.segment, last), sealed, nil)
	if err != nil {
		return fmt.Errorf("%w: segment %d", ErrCorrupt, r.segment)
	}
	plain = plain[r.skip:]
	r.skip = 0
	r.segment++
	if int64(len(plain)) > r.left {
		plain = plain[:r.left]
	}
	r.left -= int64(len(plain))
	r.plain = plain
	return nil
}

// load reads the next segment, and those after it that are wanted and fit into
// scratch with it.
func (r *reader) load(length int) error {
	left := int(r.end - r.o.cut.sealedStart(r.segment))
	if cap(r.scratch) < length {
		r.scratch = make([]byte, max(length, min(left, int(coarse))))
	}
	more := (cap(r.scratch) - length) / int(r.o.cut) * int(r.o.cut)
	r.sealed = r.scratch[:min(length+more, left)]
	return r.fill(r.sealed)
}

func (r *reader) fill(p []byte) error {
	_, err := io.ReadFull(r.src, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: cut short in segment %d", ErrCorrupt, r.segment)
	}
	return err
}

// Close closes the fetched bytes.
func (r *reader) Close() error { return r.src.Close() }

// Open opens a small piece of content at once.
func Open(sealed []byte, key Key, aad []byte, size int64) ([]byte, error) {
	h, err := ParseHeader(sealed)
	if err != nil {
		return nil, err
	}
	o, err := NewOpener(key, aad, h, size, int64(len(sealed)))
	if err != nil {
		return nil, err
	}
	r, err := o.Range(func(off, n int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(sealed[off : off+n])), nil
	}, 0, -1)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	if _, err := b.ReadFrom(r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
