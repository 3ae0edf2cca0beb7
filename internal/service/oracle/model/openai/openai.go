// Package openai speaks to any endpoint of the OpenAI chat wire.
//
// It takes what compatible endpoints really send: tool calls in pieces or
// whole, with or without an index, reasoning under three names, content as text
// or as a list, usage in the last chunk, in the finishing one or beside it.
package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// DefaultBase is the address of OpenAI itself.
const DefaultBase = "https://api.openai.com/v1"

// Config says which endpoint and which models; DefaultBase when it names none.
type Config = wire.Endpoint

// Provider is an endpoint.
type Provider struct {
	cfg    Config
	client *wire.Client
}

var _ model.Provider = (*Provider)(nil)

// New makes a provider.
func New(cfg Config) (*Provider, error) {
	client, err := cfg.Connect("openai", DefaultBase)
	if err != nil {
		return nil, err
	}
	return &Provider{cfg: cfg, client: client}, nil
}

// Name is "openai".
func (p *Provider) Name() string { return "openai" }

// Models lists the models.
func (p *Provider) Models() []model.Info { return p.cfg.Models }

// Stream asks the endpoint.
func (p *Provider) Stream(ctx context.Context, req plugin.ModelRequest, sink func(plugin.Chunk)) (plugin.ModelResponse, error) {
	header := http.Header{}
	if p.cfg.Key != "" {
		header.Set("Authorization", "Bearer "+p.cfg.Key)
	}
	return p.client.Ask(ctx, p.cfg.BaseURL+"/chat/completions", header, req.Tools, sink,
		func(names *wire.Names) any { return p.request(req, names) },
		func(a *wire.Answer) wire.Handler { return &answer{Answer: a, client: p.client} })
}

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
	}
	chatMessage struct {
		Role       string     `json:"role"`
		Content    any        `json:"content"`
		ToolCalls  []chatCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
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
	}
)

func (p *Provider) request(req plugin.ModelRequest, names *wire.Names) chatRequest {
	out := chatRequest{
		Model: model.Find(p, req.Model).ID, Stream: true, StreamOptions: map[string]any{"include_usage": true},
	}
	if p.cfg.BaseURL == DefaultBase {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	if req.System != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: req.System})
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, message(m, names))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, chatTool{Type: "function", Function: chatFunction{
			Name: names.Wire(t.Name), Description: t.Description, Parameters: wire.Schema(t.Schema),
		}})
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	return out
}

func message(m plugin.ModelMessage, names *wire.Names) chatMessage {
	out := chatMessage{Role: string(m.Role), Content: wire.Told(m), ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		call := chatCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = names.Wire(c.Name), string(c.Args)
		out.ToolCalls = append(out.ToolCalls, call)
	}
	if len(m.ToolCalls) > 0 && m.Text == "" {
		out.Content = nil
	}
	if len(m.Images) > 0 {
		parts := []map[string]any{{"type": "text", "text": wire.Told(m)}}
		for _, img := range m.Images {
			url := "data:" + img.MediaType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
		}
		out.Content = parts
	}
	return out
}

// The answer, in chunks or whole.
type (
	chunk struct {
		Model   string                  `json:"model"`
		Choices []choice                `json:"choices"`
		Usage   *usage                  `json:"usage"`
		XGroq   *struct{ Usage *usage } `json:"x_groq"`
		Error   json.RawMessage         `json:"error"`
	}
	choice struct {
		Index        int    `json:"index"`
		Delta        delta  `json:"delta"`
		Message      delta  `json:"message"`
		FinishReason string `json:"finish_reason"`
	}
	delta struct {
		Content          json.RawMessage `json:"content"`
		ReasoningContent string          `json:"reasoning_content"`
		Reasoning        string          `json:"reasoning"`
		ToolCalls        []deltaCall     `json:"tool_calls"`
	}
	deltaCall struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	usage struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
		PromptDetails    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

// answer reads a stream.
type answer struct {
	*wire.Answer
	client *wire.Client
}

// Event takes one chunk.
func (a *answer) Event(e sse.Event) (bool, error) {
	data := strings.TrimSpace(string(e.Data))
	if data == "[DONE]" {
		return true, a.complete()
	}
	if data == "" {
		return false, nil
	}
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return false, a.client.Garbage()
	}
	return false, a.take(c, false)
}

