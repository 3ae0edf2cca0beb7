package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// EventName is the name of a socket event.
type EventName string

// What the server tells sockets.
const (
	EventConnected                EventName = "connected"
	EventPong                     EventName = "pong"
	EventStatus                   EventName = "status"
	EventSubscribed               EventName = "subscribed"
	EventAvailableEvents          EventName = "available-events"
	EventToolCall                 EventName = "tool_call"
	EventActionCall               EventName = "action_call"
	EventRenderComponent          EventName = "render_component"
	EventBrowserToolCall          EventName = "browser_tool_call"
	EventRouterUpdate             EventName = "router_update"
	EventMessageCacheInvalidation EventName = "message_cache_invalidation"
	EventCallICE                  EventName = "call_ice"
	EventCallEnd                  EventName = "call_end"
	EventCallMoved                EventName = "call_moved"
	EventCallState                EventName = "call_state"
	EventRunStarted               EventName = "run_started"
	EventApprovalRequired         EventName = "approval_required"
	EventApprovalAnswered         EventName = "approval_answered"
	EventCitations                EventName = "citations"
)

// What sockets tell the server.
const (
	ClientPing             EventName = "ping"
	ClientStatus           EventName = "status"
	ClientSubscribe        EventName = "subscribe"
	ClientListEvents       EventName = "list-events"
	ClientToolResult       EventName = "tool_result"
	ClientActionCallResult EventName = "action_call_result"
	ClientCallOffer        EventName = "call_offer"
	ClientCallICE          EventName = "call_ice"
	ClientCallEnd          EventName = "call_end"
	ClientCallRenew        EventName = "call_renew"
	ClientApprovalAnswer   EventName = "approval_answer"
)

// ServerEvents is the catalogue that list-events shows.
func ServerEvents() []EventName {
	return []EventName{
		EventConnected, EventPong, EventStatus, EventSubscribed, EventAvailableEvents, EventRenderComponent,
		EventToolCall, EventActionCall, EventBrowserToolCall, EventRouterUpdate, EventMessageCacheInvalidation,
		EventCallICE, EventCallEnd, EventCallMoved, EventCallState, EventRunStarted, EventApprovalRequired,
		EventApprovalAnswered, EventCitations,
	}
}

// ClientEvents is what a socket may send.
func ClientEvents() []EventName {
	return []EventName{
		ClientPing, ClientStatus, ClientSubscribe, ClientListEvents, ClientToolResult, ClientActionCallResult,
		ClientCallOffer, ClientCallICE, ClientCallEnd, ClientCallRenew, ClientApprovalAnswer,
	}
}

// Event is something that every open page of a session may want to know.
type Event struct {
	Name EventName `json:"name"`
	Address
	// Payload is the bare payload: a JSON object with sessionId and requestId.
	Payload json.RawMessage `json:"payload"`
	// Bare leaves the envelope out: published clients take an enveloped event
	// for a step of a turn, and show it until the transcript changes.
	Bare bool `json:"-"`
	// Quiet leaves the session out of the envelope: published clients read the
	// transcript again, and show nothing for the event.
	Quiet bool `json:"-"`
}

// Wire is the event as it goes to sockets: bare, or in the hybrid form.
func (e Event) Wire() (json.RawMessage, error) {
	if e.Bare || e.Name == EventRunStarted || e.Name == EventApprovalRequired || e.Name == EventApprovalAnswered ||
		e.Name == EventCitations {
		return e.Payload, nil
	}
	if e.Quiet {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(e.Payload, &fields); err != nil {
			return nil, fmt.Errorf("read the payload of %s: %w", e.Name, err)
		}
		fields["sessionId"] = json.RawMessage(`""`)
		quiet, err := json.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("encode the payload of %s: %w", e.Name, err)
		}
		return e.enveloped(quiet)
	}
	return e.Hybrid()
}

// NewEvent encodes a payload, which must be a struct with an Address.
func NewEvent(name EventName, to Address, payload any) (Event, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return Event{}, fmt.Errorf("encode %s event: %w", name, err)
	}
	return Event{Name: name, Address: to, Payload: data}, nil
}

// Hybrid is the event's wire form: the bare fields, and beside them eventName
// and a payload that repeats the fields, so that clients which read either
// form understand it.
func (e Event) Hybrid() (json.RawMessage, error) { return e.enveloped(e.Payload) }

// enveloped is the hybrid form with that in the envelope.
func (e Event) enveloped(payload json.RawMessage) (json.RawMessage, error) {
	bare := bytes.TrimSpace(e.Payload)
	if len(bare) < 2 || bare[0] != '{' || bare[len(bare)-1] != '}' {
		return nil, fmt.Errorf("the payload of %s is not an object", e.Name)
	}
	name, err := json.Marshal(e.Name)
	if err != nil {
		return nil, fmt.Errorf("encode event name: %w", err)
	}
	var out bytes.Buffer
	out.Grow(len(bare) + len(payload) + len(name) + 32)
	out.Write(bare[:len(bare)-1])
	if len(bytes.TrimSpace(bare[1:len(bare)-1])) > 0 {
		out.WriteByte(',')
	}
	out.WriteString(`"eventName":`)
	out.Write(name)
	out.WriteString(`,"payload":`)
	out.Write(bytes.TrimSpace(payload))
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Publisher sends an event to the session's room on every node, in its wire
// form. It is a hint: it may be lost and must not block for long. browser_tool_call
// and action_call never go this way; they are a Dispatcher's.
type Publisher interface {
	Publish(ctx context.Context, e Event) error
}

// SessionCloser is a Publisher that can also end what follows a session that
// was deleted. It is a hint, like the rest.
type SessionCloser interface {
	CloseSession(ctx context.Context, sessionID string)
}
