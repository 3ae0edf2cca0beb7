package wire

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// Endpoint says where models are and which.
type Endpoint struct {
	BaseURL string // the provider's own when empty
	Key     string
	// Models are the ones to choose from; the first is the default.
	Models []model.Info
	Wire   Config
}

// Connect fills in what is missing and makes the endpoint's client.
func (e *Endpoint) Connect(provider, base string) (*Client, error) {
	e.BaseURL = cmp.Or(e.BaseURL, base)
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	if len(e.Models) == 0 {
		return nil, errors.New("no model is named")
	}
	e.Wire.Provider = provider
	return New(e.Wire), nil
}

// Tag names a model at this endpoint.
func (e *Endpoint) Tag(provider, id string) Tag {
	host := ""
	if u, err := url.Parse(e.BaseURL); err == nil {
		host = u.Host
	}
	return Tag{Provider: provider + "@" + host, Model: id}
}

// Answer collects what an endpoint says, whatever its dialect. Sink is told of
// each piece as it comes.
type Answer struct {
	Sink   func(plugin.Chunk)
	Usage  plugin.Usage
	Finish string
	Model  string
	Calls  []*Call
	// State makes what the endpoint wants back with the answer; without it that
	// is what was kept in its place.
	State func(Tag) *plugin.ModelState

	text      strings.Builder
	reasoning strings.Builder
	order     order
}

// Call is a tool call that is still coming: its arguments in pieces, or whole.
type Call struct {
	Index    int
	ID, Name string
	Args     strings.Builder
	Whole    json.RawMessage
	// Extra is what the endpoint wants back with the call.
	Extra json.RawMessage
}

// Say takes a piece of the answer and of the thoughts behind it.
func (a *Answer) Say(text, thought string) {
	if text == "" && thought == "" {
		return
	}
	a.text.WriteString(text)
	a.reasoning.WriteString(thought)
	if text != "" {
		a.order.text(len(text))
	}
	a.Sink(plugin.Chunk{Text: text, Reasoning: thought})
}

// Retract says that what was said as text so far is a thought.
func (a *Answer) Retract() {
	thought := a.text.String()
	a.text.Reset()
	a.order = nil
	a.reasoning.WriteString(thought)
	a.Sink(plugin.Chunk{Reasoning: thought, Retract: true})
}

// Begin takes the beginning of a call.
func (a *Answer) Begin(c *Call) *Call {
	a.Calls = append(a.Calls, c)
	a.order = append(a.order, piece{Call: true})
	return c
}

// Reasoning is what was thought so far.
func (a *Answer) Reasoning() string { return a.reasoning.String() }

// Empty reports whether the answer has neither text nor calls.
func (a *Answer) Empty() bool { return a.text.Len() == 0 && len(a.Calls) == 0 }

// response is the answer as the oracle knows it.
func (a *Answer) response(names *Names, tag Tag) plugin.ModelResponse {
	out := plugin.ModelResponse{
		Text: a.text.String(), Reasoning: a.reasoning.String(), Usage: a.Usage, Finish: a.Finish, Model: a.Model,
	}
	for _, c := range a.Calls {
		args := json.RawMessage(c.Args.String())
		if len(args) == 0 {
			args = c.Whole
		}
		id := c.ID
		if id == "" {
			id = "call_" + rand.Text()[:16]
		}
		out.ToolCalls = append(out.ToolCalls, plugin.ModelToolCall{ID: id, Name: names.Ours(c.Name), Args: args})
	}
	if a.State != nil {
		out.State = a.State(tag)
	} else {
		out.State = a.inOrder(tag)
	}
	return out
}

// Question is one request on its way to an endpoint.
type Question struct {
	URL    string
	Header http.Header
	Tag    Tag
	Tools  []plugin.ToolSpec
	Sink   func(plugin.Chunk)
	// Request makes the body, with the names that the endpoint accepts.
	Request func(*Names) any
	// Read makes the handler that fills an answer, one for each try.
	Read func(*Answer) Handler
}

// Ask sends a request and returns the answer, or as much of it as came.
func (c *Client) Ask(ctx context.Context, q Question) (plugin.ModelResponse, error) {
	names := NewNames(q.Tools)
	body, err := json.Marshal(q.Request(names))
	if err != nil {
		return plugin.ModelResponse{}, &model.Error{Kind: model.Unknown, Provider: c.cfg.Provider, Cause: err}
	}
	a := &Answer{}
	err = c.Post(ctx, q.URL, q.Header, body, func() Handler {
		a = &Answer{Sink: q.Sink}
		return q.Read(a)
	})
	if err != nil {
		a.State = nil
		a.order = nil // half an answer is not resent as the endpoint's own
	}
	return a.response(names, q.Tag), err
}

// Garbage is the failure of an endpoint that does not speak JSON.
func (c *Client) Garbage() error {
	return &model.Error{Kind: model.Server, Provider: c.cfg.Provider, Detail: "the endpoint sent something that is not JSON"}
}

// Asked is a request as the operator wants this model to be asked.
func Asked(req plugin.ModelRequest, info model.Info) plugin.ModelRequest {
	req.MaxTokens = cmp.Or(req.MaxTokens, info.MaxTokens)
	if info.NoTools {
		req.Tools = nil
	}
	return req
}

// maxTools is what endpoints take at most.
const maxTools = 128

// Fit leaves out the tools that are too many for an endpoint, and tells the
// model and the operator which.
func (c *Client) Fit(req plugin.ModelRequest) plugin.ModelRequest {
	if len(req.Tools) <= maxTools {
		return req
	}
	var left []string
	for _, t := range req.Tools[maxTools:] {
		left = append(left, t.Name)
	}
	c.cfg.Log.Warn("a model is not told of all tools: endpoints take 128", slog.String("event", "model.tools_cut"), slog.Int("tools", len(req.Tools)), slog.Any("left_out", left))
	names := strings.Join(left, ", ")
	if len(names) > maxLeftOut {
		names = names[:maxLeftOut] + "…"
	}
	req.Tools = req.Tools[:maxTools]
	req.System += fmt.Sprintf("\nThere are more tools than you can be given. These are left out and cannot be called: %s\n", names)
	return req
}

// maxLeftOut bounds what a model is told of tools that were left out, in bytes.
const maxLeftOut = 2000
