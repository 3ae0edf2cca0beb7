package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// CallKind says which of the page's two registers a call is for.
type CallKind uint8

// A call runs a browser tool or an AG-UI action.
const (
	BrowserTool CallKind = iota + 1
	Action
)

// Event is the name under which the call goes out, bare and once.
func (k CallKind) Event() EventName {
	if k == Action {
		return EventActionCall
	}
	return EventBrowserToolCall
}

// Call asks one open page of the session to do something.
type Call struct {
	// ID is unique: results are matched by it, by socket and by session.
	ID        string
	Kind      CallKind
	SessionID string
	RequestID string
	// Owner is the DID whose sockets may be asked.
	Owner string
	// Tab names the page that should be asked, if it is there; otherwise it is the
	// one that was used last.
	Tab      string
	Name     string
	Args     json.RawMessage
	Deadline time.Time
}

// Payload is the bare payload that goes to the socket.
func (c Call) Payload() any {
	to := Address{SessionID: c.SessionID, RequestID: c.RequestID}
	if c.Kind == Action {
		return ActionCallPayload{Address: to, ToolCallID: c.ID, ToolName: c.Name, Args: c.Args, Status: "isRunning"}
	}
	return BrowserToolCallPayload{Address: to, ToolCallID: c.ID, ToolName: c.Name, Args: c.Args}
}

// Outcome is what became of a Call.
type Outcome struct {
	// Result is the page's result, when it sent one.
	Result json.RawMessage `json:"result,omitempty"`
	// Error is the page's own error text.
	Error string `json:"error,omitempty"`
	// Unknown says that the call was sent and nobody knows whether it ran: the
	// deadline passed or the socket went away. It is never sent again.
	Unknown bool `json:"unknown,omitempty"`
}

// ErrNoBrowser says that no page of the session is connected to any node, so
// that the call was not sent.
var ErrNoBrowser = errors.New("no browser is connected to the session")

// ErrTooManyCalls says that the user has too many unanswered calls.
var ErrTooManyCalls = errors.New("too many unanswered calls")

// Dispatcher sends a Call to exactly one socket of the session, on whichever
// node it is, and waits for the answer of that socket alone. The context ends
// the wait; a call that was sent then has an unknown outcome.
type Dispatcher interface {
	Dispatch(ctx context.Context, c Call) (Outcome, error)
}

// SessionChecker tells whether a session belongs to a user. The error is the
// same fault for an unknown session and for somebody else's.
type SessionChecker interface {
	CheckSession(ctx context.Context, owner, sessionID string) error
}
