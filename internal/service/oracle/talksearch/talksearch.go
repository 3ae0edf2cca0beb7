// Package talksearch finds conversations by what was said in them, through the index of
// text that files and knowledge have as well (ADR 0265).
//
// It promises that a user finds their own sessions and nobody else's, as they are when
// they ask: what was deleted, or is on a branch that is not shown, is not found from that
// moment on, and what was just said is found before it is in the index. The index is
// sealed wherever it is stored, and goes with the last session of its user. It can be made
// anew from the transcripts at any time, and is, when it cannot be opened.
package talksearch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Talk is a session as far as a search must know it.
type Talk struct {
	ID    string
	Title string
	// Next is the number of the next message. Those before Indexed are in the index.
	Next, Indexed int64
	TitleIndexed  bool
	// Unread says that it waits for the index.
	Unread bool
}

// titleWaits reports whether the index is to have its title.
func (t Talk) titleWaits() bool {
	return !t.TitleIndexed && t.Title != oracle.Untitled && t.Title != ""
}

// Turn is a turn of a session.
type Turn struct {
	Session string
	Turn    int64
}

// Message is what somebody said.
type Message struct {
	Turn
	Seq  int64
	Text string
}

// Index is what is kept of a user's index. The zero value is that there is none.
type Index struct {
	WrappedKey []byte
	// Revision grows with every change.
	Revision int64
}

// Stand is what a user's sessions and their index are at one moment.
type Stand struct {
	Index Index
	// Talks are the sessions that are not hidden, last changed first.
	Talks []Talk
	// Hidden are turns on branches that are not shown.
	Hidden map[Turn]bool
	// Unread are messages that the index has not read, of a session in order, and as many
	// as the bounds allow. Behind counts the others, about.
	Unread []Message
	Behind int64
	// Segments are all segments, if they were wanted.
	Segments []shelf.Record
}

// Look says what of a stand is wanted.
type Look struct {
	// Messages and Bytes bound what is read beside the index: at least one message,
	// unless there may be none.
	Messages, Bytes int
	// Segments are wanted, unless the index is at the revision that is Known.
	Segments bool
	Known    int64
}

// Advance says how far the index has read a session: up to, and without, message To.
type Advance struct {
	Talk
	To    int64
	Title bool
}

// Store keeps the records. All changes are durable when a method returns nil.
type Store interface {
	// Stand reads all in one snapshot.
	Stand(ctx context.Context, owner string, l Look) (Stand, error)
	// SessionsByID returns the owner's sessions among some.
	SessionsByID(ctx context.Context, owner string, ids []string) (map[string]oracle.Session, error)
	// Unread lists owners after one, in order, with sessions that wait for the index and
	// were last changed before a time, or have many messages that wait.
	Unread(ctx context.Context, before time.Time, many int, after string, limit int) ([]string, error)
	// SaveIndex adds a segment, or none, to the index with a key, and says how far it has
	// read. It fails with Conflict when the index has another key, or a session has moved on.
	SaveIndex(ctx context.Context, owner string, key []byte, read []Advance, segment *shelf.Record, now time.Time) error
	// ForgetIndex destroys an index, so that it is made anew.
	ForgetIndex(ctx context.Context, owner string, now time.Time) error
	// IndexShelf are the records of the segments, whose collections are owners.
	IndexShelf() shelf.Records
}

// Sealer wraps the keys of indexes.
type Sealer interface {
	Seal(plain []byte, binding string) ([]byte, error)
	Unseal(sealed []byte, binding string) ([]byte, error)
}

// Deps is what a Service needs.
type Deps struct {
	Store Store
	// Blobs has what is too large for a record; without them there is no index, and a
	// search reads what its bounds allow.
	Blobs  blob.Store
	Sealer Sealer
	Log    *slog.Logger
	Now    func() time.Time
}

// Service searches conversations, and keeps their index.
type Service struct {
	store  Store
	sealer Sealer
	shelf  shelf.Shelf
	opened *shelf.Opened
	log    *slog.Logger
	now    func() time.Time

	// whose turn it is to be indexed, and to be tidied
	indexing, tidying shelf.Turns

	// searches are one of each owner at a time: what it reads and builds is held whole.
	searches *ratelimit.Slots
	fresh    fresh

	mu    sync.Mutex
	views map[string]viewsAt // by owner
}

// viewsAt are the segments of an index as they were at a revision.
type viewsAt struct {
	revision int64
	views    []*textindex.View
}

const (
	// inlineSegment is up to how many bytes a segment lives in the database.
	inlineSegment = 128 << 10
	// maxOpened bounds what the open segments of a node hold, and pageCache what it keeps
	// of the pages of others, in bytes.
	maxOpened = 32 << 20
	pageCache = 16 << 20
)

// New makes a Service.
func New(d Deps) *Service {
	s := &Service{
		store: d.Store, sealer: d.Sealer, log: d.Log, now: d.Now,
		shelf: shelf.Shelf{Blobs: d.Blobs, Prefix: "talks-index/", Inline: inlineSegment},
		views: map[string]viewsAt{}, searches: ratelimit.NewSlots(1),
	}
	s.opened = shelf.NewOpened(s.shelf, textindex.NewCache(pageCache), maxOpened, s.dropViews)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}
