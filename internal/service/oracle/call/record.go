package call

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Status is how far a call is.
type Status string

// The states of a call, in their only order.
const (
	Pending Status = "pending"
	Active  Status = "active"
	Ended   Status = "ended"
)

// Type says what a call carries.
type Type string

// The two kinds of calls.
const (
	Audio Type = "audio"
	Video Type = "video"
)

// Reason says why a call ended.
type Reason string

// The reasons that the server gives, and those that a page may give.
const (
	Hangup       Reason = "hangup"
	Timeout      Reason = "timeout"
	TooLong      Reason = "limit"
	TokenExpired Reason = "token_expired"
	TokenRevoked Reason = "token_revoked"
	Drained      Reason = "drain"
	Interrupted  Reason = "interrupted"
	SessionGone  Reason = "session_deleted"
	Mismatch     Reason = "fingerprint_mismatch"
	Failed       Reason = "failed"
)

// Record is a call as it is stored.
type Record struct {
	ID        string
	SessionID string
	Owner     string
	// Node is where the call's media is.
	Node     string
	Type     Type
	Status   Status
	Reason   Reason
	Voice    string
	Language string
	// Framed says that media has a second layer whose keys only the two ends know.
	Framed      bool
	Fingerprint string
	Agreement   string
	CreatedAt   time.Time
	StartedAt   time.Time
	EndedAt     time.Time
	// ExpiresAt is when the call ends unless its credential is renewed.
	ExpiresAt time.Time
	// Recording is the zero value for calls that are not recorded.
	Recording Recording
}

// The errors that callers tell apart.
var (
	// ErrNotFound is the one answer for unknown calls and for those of others.
	ErrNotFound = fault.New(fault.NotFound, "Call not found").WithCode("not_found")
	// ErrEnded says that the call is over.
	ErrEnded = fault.New(fault.Conflict, "The call has ended").WithCode("call_ended")
	// ErrBackwards says that a call does not go back to an earlier state.
	ErrBackwards = fault.New(fault.Conflict, "A call goes from pending to active to ended, and not back").WithCode("conflict")
	// ErrTooMany says that the user has as many calls as one may have.
	ErrTooMany = fault.New(fault.RateLimited, "Too many calls at once").WithCode("call_limit")
)

// Claim is what a new call must not exceed, and for how long its node has it.
type Claim struct {
	PerUser int
	TTL     time.Duration
}

// Store keeps the records. Whose a call is, and on which node it lives, is part
// of every question. All changes are durable when a method returns nil.
type Store interface {
	// CreateCall stores a pending call. It fails with oracle.ErrSessionNotFound
	// unless the session is the owner's, and with ErrTooMany.
	CreateCall(ctx context.Context, r Record, c Claim) error
	// Call fails with ErrNotFound unless the call is the owner's.
	Call(ctx context.Context, owner, id string) (Record, error)
	// Calls lists the calls of the owner's session, newest first.
	Calls(ctx context.Context, owner, sessionID string, limit int) ([]Record, error)
	// OpenCalls lists the owner's calls that have not ended, of all sessions, newest first.
	OpenCalls(ctx context.Context, owner string, limit int) ([]Record, error)
	// AdvanceCall moves a call on; changed is false when it was there already. It
	// fails with ErrNotFound and ErrBackwards.
	AdvanceCall(ctx context.Context, owner, id string, to Status, why Reason,
		at time.Time) (r Record, changed bool, err error)
	// ExtendCall says that a call of the node goes on until later.
	ExtendCall(ctx context.Context, node, id string, until time.Time) error
	// HeldCalls names the calls of the node that have not ended.
	HeldCalls(ctx context.Context, node string) ([]string, error)
	// RenewCalls keeps the node's calls from being swept for a while.
	RenewCalls(ctx context.Context, node string, ttl time.Duration) error
	// SweepCalls ends the calls whose node has not renewed them.
	SweepCalls(ctx context.Context, at time.Time, limit int) ([]Record, error)
	// SetRecording says what became of a recording that was on.
	SetRecording(ctx context.Context, id string, to RecordingState) error
	// ClaimRecordings returns calls whose recording nobody has finished although it
	// is due; nobody else gets them for a while.
	ClaimRecordings(ctx context.Context, due Due, while time.Duration, limit int) ([]Record, error)
}

// Due says whose recordings others may finish: of calls that ended before a time,
// and of those that lost their node before another.
type Due struct{ Ended, Lost time.Time }
