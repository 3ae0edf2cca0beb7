package openaiface

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
	"github.com/castalia-org/castalia/plugin"
)

// Completion is a whole answer.
type Completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
	Usage   Usage    `json:"usage"`
}

// Choice is the one answer that there is.
type Choice struct {
	Index        int           `json:"index"`
	Message      AnswerMessage `json:"message"`
	Logprobs     *struct{}     `json:"logprobs"`
	FinishReason string        `json:"finish_reason"`
}

// AnswerMessage is what was said.
type AnswerMessage struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
	Refusal          *string    `json:"refusal"`
	// Annotations are the passages that the text points to.
	Annotations []Annotation `json:"annotations,omitempty"`
}

// Usage counts tokens.
type Usage struct {
	PromptTokens     int64         `json:"prompt_tokens"`
	CompletionTokens int64         `json:"completion_tokens"`
	TotalTokens      int64         `json:"total_tokens"`
	PromptDetails    PromptDetails `json:"prompt_tokens_details"`
	OutputDetails    OutputDetails `json:"completion_tokens_details"`
}

// PromptDetails says how much of the prompt was cached.
type PromptDetails struct {
	CachedTokens int64 `json:"cached_tokens"`
}

// OutputDetails says how much of the output was thoughts.
type OutputDetails struct {
	ReasoningTokens int64 `json:"reasoning_tokens"`
}

func usageOf(u plugin.Usage) Usage {
	return Usage{
		PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: u.InputTokens + u.OutputTokens,
		PromptDetails: PromptDetails{u.CachedTokens}, OutputDetails: OutputDetails{u.ReasoningTokens},
	}
}

// finishReason puts the end of an answer into OpenAI's words.
func finishReason(reason string) string {
	switch reason {
	case face.Calls:
		return "tool_calls"
	case face.Length:
		return "length"
	case face.Filtered:
		return "content_filter"
	}
	return "stop"
}

// chat takes a conversation and answers it.
func (a *api) chat(w http.ResponseWriter, r *http.Request) error {
	answer, how, err := a.begin(w, r)
	if err != nil {
		return err
	}
	defer answer.Close()
	w.Header().Set(facehttp.HeaderRunID, answer.RunID)
	if how.stream {
		return a.stream(w, r, answer, how)
	}
	return a.whole(w, r, answer, how)
}

// manner is how an answer is wanted.
type manner struct {
	model         string
	stream, usage bool
}

// begin reads the request and starts its turn. What was read is not kept while
// the answer is written.
func (a *api) begin(w http.ResponseWriter, r *http.Request) (*face.Answer, manner, error) {
	var how manner
	who, err := facehttp.Caller(r)
	if err != nil {
		return nil, how, err
	}
	var body ChatRequest
	if err := facehttp.ReadBody(w, r, &body); err != nil {
		return nil, how, err
	}
	how = manner{
		model: body.Model, stream: body.Stream, usage: body.StreamOptions != nil && body.StreamOptions.IncludeUsage,
	}
	ask, err := body.read(r.Header)
	if err != nil {
		return nil, how, err
	}
	ask.Who = who
	answer, err := a.ask(r, ask, body.Model)
	return answer, how, err
}

// ask begins the turn of a request.
func (a *api) ask(r *http.Request, ask face.Ask, model string) (*face.Answer, error) {
	if err := a.deps.Faces.Choose(model, &ask.Request); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil, noModel(model)
		}
		return nil, err
	}
	if err := face.CheckSize(ask.Request); err != nil {
		return nil, about(err, "messages")
	}
	return a.deps.Faces.Begin(r.Context(), ask)
}

// gathered is an answer that is sent in one piece.
type gathered struct {
	text, thoughts strings.Builder
	calls          []ToolCall
	cited          []plugin.Citation
}

func (g *gathered) Text(text string)              { g.text.WriteString(text) }
func (g *gathered) Thought(text string)           { g.thoughts.WriteString(text) }
func (g *gathered) Tool(c oracle.ToolCallPayload) {}
func (g *gathered) Flush(bool) error              { return nil }
func (g *gathered) Cite(list []plugin.Citation)   { g.cited = list }
func (g *gathered) Call(c face.Call) {
	g.calls = append(g.calls,
		ToolCall{ID: c.ID, Type: "function", Function: FunctionCall{Name: c.Name, Arguments: string(c.Args)}})
}

