package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// Opened is the content of a version, ready to be read in ranges. It holds no
// resources.
type Opened struct {
	ctx     context.Context //nolint:containedctx // an Opened lives as long as its request
	blobs   blob.Store
	size    int64
	extents []openExtent
	use     func() error // nil once it was called
}

// openExtent is an extent with its place in the content.
type openExtent struct {
	Extent
	start  int64
	opener *seal.Opener
}

// Open prepares the content of a version, whoever may read it: its caller has found
// the version by a scope, and counts the reading.
func (s *Service) Open(ctx context.Context, c Content) (*Opened, error) {
	b, err := s.store.Blob(ctx, c.Blob)
	if err != nil {
		return nil, fmt.Errorf("find content: %w", err)
	}
	return s.openLive(ctx, b, c.Size)
}

// OpenReading is Open for what was found together with the file.
func (s *Service) OpenReading(ctx context.Context, r Reading) (*Opened, error) {
	return s.openLive(ctx, r.Blob, r.File.Size)
}

func (s *Service) openLive(ctx context.Context, b Blob, size int64) (*Opened, error) {
	if b.State != Live {
		return nil, fault.New(fault.Gone, "the content was destroyed")
	}
	return s.OpenBlob(ctx, b, size)
}

// OpenBlob is Open for the blob itself, of which size bytes count.
func (s *Service) OpenBlob(ctx context.Context, b Blob, size int64) (*Opened, error) {
	key, err := s.keys.blobKey(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("open content: %w", err)
	}
	o := &Opened{ctx: ctx, blobs: s.blobs, extents: make([]openExtent, 0, len(b.Extents))}
	for _, e := range b.Extents {
		header, err := seal.ParseHeader(e.Header)
		if err != nil {
			return nil, Corrupt(err)
		}
		opener, err := seal.NewOpener(key, extentAAD(b.Namespace, b.ID, e.Seq), header, e.Size, e.Sealed)
		if err != nil {
			return nil, Corrupt(err)
		}
		o.extents = append(o.extents, openExtent{e, o.size, opener})
		o.size += e.Size
	}
	if o.size != size {
		return nil, Corrupt(fmt.Errorf("extents have %d bytes, the version %d", o.size, size))
	}
	return o, nil
}

// Corrupt says that stored content is not what it was.
func Corrupt(err error) error {
	return fault.Wrap(fault.Internal, "The stored content is damaged.", err).WithCode("corrupt")
}

// Ended says why there is nothing more to read: the request is over. It is nil before.
func (o *Opened) Ended() error { return o.ctx.Err() }

// Size returns the length of the content.
func (o *Opened) Size() int64 { return o.size }

// Use counts the reading under the share links that permit it, once, and fails
// when one of them is over. The first Range does it too: this is for those who
// have to know before.
func (o *Opened) Use() error {
	use := o.use
	if o.use = nil; use == nil {
		return nil
	}
	return use()
}

// Range returns n bytes from off; n < 0 means to the end.
func (o *Opened) Range(off, n int64) (io.ReadCloser, error) {
	if off < 0 || off > o.size {
		return nil, fault.New(fault.RangeUnsatisfiable, "the range lies beyond the file")
	}
	if err := o.Use(); err != nil {
		return nil, err
	}
	if n < 0 || n > o.size-off {
		n = o.size - off
	}
	if len(o.extents) == 1 { // almost always
		return o.extents[0].open(o, off, n)
	}
	return &joined{o: o, off: off, left: n}, nil
}

func (e openExtent) open(o *Opened, off, n int64) (r io.ReadCloser, err error) {
	if e.Object == "" {
		r, err = e.opener.RangeOf(e.Inline, off, n)
	} else {
		r, err = e.opener.Range(func(off, n int64) (io.ReadCloser, error) {
			r, err := o.blobs.Get(o.ctx, e.Object, off, n)
			if err != nil {
				return nil, fetchError(err)
			}
			return fetched{r, o.ctx}, nil
		}, off, n)
	}
	if err != nil {
		return nil, readError(err)
	}
	if all, ok := r.(*seal.Plain); ok {
		return all, nil // nothing can go wrong any more
	}
	return &named{r}, nil
}

// fetched is what comes from the object store. It gives no more once the request
// has ended, also where the store itself does not look.
type fetched struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // the Opened's own
}

func (f fetched) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, fetchError(err)
	}
	n, err := f.ReadCloser.Read(p)
	if err == nil || err == io.EOF { // an end that wraps this one is none
		return n, err
	}
	return n, fetchError(err)
}

// fetchError tells a store that failed from content that is not what it was. A
// line that was cut must not look like the end of the content.
func fetchError(err error) error {
	switch {
	case errors.Is(err, blob.ErrNotFound), errors.Is(err, blob.ErrRange):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return storeError(errors.New(err.Error()))
	}
	return storeError(err)
}

// named gives damage its kind.
type named struct{ io.ReadCloser }

func (n *named) Read(p []byte) (int, error) {
	c, err := n.ReadCloser.Read(p)
	return c, readError(err)
}

// WriteTo passes whole segments on.
func (n *named) WriteTo(w io.Writer) (int64, error) {
	c, err := io.Copy(w, n.ReadCloser)
	return c, readError(err)
}

func readError(err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case errors.Is(err, seal.ErrCorrupt), errors.Is(err, blob.ErrNotFound), errors.Is(err, blob.ErrRange):
		return Corrupt(err)
	default:
		return err
	}
}

// joined reads over several extents.
type joined struct {
	o    *Opened
	off  int64
	left int64
	cur  io.ReadCloser
}

func (j *joined) Read(p []byte) (int, error) {
	for {
		if j.cur == nil {
			if j.left == 0 {
				return 0, io.EOF
			}
			if err := j.next(); err != nil {
				return 0, err
			}
		}
		n, err := j.cur.Read(p)
		j.off += int64(n)
		j.left -= int64(n)
		if err == io.EOF {
			_ = j.cur.Close()
			j.cur, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (j *joined) next() error {
	for _, e := range j.o.extents {
		if j.off >= e.start && j.off < e.start+e.Size {
			at := j.off - e.start
			var err error
			j.cur, err = e.open(j.o, at, min(j.left, e.Size-at))
			return err
		}
	}
	return Corrupt(fmt.Errorf("no extent at %d", j.off))
}

func (j *joined) Close() error {
	if j.cur == nil {
		return nil
	}
	return j.cur.Close()
}

// ReadAll returns the content when it has at most limit bytes.
func (o *Opened) ReadAll(limit int64) ([]byte, error) {
	if o.size > limit {
		return nil, fault.Newf(fault.TooLarge, "the file has more than %d bytes", limit)
	}
	r, err := o.Range(0, -1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	b := bytes.NewBuffer(make([]byte, 0, o.size+1))
	if _, err := b.ReadFrom(r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
