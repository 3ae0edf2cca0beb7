package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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
	if e.BaseURL == "" {
		e.BaseURL = base
	}
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	if len(e.Models) == 0 {
		return nil, errors.New("no model is named")
	}
	e.Wire.Provider = provider
	return New(e.Wire), nil
}

// Answer collects what an endpoint says, whatever its dialect. Sink is told of
// each piece as it comes.
type Answer struct {
	Sink   func(plugin.Chunk)
	Usage  plugin.Usage
	Finish string
	Model  string
	Calls  []*Call

	text      strings.Builder
	reasoning strings.Builder
}

// Call is a tool call that is still coming: its arguments in pieces, or whole.
type Call struct {
	Index    int
	ID, Name string
	Args     strings.Builder
	Whole    json.RawMessage
}

// Say takes a piece of the answer and of the thoughts behind it.
func (a *Answer) Say(text, thought string) {
	if text == "" && thought == "" {
		return
	}
	a.text.WriteString(text)
	a.reasoning.WriteString(thought)
	a.Sink(plugin.Chunk{Text: text, Reasoning: thought})
}

// Empty reports whether the answer has neither text nor calls.
func (a *Answer) Empty() bool { return a.text.Len() == 0 && len(a.Calls) == 0 }

// response is the answer as the oracle knows it.
func (a *Answer) response(names *Names) plugin.ModelResponse {
	out := plugin.ModelResponse{Text: a.text.String(), Reasoning: a.reasoning.String(), Usage: a.Usage, Finish: a.Finish, Model: a.Model}
	for _, c := range a.Calls {
		args := json.RawMessage(c.Args.String())
		if len(args) == 0 {
			args = c.Whole
		}
		out.ToolCalls = append(out.ToolCalls, plugin.ModelToolCall{ID: c.ID, Name: names.Ours(c.Name), Args: args})
	}
	return out
}

// Ask sends a request and returns the answer, or as much of it as came. request
// makes the body, with the names that the endpoint accepts; read makes the
// handler that fills an answer, one for each try.
func (c *Client) Ask(ctx context.Context, url string, header http.Header, tools []plugin.ToolSpec, sink func(plugin.Chunk),
	request func(*Names) any, read func(*Answer) Handler,
) (plugin.ModelResponse, error) {
	names := NewNames(tools)
	body, err := json.Marshal(request(names))
	if err != nil {
		return plugin.ModelResponse{}, &model.Error{Kind: model.Unknown, Provider: c.cfg.Provider, Cause: err}
	}
	a := &Answer{}
	err = c.Post(ctx, url, header, body, func() Handler {
		a = &Answer{Sink: sink}
		return read(a)
	})
	return a.response(names), err
}

// Garbage is the failure of an endpoint that does not speak JSON.
func (c *Client) Garbage() error {
	return &model.Error{Kind: model.Server, Provider: c.cfg.Provider, Detail: "the endpoint sent something that is not JSON"}
}
