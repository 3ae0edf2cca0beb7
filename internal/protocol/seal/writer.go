package seal

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
)

// errTooLong says that the content does not fit into the format.
var errTooLong = errors.New("content too long to seal")

// Writer seals what is written to it. Only Close writes the last segment; what
// was not closed can not be opened.
type Writer struct {
	w       io.Writer
	cipher  *segmentCipher
	header  Header
	buf     []byte // plaintext of the segment that is not full, or may be the last
	out     []byte // sealed segments that were not handed on yet
	segment int64
	plain   int64
	err     error
}

// NewWriter returns a Writer to w under a fresh salt. aad binds the content to
// its place: opening needs the same.
func NewWriter(w io.Writer, key Key, aad []byte) (*Writer, error) {
	var h Header
	h[0] = HeaderSize
	_, _ = rand.Read(h[1:]) // never fails
	c, err := newCipher(key, aad, h)
	if err != nil {
		return nil, err
	}
	return &Writer{w: w, cipher: c, header: h}, nil
}

// Header returns the header, which Open needs.
func (s *Writer) Header() Header { return s.header }

// Size returns how many plaintext bytes were written.
func (s *Writer) Size() int64 { return s.plain }

func (s *Writer) capacity() int {
	if s.segment == 0 {
		return firstPlain
	}
	return nextPlain
}

// Write seals p as far as it fills segments.
func (s *Writer) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.plain+int64(len(p)) > maxPlain {
		s.err = errTooLong
		return 0, s.err
	}
	n := len(p)
	for len(p) > 0 {
		room := s.capacity() - len(s.buf)
		switch {
		case len(s.buf) == 0 && len(p) > room: // more follows: seal without a copy
			if s.err = s.emit(p[:room], false); s.err != nil {
				return 0, s.err
			}
			p = p[room:]
		case len(p) > room:
			s.buf = append(s.buf, p[:room]...)
			if s.err = s.emit(s.buf, false); s.err != nil {
				return 0, s.err
			}
			s.buf, p = s.buf[:0], p[room:]
		default:
			s.buf = append(s.buf, p...)
			p = nil
		}
	}
	s.plain += int64(n)
	return n, nil
}

// batch is how many sealed bytes are handed on at once, at most.
const batch = 4 * SegmentSize

func (s *Writer) emit(plain []byte, last bool) error {
	if s.segment == 0 {
		s.out = append(s.out, s.header[:]...)
	}
	s.reserve(len(plain) + tagSize)
	s.out = s.cipher.aead.Seal(s.out, s.cipher.at(s.segment, last), plain, nil)
	s.segment++
	if !last && len(s.out)+SegmentSize <= batch {
		return nil
	}
	_, err := s.w.Write(s.out)
	s.out = s.out[:0]
	return err
}

// reserve makes room for n sealed bytes. Small content takes what it needs, and
// what goes on takes a batch.
func (s *Writer) reserve(n int) {
	need := len(s.out) + n
	if need <= cap(s.out) {
		return
	}
	room := min(2*need, SegmentSize)
	if s.segment > 0 {
		room = batch
	}
	grown := make([]byte, len(s.out), max(need, room))
	copy(grown, s.out)
	s.out = grown
}

// Close writes the last segment. It does not close the underlying writer.
func (s *Writer) Close() error {
	if s.err != nil {
		return s.err
	}
	s.err = s.emit(s.buf, true)
	if s.err == nil {
		s.err = io.ErrClosedPipe
		return nil
	}
	return s.err
}

// Bytes seals a small piece of content at once.
func Bytes(plain []byte, key Key, aad []byte) (Header, []byte, error) {
	var b bytes.Buffer
	b.Grow(int(SealedSize(int64(len(plain)))))
	w, err := NewWriter(&b, key, aad)
	if err != nil {
		return Header{}, nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return Header{}, nil, err
	}
	if err := w.Close(); err != nil {
		return Header{}, nil, err
	}
	return w.Header(), b.Bytes(), nil
}
