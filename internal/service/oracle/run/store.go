package run

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// ErrLost says that the run is not the caller's any more: another node took it,
// or its session was deleted.
var ErrLost = errors.New("the run belongs to somebody else")

// ErrBusy is the refusal of a message that asked not to disturb a live run.
var ErrBusy = fault.New(fault.Conflict, "A run is already going on in this session").WithCode("run_active")

// ErrReused is the refusal of another message under a request id that names one.
var ErrReused = fault.New(fault.Conflict, "The request id names another message").WithCode("request_id_reused")

// ErrQueueFull is the refusal of a message behind too many others.
var ErrQueueFull = fault.New(fault.RateLimited, "Too many messages are waiting in this session").WithRetryAfter(5 * time.Second)

// ErrPruned says that the run is over and its frames were deleted.
var ErrPruned = fault.New(fault.Gone, "The frames of this run were deleted")

// Store is what the engine needs of storage. Changes are durable when a method
// returns nil; leases are kept by the store's own clock.
type Store interface {
	// Begin stores the message and the run together, with the first frames.
	Begin(ctx context.Context, b Begin) (Begun, error)
	// Claim takes a queued run of a session that has no other live run at work,
	// or a run whose lease ran out. It returns ErrLost when there is nothing to take.
	Claim(ctx context.Context, id, node string, ttl time.Duration) (oracle.Run, error)
	// Live reports that some run is under way, or waits.
	Live(ctx context.Context) (bool, error)
	// Claimable names runs that nobody works on: expired ones, and queued ones
	// at least of that age whose session has been free for a moment.
	Claimable(ctx context.Context, age time.Duration, limit int) ([]string, error)
	// Append adds frames under the epoch, renews the lease, and tells whether
	// somebody asked for an abort.
	Append(ctx context.Context, b Batch) (abort bool, err error)
	// Renew renews leases and reports, per run, what became of it.
	Renew(ctx context.Context, held []Held, ttl time.Duration) (map[string]Standing, error)
	// Finish stores the turn's messages and the last frames and ends the run.
	Finish(ctx context.Context, e Ending) error
	// Pause stores the calls that wait for a person, with the last frames and the
	// checkpoint, and puts the run to rest under an epoch of its own: nobody takes
	// it before everything is answered, the time is over or an abort was asked for.
	Pause(ctx context.Context, p Pausing) error
	// Approvals are all that a run asked for.
	Approvals(ctx context.Context, runID string) ([]oracle.Approval, error)
	// Pending are the owner's calls that wait now, in one session or, when that is
	// empty, in all; the oldest first.
	Pending(ctx context.Context, owner, sessionID string, limit int) ([]oracle.Approval, error)
	// Answer stores what a person decided. The same answer again changes nothing;
	// another one is oracle.ErrAnswered, one that comes too late ErrApprovalOver, and one
	// that approves what waits without the person ErrNotInPerson.
	// ready says that the run waits for nothing else.
	Answer(ctx context.Context, a oracle.Answer) (approval oracle.Approval, ready bool, err error)
	// Abort marks the live runs of the owner's session, or the one that only
	// names; queued ones end at once. It returns them as they were.
	Abort(ctx context.Context, owner, sessionID, only string) ([]oracle.Run, error)
	// Run returns a run of the owner.
	Run(ctx context.Context, owner, id string) (oracle.Run, error)
	// ByRequest returns the newest run that a request id started in the owner's
	// session, or in any of the owner's when sessionID is empty.
	ByRequest(ctx context.Context, owner, sessionID, requestID string) (oracle.Run, error)
	// Latest returns the newest live run of the owner's session; ok is false when there is none.
	Latest(ctx context.Context, owner, sessionID string) (r oracle.Run, ok bool, err error)
	// Frames returns frames after a number, and how far the run is. A run that
	// is gone is ErrRunNotFound.
	Frames(ctx context.Context, id string, after int64, limit int) ([]oracle.Frame, Head, error)
	// Heads tells how far runs are; unknown ones are missing in the answer.
	Heads(ctx context.Context, ids []string) (map[string]Head, error)
	// Prune deletes the frames of runs that ended before a time, a few at a
	// time, and returns how many runs it cleaned.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// Begin is a message and the run that answers it.
type Begin struct {
	Run     oracle.Run // without status, epoch, turn: the store decides
	Message oracle.Message
	// NewSession, when set, is the run's and is stored first.
	NewSession *oracle.Session
	// OtherRequestID replaces the run's request id when a live run of the
	// owner already uses it.
	OtherRequestID string
	// Minted says that the request id was just made, so that nobody has it yet.
	Minted bool
	// Once makes a repeated request id return the run that it started; with
	// another message it is ErrReused.
	Once      bool
	Multitask oracle.Multitask
	MaxQueue  int
	// Measure is what the run's sponsor may have in a day; what lies beyond is
	// refused, and what is taken is counted.
	Measure oracle.Measure
	Node    string
	TTL     time.Duration
	// Marks are stored with the run, unless the request had been seen.
	Marks []Mark
	// Frames are made when the request id is settled.
	Frames func(r oracle.Run) ([]oracle.Frame, error)
}

// Mark is a record of a plugin.Store that is stored with a run, or not at all.
type Mark struct {
	// Store is the name of the plugin.Store.
	Store, Key string
	Value      []byte
	For        time.Duration
}

// Begun is what Begin did.
type Begun struct {
	Run oracle.Run
	// Session is the run's, with the new message counted.
	Session oracle.Session
	Frames  []oracle.Frame
	// Repeat says that the request had been seen: nothing was stored.
	Repeat bool
	// Interrupted names the runs that were asked to stop, Woken those of them that
	// rested: whoever takes them can end them.
	Interrupted []string
	Woken       []string
	// Ended are queued runs that were ended at once.
	Ended []oracle.Run
}

// Batch is some frames of a run.
type Batch struct {
	RunID string
	Epoch int64
	// Frames are numbered and follow each other.
	Frames []oracle.Frame
	// Checkpoint, when not nil, replaces the run's checkpoint.
	Checkpoint json.RawMessage
	TTL        time.Duration
}

// Ending is the last write of a run.
type Ending struct {
	Batch
	Status    oracle.RunStatus
	ErrorKind string
	Model     string
	Usage     plugin.Usage
	Steps     int
	// Messages are the turn's AI messages, in order; the store numbers them.
	Messages []oracle.Message
	At       time.Time
	// Whole says that the batch has all frames but the opening ones: they may be
	// stored together.
	Whole bool
}

// Pausing is the last write before a run rests.
type Pausing struct {
	Batch
	Approvals []oracle.Approval
	// For is how long the run waits.
	For   time.Duration
	Model string
	Usage plugin.Usage
	Steps int
}

// Held is a run that a node works on.
type Held struct {
	RunID string
	Epoch int64
}

// Standing is what became of a held run.
type Standing struct {
	Lost  bool
	Abort bool
}

// Head is how far a run is.
type Head struct {
	LastSeq int64
	Status  oracle.RunStatus
	// Pruned says that frames were deleted.
	Pruned bool
}
