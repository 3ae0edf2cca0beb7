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

// CallHandler takes what pages say about live calls.
type CallHandler interface {
	// Signal handles one event of a page and returns the object that it is
	// acknowledged with. Its errors are faults that the page may read.
	Signal(ctx context.Context, from PageRef, name EventName, data json.RawMessage) (json.RawMessage, error)
	// Drain tells the pages of this node's calls to call again elsewhere.
	Drain(ctx context.Context)
}

// AnswerHandler takes what people answer to calls that wait for their approval. Its
// errors are faults that the page may read.
type AnswerHandler interface {
	Answer(ctx context.Context, a Answer, carried Carried) (Approval, error)
}

// CallCandidate is an address of either end of a call, as browsers write it.
type CallCandidate struct {
	Candidate        string  `json:"candidate"`
	SDPMid           *string `json:"sdpMid"`
	SDPMLineIndex    *uint16 `json:"sdpMLineIndex"`
	UsernameFragment *string `json:"usernameFragment,omitempty"`
}

// CallICEPayload tells a page an address of the oracle's; null says that there
// are no more.
type CallICEPayload struct {
	SessionID string         `json:"sessionId"`
	CallID    string         `json:"callId"`
	Candidate *CallCandidate `json:"candidate"`
}

// CallEndPayload tells a page that its call is over, or is over here: call_moved.
type CallEndPayload struct {
	SessionID string `json:"sessionId"`
	CallID    string `json:"callId"`
	Reason    string `json:"reason"`
}

// CallStatePayload tells a page how far its call is.
type CallStatePayload struct {
	SessionID  string `json:"sessionId"`
	CallID     string `json:"callId"`
	CallStatus string `json:"callStatus"`
	ExpiresAt  string `json:"expiresAt"`
}
