// Package anthropic speaks to endpoints of the Anthropic messages wire.
package anthropic

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

// DefaultBase is the address of Anthropic itself.
const DefaultBase = "https://api.anthropic.com"

// maxTokens is the length of an answer when a request sets none; the wire
// demands one.
const maxTokens = 8192

// Config says which endpoint and which models.
type Config struct {
	BaseURL string // DefaultBase when empty
	Key     string
	// Models are the ones to choose from; the first is the default.
	Models []model.Info
	Wire   wire.Config
}

// Provider is an endpoint.
type Provider struct {
	cfg    Config
	client *wire.Client
}

var _ model.Provider = (*Provider)(nil)

// New makes a provider.
func New(cfg Config) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBase
	}
	cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")
	if len(cfg.Models) == 0 {
		return nil, fmt.Errorf("no model is named")
	}
	cfg.Wire.Provider = "anthropic"
	return &Provider{cfg: cfg, client: wire.New(cfg.Wire)}, nil
}

// Name is "anthropic".
func (p *Provider) Name() string { return "anthropic" }

// Models lists the models.
func (p *Provider) Models() []model.Info { return p.cfg.Models }

// Stream asks the endpoint.
func (p *Provider) Stream(ctx context.Context, req plugin.ModelRequest, sink func(plugin.Chunk)) (plugin.ModelResponse, error) {
	names := wire.NewNames(req.Tools)
	body, err := json.Marshal(p.request(req, names))
	if err != nil {
		return plugin.ModelResponse{}, &model.Error{Kind: model.Unknown, Provider: "anthropic", Cause: err}
	}
	header := http.Header{"X-Api-Key": {p.cfg.Key}, "Anthropic-Version": {"2023-06-01"}}
	var a *answer
	err = p.client.Post(ctx, p.cfg.BaseURL+"/v1/messages", header, body, func() wire.Handler {
		a = &answer{client: p.client, sink: sink}
		return a
	})
	return a.response(names), err
}

type (
	request struct {
		Model     string           `json:"model"`
		MaxTokens int              `json:"max_tokens"`
		System    []map[string]any `json:"system,omitempty"`
		Messages  []message        `json:"messages"`
		Tools     []tool           `json:"tools,omitempty"`
		Stream    bool             `json:"stream"`
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
	return out
}

func blocksOf(m plugin.ModelMessage, names *wire.Names) (role string, blocks []map[string]any) {
	switch m.Role {
	case plugin.RoleTool:
		return "user", []map[string]any{{
			"type": "tool_result", "tool_use_id": m.ToolCallID, "content": nonEmpty(m.Text), "is_error": m.Failed,
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
	return "user", append(blocks, map[string]any{"type": "text", "text": nonEmpty(m.Text)})
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

// answer collects a stream.
type answer struct {
	client    *wire.Client
	sink      func(plugin.Chunk)
	text      strings.Builder
	reasoning strings.Builder
	calls     []*partial
	usage     plugin.Usage
	stop      string
	model     string
}

type partial struct {
	index    int
	id, name string
	args     strings.Builder
	whole    json.RawMessage
}

var errNotJSON = &model.Error{Kind: model.Server, Provider: "anthropic", Detail: "the endpoint sent something that is not JSON"}

// Event takes one event.
func (a *answer) Event(e sse.Event) (bool, error) {
	var v event
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return false, errNotJSON
	}
	switch v.Type {
	case "message_start":
		a.model = v.Message.Model
		a.count(v.Message.Usage)
	case "content_block_start":
		a.begin(v.Index, v.ContentBlock)
	case "content_block_delta":
		a.say(v.Delta.Text, v.Delta.Thinking)
		for _, c := range a.calls {
			if c.index == v.Index {
				c.args.WriteString(v.Delta.PartialJSON)
			}
		}
	case "message_delta":
		if v.Delta.StopReason != "" {
			a.stop = v.Delta.StopReason
		}
		if v.Usage.Output > 0 {
			a.usage.OutputTokens = v.Usage.Output
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
		return errNotJSON
	}
	a.model, a.stop = v.Model, v.StopReason
	a.count(v.Usage)
	for i, b := range v.Content {
		a.begin(i, b)
	}
	return nil
}

func (a *answer) count(u usage) {
	a.usage = plugin.Usage{InputTokens: u.Input + u.CacheRead + u.CacheCreate, OutputTokens: u.Output, CachedTokens: u.CacheRead}
}

func (a *answer) begin(index int, b block) {
	if b.Type == "tool_use" {
		a.calls = append(a.calls, &partial{index: index, id: b.ID, name: b.Name, whole: b.Input})
		return
	}
	a.say(b.Text, b.Thinking)
}

func (a *answer) say(text, thought string) {
	if text == "" && thought == "" {
		return
	}
	a.text.WriteString(text)
	a.reasoning.WriteString(thought)
	a.sink(plugin.Chunk{Text: text, Reasoning: thought})
}

func (a *answer) response(names *wire.Names) plugin.ModelResponse {
	if a == nil {
		return plugin.ModelResponse{}
	}
	out := plugin.ModelResponse{Text: a.text.String(), Reasoning: a.reasoning.String(), Usage: a.usage, Model: a.model}
	switch a.stop {
	case "tool_use":
		out.Finish = "tool_calls"
	case "max_tokens":
		out.Finish = "length"
	case "refusal":
		out.Finish = "filter"
	default:
		out.Finish = "stop"
	}
	for _, c := range a.calls {
		args := json.RawMessage(c.args.String())
		if len(args) == 0 {
			args = c.whole
		}
		out.ToolCalls = append(out.ToolCalls, plugin.ModelToolCall{ID: c.id, Name: names.Ours(c.name), Args: args})
	}
	return out
}
