// Package anthropic speaks to endpoints of the Anthropic messages wire.
//
// Thoughts with their signatures go back as they came and in their place, since
// newer models refuse them otherwise; when an endpoint refuses them all the same,
// the request is made once more without any. What is worth keeping for the next
// request is marked. An answer that pauses is sent back until it goes on.
package anthropic

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// DefaultBase is the address of Anthropic itself.
const DefaultBase = "https://api.anthropic.com"

const (
	// maxTokens is the length of an answer when a request sets none; the wire
	// demands one, and thoughts count.
	maxTokens = 32_000
	// maxPauses bounds how often an answer is sent back that paused.
	maxPauses = 5
	// bindingBeta lets a request say what happens with thoughts behind another
	// beginning.
	bindingBeta = "thinking-binding-controls-2026-08-01"
)

// Config says which endpoint and which models; DefaultBase when it names none.
type Config = wire.Endpoint

// Provider is an endpoint.
type Provider struct {
	cfg     Config
	client  *wire.Client
	learned wire.Learned[manners]
	windows wire.Windows
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

// Models lists the models, with what was learned of their windows.
func (p *Provider) Models() []model.Info { return p.windows.Of(p.cfg.Models) }

// Stream asks the endpoint.
func (p *Provider) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	info := model.Find(p, req.Model)
	req = p.client.Fit(wire.Asked(req, info))
	asked := req
	all, err := p.ask(ctx, req, info, sink)
	for range maxPauses {
		if err != nil || all.Finish != wire.FinishPause {
			break
		}
		req.Messages = append(slices.Clip(asked.Messages), plugin.ModelMessage{
			Role: plugin.RoleAssistant, Text: all.Text, ToolCalls: all.ToolCalls, State: all.State,
		})
		var more plugin.ModelResponse
		more, err = p.ask(ctx, req, info, sink)
		all = wire.Join(all, more)
	}
	if all.Finish == wire.FinishPause {
		all.Finish = wire.FinishStop
	}
	return all, p.windows.Watch(asked, info, all, err)
}

// ask makes one request, in the manners that its endpoint wants.
func (p *Provider) ask(ctx context.Context, req plugin.ModelRequest, info model.Info,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	tag := p.cfg.Tag("anthropic", info.ID)
	return p.learned.Adapt(ctx, info.ID, sink,
		func(ctx context.Context, m manners, sink func(plugin.Chunk)) (plugin.ModelResponse, error) {
			header := http.Header{"X-Api-Key": {p.cfg.Key}, "Anthropic-Version": {"2023-06-01"}}
			if _, bound := thinks(info.ID); bound && !m.unbound && !m.plain {
				header.Set("Anthropic-Beta", bindingBeta)
			}
			return p.client.Ask(ctx, wire.Question{
				URL: p.cfg.BaseURL + "/v1/messages", Header: header, Tag: tag, Tools: req.Tools, Sink: sink,
				Request: func(names *wire.Names) any { return newRequest(req, info, tag, m, names) },
				Read:    func(a *wire.Answer) wire.Handler { return &answer{Answer: a, client: p.client} },
			})
		}, manners.after)
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
		Thinking   map[string]any    `json:"thinking,omitempty"`
		// Temperature is refused by models that think.
		Temperature *float64 `json:"temperature,omitempty"`
	}
	message struct {
		Role    string           `json:"role"`
		Content []map[string]any `json:"content"`
	}
	tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
		// CacheControl marks what is worth keeping.
		CacheControl map[string]string `json:"cache_control,omitempty"`
	}
)

func newRequest(req plugin.ModelRequest, info model.Info, tag wire.Tag, m manners, names *wire.Names) request {
	out := request{
		Model: tag.Model, MaxTokens: cmp.Or(req.MaxTokens, maxTokens), Stream: true, Temperature: info.Temperature,
	}
	if m.most > 0 {
		out.MaxTokens = min(out.MaxTokens, m.most)
	}
	if adaptive, bound := thinks(tag.Model); adaptive && !m.plain {
		out.Thinking = map[string]any{"type": "adaptive", "display": "summarized"}
		if bound && !m.unbound {
			out.Thinking["block_binding"] = map[string]string{"prefix_mismatch_behavior": "drop_block"}
		}
	}
	if req.System != "" {
		out.System = []map[string]any{{"type": "text", "text": req.System}}
	}
	for _, msg := range req.Messages {
		if m.stateless {
			msg.State = nil
		}
		role, blocks := blocksOf(msg, tag, names)
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
		out.Tools = append(out.Tools,
			tool{Name: names.Wire(t.Name), Description: t.Description, InputSchema: wire.Schema(t.Schema)})
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolChoice = map[string]string{"type": "none"}
	}
	if !m.unmarked {
		out.mark()
	}
	return out
}

