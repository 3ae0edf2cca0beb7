package openai

import (
	"encoding/base64"
	"encoding/json"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// The request.
type (
	chatRequest struct {
		Model               string         `json:"model"`
		Messages            []chatMessage  `json:"messages"`
		Tools               []chatTool     `json:"tools,omitempty"`
		Stream              bool           `json:"stream"`
		StreamOptions       map[string]any `json:"stream_options,omitempty"`
		MaxTokens           int            `json:"max_tokens,omitempty"`
		MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
		ToolChoice          string         `json:"tool_choice,omitempty"`
		ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
		PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
		Temperature         *float64       `json:"temperature,omitempty"`
	}
	chatMessage struct {
		Role       string     `json:"role"`
		Content    any        `json:"content"`
		ToolCalls  []chatCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
		// What some endpoints want back.
		ReasoningContent *string           `json:"reasoning_content,omitempty"`
		ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	}
	chatTool struct {
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	chatCall struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
		ExtraContent json.RawMessage `json:"extra_content,omitempty"`
	}
)

// chatState is what an endpoint said for itself with an answer.
type chatState struct {
	// Thoughts are what came before calls, as reasoning_content.
	Thoughts string `json:"thoughts,omitempty"`
	// Details are reasoning_details, as they came.
	Details []json.RawMessage `json:"details,omitempty"`
	// Extra is the extra_content of each call, or null.
	Extra []json.RawMessage `json:"extra,omitempty"`
}

// unsigned is the extra_content of a call that Gemini has not made.
var unsigned = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

func (p *Provider) chat(req plugin.ModelRequest, info model.Info, tag wire.Tag, m manners,
	names *wire.Names,
) chatRequest {
	out := chatRequest{
		Model: tag.Model, Stream: true, StreamOptions: map[string]any{"include_usage": true}, Temperature: info.Temperature,
		ReasoningEffort: info.Effort,
	}
	if m.completionTokens {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	if m.cacheKey {
		out.PromptCacheKey = req.Session
	}
	if req.System != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: req.System})
	}
	for _, msg := range req.Messages {
		if n := len(out.Messages); m.strictIDs && n > 0 && out.Messages[n-1].Role == "tool" && msg.Role == plugin.RoleUser {
			out.Messages = append(out.Messages, chatMessage{Role: "assistant", Content: "(no answer)"})
		}
		out.Messages = append(out.Messages, chatMessageOf(msg, tag, m, names))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, chatTool{Type: "function", Function: chatFunction{
			Name: names.Wire(t.Name), Description: t.Description, Parameters: wire.Schema(t.Schema),
		}})
	}
	if len(req.Tools) > 0 && req.NoCalls {
		out.ToolChoice = "none"
	}
	if len(req.Tools) > 0 && m.effortless {
		out.ReasoningEffort = "none"
	}
	return out
}

func chatMessageOf(m plugin.ModelMessage, tag wire.Tag, how manners, names *wire.Names) chatMessage {
	id := wire.CallID
	if how.strictIDs {
		id = wire.StrictCallID
	}
	out := chatMessage{Role: string(m.Role), Content: wire.TextWithNote(m)}
	if m.ToolCallID != "" {
		out.ToolCallID = id(m.ToolCallID)
	}
	var state chatState
	if raw := tag.Of(m); raw != nil && !how.stateless && json.Unmarshal(raw, &state) != nil {
		state = chatState{}
	}
	for i, c := range m.ToolCalls {
		call := chatCall{ID: id(c.ID), Type: "function"}
		call.Function.Name, call.Function.Arguments = names.Wire(c.Name), string(c.Args)
		if i < len(state.Extra) && string(state.Extra[i]) != "null" {
			call.ExtraContent = state.Extra[i]
		} else if how.signed && i == 0 { // of parallel calls the first is signed
			call.ExtraContent = unsigned
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
	out.ReasoningDetails = state.Details
	if len(m.ToolCalls) > 0 {
		if how.thoughts {
			out.ReasoningContent = &state.Thoughts
		}
		if m.Text == "" {
			out.Content = nil
		}
	}
	if len(m.Images) > 0 {
		parts := []map[string]any{{"type": "text", "text": wire.TextWithNote(m)}}
		for _, img := range m.Images {
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]string{"url": dataURL(img)}})
		}
		out.Content = parts
	}
	return out
}

func dataURL(img plugin.Image) string {
	return "data:" + img.MediaType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
}
