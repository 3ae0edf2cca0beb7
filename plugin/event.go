package plugin

import (
	"context"
	"encoding/json"
)

// Emitter sends typed events to the session's room. Session and request ids
// are added by the host. An event is a hint to open pages: it may be lost, and
// what must last belongs in the reply or the Store.
type Emitter interface {
	ToolCall(ctx context.Context, e ToolCallEvent) error
	RenderComponent(ctx context.Context, e RenderComponentEvent) error
	RouterUpdate(ctx context.Context, e RouterUpdateEvent) error
	// Reasoning shows a passing thought in the stream of the turn.
	Reasoning(ctx context.Context, text string) error
	// MessageCacheInvalidation tells pages to fetch the history again.
	MessageCacheInvalidation(ctx context.Context) error
}

// Status is how far a call or a component is.
type Status string

// The states of a call.
const (
	Running Status = "isRunning"
	Done    Status = "done"
	Failed  Status = "error"
)

// ToolCallEvent tells pages about a tool call.
type ToolCallEvent struct {
	ToolName string
	Args     json.RawMessage
	Status   Status
	// EventID identifies the call; the host makes one when it is empty.
	EventID string
	Output  string
	Error   string
}

// RenderComponentEvent asks pages to show one of their components.
type RenderComponentEvent struct {
	ComponentName string
	Args          json.RawMessage
	Status        Status
	// EventID identifies the component; the host makes one when it is empty.
	EventID string
}

// RouterUpdateEvent tells pages which agent works on the turn.
type RouterUpdateEvent struct {
	Step string
}
