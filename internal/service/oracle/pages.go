package oracle

import (
	"context"
	"encoding/json"
)

// PageRef names one open page, on whichever node it is.
type PageRef struct {
	Node      string `json:"node"`
	Socket    string `json:"socket"`
	Owner     string `json:"owner"`
	SessionID string `json:"sessionId"`
}

// PageEmitter sends an event to one page alone. It is a hint: the page may be
// gone, and nobody is told.
type PageEmitter interface {
	EmitTo(ctx context.Context, to PageRef, e Event) error
}

// CallDesk takes what pages say about live calls.
type CallDesk interface {
	// Signal handles one event of a page and returns the object that it is
	// acknowledged with. Its errors are faults that the page may read.
	Signal(ctx context.Context, from PageRef, name EventName, data json.RawMessage) (json.RawMessage, error)
	// Drain tells the pages of this node's calls to call again elsewhere.
	Drain(ctx context.Context)
}
