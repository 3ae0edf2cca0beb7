package knowledge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/textindex/vector"
)

// VectorSet is the embeddings of a segment's passages by one model, sealed like the
// segment. Passages is how many it has.
type VectorSet struct {
	Segment
	// Of is the segment.
	Of    string
	Model string
	// Complete says that nothing of the segment is left to embed.
	Complete bool
}

// EmbedWork is a segment whose passages this node is to embed.
type EmbedWork struct{ Namespace, Collection, Segment, Model, Holder string }

// Vectors keeps which segments have embeddings.
type Vectors interface {
	// VectorSets lists the sets that a model made of a collection's live segments.
	VectorSets(ctx context.Context, collection, model string) ([]VectorSet, error)
	// TakeSegment reserves a segment of which the model is to embed something, by
	// turns between namespaces, and false when nothing is due. KeepSegment renews.
	TakeSegment(ctx context.Context, model, holder string, lease time.Duration) (EmbedWork, bool, error)
	KeepSegment(ctx context.Context, w EmbedWork, lease time.Duration) error
	// SaveVectors shows a set, unless it is nil, and gives the segment back, of which
	// the rest is due after a pause. Conflict when the reservation or the segment is gone.
	SaveVectors(ctx context.Context, w EmbedWork, set *VectorSet, pause time.Duration) error
	// ForgetVectors drops the records of segments that are dead, and those that other
	// models made before a time, where this one has made its own.
	ForgetVectors(ctx context.Context, model string, before time.Time) error
	// KnowsVectors reports whether a record names the set.
	KnowsVectors(ctx context.Context, id string) (bool, error)
	// Unembedded counts the segments and passages that the model is to embed.
	Unembedded(ctx context.Context, model string) (segments, passages int64, err error)
}

// vectorPrefix is what the names of all sets' objects begin with. It is not that of
// segments, whose sweep in an older release does not know of sets.
const vectorPrefix = "knowledge-vectors/"

func vectorKey(id string) string { return vectorPrefix + id[:2] + "/" + id }

// vectorKind is what sets of vectors are sealed as.
const vectorKind = "vectors"

// vectorShelf has the opened sets of vectors that were needed last.
type vectorShelf struct {
	blobs blob.Store
	keys  *keyring
	most  int // bytes

	mu     sync.Mutex
	loaded map[string]*loadedSet
	clock  int64
}

// loadedSet is a set that is there once done is closed.
type loadedSet struct {
	done chan struct{}
	set  *vector.Set
	err  error
	used int64
}

func newVectorShelf(blobs blob.Store, keys *keyring, most int) *vectorShelf {
	return &vectorShelf{blobs: blobs, keys: keys, most: most, loaded: map[string]*loadedSet{}}
}

// put seals a set and stores its object, which counts once a record names it.
func (s *vectorShelf) put(ctx context.Context, c Collection, of string, b *vector.Builder, model string,
	now time.Time,
) (*VectorSet, error) {
	var plain bytes.Buffer
	if _, err := b.WriteTo(&plain); err != nil {
		return nil, fmt.Errorf("build vectors: %w", err)
	}
	v := &VectorSet{Segment: Segment{ID: NewID(), Collection: c.ID, Passages: b.Len(), Created: now}, Of: of, Model: model}
	vault, err := s.keys.vault(c)
	if err != nil {
		return nil, err
	}
	return v, segmentsOf(s.blobs).Store(ctx, vault, vectorKind, &v.Segment, &plain, vectorKey(v.ID))
}

// open returns a set, which it fetches unless it was needed lately. Whoever leaves
// before it is there leaves it to the next.
func (s *vectorShelf) open(ctx context.Context, c Collection, v VectorSet) (*vector.Set, error) {
	s.mu.Lock()
	s.clock++
	l, known := s.loaded[v.ID]
	if !known {
		l = &loadedSet{done: make(chan struct{})}
		s.loaded[v.ID] = l
		go s.load(context.WithoutCancel(ctx), c, v, l)
	}
	l.used = s.clock
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.set, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *vectorShelf) load(ctx context.Context, c Collection, v VectorSet, l *loadedSet) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	l.set, l.err = s.fetch(ctx, c, v)
	close(l.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.err != nil {
		delete(s.loaded, v.ID) // the next one tries again
		return
	}
	s.makeRoom()
}

// makeRoom forgets the sets that were not needed for longest. The caller has the lock.
func (s *vectorShelf) makeRoom() {
	total := 0
	var there []string
	for id, l := range s.loaded {
		select {
		case <-l.done:
			if l.set != nil {
				total += l.set.Size()
				there = append(there, id)
			}
		default: // still on its way
		}
	}
	slices.SortFunc(there, func(a, b string) int { return int(s.loaded[a].used - s.loaded[b].used) })
	for _, id := range there {
		if total <= s.most || len(s.loaded) == 1 {
			return
		}
		total -= s.loaded[id].set.Size()
		delete(s.loaded, id)
	}
}

func (s *vectorShelf) fetch(ctx context.Context, c Collection, v VectorSet) (*vector.Set, error) {
	vault, err := s.keys.vault(c)
	if err != nil {
		return nil, err
	}
	body, err := s.blobs.Get(ctx, vectorKey(v.ID), 0, v.Sealed)
	if err != nil {
		return nil, fmt.Errorf("fetch vectors: %w", err)
	}
	sealed, err := io.ReadAll(io.LimitReader(body, v.Sealed+1))
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	plain, err := vault.OpenBytes(vectorKind, v.Collection, v.ID, v.WrappedKey, sealed, v.Size)
	if err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	return vector.Open(plain)
}
