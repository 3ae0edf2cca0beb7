package filestore

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
)

// Indexed is a file as the search index has it: what it said at a change.
type Indexed struct {
	FileID  string
	Seq     int64
	Path    string
	Version int64
}

// IndexStand is how far a namespace and its index are. With the same stand the same
// is found.
type IndexStand struct {
	// Newest is the newest change, Through the one up to which the index has read.
	Newest, Through int64
	// Revision grows with every change of the index.
	Revision int64
}

// Index keeps the segments of the search index, and what in them is to be found.
type Index interface {
	// IndexBehind lists namespaces after one, in order, whose index may have changes to
	// read, with its cursor: each with a change that was stored since IndexRead.
	IndexBehind(ctx context.Context, after string, limit int) ([]IndexCursor, error)
	// IndexRead says that the index has read all changes up to the cursor. With a newer
	// one the namespace stays behind.
	IndexRead(ctx context.Context, at IndexCursor) error
	// IndexMissed looks at namespaces after one, in order, for changes that were stored
	// without a word to the indexer, by a node of the release before, and returns after
	// which to go on; at the end none.
	IndexMissed(ctx context.Context, after string, limit int) (next string, err error)
	// SaveIndex shows files as they are in a new segment instead of as they were, and
	// moves the cursor, if it is still at from. Files that are gone are not shown.
	SaveIndex(ctx context.Context, at IndexCursor, to int64, files []Indexed, gone []string, segment *shelf.Record,
		now time.Time) error
	IndexStand(ctx context.Context, namespace string) (IndexStand, error)
	// IndexedFiles lists what the scope may find below a folder, which is what the index
	// has of files as they are, and all segments of the namespace.
	IndexedFiles(ctx context.Context, s Scope, under string) (IndexStand, []Indexed, []shelf.Record, error)
	// IndexShelf are the records of the segments, whose collections are namespaces.
	IndexShelf() shelf.Records
}

// IndexCursor is how far the index of a namespace has come.
type IndexCursor struct {
	Namespace string
	Seq       int64
}
