package filestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Once makes a change at most once under its key, and gives a repeated request
// the receipt of the first.
func (s *Service) Once(ctx context.Context, a Access, o Once, do func() (Receipt, error)) (Receipt, error) {
	if r, ok, err := s.replay(ctx, a, o); ok || err != nil {
		return r, err
	}
	r, err := do()
	if err == nil {
		return r, nil
	}
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Conflict, fault.Precondition:
		// It may have met the first request's own change, which came to its end while
		// this one looked around.
		if first, ok, replayErr := s.replay(ctx, a, o); ok && replayErr == nil {
			return first, nil
		}
	}
	return r, err
}

// replay answers a change that was made before under the same key.
func (s *Service) replay(ctx context.Context, a Access, once Once) (Receipt, bool, error) {
	if once.Key == "" {
		return Receipt{}, false, nil
	}
	if len(once.Key) > 255 {
		return Receipt{}, false, fault.New(fault.Invalid, "Idempotency-Key has at most 255 characters")
	}
	return s.store.Replay(ctx, a.Namespace, once)
}

// KeyReused says that a key came with another request than before: whoever sent it
// would take the old receipt for the new change.
func KeyReused() error {
	return fault.New(fault.Invalid, "the Idempotency-Key was used for another request: choose a new one").WithCode("key_reused")
}

// fresh is a body that remembers whether somebody began to read it.
type fresh struct {
	io.Reader
	begun bool
}

func (f *fresh) Read(p []byte) (int, error) {
	f.begun = true
	return f.Reader.Read(p)
}

// sameBody fails when a repeated request has another body than the content that
// its key stored. A body of another size need not be read.
func (s *Service) sameBody(body *fresh, size int64, stored Content) error {
	if size > 0 && size != stored.Size {
		return KeyReused()
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &limited{r: body, left: s.cfg.MaxUpload, err: s.tooLarge()}); err != nil {
		return bodyError(fmt.Errorf("read the repeated body: %w", err))
	}
	if hex.EncodeToString(sum.Sum(nil)) != stored.Hash {
		return KeyReused()
	}
	return nil
}