// mark says what is worth keeping for the next request: the tools, the system
// prompt, and everything up to the end.
func (r *request) mark() {
	ephemeral := map[string]string{"type": "ephemeral"}
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1].CacheControl = ephemeral
	}
	if n := len(r.System); n > 0 {
		r.System[n-1]["cache_control"] = ephemeral
	}
	if n := len(r.Messages); n > 0 {
		content := r.Messages[n-1].Content
		if last := content[len(content)-1]; last["type"] != "thinking" && last["type"] != "redacted_thinking" {
			last["cache_control"] = ephemeral
		}
	}
}

func blocksOf(m plugin.ModelMessage, tag wire.Tag, names *wire.Names) (role string, blocks []map[string]any) {
	switch m.Role {
	case plugin.RoleTool:
		return "user", []map[string]any{{
			"type": "tool_result", "tool_use_id": wire.CallID(m.ToolCallID), "content": nonEmpty(wire.TextWithNote(m)), "is_error": m.Failed,
		}}
	case plugin.RoleAssistant:
		for _, part := range tag.Parts(m) {
			switch {
			case len(part.Own) > 0:
				var own map[string]any
				if json.Unmarshal(part.Own, &own) == nil {
					blocks = append(blocks, own)
				}
			case part.Call != nil:
				blocks = append(blocks, map[string]any{
					"type": "tool_use", "id": wire.CallID(part.Call.ID), "name": names.Wire(part.Call.Name), "input": part.Call.Args,
				})
			case strings.TrimSpace(part.Text) != "":
				blocks = append(blocks, map[string]any{"type": "text", "text": part.Text})
			}
		}
		return "assistant", blocks
	}
	for _, img := range m.Images {
		blocks = append(blocks, map[string]any{"type": "image", "source": map[string]string{
			"type": "base64", "media_type": img.MediaType, "data": base64.StdEncoding.EncodeToString(img.Data),
		}})
	}
	return "user", append(blocks, map[string]any{"type": "text", "text": nonEmpty(wire.TextWithNote(m))})
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
			Signature   string `json:"signature"`
			StopReason  string `json:"stop_reason"`
		} `json:"delta"`
		Usage usage           `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	block struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
		// Signature and Data are the endpoint's own.
		Signature string `json:"signature"`
		Data      string `json:"data"`
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
	// thought is the block that is coming, if it is one of thoughts.
	thought *block
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
		if a.thought != nil {
			a.thought.Thinking += v.Delta.Thinking
			a.thought.Signature += v.Delta.Signature
		}
		for _, c := range a.Calls {
			if c.Index == v.Index {
				c.Args.WriteString(v.Delta.PartialJSON)
			}
		}
	case "content_block_stop":
		a.keepThought()
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
		return false, a.client.Failure(v.Error)
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
	a.keepThought()
	return nil
}

func (a *answer) count(u usage) {
	a.Usage = plugin.Usage{
		InputTokens: u.Input + u.CacheRead + u.CacheCreate, OutputTokens: u.Output, CachedTokens: u.CacheRead,
	}
}

func (a *answer) begin(index int, b block) {
	a.keepThought()
	switch b.Type {
	case "tool_use":
		a.Begin(&wire.Call{Index: index, ID: b.ID, Name: b.Name, Whole: b.Input})
	case "thinking", "redacted_thinking":
		a.thought = &b
		a.Say("", b.Thinking)
	default:
		a.Say(b.Text, b.Thinking)
	}
}

// keepThought keeps a block of thoughts that is complete, to send it back. One
// without a signature means nothing to anybody.
func (a *answer) keepThought() {
	b := a.thought
	a.thought = nil
	switch {
	case b == nil:
	case b.Type == "redacted_thinking" && b.Data != "":
		a.keep(map[string]string{"type": b.Type, "data": b.Data})
	case b.Type == "thinking" && b.Signature != "":
		a.keep(map[string]string{"type": b.Type, "thinking": b.Thinking, "signature": b.Signature})
	}
}

func (a *answer) keep(block map[string]string) {
	if raw, err := json.Marshal(block); err == nil {
		a.Keep(raw)
	}
}

// finish is a reason to stop in the oracle's words.
func finish(reason string) string {
	switch reason {
	case "tool_use":
		return wire.FinishCalls
	case "max_tokens":
		return wire.FinishLength
	case "refusal":
		return wire.FinishRefusal
	case "pause_turn":
		return wire.FinishPause
	case "model_context_window_exceeded":
		return wire.FinishWindow
	}
	return wire.FinishStop
}
