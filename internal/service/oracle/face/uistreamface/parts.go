package uistreamface

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
	"github.com/castalia-org/castalia/plugin"
)

// chunk is one element of a stream.
type chunk struct {
	Type         string          `json:"type"`
	MessageID    string          `json:"messageId,omitempty"`
	ID           string          `json:"id,omitempty"`
	Delta        string          `json:"delta,omitempty"`
	ToolCallID   string          `json:"toolCallId,omitempty"`
	ToolName     string          `json:"toolName,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	Output       *string         `json:"output,omitempty"`
	ErrorText    string          `json:"errorText,omitempty"`
	Dynamic      bool            `json:"dynamic,omitempty"`
	Ours         bool            `json:"providerExecuted,omitempty"`
	ApprovalID   string          `json:"approvalId,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	FinishReason string          `json:"finishReason,omitempty"`
	Metadata     any             `json:"messageMetadata,omitempty"`
	Data         json.RawMessage `json:"data,omitempty"`
	Transient    bool            `json:"transient,omitempty"`
	SourceID     string          `json:"sourceId,omitempty"`
	MediaType    string          `json:"mediaType,omitempty"`
	Title        string          `json:"title,omitempty"`
	Filename     string          `json:"filename,omitempty"`
	Provider     any             `json:"providerMetadata,omitempty"`
}

// stream writes a message as chunks.
type stream struct {
	facehttp.Events
	message      string
	count        int
	open, openID string          // what is being said: "", "text" or "reasoning"
	begunCalls   map[string]bool // the oracle's own calls that have begun
}

func newStream(message string) *stream {
	return &stream{message: message, begunCalls: map[string]bool{}}
}

// write answers with the runs of which the message is made.
func (s *stream) write(w http.ResponseWriter, r *http.Request, list ...*face.Answer) error {
	last := list[len(list)-1]
	w.Header().Set(facehttp.HeaderRunID, last.RunID)
	w.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	s.Open(w, r)
	s.start()
	var end *face.End
	for _, answer := range list {
		s.mark("start-step")
		var err error
		if end, err = answer.Follow(r.Context(), httpserver.Draining(r.Context()), false, s); err != nil {
			return s.fail(err)
		}
		s.close()
		s.mark("finish-step")
	}
	s.finish(end)
	if s.Flush(false) == nil && end.Reason != face.Rests {
		last.Arrived(r.Context())
	}
	return nil
}

func (s *stream) start() {
	s.JSON(struct {
		Type      string `json:"type"`
		MessageID string `json:"messageId"`
	}{"start", s.message})
}

// mark writes a chunk that has a type alone. A chunk with room for everything would be on
// the stack of whoever writes it for as long as the stream is open.
func (s *stream) mark(kind string) {
	s.JSON(struct {
		Type string `json:"type"`
	}{kind})
}

// fail ends a stream with what went wrong: its status has been sent.
func (s *stream) fail(err error) error {
	e := fault.From(err)
	if e.Kind == fault.Canceled {
		return nil
	}
	s.close()
	s.JSON(chunk{Type: "error", ErrorText: e.Message})
	s.Data("[DONE]")
	_ = s.Flush(false) // nobody is left to tell
	return nil
}

func (s *stream) finish(end *face.End) {
	reason := "stop"
	switch end.Reason {
	case face.Aborted:
		s.mark("abort")
		s.Data("[DONE]")
		return
	case face.Calls, face.Rests:
		reason = "tool-calls"
	case face.Length:
		reason = "length"
	case face.Filtered:
		reason = "content-filter"
	}
	u := end.Usage
	s.JSON(chunk{Type: "finish", FinishReason: reason, Metadata: map[string]any{"usage": map[string]int64{
		"inputTokens": u.InputTokens, "outputTokens": u.OutputTokens, "totalTokens": u.InputTokens + u.OutputTokens,
		"reasoningTokens": u.ReasoningTokens, "cachedInputTokens": u.CachedTokens,
	}}})
	s.Data("[DONE]")
}

// close ends what is being said.
func (s *stream) close() {
	if s.open != "" {
		s.JSON(struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}{s.open + "-end", s.openID})
	}
	s.open = ""
}

func (s *stream) say(kind, text string) {
	if s.open != kind {
		s.close()
		s.count++
		s.open, s.openID = kind, strconv.Itoa(s.count)
		s.JSON(chunk{Type: kind + "-start", ID: s.openID})
	}
	s.JSON(chunk{Type: kind + "-delta", ID: s.openID, Delta: text})
}

// Text is a piece of the answer.
func (s *stream) Text(text string) { s.say("text", text) }

// Thought is a piece of what the model thinks.
func (s *stream) Thought(text string) { s.say("reasoning", text) }

// Call is for the page to run.
func (s *stream) Call(c face.Call) {
	s.close()
	s.JSON(chunk{Type: "tool-input-available", ToolCallID: c.ID, ToolName: c.Name, Input: c.Args})
}

// own tells of a call that the oracle runs itself, once.
func (s *stream) own(id, name string, args json.RawMessage) {
	if s.begunCalls[id] {
		return
	}
	s.begunCalls[id] = true
	s.close()
	s.JSON(chunk{Type: "tool-input-available", ToolCallID: id, ToolName: name, Input: args, Dynamic: true, Ours: true})
}

// Tool is a call that the oracle runs itself.
func (s *stream) Tool(c oracle.ToolCallPayload) {
	s.own(c.EventID, c.ToolName, face.OwnArgs(c))
	switch {
	case c.Status == plugin.Running:
	case c.Output != nil:
		s.JSON(chunk{Type: "tool-output-available", ToolCallID: c.EventID, Output: c.Output, Dynamic: true, Ours: true})
	default:
		s.JSON(chunk{Type: "tool-output-error", ToolCallID: c.EventID, ErrorText: cmp.Or(c.Error, "It failed."), Dynamic: true, Ours: true})
	}
}

// Asked tells of a call that waits, unless the page knows.
func (s *stream) Asked(a oracle.ApprovalBody, answered bool) {
	if answered {
		s.begunCalls[a.ToolCallID] = true
		return
	}
	s.own(a.ToolCallID, a.ToolName, a.Args)
	s.JSON(chunk{Type: "tool-approval-request", ApprovalID: a.ID, ToolCallID: a.ToolCallID, Reason: a.Reason})
}

// Notice carries a frame of the oracle's own, by its name; what the answer points to
// are sources.
func (s *stream) Notice(f oracle.Frame) {
	if f.Event == oracle.FrameCitations {
		s.cite(f)
		return
	}
	s.JSON(chunk{Type: "data-castalia." + f.Event, Data: f.Data, Transient: f.Event == oracle.FrameRouterUpdate})
}

// cite tells of the passages that the answer points to. What the wire has no word for
// is in our own part of the metadata.
func (s *stream) cite(f oracle.Frame) {
	var p oracle.CitationsPayload
	if json.Unmarshal(f.Data, &p) != nil {
		return
	}
	s.close()
	for _, c := range p.Citations {
		s.JSON(chunk{
			Type: "source-document", SourceID: c.Passage, MediaType: "text/plain", Title: cmp.Or(c.Title, c.Name), Filename: c.Name,
			Provider: map[string]any{"castalia": c},
		})
	}
}

var (
	_ face.Rester  = (*stream)(nil)
	_ face.Noticer = (*stream)(nil)
)
