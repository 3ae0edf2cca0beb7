package knowledge

import (
	"context"
	"io"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// Files is the file store as the service uses it: as the owner of a namespace,
// since to make a folder a collection is what its owner decided.
type Files interface {
	// Changes lists the files that changed after a number, and the number to ask with next.
	Changes(ctx context.Context, namespace string, after int64, limit int) (ids []string, next int64, err error)
	// LastChange is the number of the newest change.
	LastChange(ctx context.Context, namespace string) (int64, error)
	// File is the current state of a file; NotFound when it is gone or in the trash.
	File(ctx context.Context, namespace, id string) (File, error)
	// Below lists the visible files below a folder in order of path, after one.
	Below(ctx context.Context, namespace, folder, after string, limit int) ([]File, error)
	// Open reads a version of a file.
	Open(ctx context.Context, namespace, id string, version int64) (io.ReadCloser, error)
}

// Reader reads a file into a document. An error that is a document.Problem is about
// the file and is shown to its owner; any other is the server's, and is tried again.
type Reader interface {
	Read(ctx context.Context, src document.Source) (*document.Document, error)
}

// Collections keeps collections.
type Collections interface {
	// CreateCollection stores a new collection with its readers, and the number
	// from which the namespace's feed is followed if it was not before. A name or
	// folder that the namespace has already is a Conflict, and so is one too many.
	CreateCollection(ctx context.Context, c Collection, feed int64, most int) error
	// ChangeCollection gives the collection within reach the name and the readers that
	// change returns for it as it is; nobody else changes it meanwhile.
	ChangeCollection(ctx context.Context, r Reach, id string,
		change func(Collection) (Collection, error)) (Collection, error)
	// DeleteCollection forgets a collection, its documents and keys.
	DeleteCollection(ctx context.Context, namespace, id string, now time.Time) error
	// Collection is one within reach.
	Collection(ctx context.Context, r Reach, id string) (Collection, error)
	// CollectionsOf lists those within reach by name, with their counts.
	CollectionsOf(ctx context.Context, r Reach) ([]Collection, []Counts, error)
	// Readable lists what the caller may read.
	Readable(ctx context.Context, c Caller) ([]Collection, error)
	// Searchable lists up to most of what the caller may read and that is not empty,
	// of the ids if there are some: first what the caller has a right to, then what
	// operators published, then what others named the caller for; the oldest first.
	Searchable(ctx context.Context, c Caller, ids []string, most int) ([]Collection, error)
	// Documents lists a page in order of path.
	Documents(ctx context.Context, namespace, collection, after string, limit int) ([]Document, error)
	// Rewrap calls wrap for each collection that is not under the master key, and
	// stores what it returns. It returns how many there were.
	Rewrap(ctx context.Context, masterID string, wrap func(Collection) ([]byte, error)) (int, error)
}

// Publishing keeps what operators let many read.
type Publishing interface {
	// ForMany lists the collections that need an operator's consent by id, after one.
	ForMany(ctx context.Context, after string, limit int) ([]Collection, error)
	// Publish lets a collection be read by the readers that its owner chose; Conflict
	// when those are others.
	Publish(ctx context.Context, id string, readers Readers, now time.Time) (Collection, error)
	// Unpublish takes the consent back.
	Unpublish(ctx context.Context, id string) error
}

// Following keeps how far files were followed.
type Following interface {
	// Owners lists the namespaces that have collections, with how far their feed was followed.
	Owners(ctx context.Context) ([]Owner, error)
	// FoldersOf lists the collections of a namespace, with their folders.
	FoldersOf(ctx context.Context, namespace string) ([]Collection, error)
	// Unscanned lists collections whose files were not all looked at.
	Unscanned(ctx context.Context, limit int) ([]Scan, error)
	// SaveScan takes in a page of a scan, up to a path. Conflict when the scan or the
	// feed has moved on since the page was read: a file may be gone by now.
	SaveScan(ctx context.Context, at Scan, files []File, through string, done bool) error
	// SaveChanges takes in a page of the feed, and takes files out of the collections
	// that they are not in any more. Conflict when the feed has moved on.
	SaveChanges(ctx context.Context, at Owner, to int64, changes []FileChange, now time.Time) error
}

// Owner is a namespace with collections, and how far its feed was followed.
type Owner struct {
	Namespace string
	Seq       int64
}

// Scan is how far the files of a new collection were looked at, and how far the
// feed was then.
type Scan struct {
	Collection Collection
	Through    string
	Seq        int64
}

// FileChange is a file that changed, and the collections that it is in now.
type FileChange struct {
	File File
	In   []string
}

// Queue hands out documents to read.
type Queue interface {
	// Take reserves the next document for holder, by turns between namespaces, with
	// whatever else is due of the same version of its file, and false when nothing is due.
	Take(ctx context.Context, holder string, lease time.Duration) (Work, bool, error)
	// Waits reports that there are documents to read, due now or later.
	Waits(ctx context.Context) (bool, error)
	// Charge lets a namespace wait for that many turns of others more.
	Charge(ctx context.Context, namespace string, turns int64) error
	// Orphans gives back, at once, what an earlier process of this node had reserved,
	// where the store belongs to one process at a time.
	Orphans(ctx context.Context) error
	// Renew keeps a reservation; Conflict when it was lost.
	Renew(ctx context.Context, w Work, lease time.Duration) error
	// Finish shows a document that was read, with its segment; no segment when it
	// has no text. Conflict when the reservation was lost.
	Finish(ctx context.Context, w Work, segment *Segment) error
	// GiveUp says that a document cannot be read.
	GiveUp(ctx context.Context, w Work) error
	// Postpone gives a document back, to be tried after a pause.
	Postpone(ctx context.Context, w Work, pause time.Duration) error
}

// Segments keeps what of the index is where.
type Segments interface {
	// State is a collection's live documents and segments, and their revision.
	State(ctx context.Context, collection string) (revision int64, docs []Live, segments []Segment, err error)
	// Pairs lists the pairs of a collection by id.
	Pairs(ctx context.Context, collection string) ([]SealedPair, error)
	// Dirty lists collections with something to join or to destroy: those with many
	// segments of about one size, as bounded by tiers, or that lost documents before a
	// time. DestroyLater says that what one lost stays until a later time, unless the
	// collection is at another revision.
	// They come in the order of their ids, after one.
	Dirty(ctx context.Context, many int, tiers []int64, lostBefore time.Time, after string,
		limit int) ([]Collection, error)
	DestroyLater(ctx context.Context, collection string, revision int64, until time.Time) error
	// Replace puts one segment, or none, in place of others, and marks those dead.
	// Conflict when one of them is gone already. If settled, and the collection is still
	// at the revision, nothing that was lost is in it any more.
	// by may come with its vectors.
	Replace(ctx context.Context, collection string, old []shelf.Held, by *Segment, vectors *VectorSet, revision int64,
		settled bool, now time.Time) error
	shelf.Graves
}

// Store keeps all records.
type Store interface {
	Collections
	Publishing
	Following
	Queue
	Segments
	Vectors
}
