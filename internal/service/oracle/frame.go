package oracle

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

// The names of the frames of a run.
const (
	FrameRun                = "run"
	FrameReasoning          = "reasoning"
	FrameMessage            = "message"
	FrameToolCall           = "tool_call"
	FrameActionCall         = "action_call"
	FrameError              = "error"
	FrameDone               = "done"
	FrameRouterUpdate       = "router.update"
	FrameRenderComponent    = "render_component"
	FrameDelegationRequired = "delegation_required"
	FrameApprovalRequired   = "approval_required"
	FrameApprovalAnswered   = "approval_answered"
	FrameCitations          = "citations"
)

// FrameNames lists every frame that a stream may carry.
func FrameNames() []string {
	return []string{
		FrameRun, FrameReasoning, FrameMessage, FrameToolCall, FrameActionCall, FrameError, FrameDone,
		FrameRouterUpdate, FrameRenderComponent, FrameDelegationRequired, FrameApprovalRequired, FrameApprovalAnswered,
		FrameCitations,
	}
}

// Timestamp is the wire form of an instant: UTC with milliseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Address says which turn of which session a payload belongs to.
type Address struct {
	SessionID string `json:"sessionId"`
	RequestID string `json:"requestId"`
}

// RunFrame begins a stream, and tells readers when a run changed hands.
type RunFrame struct {
	RunID string `json:"runId"`
	Address
	Resumed bool `json:"resumed,omitempty"`
	Attempt int  `json:"attempt,omitempty"`
	// PartialLength is how much of the shown text stays, in UTF-16 units.
	PartialLength *int `json:"partialLength,omitempty"`
}

// ReasoningFrame carries a thought.
type ReasoningFrame struct {
	Address
	Reasoning        string            `json:"reasoning"`
	ReasoningDetails []ReasoningDetail `json:"reasoningDetails,omitempty"`
	IsComplete       bool              `json:"isComplete"`
	Timestamp        string            `json:"timestamp"`
}

// ReasoningDetail is a typed piece of reasoning.
type ReasoningDetail struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// MessageFrame carries a piece of the answer.
type MessageFrame struct {
	Content   string `json:"content"`
	Timestamp string `json:"timestamp"`
	// Refused is set when the text is no answer, but says why there is none, or no more of it.
	Refused *Refused `json:"refused,omitempty"`
}

// Refused says in a program's words why a turn was refused in its course.
type Refused struct {
	// Status is the HTTP status that the same refusal has before a turn.
	Status int    `json:"status"`
	Code   string `json:"code,omitempty"`
}

// ErrorFrame says what went wrong; the turn may go on.
type ErrorFrame struct {
	Error         string `json:"error"`
	Kind          string `json:"kind"`
	Source        string `json:"source"`
	Provider      string `json:"provider,omitempty"`
	ProviderLabel string `json:"providerLabel,omitempty"`
	Status        int    `json:"status,omitempty"`
	Retryable     bool   `json:"retryable"`
	Detail        string `json:"detail"`
	RunID         string `json:"runId,omitempty"`
	Address
	Timestamp string `json:"timestamp"`
}

// DoneFrame ends a stream.
type DoneFrame struct {
	RunID       string    `json:"runId"`
	MessageID   string    `json:"messageId,omitempty"`
	Status      RunStatus `json:"status"`
	Aborted     bool      `json:"aborted,omitempty"`
	Failed      bool      `json:"failed,omitempty"`
	Interrupted bool      `json:"interrupted,omitempty"`
	PartialText string    `json:"partialText,omitempty"`
	// Finish is why the answer ended, when that was not by itself.
	Finish string `json:"finish,omitempty"`
}

// RouterUpdate says which agent works, on the stream and on the socket.
type RouterUpdate struct {
	Address
	Step  string `json:"step"`
	RunID string `json:"runId,omitempty"`
}

// DelegationRequired asks the user to authorise the oracle again.
type DelegationRequired struct {
	Address
	OracleDID       string `json:"oracleDid"`
	OracleEntityDID string `json:"oracleEntityDid,omitempty"`
	Timestamp       string `json:"timestamp"`
}

// ToolCallPayload tells about a tool call, on the stream and on the socket.
type ToolCallPayload struct {
	Address
	ToolName string          `json:"toolName"`
	Args     json.RawMessage `json:"args"`
	Status   plugin.Status   `json:"status"`
	EventID  string          `json:"eventId"`
	Output   *string         `json:"output,omitempty"`
	Error    string          `json:"error,omitempty"`
	// Caller marks a call that whoever asked is to run.
	Caller bool `json:"caller,omitempty"`
}

// ActionCallPayload tells about an AG-UI action on the stream, for display,
// and asks one tab to run it on the socket.
type ActionCallPayload struct {
	Address
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Args       json.RawMessage `json:"args,omitempty"`
	Status     plugin.Status   `json:"status"`
	Output     *string         `json:"output,omitempty"`
	Error      string          `json:"error,omitempty"`
}

// BrowserToolCallPayload asks one tab to run a browser tool.
type BrowserToolCallPayload struct {
	Address
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Args       json.RawMessage `json:"args"`
}

// RenderComponentPayload asks pages to show a component.
type RenderComponentPayload struct {
	Address
	ComponentName string          `json:"componentName"`
	Args          json.RawMessage `json:"args,omitempty"`
	Status        plugin.Status   `json:"status,omitempty"`
	EventID       string          `json:"eventId,omitempty"`
}

// MessageCacheInvalidation tells pages that the stored history changed.
type MessageCacheInvalidation struct {
	Address
	Status plugin.Status `json:"status,omitempty"`
	// Title is the session's new title, when that is what changed.
	Title string `json:"title,omitempty"`
	// Ended says that the turn is over: who followed its stream to the end has
	// all of it already.
	Ended bool `json:"ended,omitempty"`
	// Reason is ReasonVersion or ReasonFeedback, when that is what changed.
	Reason string `json:"reason,omitempty"`
}

// What else changes a transcript than a turn that ends.
const (
	ReasonVersion  = "version"  // another branch is shown
	ReasonFeedback = "feedback" // somebody said what they think of an answer
)

// RunStarted tells open pages that a turn has begun, so that those which did not
// send its message can follow it too.
type RunStarted struct {
	Address
	RunID string `json:"runId"`
	// TabID names the page that sent the message, if it named itself.
	TabID string `json:"tabId,omitempty"`
}

// NewFrame encodes a payload. The sequence number is given by the log.
func NewFrame(event string, payload any) (Frame, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return Frame{}, fmt.Errorf("encode %s frame: %w", event, err)
	}
	return Frame{Event: event, Data: data}, nil
}

// WithToolName returns the arguments with the tool's name repeated inside, as
// pages expect. Arguments that are not an object become an empty one.
func WithToolName(args json.RawMessage, name string) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(args, &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return args
	}
	fields["toolName"] = quoted
	out, err := json.Marshal(fields)
	if err != nil {
		return args
	}
	return out
}
