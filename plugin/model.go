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
	// Purpose says why the call is made: turn, sub-agent, summary, title.
	Purpose string
}

// ModelResponse is a complete answer.
type ModelResponse struct {
	Text      string
	Reasoning string
	ToolCalls []ModelToolCall
	Usage     Usage
	// Finish is why the model stopped: stop, tool_calls, length, filter.
	Finish string
	Model  string
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
}

// ModelFunc calls a model. It hands the pieces to sink, in order and from one
// goroutine, and returns the whole.
type ModelFunc func(ctx context.Context, rt *Runtime, req ModelRequest, sink func(Chunk)) (ModelResponse, error)
