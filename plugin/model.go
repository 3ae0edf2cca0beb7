package plugin

import (
	"context"
	"encoding/json"
)

// Role says who speaks in a model conversation.
type Role string

// The roles of a model conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// ModelMessage is one entry of a model conversation.
type ModelMessage struct {
	Role Role
	Text string
	// Images are shown to models that can see; others get a note instead.
	Images []Image
	// ToolCalls are the calls that an assistant message asks for.
	ToolCalls []ModelToolCall
	// ToolCallID says which call a tool message answers.
	ToolCallID string
	// Failed marks a tool message that reports an error.
	Failed bool
	// Note is what the model is told beside a user's message or a result: the
	// time, what plugins remember. It is sent where it was first sent, so that
	// what came before stays the same from request to request.
	Note string
	// State is what the provider said with an assistant message and wants back.
	State *ModelState
}

// ModelState is what a provider keeps in an answer for itself: signatures,
// encrypted thoughts. Nobody else reads Data. It goes back to the provider and
// the model that made it, and to no other.
type ModelState struct {
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	Data     json.RawMessage `json:"data"`
}

// Image is a picture for a model.
type Image struct {
	MediaType string
	Data      []byte
}

// ModelToolCall is a call that the model asks for.
type ModelToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// ToolSpec is a tool as a model sees it.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// ModelRequest is one call of a model.
type ModelRequest struct {
	// Model is the provider's name of the model; empty means its default.
	Model    string
	System   string
	Messages []ModelMessage
	Tools    []ToolSpec
	// MaxTokens bounds the answer; zero leaves it to the provider.
	MaxTokens int
	// NoCalls wants an answer in words. Tools stay listed, since the history may
	// speak of them.
	NoCalls bool
	// Session is the conversation that the call belongs to, for providers that
	// keep what they have read; empty outside conversations.
	Session string
	// Purpose says why the call is made: turn, sub-agent, summary, title.
	Purpose string
}

// ModelResponse is a complete answer.
type ModelResponse struct {
	Text      string
	Reasoning string
	ToolCalls []ModelToolCall
	Usage     Usage
	// Finish is why the model stopped: stop, tool_calls, length, filter, refusal, or
	// window when the model's was full.
	Finish string
	Model  string
	// State goes back to the provider with this answer; nil if it wants nothing.
	State *ModelState
}

// Usage counts tokens. Cached and reasoning tokens are parts of the totals,
// never additions. Cost is in millionths of a US dollar.
type Usage struct {
	InputTokens     int64 `json:"inputTokens"`
	OutputTokens    int64 `json:"outputTokens"`
	CachedTokens    int64 `json:"cachedTokens,omitempty"`
	ReasoningTokens int64 `json:"reasoningTokens,omitempty"`
	CostMicros      int64 `json:"costMicros,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:     u.InputTokens + v.InputTokens,
		OutputTokens:    u.OutputTokens + v.OutputTokens,
		CachedTokens:    u.CachedTokens + v.CachedTokens,
		ReasoningTokens: u.ReasoningTokens + v.ReasoningTokens,
		CostMicros:      u.CostMicros + v.CostMicros,
	}
}

// Chunk is a piece of a streamed answer.
type Chunk struct {
	Text      string
	Reasoning string
	// Retract takes back the text that the answer has said so far: it has turned
	// out to be a thought, and comes with this piece as one.
	Retract bool
}

// ModelFunc calls a model. It hands the pieces to sink, in order and from one
// goroutine, and returns the whole.
type ModelFunc func(ctx context.Context, rt *Runtime, req ModelRequest, sink func(Chunk)) (ModelResponse, error)
