// Package anthropic speaks to endpoints of the Anthropic messages wire.
package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// DefaultBase is the address of Anthropic itself.
const DefaultBase = "https://api.anthropic.com"

// maxTokens is the length of an answer when a request sets none; the wire
// demands one.
const maxTokens = 8192

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
	client, err := cfg.Connect("anthropic", DefaultBase)
	if err != nil {
		return nil, err
	}
	cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/v1")
	return &Provider{cfg: cfg, client: client}, nil
}

// Name is "anthropic".
func (p *Provider) Name() string { return "anthropic" }

// Models lists the models.
func (p *Provider) Models() []model.Info { return p.cfg.Models }

// Stream asks the endpoint.
func (p *Provider) Stream(ctx context.Context, req plugin.ModelRequest, sink func(plugin.Chunk)) (plugin.ModelResponse, error) {
	header := http.Header{"X-Api-Key": {p.cfg.Key}, "Anthropic-Version": {"2023-06-01"}}
	return p.client.Ask(ctx, p.cfg.BaseURL+"/v1/messages", header, req.Tools, sink,
		func(names *wire.Names) any { return p.request(req, names) },
		func(a *wire.Answer) wire.Handler { return &answer{Answer: a, client: p.client} })
}

type (
	request struct {
		Model     string           `json:"model"`
		MaxTokens int              `json:"max_tokens"`
		System    []map[string]any `json:"system,omitempty"`
		Messages  []message        `json:"messages"`
		Tools     []tool           `json:"tools,omitempty"`
		Stream    bool             `json:"stream"`
		// ToolChoice is set to forbid calls.
		ToolChoice map[string]string `json:"tool_choice,omitempty"`
	}
	message struct {
		Role    string           `json:"role"`
		Content []map[string]any `json:"content"`
	}
	tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
)

func (p *Provider) request(req plugin.ModelRequest, names *wire.Names) request {
	out := request{Model: model.Find(p, req.Model).ID, MaxTokens: req.MaxTokens, Stream: true}
	if out.MaxTokens == 0 {
		out.MaxTokens = maxTokens
	}
	if req.System != "" { // the longest part that stays the same: worth caching
		out.System = []map[string]any{{"type": "text", "text": req.System, "cache_control": map[string]string{"type": "ephemeral"}}}
	}
	for _, m := range req.Messages {
		role, blocks := blocksOf(m, names)
		if len(blocks) == 0 {
			continue
		}
		if n := len(out.Messages); n > 0 && out.Messages[n-1].Role == role {
			out.Messages[n-1].Content = append(out.Messages[n-1].Content, blocks...) // roles must alternate
			continue
		}
		out.Messages = append(out.Messages, message{Role: role, Content: blocks})
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, tool{Name: names.Wire(t.Name), Description: t.Description, InputSchema: wire.Schema(t.Schema)})
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolChoice = map[string]string{"type": "none"}
	}
	return out
}

func blocksOf(m plugin.ModelMessage, names *wire.Names) (role string, blocks []map[string]any) {
	switch m.Role {
	case plugin.RoleTool:
		return "user", []map[string]any{{
			"type": "tool_result", "tool_use_id": m.ToolCallID, "content": nonEmpty(wire.Told(m)), "is_error": m.Failed,
		}}
	case plugin.RoleAssistant:
		if strings.TrimSpace(m.Text) != "" {
			blocks = append(blocks, map[string]any{"type": "text", "text": m.Text})
		}
		for _, c := range m.ToolCalls {
			blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.ID, "name": names.Wire(c.Name), "input": c.Args})
		}
		return "assistant", blocks
	}
	for _, img := range m.Images {
		blocks = append(blocks, map[string]any{"type": "image", "source": map[string]string{
			"type": "base64", "media_type": img.MediaType, "data": base64.StdEncoding.EncodeToString(img.Data),
		}})
	}
	return "user", append(blocks, map[string]any{"type": "text", "text": nonEmpty(wire.Told(m))})
}

func nonEmpty(s string) string {
	if strings.TrimSpace(s) == "" {
		return "(empty)"
	}
	return s
}

type (
	event struct {
		Type    string `json:"type"`
		Index   int    `json:"index"`
		Message struct {
			Model string `json:"model"`
			Usage usage  `json:"usage"`
		} `json:"message"`
		ContentBlock block `json:"content_block"`
		Delta        struct {
			Type        string `json:"type"`
			Text        string `json:"text"`
			Thinking    string `json:"thinking"`
			PartialJSON string `json:"partial_json"`
			StopReason  string `json:"stop_reason"`
		} `json:"delta"`
		Usage usage `json:"usage"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	block struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
	}
	usage struct {
		Input       int64 `json:"input_tokens"`
		Output      int64 `json:"output_tokens"`
		CacheRead   int64 `json:"cache_read_input_tokens"`
		CacheCreate int64 `json:"cache_creation_input_tokens"`
	}
)

// answer reads a stream.
type answer struct {
	*wire.Answer
	client *wire.Client
}

// Event takes one event.
func (a *answer) Event(e sse.Event) (bool, error) {
	var v event
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return false, a.client.Garbage()
	}
	switch v.Type {
	case "message_start":
		a.Model = v.Message.Model
		a.count(v.Message.Usage)
	case "content_block_start":
		a.begin(v.Index, v.ContentBlock)
	case "content_block_delta":
		a.Say(v.Delta.Text, v.Delta.Thinking)
		for _, c := range a.Calls {
			if c.Index == v.Index {
				c.Args.WriteString(v.Delta.PartialJSON)
			}
		}
	case "message_delta":
		if v.Delta.StopReason != "" {
			a.Finish = finish(v.Delta.StopReason)
		}
		if v.Usage.Output > 0 {
			a.Usage.OutputTokens = v.Usage.Output
		}
	case "message_stop":
		return true, nil
	case "error":
		return false, a.client.Failure(0, v.Error.Type, v.Error.Message)
	}
	return false, nil
}

// End is too early without message_stop.
func (a *answer) End() error { return a.client.Truncated() }

// Whole takes an answer that was not streamed.
func (a *answer) Whole(body []byte) error {
	var v struct {
		Model      string  `json:"model"`
		Content    []block `json:"content"`
		StopReason string  `json:"stop_reason"`
		Usage      usage   `json:"usage"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return a.client.Garbage()
	}
	a.Model, a.Finish = v.Model, finish(v.StopReason)
	a.count(v.Usage)
	for i, b := range v.Content {
		a.begin(i, b)
	}
	return nil
}

func (a *answer) count(u usage) {
	a.Usage = plugin.Usage{InputTokens: u.Input + u.CacheRead + u.CacheCreate, OutputTokens: u.Output, CachedTokens: u.CacheRead}
}

func (a *answer) begin(index int, b block) {
	if b.Type == "tool_use" {
		a.Calls = append(a.Calls, &wire.Call{Index: index, ID: b.ID, Name: b.Name, Whole: b.Input})
		return
	}
	a.Say(b.Text, b.Thinking)
}

// finish is a reason to stop in the oracle's words.
func finish(reason string) string {
	switch reason {
	case "tool_use":
		return "tool_calls"
	case "max_tokens":
		return "length"
	case "refusal":
		return "filter"
	}
	return "stop"
}
