package car

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/unixfs"
)

// Bounds of an archive that is read as a stream.
const (
	maxHeader  = 1 << 16
	maxSection = 4<<20 + 256
)

// ErrVersion says that an archive is not one of version 1.
var ErrVersion = fmt.Errorf("%w: only version 1 is read", ErrMalformed)

// Stream passes an archive on and checks it on the way: nothing of a block is read
// from it before the whole block was found to match its CID. It holds one block.
type Stream struct {
	in    *bufio.Reader
	place func(id string, at, size int64) error
	roots []string
	left  []byte // of what was checked
	at    int64  // how much was checked
	buf   []byte
	err   error
}

// NewStream reads an archive. place is told of each block and where it is; its error
// ends the reading.
func NewStream(r io.Reader, place func(id string, at, size int64) error) *Stream {
	return &Stream{in: bufio.NewReaderSize(r, 64<<10), place: place}
}

// Roots are the roots of the archive, once it was read.
func (s *Stream) Roots() []string { return s.roots }

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	for len(s.left) == 0 {
		if s.err == nil {
			s.err = s.next()
		}
		if s.err != nil {
			return 0, s.err
		}
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// next checks the next section.
func (s *Stream) next() error {
	limit := maxSection
	if s.roots == nil {
		limit = maxHeader
	}
	size, err := binary.ReadUvarint(s.in)
	switch {
	case errors.Is(err, io.EOF) && s.roots != nil: // between two sections
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends early", ErrMalformed)
	case err != nil:
		return err
	case size == 0 || size > uint64(limit):
		return fmt.Errorf("%w: section of %d bytes", ErrMalformed, size)
	}
	s.buf = binary.AppendUvarint(s.buf[:0], size)
	head := len(s.buf)
	s.buf = append(s.buf, make([]byte, size)...)
	if _, err := io.ReadFull(s.in, s.buf[head:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: it ends early", ErrMalformed)
		}
		return err
	}
	if err := s.check(s.buf[head:], s.at+int64(head)); err != nil {
		return err
	}
	s.left = s.buf
	s.at += int64(len(s.buf))
	return nil
}

// check looks at a section that begins at a place: the header, or a block.
func (s *Stream) check(section []byte, at int64) error {
	if s.roots == nil {
		if n, err := ipld.Decode(string(section)); err == nil {
			version, _ := n.Get("version")
			if v, ok := version.Int64(); ok && v != 1 {
				return ErrVersion
			}
		}
		var err error
		s.roots, err = readHeader(string(section))
		return err
	}
	id, block, err := ipld.CutCID(string(section))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if _, identity := unixfs.Identity(id); identity {
		return nil // it is in its CID
	}
	hash, err := unixfs.Multihash(id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if !unixfs.Matches(hash, section[len(id):]) {
		return fmt.Errorf("%w: %s", ErrMismatch, ipld.CIDText(id))
	}
	return s.place(id, at+int64(len(id)), int64(len(block)))
}