// whole answers with one JSON body.
func (a *api) whole(w http.ResponseWriter, r *http.Request, answer *face.Answer, how manner) error {
	var g gathered
	end, err := answer.Follow(r.Context(), httpserver.Draining(r.Context()), true, &g)
	if err != nil {
		return err
	}
	m := AnswerMessage{Role: "assistant", ToolCalls: g.calls, ReasoningContent: g.thoughts.String()}
	if text := g.text.String(); text != "" || len(g.calls) == 0 {
		m.Content = &text
		m.Annotations = annotations(httpserver.AbsoluteBase(r), text, g.cited)
	}
	if err := httpserver.WriteJSON(w, http.StatusOK, Completion{
		ID: completionID(answer), Object: "chat.completion", Created: answer.Created.Unix(), Model: how.model,
		Choices: []Choice{{Message: m, FinishReason: finishReason(end.Reason)}}, Usage: usageOf(end.Usage),
	}); err != nil {
		return err
	}
	answer.Arrived(r.Context())
	return nil
}

func completionID(a *face.Answer) string { return "chatcmpl-" + strings.ReplaceAll(a.RunID, "-", "") }

// chunks writes an answer piece by piece.
type chunks struct {
	facehttp.Events
	common string // what each chunk begins with
	tail   string // what follows its delta
	usage  bool   // is wanted
	calls  int
	base   string // of links to passages
	text   strings.Builder
}

// stream answers with chunks. While it waits there is little on its stack, which else is twice as large for as
// long as the stream is open: what comes first and last is written by others.
func (a *api) stream(w http.ResponseWriter, r *http.Request, answer *face.Answer, how manner) error {
	c := newChunks(w, r, answer, how)
	end, err := answer.Follow(r.Context(), httpserver.Draining(r.Context()), false, c)
	if err != nil {
		return c.fail(err)
	}
	if c.finish(end) == nil {
		answer.Arrived(r.Context())
	}
	return nil
}

// newChunks begins an answer.
func newChunks(w http.ResponseWriter, r *http.Request, answer *face.Answer, how manner) *chunks {
	id, _ := json.Marshal(completionID(answer)) // texts can be encoded
	model, _ := json.Marshal(how.model)
	c := &chunks{
		base: httpserver.AbsoluteBase(r), usage: how.usage, tail: `,"finish_reason":null}]}`,
		common: `{"id":` + string(id) + `,"object":"chat.completion.chunk","created":` + strconv.FormatInt(answer.Created.Unix(), 10) +
			`,"model":` + string(model),
	}
	c.Open(w, r)
	c.delta(`{"role":"assistant","content":""}`)
	c.Wait()
	return c
}

// finish ends an answer; it fails when nobody reads it.
func (c *chunks) finish(end *face.End) error {
	reason, _ := json.Marshal(finishReason(end.Reason)) // texts can be encoded
	c.tail = `,"finish_reason":` + string(reason) + `}]}`
	c.delta(`{}`)
	if c.usage {
		usage, _ := json.Marshal(usageOf(end.Usage)) // numbers can be encoded
		c.Data(c.common + `,"choices":[],"usage":` + string(usage) + `}`)
	}
	c.Data("[DONE]")
	return c.Flush(false)
}

// fail ends a stream with what went wrong, where its status has been sent.
func (c *chunks) fail(err error) error {
	return c.Fail(err, func(e *fault.Error) {
		_, body := errorOf(e)
		c.JSON(body)
	})
}

func (c *chunks) delta(delta string) {
	c.Data(c.common + `,"choices":[{"index":0,"delta":` + delta + c.tail)
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // texts can be encoded
	return string(b)
}

// Text is a piece of the answer.
func (c *chunks) Text(text string) {
	c.text.WriteString(text)
	c.delta(`{"content":` + quoted(text) + `}`)
}

// Cite tells what the text points to.
func (c *chunks) Cite(list []plugin.Citation) {
	data, err := json.Marshal(annotations(c.base, c.text.String(), list))
	if err == nil {
		c.delta(`{"annotations":` + string(data) + `}`)
	}
}

// Thought is what some programs show above the answer.
func (c *chunks) Thought(text string) { c.delta(`{"reasoning_content":` + quoted(text) + `}`) }

// Tool is the oracle's own affair.
func (c *chunks) Tool(oracle.ToolCallPayload) {}

// Call is for the caller to run.
func (c *chunks) Call(call face.Call) {
	index := c.calls
	c.calls++
	data, err := json.Marshal([]ToolCall{{
		Index: &index, ID: call.ID, Type: "function", Function: FunctionCall{Name: call.Name, Arguments: string(call.Args)},
	}})
	if err == nil {
		c.delta(`{"tool_calls":` + string(data) + `}`)
	}
}

var (
	_ face.Citer = (*chunks)(nil)
	_ face.Citer = (*gathered)(nil)
)
