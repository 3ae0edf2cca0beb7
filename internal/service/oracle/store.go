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

// ErrLost says that the archive had a conversation, and that what it has is gone or is not
// what was stored: trying again does not help. An archive that cannot be reached has lost
// nothing.
var ErrLost = fault.New(fault.Internal, "This conversation was archived, and the archive has lost it.").WithCode("lost")

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
	// SessionsAfter lists the same in the order of their ids, behind one: whoever goes
	// through all of them so misses none that is used meanwhile.
	SessionsAfter(ctx context.Context, owner, after string, limit int) ([]Session, error)
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
	// Messages returns the transcript in the order of turns, after turn afterTurn:
	// of several versions of a turn, and of what followed them, the chosen branch alone.
	// Of one that takes more than MaxRead it returns the newest turns with ErrTooLong.
	Messages(ctx context.Context, owner, sessionID string, afterTurn int64) ([]Message, error)
	// Whole returns messages of every branch, in the order of turns, behind a place, with
	// what the owner thinks of them, and whether there are more: about limit of them. What
	// is archived is read as it is, and stays there; it fails with ErrLost when that is gone.
	Whole(ctx context.Context, owner, sessionID string, after Place, limit int) (list []Message, more bool, err error)
	// Branches are those of a session: none while it is one line.
	Branches(ctx context.Context, owner, sessionID string) (Branches, error)
	// Page returns some turns of the transcript.
	Page(ctx context.Context, owner, sessionID string, q PageQuery) (Page, error)
	// Turn returns the messages of one turn, also when it is not shown.
	Turn(ctx context.Context, owner, sessionID string, turn int64) ([]Message, error)
	// Asked returns what the turn of a message asked for. It fails with
	// ErrSessionNotFound or ErrMessageNotFound.
	Asked(ctx context.Context, owner, sessionID, messageID string) (Asked, error)
	// Versions lists the versions of a turn, oldest first, with VersionText characters of
	// each; without a root, those of all turns that have several, without their content.
	Versions(ctx context.Context, owner, sessionID string, root int64) ([]Version, error)
	// Choose shows the branch of a message. It fails with ErrChoosing while a run is live.
	Choose(ctx context.Context, owner, sessionID, messageID string) error
	// SetFeedback keeps what the owner thinks of an answer; without a rating it is forgotten.
	SetFeedback(ctx context.Context, owner, sessionID string, f Feedback) error
	// Feedback is the owner's in a session, by message.
	Feedback(ctx context.Context, owner, sessionID string) (map[string]Feedback, error)
	// FeedbackCounts counts everybody's from a day to another, both included.
	FeedbackCounts(ctx context.Context, from, to int64) ([]FeedbackCount, error)
}

// Place is where a message stands in its session; the zero value is before the first.
type Place struct{ Turn, Seq int64 }

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

// MaxRead bounds the bytes of messages that are read at once: each is held in memory, and
// so is the answer that is made of them. It is some four times what moves to the archive.
const MaxRead = 32 << 20

// ErrTooLong says that messages take more than MaxRead.
var ErrTooLong = fault.New(fault.TooLarge, "The messages are too long to be read at once: read them a page at a time.").WithCode("conversation_too_long")

// ErrUnknownCursor says that a page query names a message that is not there.
var ErrUnknownCursor = fault.New(fault.Invalid, "Unknown cursor")
