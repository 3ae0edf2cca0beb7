package seal

import (
	"errors"
	"fmt"
	"io"
)

// Vault seals things that belong to collections, each under a key of its own, which
// the vault's key wraps. Keys and bytes are bound to what they are of: identifiers
// have no NUL.
type Vault struct {
	Key Key
	// Space begins what everything is bound to.
	Space string
}

func (v Vault) bound(kind, collection, id string) []byte {
	return []byte(v.Space + "/" + kind + "\x00" + collection + "\x00" + id)
}

func (v Vault) newKey(collection, id string) (Key, []byte, error) {
	key := NewKey()
	wrapped, err := Wrap(v.Key, key, v.bound("key", collection, id))
	if err != nil {
		return Key{}, nil, fmt.Errorf("wrap key: %w", err)
	}
	return key, wrapped, nil
}

func (v Vault) openKey(collection, id string, wrapped []byte) (Key, error) {
	key, err := Unwrap(v.Key, wrapped, v.bound("key", collection, id))
	if err != nil {
		return Key{}, fmt.Errorf("unwrap key: %w", err)
	}
	return key, nil
}

// SealFrom returns the sealed bytes of what it reads, in fine segments if they are to
// be read here and there. Once they are read to their end, done says their header and
// how long they were before and are now.
func (v Vault) SealFrom(kind, collection, id string, plain io.Reader, fine bool,
) (sealed io.Reader, wrapped []byte, done func() (header []byte, size, sealedSize int64), err error) {
	key, wrapped, err := v.newKey(collection, id)
	if err != nil {
		return nil, nil, nil, err
	}
	piece := make([]byte, SegmentSize)
	begin := NewSealer
	if fine {
		begin = NewFineSealer
	}
	s, err := begin(func() ([]byte, error) {
		n, err := io.ReadFull(plain, piece)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil // the next piece is the end
		}
		return piece[:n], err
	}, key, v.bound(kind, collection, id))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("seal: %w", err)
	}
	return s, wrapped, func() ([]byte, int64, int64) {
		header := s.Header()
		return header[:], s.Size(), s.SealedSize()
	}, nil
}

// SealBytes seals a short thing.
func (v Vault) SealBytes(kind, collection, id string, plain []byte) (sealed, wrapped, header []byte, err error) {
	key, wrapped, err := v.newKey(collection, id)
	if err != nil {
		return nil, nil, nil, err
	}
	h, sealed, err := Bytes(plain, key, v.bound(kind, collection, id))
	return sealed, wrapped, h[:], err
}

// OpenBytes opens all of what was sealed.
func (v Vault) OpenBytes(kind, collection, id string, wrapped, sealed []byte, size int64) ([]byte, error) {
	key, err := v.openKey(collection, id, wrapped)
	if err != nil {
		return nil, err
	}
	return Open(sealed, key, v.bound(kind, collection, id), size)
}

// OpenRanges returns a function that reads plain bytes from pieces that it fetches, as
// Opener.RangeWith does.
func (v Vault) OpenRanges(kind, collection, id string, wrapped, header []byte, size, sealed int64) (
	func(fetch func(off, n int64) (io.ReadCloser, error), off, n int64, scratch []byte) (io.ReadCloser, error), error,
) {
	key, err := v.openKey(collection, id, wrapped)
	if err != nil {
		return nil, err
	}
	h, err := ParseHeader(header)
	if err != nil {
		return nil, err
	}
	o, err := NewOpener(key, v.bound(kind, collection, id), h, size, sealed)
	if err != nil {
		return nil, err
	}
	return func(fetch func(off, n int64) (io.ReadCloser, error), off, n int64, scratch []byte) (io.ReadCloser, error) {
		return o.RangeWith(fetch, off, n, scratch)
	}, nil
}
