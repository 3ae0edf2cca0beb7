package filestore

import "time"

// File is the current state of a file.
type File struct {
	ID        string
	Namespace string
	Path      string
	Name      string
	Version   int64
	Content
	Hidden   bool
	PublicID string // empty unless the file is public
	Created  time.Time
	Updated  time.Time
	Trashed  time.Time // zero unless the file is in the trash
}

// Content is what a version holds.
type Content struct {
	Blob     string // where the sealed bytes are
	CID      string
	Hash     string // SHA-256 of the bytes, in hex
	Size     int64
	MimeType string
}

// Mark is what a client said of the content of a version.
type Mark struct {
	Modified  time.Time // where it came from; zero when nobody said
	SHA1, MD5 string    // in hex; empty when they are not known
}

// Version is one immutable state of a file.
type Version struct {
	FileID string
	Number int64
	Content
	Created time.Time
	Invoker string
	Actor   string
}

// Op names what an Event did.
type Op string

// The operations that the change feed and the audit know.
const (
	OpCreate  Op = "create"
	OpUpdate  Op = "update"
	OpRestore Op = "restore" // an old version became the current one
	OpMove    Op = "move"
	OpTrash   Op = "trash"
	OpUntrash Op = "untrash"
	OpPurge   Op = "purge"
	OpPublish Op = "publish"
	OpHide    Op = "unpublish"
)

// Event is one change of a namespace: the row of both the change feed and the
// audit.
type Event struct {
	Seq      int64
	At       time.Time
	Op       Op
	FileID   string
	Path     string
	From     string // the former path of a move
	Version  int64
	CID      string
	Before   string // the CID that was current before
	Size     int64
	MimeType string
	By       By
}

// By says who made a change, for whom, and under which proof.
type By struct{ Invoker, Actor, Proof string }

// By says who makes a change with the access.
func (a Access) By() By { return By{a.Invoker, a.Actor, a.Proof} }

// Usage is what a namespace holds.
type Usage struct {
	Files        int64
	Bytes        int64 // of current versions that are not in the trash
	TrashFiles   int64
	TrashBytes   int64
	Versions     int64
	VersionBytes int64 // of all retained versions, current ones included
	// IndexedThrough is the change up to which search has read; Last is the newest change.
	IndexedThrough, Last int64
}

// BlobState is where a blob is in its life.
type BlobState int

// A blob is written while pending, readable while live, and never again once dead.
const (
	Pending BlobState = iota
	Live
	Dead
)

// Blob is the sealed content of one or more versions.
type Blob struct {
	ID        string
	Namespace string
	State     BlobState
	// WrappedKey is the content's key under the namespace's; empty once shredded.
	WrappedKey []byte
	Size       int64
	// Leaves are the digests of the content's leaves, 32 bytes each.
	Leaves  []byte
	Extents []Extent
}

// Extent is a sealed piece of a blob, in an object or inside the database.
type Extent struct {
	Seq    int
	Object string // key in the object store; empty when Inline is set
	Inline []byte
	Header []byte
	Size   int64 // plaintext bytes
	Sealed int64 // sealed bytes
}

// Namespace is the key record of a namespace.
type Namespace struct {
	Name       string
	WrappedKey []byte // under the master key
	MasterID   string // which master key
	IndexKey   []byte // of the search index, under the namespace key
	// KeepVersions is how many versions of a file are retained.
	KeepVersions int64
}
