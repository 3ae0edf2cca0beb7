package seal

import (
	"crypto/rand"
	"errors"
	"io"
)

// errTooLong says that the content does not fit into the format.
var errTooLong = errors.New("content too long to seal")

// Sealer reads as the sealed form of content that it fetches piece by piece. It
// seals straight into the reader's memory where a whole segment has room there.
type Sealer struct {
	cut     cut
	next    func() ([]byte, error)
	cipher  *segmentCipher
	header  Header
	piece   []byte // what is left of the piece at hand
	carry   []byte // plaintext of a segment that began in an earlier piece
	small   []byte // a segment for readers without room for a whole one
	out     []byte // what of small was not read yet
	segment int64
	plain   int64
	err     error // io.EOF after the last segment
}

// NewSealer returns a Sealer under a fresh salt. next returns the next piece,
// which must stay as it is until the following call, and io.EOF at the end. aad
// binds the content to its place: opening needs the same.
func NewSealer(next func() ([]byte, error), key Key, aad []byte) (*Sealer, error) {
	return newSealer(coarse, next, key, aad)
}

// NewFineSealer is NewSealer for content that is read here and there: whoever wants
// a few bytes of it opens a few kilobytes.
func NewFineSealer(next func() ([]byte, error), key Key, aad []byte) (*Sealer, error) {
	return newSealer(fine, next, key, aad)
}

func newSealer(cut cut, next func() ([]byte, error), key Key, aad []byte) (*Sealer, error) {
	h, c, err := begin(key, aad)
	if err != nil {
		return nil, err
	}
	return &Sealer{cut: cut, next: next, cipher: c, header: h}, nil
}

// begin draws a header and makes its cipher.
func begin(key Key, aad []byte) (Header, *segmentCipher, error) {
	var h Header
	h[0] = HeaderSize
	_, _ = rand.Read(h[1:]) // never fails
	c, err := newCipher(key, aad, h)
	return h, c, err
}

// Header returns the header, which Open needs.
func (s *Sealer) Header() Header { return s.header }

// Size returns how many plaintext bytes were sealed.
func (s *Sealer) Size() int64 { return s.plain }

// SealedSize returns how long they are now.
func (s *Sealer) SealedSize() int64 { return s.cut.sealedSize(s.plain) }

// Read implements io.Reader. Only a Sealer that was read to io.EOF has written
// its last segment; what was cut before cannot be opened.
func (s *Sealer) Read(p []byte) (int, error) {
	if len(s.out) > 0 {
		n := copy(p, s.out)
		s.out = s.out[n:]
		return n, nil
	}
	if len(p) < int(s.cut) {
		return s.readSmall(p)
	}
	n := 0
	for len(p)-n >= int(s.cut) && s.err == nil {
		var sealed []byte
		sealed, s.err = s.seal(p[n:n])
		n += len(sealed)
	}
	if n > 0 {
		return n, nil
	}
	return 0, s.err
}

// readSmall seals a segment aside and hands it out in parts.
func (s *Sealer) readSmall(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.err != nil {
		return 0, s.err
	}
	s.small, s.err = s.seal(s.small[:0])
	n := copy(p, s.small)
	s.out = s.small[n:]
	if n > 0 {
		return n, nil
	}
	return 0, s.err
}

// seal appends the next segment to dst. The error is io.EOF when it was the last.
func (s *Sealer) seal(dst []byte) ([]byte, error) {
	plain, last, err := s.gather()
	if err != nil {
		return nil, err
	}
	if s.plain += int64(len(plain)); s.plain > maxPlain {
		return nil, errTooLong
	}
	if s.segment == 0 {
		dst = append(dst, s.header[:]...)
	}
	dst = s.cipher.aead.Seal(dst, s.cipher.at(s.segment, last), plain, nil)
	s.segment++
	s.carry = s.carry[:0]
	if last {
		return dst, io.EOF
	}
	return dst, nil
}

// gather returns the plaintext of the next segment, which is the last one when
// nothing follows it. A segment inside a piece is not copied.
func (s *Sealer) gather() (plain []byte, last bool, err error) {
	for {
		room := int(s.cut.plainSize(s.segment)) - len(s.carry)
		if len(s.piece) > room {
			plain, s.piece = s.piece[:room], s.piece[room:]
			if len(s.carry) > 0 {
				s.carry = append(s.carry, plain...)
				plain = s.carry
			}
			return plain, false, nil
		}
		s.carry = append(s.carry, s.piece...)
		s.piece, err = s.next()
		if errors.Is(err, io.EOF) {
			return s.carry, true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}

// Bytes seals a small piece of content at once.
func Bytes(plain []byte, key Key, aad []byte) (Header, []byte, error) {
	h, c, err := begin(key, aad)
	if err != nil {
		return Header{}, nil, err
	}
	out := append(make([]byte, 0, SealedSize(int64(len(plain)))), h[:]...)
	for segment := int64(0); ; segment++ {
		n := min(len(plain), int(coarse.plainSize(segment)))
		last := n == len(plain)
		out = c.aead.Seal(out, c.at(segment, last), plain[:n], nil)
		if last {
			return h, out, nil
		}
		plain = plain[n:]
	}
}
