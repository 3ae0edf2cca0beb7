package filestore

import (
	"context"
	"time"
)

// Store keeps the records. Every method is one transaction; scopes are part of
// the query. Absent things are fault.NotFound.
type Store interface {
	Records
	Changer
	Blobs
	Uploads
	Index
	Shares
	Upkeep
}

// Records reads files and their past.
type Records interface {
	FileByPath(ctx context.Context, s Scope, path string) (File, error)
	FileByID(ctx context.Context, s Scope, id string) (File, error)
	// Reading returns a file with where its content is, by one query: most reads are of few
	// bytes, and cost what their queries do.
	Reading(ctx context.Context, s Scope, w Wanted) (Reading, error)
	TrashedByID(ctx context.Context, s Scope, id string) (File, error)
	// FileByCID returns one file with the content inside the scope: the first by path.
	FileByCID(ctx context.Context, s Scope, cid string) (File, error)
	// PublicFile finds a file by its public id, in any namespace.
	PublicFile(ctx context.Context, publicID string) (File, error)
	Files(ctx context.Context, s Scope, q ListQuery) ([]File, error)
	CountFiles(ctx context.Context, s Scope) (int64, error)
	Trash(ctx context.Context, s Scope, limit, offset int) ([]File, error)
	Versions(ctx context.Context, s Scope, fileID string) ([]Version, error)
	Version(ctx context.Context, s Scope, fileID string, number int64) (Version, error)
	// Events returns the changes after a number, oldest first, and the newest number.
	Events(ctx context.Context, s Scope, after int64, limit int) ([]Event, int64, error)
	// FirstEvent is the number of the oldest event that was not erased, or 0.
	FirstEvent(ctx context.Context, ns string) (int64, error)
	// Usage counts what the scope reaches. Trash and versions are counted for
	// those alone who see the whole namespace.
	Usage(ctx context.Context, s Scope) (Usage, error)
}

// Wanted names a file that is to be read: by its identifier, or else by its path.
type Wanted struct {
	FileID, Path string
	// Mark asks for what was said of the content too.
	Mark bool
}

// Reading is a file with where its content is. The leaves of the blob are not read.
type Reading struct {
	File File
	Blob Blob
	Mark Mark // zero unless it was asked for
}

// ListQuery selects files in path order.
type ListQuery struct {
	// Under is a folder: files at or below it. Prefix is a prefix of the path's text.
	Under, Prefix string
	// From is the first path to return, After the last one not to.
	From, After   string
	Limit, Offset int
}

// Changer makes changes. What depends on the current state is decided inside the
// transaction.
type Changer interface {
	Commit(ctx context.Context, c Commit) (Receipt, error)
	Move(ctx context.Context, m Move) (Receipt, error)
	ToTrash(ctx context.Context, c Change) (Receipt, error)
	FromTrash(ctx context.Context, c Change, path string) (Receipt, error)
	Purge(ctx context.Context, c Change) (Receipt, error)
	SetPublic(ctx context.Context, c Change, public bool) (Receipt, error)
	// Replay returns the receipt of a change that was made under the key before.
	Replay(ctx context.Context, namespace string, once Once) (Receipt, bool, error)
}

// Change is what every change carries.
type Change struct {
	Scope  Scope
	FileID string
	If     Condition
	By     By
	Once   Once
	// Count is kept with the receipt.
	Count int
	Now   time.Time
}

// Mode says what a Commit expects to find.
type Mode int

// A Commit creates (and fails when the path is taken), replaces (and fails when
// there is nothing), or does what is needed.
const (
	CreateOnly Mode = iota
	ReplaceOnly
	Upsert
)

// String names the mode.
func (m Mode) String() string {
	switch m {
	case CreateOnly:
		return "create"
	case ReplaceOnly:
		return "replace"
	default:
		return "upsert"
	}
}

// Commit shows a new version.
type Commit struct {
	Change
	Path    string // when FileID is empty
	Mode    Mode
	Content Content
	// Blob is new content; its rows are written or flipped to live. Nil when
	// Content names a blob that is live already.
	Blob *Blob
	Op   Op
	NewID,
	MimeType string // MimeType "" keeps the current one
	// Keep is how many versions stay; 0 means the namespace's setting.
	Keep int64
	// Quota is how many bytes the namespace may hold afterwards; 0 is no limit.
	Quota int64
	Mark  *Mark // nil when nothing was said
	Drop  string
}

// Move gives a file another path.
type Move struct {
	Change
	To        string
	Overwrite bool // what is at To goes to the trash
	Target    Scope
}

// Receipt is what a change answers, now and when it is asked again.
type Receipt struct {
	File     File
	Created  bool
	Replayed bool
	// Seq is the change's number in the feed; 0 when nothing changed.
	Seq int64
	// Count is how many files the move of a folder moved, or how many places an
	// edit changed; 0 for other changes.
	Count int
	// Noted is about what the feed took of an act on many files, in bytes.
	Noted int64 `json:"-"`
}

// Once makes a change happen at most once: a second one with the key gets the
// first one's receipt, if fingerprint and body are the same. An empty key is no
// such promise; an empty body is not compared.
type Once struct{ Key, Fingerprint, Body string }

// Condition is what must hold of the current state. The zero value always holds.
type Condition struct {
	// Match lists CIDs (or content hashes) of which one must be current; Exists
	// asks for any current version, None for no file at all.
	Match  []string
	Exists bool
	None   bool
	// NoMatch lists CIDs that must not be current.
	NoMatch []string
	// Version must be the current one, when it is not 0.
	Version int64
	// Trashed must be when the file was put into the trash, unless it is zero.
	Trashed time.Time
}

// Blobs keeps content records and namespace keys.
type Blobs interface {
	Namespace(ctx context.Context, name string) (Namespace, error)
	// CreateNamespace stores the record unless there is one, and returns what is stored.
	CreateNamespace(ctx context.Context, n Namespace, now time.Time) (Namespace, error)
	Blob(ctx context.Context, id string) (Blob, error)
	// Reserve stores a pending blob under a lease.
	Reserve(ctx context.Context, b Blob, until time.Time) error
	RenewBlob(ctx context.Context, id string, until time.Time) error
	// Abandon turns a pending blob dead, as of that time.
	Abandon(ctx context.Context, id string, since time.Time) error
}

// Upkeep is for the sweeper, the doctor and the rotation of keys.
type Upkeep interface {
	// ExpirePending turns pending blobs whose lease is over dead.
	ExpirePending(ctx context.Context, now time.Time, limit int) (int, error)
	DeadBlobs(ctx context.Context, before time.Time, limit int) ([]Blob, error)
	ForgetBlob(ctx context.Context, id string) error
	ExpiredTrash(ctx context.Context, before time.Time, limit int) ([]File, error)
	ExpireOnce(ctx context.Context, before time.Time, limit int) (int, error)
	// ExpiredUploads lists uploads whose time is over.
	ExpiredUploads(ctx context.Context, now time.Time, limit int) ([]Upload, error)
	// Uploading reports whether an upload that is not over yet writes the blob, or has.
	Uploading(ctx context.Context, blob string) (bool, error)
	// BlobsAfter lists blobs in order of their id.
	BlobsAfter(ctx context.Context, id string, limit int) ([]Blob, error)
	// VersionsOf lists the versions that use a blob.
	VersionsOf(ctx context.Context, blob string) ([]Version, error)
	FilePath(ctx context.Context, id string) (namespace, path string, err error)
	NamespacesAfter(ctx context.Context, name string, limit int) ([]Namespace, error)
	Rewrap(ctx context.Context, n Namespace, from string) error
}
