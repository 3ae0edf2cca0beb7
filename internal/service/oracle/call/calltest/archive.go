package calltest

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
)

// Archive is a call.Archive in memory that can be away, and from which users can
// take their leave.
type Archive struct {
	mu     sync.Mutex
	open   map[string]*bytes.Buffer
	places map[string]call.Place
	files  map[string][]byte
	trial  error
	parts  int
	news   chan struct{}
}

var _ call.Archive = (*Archive)(nil)

// NewArchive makes an empty one.
func NewArchive() *Archive {
	return &Archive{
		open: map[string]*bytes.Buffer{}, places: map[string]call.Place{}, files: map[string][]byte{},
		news: make(chan struct{}),
	}
}

// Fail makes every step fail from now on; nil ends that.
func (a *Archive) Fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trial = err
}

func (a *Archive) changed() {
	close(a.news)
	a.news = make(chan struct{})
}

// Begin implements call.Archive.
func (a *Archive) Begin(_ context.Context, p call.Place) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trial != nil {
		return "", a.trial
	}
	ref := fmt.Sprint("u", len(a.places))
	a.open[ref], a.places[ref] = &bytes.Buffer{}, p
	return ref, nil
}

// Append implements call.Archive.
func (a *Archive) Append(_ context.Context, p call.Place, ref string, at int64, data []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.open[ref]
	switch {
	case a.trial != nil:
		return a.trial
	case b == nil || p.Owner != a.places[ref].Owner:
		return call.ErrRecordingGone
	case int64(b.Len()) != at:
		return fault.Newf(fault.Conflict, "the upload is at %d", b.Len())
	}
	b.Write(data)
	a.parts++
	a.changed()
	return nil
}

// Finish implements call.Archive.
func (a *Archive) Finish(_ context.Context, p call.Place, ref string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trial != nil {
		return false, a.trial
	}
	b := a.open[ref]
	if b == nil {
		_, kept := a.files[p.Path]
		return kept, nil
	}
	delete(a.open, ref)
	a.changed()
	if b.Len() == 0 {
		return false, nil
	}
	a.files[a.places[ref].Path] = b.Bytes()
	return true, nil
}

// File is a recording that was finished.
func (a *Archive) File(path string) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.files[path]
}

// Open counts the recordings that were not finished.
func (a *Archive) Open() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open)
}

// Stored waits until so many parts of recordings were stored.
func (a *Archive) Stored(ctx context.Context, parts int) error {
	for {
		a.mu.Lock()
		enough, news := a.parts >= parts, a.news
		a.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
