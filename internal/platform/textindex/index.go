package textindex

import (
	"context"
	"io"

	"github.com/castalia-org/castalia/internal/platform/textindex/segment"
)

// What an index is made of, for callers that need not know package segment.
type (
	// Passage is a piece of a document that can be found and quoted.
	Passage = segment.Passage
	// Key names a passage among all collections.
	Key = segment.Key
	// Builder gathers passages and writes them as one segment.
	Builder = segment.Builder
	// Segment is an immutable part of a collection's index.
	Segment = segment.Segment
	// View is a segment without the documents that are gone.
	View = segment.View
	// Cache holds pages of segments that were read lately.
	Cache = segment.Cache
)

// The bounds of one passage, in bytes.
const (
	MaxName = segment.MaxName
	MaxText = segment.MaxText
	MaxHead = segment.MaxHead
	MaxMeta = segment.MaxMeta
)

// The errors that bad passages and bad segments give.
var (
	ErrPassage = segment.ErrPassage
	ErrCorrupt = segment.ErrCorrupt
)

// NewBuilder begins a segment of a collection.
func NewBuilder(collection string) *Builder { return segment.NewBuilder(collection) }

// NewCache returns a cache of at most this many bytes, at least a megabyte.
func NewCache(bytes int) *Cache { return segment.NewCache(bytes) }

// NewJoinCache is NewCache for whoever reads segments from end to end, as Merge does.
func NewJoinCache(bytes int) *Cache { return segment.NewJoinCache(bytes) }

// Open reads a segment through r, page by page as queries need them. A nil cache
// stands for a small one of its own.
func Open(r io.ReaderAt, size int64, cache *Cache) (*Segment, error) {
	return segment.Open(r, size, cache)
}

// OpenBytes reads a segment that is in memory, and checks all of it at once.
func OpenBytes(data []byte) (*Segment, error) { return segment.OpenBytes(data) }

// Merge writes one segment from what is left in several of one collection.
func Merge(ctx context.Context, out io.Writer, views ...*View) (int64, error) {
	return segment.Merge(ctx, out, views...)
}
