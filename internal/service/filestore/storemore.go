package filestore

import (
	"context"
	"time"
)

// Upload is a resumable upload.
type Upload struct {
	ID        string
	Namespace string
	Path      string
	MimeType  string
	Mode      Mode
	Length    int64 // -1 while it is not declared
	Offset    int64
	Blob      string
	State     []byte // of the hashes, so that any node can go on
	Expires   time.Time
	Extents   int
	// Partial is a piece of a file: it is never shown by itself. Its path is the
	// folder that its maker's token reaches, with a slash at the end, where no file is.
	Partial bool
	// Joined lists the pieces that this upload was made from.
	Joined []string
}

// Uploads keeps resumable uploads. A write to one needs its lock.
type Uploads interface {
	CreateUpload(ctx context.Context, u Upload, b Blob) error
	// KeepJoined stores an upload that is a file already, unless it is there.
	KeepJoined(ctx context.Context, u Upload) error
	Upload(ctx context.Context, s Scope, id string) (Upload, error)
	// LockUpload takes the lock for a time by the store's own clock, for one holder;
	// false: somebody else has it.
	LockUpload(ctx context.Context, id, holder string, d time.Duration) (bool, error)
	UnlockUpload(ctx context.Context, id, holder string) error
	// AdvanceUpload adds an extent when the holder has the lock and the offset is still the old one.
	AdvanceUpload(ctx context.Context, u Upload, holder string, from int64, e Extent) error
	// UploadBytes adds up what the unfinished uploads of a namespace hold.
	UploadBytes(ctx context.Context, namespace string) (int64, error)
	SetUploadLength(ctx context.Context, id string, length int64) error
	DeleteUpload(ctx context.Context, id string, now time.Time) error
}

// Posting says where a word, known only by its keyed hash, stands in a file.
type Posting struct {
	Term  []byte
	Count int
	Lines []byte // line numbers as deltas
}

// Indexed is what search knows of a file's current version.
type Indexed struct {
	FileID   string
	Version  int64
	Words    int
	Postings []Posting
}

// Found is a file that has all the terms of a query.
type Found struct {
	File  File
	Words int
	Terms []Posting
}

// Index keeps the blind search index.
type Index interface {
	// IndexBehind lists namespaces whose index has changes to read, with its cursor.
	IndexBehind(ctx context.Context, limit int) ([]IndexCursor, error)
	// SaveIndex replaces the postings of files and moves the cursor, if it is still at from.
	SaveIndex(ctx context.Context, at IndexCursor, to int64, files []Indexed, gone []string) error
	Lookup(ctx context.Context, s Scope, under string, terms [][]byte, limit int) ([]Found, error)
	// TermFiles counts the files inside the scope that have each term.
	TermFiles(ctx context.Context, s Scope, terms [][]byte) ([]int64, error)
	IndexedThrough(ctx context.Context, namespace string) (int64, error)
}

// IndexCursor is how far the index of a namespace has come.
type IndexCursor struct {
	Namespace string
	Seq       int64
}

// Share is a link: a delegation whose maker wants to count and end its use.
type Share struct {
	ID        string
	Namespace string
	Path      string
	TokenCID  string
	TwinCID   string // of the same delegation with the mirrored signature; empty when it has none
	Created   time.Time
	Expires   time.Time
	MaxUses   int64 // 0 is unlimited
	Uses      int64
	Revoked   time.Time
	By        By
}

// Whose says which links are meant: all to what Every reaches, and those to what
// Own reaches that Maker made.
type Whose struct {
	Every, Own Scope
	Maker      string
}

// Shares keeps share links.
type Shares interface {
	CreateShare(ctx context.Context, sh Share) error
	Shares(ctx context.Context, w Whose, limit, offset int) ([]Share, error)
	// SharesOf returns the links that are among the tokens, or whose twins are.
	SharesOf(ctx context.Context, tokens []string) ([]Share, error)
	RevokeShare(ctx context.Context, w Whose, id string, now time.Time) error
	// UseShares counts one use of every link, or, when one of them is over, of none.
	UseShares(ctx context.Context, ids []string, now time.Time) error
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