// End accepts endpoints that do not say [DONE] after a finished answer.
func (a *answer) End() error {
	if a.Finish == "" {
		return a.client.Truncated()
	}
	return nil
}

// Whole takes an answer that was not streamed.
func (a *answer) Whole(body []byte) error {
	var c chunk
	if err := json.Unmarshal(body, &c); err != nil {
		return a.client.Garbage()
	}
	if err := a.take(c, true); err != nil {
		return err
	}
	return a.complete()
}

// complete refuses an answer that says it is over but has no end.
func (a *answer) complete() error {
	if a.Finish == "" && a.Empty() {
		return &model.Error{Kind: model.Server, Provider: "openai", Detail: "the endpoint sent an empty answer"}
	}
	return nil
}

func (a *answer) take(c chunk, whole bool) error {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		var inner struct {
			Message, Type string
			Code          any
		}
		if json.Unmarshal(c.Error, &inner) != nil {
			inner.Message = string(c.Error)
		}
		status, _ := inner.Code.(float64)
		return a.client.Failure(int(status), fmt.Sprint(inner.Type, " ", inner.Code), inner.Message)
	}
	if c.Model != "" {
		a.Model = c.Model
	}
	if c.XGroq != nil && c.XGroq.Usage != nil {
		a.count(*c.XGroq.Usage)
	}
	if c.Usage != nil {
		a.count(*c.Usage)
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		d := ch.Delta
		if whole {
			d = ch.Message
		}
		a.delta(d)
		if ch.FinishReason != "" {
			a.Finish = ch.FinishReason
		}
	}
	return nil
}

func (a *answer) count(u usage) {
	a.Usage = plugin.Usage{
		InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens,
		CachedTokens: u.PromptDetails.Cached, ReasoningTokens: u.CompletionDetails.Reasoning,
	}
}

func (a *answer) delta(d delta) {
	text, thought := contentOf(d.Content)
	thought += d.ReasoningContent
	if d.ReasoningContent == "" {
		thought += d.Reasoning
	}
	a.Say(text, thought)
	for _, c := range d.ToolCalls {
		p := a.call(c)
		if c.ID != "" {
			p.ID = c.ID
		}
		if c.Function.Name != "" && p.Name != c.Function.Name {
			p.Name += c.Function.Name
		}
		var piece string
		if json.Unmarshal(c.Function.Arguments, &piece) != nil {
			piece = string(c.Function.Arguments) // an object instead of a text
		}
		p.Args.WriteString(piece)
	}
}

// call finds the call that a piece belongs to.
func (a *answer) call(c deltaCall) *wire.Call {
	for _, p := range a.Calls {
		if c.Index != nil && p.Index == *c.Index || c.Index == nil && c.ID != "" && p.ID == c.ID {
			return p
		}
	}
	if c.Index == nil && c.ID == "" && c.Function.Name == "" && len(a.Calls) > 0 {
		return a.Calls[len(a.Calls)-1]
	}
	p := &wire.Call{Index: -1 - len(a.Calls)}
	if c.Index != nil {
		p.Index = *c.Index
	}
	a.Calls = append(a.Calls, p)
	return p
}

// contentOf reads content that is a text or a list of parts.
func contentOf(raw json.RawMessage) (text, thought string) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, ""
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		if p.Type == "thinking" {
			inner, _ := contentOf(p.Thinking)
			thought += p.Text + inner
			continue
		}
		text += p.Text
	}
	return text, thought
}
