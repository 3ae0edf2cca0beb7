// Package search finds files: by the words in them, by a pattern of their paths,
// and by reading their text.
//
// It promises that nothing outside the caller's scope has a say in what is found
// or how it is ranked, that the index is sealed wherever it is stored, and that
// every search has a budget and says what it did not look at. It refuses work that
// the asker's pattern would make unbounded.
//
// Decisions: ADR 0141, ADR 0252.
package search

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// MaxQuery is the longest search term or pattern.
const MaxQuery = 512

// Service searches a file store, and keeps its index.
type Service struct {
	files *filestore.Service
	store filestore.Store
	shelf shelf.Shelf
	quiet *quiet.Watch
	// opened has a lock of its own, which is taken after mu.
	opened *shelf.Opened

	// whose turn it is to be indexed, and to be tidied
	indexing, tidying shelf.Turns
	patrolled         string // the namespace after which the patrol goes on

	mu         sync.Mutex
	readings   map[string]*reading
	remembered int // documents of all readings
}

// New returns a Service.
func New(files *filestore.Service) *Service {
	s := &Service{
		files: files, store: files.Records(), readings: map[string]*reading{},
		shelf: shelf.Shelf{Blobs: files.Objects(), Prefix: "files-index/", Inline: inlineSegment},
	}
	s.opened = shelf.NewOpened(s.shelf, textindex.NewCache(pageCache), maxOpened, func(namespaces []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(func(_ string, r *reading) bool { return slices.Contains(namespaces, r.namespace) })
	})
	return s
}

// WithQuiet has the indexer leave out looks that would find nothing, and returns s.
func (s *Service) WithQuiet(w *quiet.Watch) *Service {
	s.quiet = w
	return s
}

// inlineSegment is up to how many bytes a segment lives in the database.
const inlineSegment = 128 << 10

// maxOpened bounds what the open segments of a node hold, in bytes.
const maxOpened = 32 << 20

// errSpent says that a budget does not cover the next unit of work.
var errSpent = errors.New("the budget is spent")

// budget is the work that one request may still do. It is spent a unit at a time,
// before the unit is done: a line of a text, a path, a row of a comparison. What
// the asker chooses decides what a unit costs, never how much there is.
type budget struct{ left int64 }

// spend takes the cost of the next unit. It fails when the request has ended, and
// with errSpent when less is left.
func (b *budget) spend(ctx context.Context, cost int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if cost > b.left {
		return errSpent
	}
	b.left -= cost
	return nil
}

// vault seals the segments of a namespace.
func (s *Service) vault(ctx context.Context, ns string) (seal.Vault, error) {
	key, err := s.files.IndexKey(ctx, ns)
	return seal.Vault{Key: key, Space: "vfs/v1/index"}, err
}
