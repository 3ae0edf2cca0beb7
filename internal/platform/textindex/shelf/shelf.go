// Package shelf keeps the segments of an index in an object store: sealed, each under
// a key of its own, joined as they become many, and destroyed with what was taken back.
//
// It promises that no byte of a segment is in clear outside of memory, and that an
// object counts only once a record names it, so that whatever dies in between leaves
// an orphan for Sweep and nothing else. It does not know who owns a collection: the
// caller brings its vault and keeps the records.
package shelf

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/sealedread"
)

const (
	// joinCache is what a join keeps of the pages that it reads. They are not those
	// that questions need.
	joinCache = 8 << 20
	// joinBuffer is what a join writes at once.
	joinBuffer = 256 << 10
	// FineFrom is the size from which on what a join makes is sealed in fine segments
	// (ADR 0229): a question reads some of its pages, and not so many that they stay in
	// memory.
	FineFrom = 4 << 20
)

// Record is what is kept of a sealed, immutable piece of a collection's index.
type Record struct {
	ID         string
	Collection string
	WrappedKey []byte // under the collection's key
	Header     []byte
	Size       int64 // plaintext bytes
	Sealed     int64
	Passages   int
	// Inline are the sealed bytes of a small segment, which has no object.
	Inline  []byte
	Created time.Time
}

// Shelf is where the segments of one service are.
type Shelf struct {
	Blobs blob.Store
	// Prefix begins the names of objects, for good.
	Prefix string
	// Inline is up to how many bytes a segment lives in its record: it needs no
	// object store, and many small ones make no small objects.
	Inline int
}

// NewID returns a random name. Nothing about the content shows in it.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Object names the object of a segment.
func (s Shelf) Object(id string) string { return s.Prefix + id[:2] + "/" + id }

// Vault seals what a shelf stores. It is bound to the collection, to what kind of thing
// it is, and to its id, under a key of its own; protocol/seal has one.
type Vault interface {
	SealFrom(kind, collection, id string, plain io.Reader,
		fine bool) (sealed io.Reader, wrapped []byte, done func() (header []byte, size, sealedSize int64), err error)
	SealBytes(kind, collection, id string, plain []byte) (sealed, wrapped, header []byte, err error)
	OpenBytes(kind, collection, id string, wrapped, sealed []byte, size int64) ([]byte, error)
	OpenRanges(kind, collection, id string, wrapped, header []byte, size, sealed int64) (
		func(fetch func(off, n int64) (io.ReadCloser, error), off, n int64, scratch []byte) (io.ReadCloser, error), error)
}

// segmentKind is what segments are sealed as.
const segmentKind = "segment"

// Store seals bytes of a collection, stores them under a name, and notes in r what it
// takes to open them.
func (s Shelf) Store(ctx context.Context, vault Vault, kind string, r *Record, plain io.Reader, name string) error {
	return s.store(ctx, vault, kind, r, plain, name, false)
}

func (s Shelf) store(ctx context.Context, vault Vault, kind string, r *Record, plain io.Reader, name string,
	fine bool,
) error {
	sealed, wrapped, done, err := vault.SealFrom(kind, r.Collection, r.ID, plain, fine)
	if err != nil {
		return err
	}
	if _, err := s.Blobs.Put(ctx, name, sealed, blob.PutOptions{CreateOnly: true}); err != nil {
		return fmt.Errorf("store segment: %w", err)
	}
	r.WrappedKey = wrapped
	r.Header, r.Size, r.Sealed = done()
	return nil
}

// Put seals a segment and stores its object. The object counts once a record
// names it; until then it is an orphan, which is swept after a while.
func (s Shelf) Put(ctx context.Context, vault Vault, collection string, plain io.Reader, passages int,
	now time.Time,
) (*Record, error) {
	return s.put(ctx, vault, collection, plain, passages, now, false)
}

func (s Shelf) put(ctx context.Context, vault Vault, collection string, plain io.Reader, passages int,
	now time.Time, fine bool,
) (*Record, error) {
	r := &Record{ID: NewID(), Collection: collection, Passages: passages, Created: now}
	if s.Inline > 0 {
		head, err := io.ReadAll(io.LimitReader(plain, int64(s.Inline)+1))
		if err != nil {
			return nil, err
		}
		if len(head) <= s.Inline {
			r.Inline, r.WrappedKey, r.Header, err = vault.SealBytes(segmentKind, collection, r.ID, head)
			r.Size, r.Sealed = int64(len(head)), int64(len(r.Inline))
			return r, err
		}
		plain = io.MultiReader(bytes.NewReader(head), plain)
	}
	return r, s.store(ctx, vault, segmentKind, r, plain, s.Object(r.ID), fine)
}

// Open opens a segment; little is read yet. The pages that are opened later are
// kept in the cache, in memory only.
func (s Shelf) Open(vault Vault, r Record, pages *textindex.Cache) (*textindex.Segment, error) {
	if r.Inline != nil {
		plain, err := vault.OpenBytes(segmentKind, r.Collection, r.ID, r.WrappedKey, r.Inline, r.Size)
		if err != nil {
			return nil, fmt.Errorf("open segment: %w", err)
		}
		return textindex.OpenBytes(plain)
	}
	ranges, err := vault.OpenRanges(segmentKind, r.Collection, r.ID, r.WrappedKey, r.Header, r.Size, r.Sealed)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	segment, err := textindex.Open(&sealedread.Reader{Blobs: s.Blobs, Name: s.Object(r.ID), Size: r.Size, Open: ranges},
		r.Size, pages)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	return segment, nil
}

// Join writes what is left in segments of a collection as one, and stores it: nil if
// nothing is.
func (s Shelf) Join(ctx context.Context, vault Vault, collection string, old []Held, now time.Time) (*Record, error) {
	pages := textindex.NewJoinCache(joinCache)
	var views []*textindex.View
	passages, size := 0, int64(0)
	for _, h := range old {
		size += h.Size
		segment, err := s.Open(vault, h.Record, pages)
		if err != nil {
			return nil, err
		}
		view, err := segment.Without(h.Lost)
		if err != nil {
			return nil, fmt.Errorf("leave out documents: %w", err)
		}
		views, passages = append(views, view), passages+view.Passages()
	}
	if passages == 0 {
		return nil, nil //nolint:nilnil // there is no segment
	}
	r, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		out := bufio.NewWriterSize(w, joinBuffer)
		_, err := textindex.Merge(ctx, out, views...)
		if err == nil {
			err = out.Flush()
		}
		_ = w.CloseWithError(err) // never fails
	}()
	by, err := s.put(ctx, vault, collection, r, passages, now, size >= FineFrom)
	_ = r.Close() // never fails; ends a writer that nobody listens to
	<-written
	if err != nil {
		return nil, fmt.Errorf("join segments: %w", err)
	}
	return by, nil
}
