package filestore

import (
	"context"
	"io"
	"time"
)

// Spooled is content that is no file yet: sealed like one, read in any order, and gone
// when it is released, or when its lease ends.
type Spooled struct {
	*Opened
	Release func()
}

// Spool keeps a body for as long as somebody works on it. It needs the room of a file.
func (s *Service) Spool(ctx context.Context, a Access, body io.Reader, size int64) (*Spooled, error) {
	if _, err := a.Scope(Write); err != nil {
		return nil, err
	}
	if err := s.roomFor(ctx, a.Namespace, size); err != nil {
		return nil, err
	}
	b, content, err := s.ingest(ctx, a.Namespace, body, size)
	if err != nil {
		return nil, err
	}
	release := func() {}
	if b.State == Pending {
		stop := s.keepReserved(ctx, b.ID)
		release = func() { stop(); s.abandon(ctx, b.ID, time.Time{}) }
	}
	o, err := s.OpenBlob(ctx, *b, content.Size)
	if err != nil {
		release()
		return nil, err
	}
	return &Spooled{o, release}, nil
}
