package openaiface

import (
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

// response is a Response that is being written: as events where the stream was opened, and
// always as the object that ends them.
type response struct {
	Response
	facehttp.Events
	sequence int
	text     strings.Builder
	open     bool   // a message is
	base     string // of links to passages
	cited    []plugin.Citation
}

// event is one of a stream.
type event struct {
	Type         string      `json:"type"`
	Sequence     int         `json:"sequence_number"`
	Response     *Response   `json:"response,omitempty"`
	ItemID       string      `json:"item_id,omitempty"`
	OutputIndex  *int        `json:"output_index,omitempty"`
	ContentIndex *int        `json:"content_index,omitempty"`
	Item         *OutputItem `json:"item,omitempty"`
	Part         *OutputText `json:"part,omitempty"`
	Delta        *string     `json:"delta,omitempty"`
	Text         *string     `json:"text,omitempty"`
	Name         string      `json:"name,omitempty"`
	Arguments    *string     `json:"arguments,omitempty"`
	Logprobs     []struct{}  `json:"logprobs,omitzero"`
	// Annotation is what a text points to, AnnotationIndex its number.
	Annotation      *URLCitation `json:"annotation,omitempty"`
	AnnotationIndex *int         `json:"annotation_index,omitempty"`
}

func (b *response) send(kind string, e event) {
	if !b.Opened() {
		return
	}
	e.Type, e.Sequence = kind, b.sequence
	b.sequence++
	b.Named(kind, e)
}

// place is where the last item is.
func (b *response) place() *int {
	at := len(b.Output) - 1
	return &at
}

func (b *response) itemID(prefix string) string {
	return prefix + strings.TrimPrefix(b.ID, responsePrefix) + "_" + strconv.Itoa(len(b.Output))
}

// Text is a piece of the message.
func (b *response) Text(text string) {
	first := new(int)
	if !b.open {
		b.open = true
		b.text.Reset()
		b.Output = append(b.Output, OutputItem{
			ID: b.itemID("msg_"), Type: "message", Status: "in_progress", Role: "assistant", Content: []OutputText{},
		})
		item := b.Output[len(b.Output)-1]
		b.send("response.output_item.added", event{OutputIndex: b.place(), Item: &item})
		b.send("response.content_part.added", event{ItemID: item.ID, OutputIndex: b.place(), ContentIndex: first, Part: new(outputText(""))})
	}
	b.text.WriteString(text)
	b.send("response.output_text.delta", event{
		ItemID: b.Output[len(b.Output)-1].ID, OutputIndex: b.place(), ContentIndex: first, Delta: &text,
		Logprobs: []struct{}{},
	})
}

// closeMessage ends the message, if one is open.
func (b *response) closeMessage() {
	if !b.open {
		return
	}
	b.open = false
	item, first := &b.Output[len(b.Output)-1], new(int)
	part := outputText(b.text.String())
	for i, a := range urlCitations(b.base, part.Text, b.cited) {
		part.Annotations = append(part.Annotations, a)
		b.send("response.output_text.annotation.added", event{
			ItemID: item.ID, OutputIndex: b.place(), ContentIndex: first, Annotation: &a, AnnotationIndex: &i,
		})
	}
	item.Status, item.Content = "completed", []OutputText{part}
	b.send("response.output_text.done", event{
		ItemID: item.ID, OutputIndex: b.place(), ContentIndex: first, Text: &part.Text, Logprobs: []struct{}{},
	})
	b.send("response.content_part.done", event{ItemID: item.ID, OutputIndex: b.place(), ContentIndex: first, Part: &part})
	b.send("response.output_item.done", event{OutputIndex: b.place(), Item: item})
}

// Call is for the caller to run.
func (b *response) Call(c face.Call) {
	b.closeMessage()
	args := string(c.Args)
	item := OutputItem{ID: b.itemID("fc_"), Type: "function_call", Status: "in_progress", CallID: c.ID, Name: c.Name, Arguments: new("")}
	b.Output = append(b.Output, item)
	b.send("response.output_item.added", event{OutputIndex: b.place(), Item: &item})
	b.send("response.function_call_arguments.delta", event{ItemID: item.ID, OutputIndex: b.place(), Delta: &args})
	b.send("response.function_call_arguments.done", event{ItemID: item.ID, OutputIndex: b.place(), Name: c.Name, Arguments: &args})
	done := &b.Output[len(b.Output)-1]
	done.Status, done.Arguments = "completed", &args
	b.send("response.output_item.done", event{OutputIndex: b.place(), Item: done})
}

// Cite tells what the last message points to, which is still open.
func (b *response) Cite(list []plugin.Citation) { b.cited = list }

// Thought is not shown: the items of this API are for models that sign theirs.
func (b *response) Thought(string) {}

// Tool is the oracle's own affair.
func (b *response) Tool(oracle.ToolCallPayload) {}

// end completes the object.
func (b *response) end(end *face.End) {
	b.closeMessage()
	b.Status = "completed"
	switch end.Reason {
	case face.Length:
		b.Status, b.Incomplete = "incomplete", &IncompleteDetails{Reason: "max_output_tokens"}
	case face.Filtered:
		b.Status, b.Incomplete = "incomplete", &IncompleteDetails{Reason: "content_filter"}
	}
	u := end.Usage
	b.Usage = &ResponseUsage{
		InputTokens: u.InputTokens, InputDetails: PromptDetails{u.CachedTokens}, OutputTokens: u.OutputTokens,
		OutputDetails: OutputDetails{u.ReasoningTokens}, TotalTokens: u.InputTokens + u.OutputTokens,
	}
}

// stream answers with events. While it waits there is little on its stack: see api.stream.
func (b *response) stream(w http.ResponseWriter, r *http.Request, answer *face.Answer) error {
	b.begin(w, r)
	end, err := answer.Follow(r.Context(), httpserver.Draining(r.Context()), false, b)
	if err != nil {
		return b.fail(err)
	}
	if b.finish(end) == nil {
		answer.Arrived(r.Context())
	}
	return nil
}

func (b *response) begin(w http.ResponseWriter, r *http.Request) {
	b.Open(w, r)
	b.send("response.created", event{Response: &b.Response})
	b.send("response.in_progress", event{Response: &b.Response})
	b.Wait()
}

// finish ends a stream; it fails when nobody reads it.
func (b *response) finish(end *face.End) error {
	b.end(end)
	b.send("response."+b.Status, event{Response: &b.Response})
	return b.Flush(false)
}

// fail ends a stream with what went wrong, where its status has been sent.
func (b *response) fail(err error) error {
	return b.Fail(err, func(e *fault.Error) {
		_, body := errorOf(e)
		b.Status, b.Error = "failed", &ResponseError{Code: codeOf(body.Error), Message: body.Error.Message}
		b.send("response.failed", event{Response: &b.Response})
	})
}

var _ face.Citer = (*response)(nil)
