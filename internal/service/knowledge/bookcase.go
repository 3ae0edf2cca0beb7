package knowledge

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
)

const (
	// maxShelved bounds the collections whose segments a node has open.
	maxShelved = 4096
	// fetchTimeout bounds the reading of a set of vectors from the object store.
	fetchTimeout = 30 * time.Second
)

// bookcase has the opened segments of collections, as they were at a revision.
type bookcase struct {
	store Store
	keys  *keyring
	// segments are the sealed ones, and pages what was read of them.
	segments shelf.Shelf
	pages    *textindex.Cache
	model    string // whose vectors are wanted; none if it is empty

	mu   sync.Mutex
	open map[string]*opened
}

// opened is a collection at a revision. It does not change.
type opened struct {
	revision int64
	segments []shelved
	docs     map[string]Live // by generation
	files    map[string]Live // by file
	pairs    openedPairs
	// vectors are the sets of the segments, by segment, where there is an embedder.
	vectors map[string]VectorSet
}

// shelved is a segment without the documents that are not to be found any more.
type shelved struct {
	Segment
	segment *textindex.Segment
	view    *textindex.View
	lost    []string // documents in it that nobody may find
}

func newBookcase(store Store, blobs blob.Store, keys *keyring, cache int, model string) *bookcase {
	return &bookcase{
		model: model, store: store, segments: segmentsOf(blobs), keys: keys, pages: textindex.NewCache(cache),
		open: map[string]*opened{},
	}
}

// put seals a segment and stores its object, which counts once a record names it.
func (s *bookcase) put(ctx context.Context, c Collection, plain io.Reader, passages int,
	now time.Time,
) (*Segment, error) {
	vault, err := s.keys.vault(c)
	if err != nil {
		return nil, err
	}
	return s.segments.Put(ctx, vault, c.ID, plain, passages, now)
}

// drop forgets what was opened of a collection.
func (s *bookcase) drop(collection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, collection)
}

// collection opens a collection as it is now. c is as the store just said.
func (s *bookcase) collection(ctx context.Context, c Collection) (*opened, error) {
	s.mu.Lock()
	before := s.open[c.ID]
	s.mu.Unlock()
	if before != nil && before.revision == c.Revision {
		return before, nil
	}
	revision, docs, segments, err := s.store.State(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	now := &opened{revision: revision, docs: make(map[string]Live, len(docs)), files: make(map[string]Live, len(docs))}
	for _, d := range docs {
		now.docs[d.Generation], now.files[d.FileID] = d, d
	}
	known := map[string]*textindex.Segment{}
	if before != nil {
		now.pairs = before.pairs
		for _, g := range before.segments {
			known[g.ID] = g.segment
		}
	}
	for _, g := range segments {
		one, err := s.shelve(c, g, known[g.ID], now.docs)
		if err != nil {
			return nil, err
		}
		now.segments = append(now.segments, one)
	}
	if now.vectors, err = s.vectorSets(ctx, c); err != nil {
		return nil, err
	}
	if now.pairs, err = s.pairs(ctx, c, now.pairs); err != nil {
		return nil, err
	}
	for _, id := range now.pairs.ids {
		now.docs[id], now.files[id] = Live{Generation: id, FileID: id}, Live{Generation: id, FileID: id}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if later := s.open[c.ID]; later != nil && later.revision > revision {
		return now, nil // somebody else has looked later: this is still right for who asked before
	}
	if len(s.open) >= maxShelved {
		clear(s.open)
	}
	s.open[c.ID] = now
	return now, nil
}

// shelve opens a segment, unless it is open, and leaves out what is not to be found.
func (s *bookcase) shelve(c Collection, g Segment, segment *textindex.Segment, docs map[string]Live) (shelved, error) {
	one := shelved{Segment: g, segment: segment}
	if segment == nil {
		vault, err := s.keys.vault(c)
		if err != nil {
			return one, err
		}
		if one.segment, err = s.segments.Open(vault, g, s.pages); err != nil {
			return one, err
		}
	}
	all, err := one.segment.Documents()
	if err != nil {
		return one, fmt.Errorf("list documents of segment: %w", err)
	}
	for _, generation := range all {
		if _, found := docs[generation]; !found {
			one.lost = append(one.lost, generation)
		}
	}
	if one.view, err = one.segment.Without(one.lost); err != nil {
		return one, fmt.Errorf("leave out documents: %w", err)
	}
	return one, nil
}

// vectorSets are the sets of a collection by segment.
func (s *bookcase) vectorSets(ctx context.Context, c Collection) (map[string]VectorSet, error) {
	sets := map[string]VectorSet{}
	if s.model == "" {
		return sets, nil
	}
	all, err := s.store.VectorSets(ctx, c.ID, s.model)
	if err != nil {
		return nil, fmt.Errorf("list vectors: %w", err)
	}
	for _, v := range all {
		sets[v.Of] = v
	}
	return sets, nil
}
