package knowledge

import (
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// SampleName is the collection of the sample community, which whoever tries the
// program can load and take away again.
const SampleName = "Sample community"

// Readers is who may read the passages of a collection, besides its owner and
// whoever has proved a right to its folder.
type Readers string

// The kinds of readers.
const (
	// Everybody who can ask at all, by telephone too.
	Everybody Readers = "everybody"
	// Members of the community.
	Members Readers = "members"
	// Named DIDs.
	Named Readers = "named"
	// Delegates are holders of a delegation for the folder, and nobody else.
	Delegates Readers = "delegates"
)

// Known reports whether it is one of the kinds.
func (r Readers) Known() bool {
	return r == Everybody || r == Members || r == Named || r == Delegates
}

// Collection is a folder whose documents answer questions.
type Collection struct {
	ID string
	// Namespace owns the folder.
	Namespace string
	Name      string
	Folder    string
	Readers   Readers
	// DIDs are the readers of a Named collection.
	DIDs []string
	// Consent is up to whom an operator lets it be read: Everybody, Members, or nobody.
	Consent Readers
	// WrappedKey seals the keys of its segments, under the master key MasterID.
	WrappedKey []byte
	MasterID   string
	// Revision grows with every change of what can be found.
	Revision int64
	// Scanned says that the files which were there before are known.
	Scanned          bool
	Created, Updated time.Time
}

// NeedConsent reports whether it takes an operator to let them read: they did not
// choose whose documents answer them.
func (r Readers) NeedConsent() bool { return r == Everybody || r == Members }

// Published reports whether all chosen readers may read.
func (c Collection) Published() bool {
	return !c.Readers.NeedConsent() || c.Consent == Everybody || c.Consent == c.Readers
}

// State is how far a document is.
type State int

// A document waits, is being read, was read, or cannot be.
const (
	Waiting State = iota
	Reading
	Read
	Failed
)

// String is the word that users see.
func (s State) String() string {
	return [...]string{"waiting", "reading", "read", "failed"}[s]
}

// Document is a file of a collection.
type Document struct {
	Collection string
	FileID     string
	Namespace  string
	Path       string
	MimeType   string
	Size       int64
	Version    int64 // of the file
	Changed    time.Time
	State      State
	// Why says what went wrong, in a fixed set of texts: nothing of the document's.
	Why      string
	Attempts int
	// Generation names the document in its segment; empty while it was never read.
	Generation  string
	ReadVersion int64
	Read        time.Time
	Pages       int
	Language    string
	Passages    int
}

// Name is the last part of the path.
func (d Document) Name() string { return vfspath.BaseName(d.Path) }

// Work is a document that this node is to read.
type Work struct {
	Document
	Holder string
	// Also are the other collections that wait for the same version of the file: it
	// is read once for all of them.
	Also []Work
}

// Counts are how many documents of a collection are in each state.
type Counts struct{ Waiting, Reading, Read, Failed int64 }

// File is a file as the file store knows it.
type File struct {
	ID       string
	Path     string
	MimeType string
	Size     int64
	Version  int64
	Updated  time.Time
}

// Segment is a sealed, immutable piece of a collection's index.
type Segment = shelf.Record

// Live is a document that can be found.
type Live struct {
	Generation string
	FileID     string
	Path       string
}

// Reach is where in a namespace somebody has a right.
type Reach struct {
	Namespace string
	Areas     []vfspath.Area
}

// Whole reaches all of a namespace.
func Whole(namespace string) Reach {
	return Reach{Namespace: namespace, Areas: []vfspath.Area{vfspath.Whole()}}
}

// Manager is who decides about collections, and where: the reach is where the caller
// has every right.
type Manager struct {
	Reach
	// Owner says that the owner of the namespace asks, and nobody to whom the owner
	// gave a right.
	Owner bool
}

// covers reports whether a folder with all that is in it is within reach.
func (r Reach) covers(folder string) bool {
	return slices.ContainsFunc(r.Areas, func(a vfspath.Area) bool { return a.Root.Covers(vfspath.Below(folder)) })
}

// both is where one and the other reach.
func (r Reach) both(other Reach) Reach {
	out := Reach{Namespace: r.Namespace}
	for _, a := range r.Areas {
		for _, b := range other.Areas {
			switch {
			case a.Root.Covers(b.Root):
				out.Areas = append(out.Areas, b)
			case b.Root.Covers(a.Root):
				out.Areas = append(out.Areas, a)
			}
		}
	}
	return out
}

// Caller is who asks, as far as that was proved.
type Caller struct {
	// DID is empty for somebody without one, such as a telephone.
	DID    string
	Member bool
	// Reach is where a token proves a right to passages.
	Reach
	// Held is where the caller's delegation to the oracle proves one.
	Held []Reach
}
