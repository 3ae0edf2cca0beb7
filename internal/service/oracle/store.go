package oracle

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// ErrSessionNotFound is the one answer for unknown sessions and for those of
// other users.
var ErrSessionNotFound = fault.New(fault.NotFound, "Session not found")

// ErrRunNotFound is the one answer for unknown runs and for those of other users.
var ErrRunNotFound = fault.New(fault.NotFound, "Run not found")

// Store keeps sessions and transcripts. Whose they are is part of every
// question, so that an implementation can put it into the query itself. All
// changes are durable when a method returns nil.
type Store interface {
	CreateSession(ctx context.Context, s Session) error
	// OpenSession returns the owner's session with s.Key, or stores s.
	OpenSession(ctx context.Context, s Session) (Session, error)
	// Session fails with ErrSessionNotFound unless the session is the owner's.
	Session(ctx context.Context, owner, id string) (Session, error)
	// Sessions lists the owner's sessions that are not hidden, last changed first, and their true number.
	Sessions(ctx context.Context, owner string, limit, offset int) ([]Session, int64, error)
	// Search lists the owner's sessions that are not hidden and have every word in their title or in a
	// message, last changed first, each with a message that has some, and their true number.
	Search(ctx context.Context, owner string, q SearchQuery) ([]Hit, int64, error)
	// DeleteSession removes a session with all that belongs to it and names the
	// runs that were live.
	DeleteSession(ctx context.Context, owner, id string) (liveRuns []Run, err error)
	// Expired names hidden sessions whose time was over at a time, a few at a time.
	Expired(ctx context.Context, at time.Time, limit int) ([]Session, error)
	// SetTitle gives an untitled session a title; false when it has one already or is gone.
	SetTitle(ctx context.Context, id, title string, at time.Time) (bool, error)
	// SetSummary remembers what stands for the messages up to turn through.
	SetSummary(ctx context.Context, id, summary string, through int64) error
	// SetLoaded remembers the capabilities that the agent loaded.
	SetLoaded(ctx context.Context, id string, names []string) error
	// SetAttachments remembers what was read from a message's files.
	SetAttachments(ctx context.Context, sessionID, messageID string, files []Attachment) error
	// Messages returns the transcript in the order of turns, after turn afterTurn.
	Messages(ctx context.Context, owner, sessionID string, afterTurn int64) ([]Message, error)
	// Page returns some turns of the transcript.
	Page(ctx context.Context, owner, sessionID string, q PageQuery) (Page, error)
}

// PageQuery selects turns: the newest Limit, those before a message, or those
// after one. At most one of Before and After is set.
type PageQuery struct {
	Limit  int
	Before string // a message id
	After  string // a message id
}

// Page is some turns of a transcript, oldest first.
type Page struct {
	Messages []Message
	HasOlder bool
	HasNewer bool
}

// ErrUnknownCursor says that a page query names a message that is not there.
var ErrUnknownCursor = fault.New(fault.Invalid, "Unknown cursor")
