package filestore

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// A pending blob is swept when its lease ends; whoever writes it renews the
// lease several times before that.
const (
	blobLease = time.Hour
	blobRenew = 10 * time.Minute
)

// ingest reads body once and leaves its sealed content: small content inside the
// returned blob, other content in the object store under a pending record.
func (s *Service) ingest(ctx context.Context, ns string, body io.Reader, announced int64) (*Blob, Content, error) {
	if announced > s.cfg.MaxUpload {
		return nil, Content{}, s.tooLarge()
	}
	keys, err := s.keys.namespace(ctx, ns)
	if err != nil {
		return nil, Content{}, err
	}
	body = untilEnd{ctx, body}
	head, whole, err := readHead(body, announced)
	if err != nil {
		return nil, Content{}, err
	}
	b := &Blob{ID: filename.NewBlob(), Namespace: ns}
	if whole {
		b.ID = filename.NewFile() // no object has it
	}
	key := seal.NewKey()
	if b.WrappedKey, err = seal.Wrap(keys.content, key, blobAAD(ns, b.ID)); err != nil {
		return nil, Content{}, fmt.Errorf("wrap content key: %w", err)
	}
	state := cid.NewState(false)
	if whole {
		err = s.sealInline(b, key, head, state)
	} else {
		rest := &limited{r: io.MultiReader(bytes.NewReader(head), body), left: s.cfg.MaxUpload, err: s.tooLarge()}
		if quota := s.Quota(ns); quota > 0 && quota < rest.left { // its size may be known at its end alone
			rest.left, rest.err = quota, OverQuota(quota)
		}
		err = s.sealObject(ctx, b, key, rest, state)
	}
	if err != nil {
		return nil, Content{}, err
	}
	return b, describe(b, state.Finish()), nil
}

// readHead reads as much as may live in the database, and reports whether that
// was all.
func readHead(body io.Reader, announced int64) ([]byte, bool, error) {
	size := int64(InlineLimit + 1)
	if announced > 0 && announced < InlineLimit {
		size = announced + 1 // one more, to see the end
	}
	head := make([]byte, size)
	n, err := blob.Fill(body, head)
	switch {
	case errors.Is(err, io.EOF):
		return head[:n], true, nil
	case err != nil:
		return nil, false, bodyError(err)
	}
	return head, false, nil
}

// describe fills in what the pass over the content found.
func describe(b *Blob, r cid.Result) Content {
	b.Size = r.Size
	b.Leaves = make([]byte, 0, len(r.Leaves)*32)
	for _, d := range r.Leaves {
		b.Leaves = append(b.Leaves, d[:]...)
	}
	return Content{Blob: b.ID, CID: r.CID.String(), Hash: hex.EncodeToString(r.Content[:]), Size: r.Size}
}

func (s *Service) sealInline(b *Blob, key seal.Key, plain []byte, state *cid.State) error {
	if int64(len(plain)) > s.cfg.MaxUpload {
		return s.tooLarge()
	}
	if err := state.Scan(bytes.NewReader(plain), cid.Options{SizeHint: int64(len(plain))}); err != nil {
		return fmt.Errorf("hash content: %w", err)
	}
	header, sealed, err := seal.Bytes(plain, key, extentAAD(b.Namespace, b.ID, 0))
	if err != nil {
		return fmt.Errorf("seal content: %w", err)
	}
	b.State = Live
	b.Extents = []Extent{{Inline: sealed, Header: header[:], Size: int64(len(plain)), Sealed: int64(len(sealed))}}
	return nil
}

// sealObject stores content as one extent in the object store. The record comes
// first, so that whatever a crash leaves behind is found by the sweeper.
func (s *Service) sealObject(ctx context.Context, b *Blob, key seal.Key, body io.Reader, state *cid.State) error {
	b.Extents = []Extent{{Object: filename.Object(b.ID, 0)}}
	if err := s.store.Reserve(ctx, *b, s.now().Add(blobLease)); err != nil {
		return fmt.Errorf("reserve content: %w", err)
	}
	stop := s.keepReserved(ctx, b.ID)
	defer stop()
	e, err := s.putExtent(ctx, b, b.Extents[0], key, body, state)
	if err != nil {
		s.abandon(ctx, b.ID, s.now()) // the object may still arrive
		return err
	}
	b.Extents[0] = e
	return nil
}

// putExtent seals body into an object while hashing it.
func (s *Service) putExtent(ctx context.Context, b *Blob, e Extent, key seal.Key, body io.Reader,
	state *cid.State,
) (Extent, error) {
	var sealer *seal.Sealer
	var storeErr error
	err := state.Scan(body, cid.Options{Follow: func(next cid.Next) (err error) {
		if sealer, err = seal.NewSealer(next, key, extentAAD(b.Namespace, b.ID, e.Seq)); err != nil {
			return err
		}
		_, storeErr = s.blobs.Put(ctx, e.Object, sealer, blob.PutOptions{CreateOnly: true})
		return storeErr
	}})
	switch {
	case err != nil && errors.Is(err, storeErr):
		return Extent{}, storeError(err)
	case err != nil:
		return Extent{}, bodyError(err)
	}
	header := sealer.Header()
	e.Header, e.Size, e.Sealed = header[:], sealer.Size(), seal.SealedSize(sealer.Size())
	return e, nil
}

// keepReserved renews the blob's lease until stop is called.
func (s *Service) keepReserved(ctx context.Context, id string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pace.Every(ctx, blobRenew, func() bool {
			_ = s.store.RenewBlob(ctx, id, s.now().Add(blobLease)) // the next tick tries again
			return true
		})
	}()
	return func() { cancel(); <-done }
}

// abandon gives a pending blob to the sweeper, as dead since then; what is stored whole has no
// readers that need time, and was never alive (zero). When that fails, the lease's end does it.
func (s *Service) abandon(ctx context.Context, id string, since time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = s.store.Abandon(ctx, id, since)
}

func (s *Service) tooLarge() error {
	return fault.Newf(fault.TooLarge, "a file has at most %d bytes", s.cfg.MaxUpload)
}

// bodyError classifies what went wrong while a body was read.
func bodyError(err error) error {
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.Invalid, "the body ended early", err)
}

// storeError hides the object store from the caller but for its state.
func storeError(err error) error {
	switch fault.KindOf(err) {
	case fault.StorageFull, fault.Canceled, fault.Timeout, fault.Unavailable:
		return err
	default:
		return fault.Wrap(fault.Unavailable, "The object store failed.", err)
	}
}

// untilEnd is a body that is read no further once its request has ended.
type untilEnd struct {
	ctx context.Context //nolint:containedctx // the reader lives as long as the request
	r   io.Reader
}

func (u untilEnd) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// limited fails when more than left bytes are read.
type limited struct {
	r    io.Reader
	left int64
	err  error
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, l.err
	}
	return n, err
}
