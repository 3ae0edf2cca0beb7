package aguiface

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
	"github.com/castalia-org/castalia/plugin"
)

// event is one of a stream.
type event struct {
	Type            string            `json:"type"`
	ThreadID        string            `json:"threadId,omitempty"`
	RunID           string            `json:"runId,omitempty"`
	ProtocolVersion string            `json:"protocolVersion,omitempty"`
	MessageID       string            `json:"messageId,omitempty"`
	Role            string            `json:"role,omitempty"`
	Delta           string            `json:"delta,omitempty"`
	ToolCallID      string            `json:"toolCallId,omitempty"`
	ToolCallName    string            `json:"toolCallName,omitempty"`
	ParentMessageID string            `json:"parentMessageId,omitempty"`
	Content         *string           `json:"content,omitempty"`
	Snapshot        json.RawMessage   `json:"snapshot,omitempty"`
	Messages        []json.RawMessage `json:"messages,omitzero"`
	Name            string            `json:"name,omitempty"`
	Value           json.RawMessage   `json:"value,omitempty"`
	Outcome         *outcome          `json:"outcome,omitempty"`
	Usage           []usage           `json:"usage,omitempty"`
}

type outcome struct {
	Type           string      `json:"type"`
	PendingCallIDs []string    `json:"pendingToolCallIds,omitempty"`
	Interrupts     []interrupt `json:"interrupts,omitempty"`
}

// interrupt is a call that waits for approval.
type interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message"`
	ToolCallID     string          `json:"toolCallId"`
	ResponseSchema json.RawMessage `json:"responseSchema"`
	ExpiresAt      string          `json:"expiresAt"`
	Metadata       map[string]any  `json:"metadata"`
}

type usage struct {
	Input     int64 `json:"inputTokens"`
	Output    int64 `json:"outputTokens"`
	Total     int64 `json:"totalTokens"`
	Reasoning int64 `json:"reasoningTokens"`
	Cached    int64 `json:"cachedInputTokens"`
}

// answerSchema is the form of an interrupt's answer.
func answerSchema(a oracle.ApprovalBody) json.RawMessage {
	content := ""
	if a.Question != nil {
		content = `,"content":` + string(a.Question.Form)
	}
	return json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}` + content + `},"required":["approved"]}`)
}

// stream writes a run as events.
type stream struct {
	facehttp.Events
	threadID, runID string
	released        bool // the client knows version 1.0
	prefix          string
	count           int
	open, openID    string          // what is being said: "", "text" or "thought"
	parent          string          // of calls for the page that follow each other
	begunCalls      map[string]bool // the oracle's own calls that have begun
	pending         []string        // calls for the page
}

func newStream(answer *face.Answer, body RunAgentInput) *stream {
	s := &stream{
		threadID: body.ThreadID, runID: body.RunID, released: body.ProtocolVersion != "",
		prefix: answer.RunID + ".", begunCalls: map[string]bool{},
	}
	if behind := answer.Behind(); behind != "" { // another reading of the run than the one from its beginning
		s.prefix += behind + "."
	}
	return s
}

func (s *stream) nextID() string {
	s.count++
	return s.prefix + strconv.Itoa(s.count)
}

// begin says what comes before the run's own frames.
func (s *stream) begin(answer *face.Answer, body RunAgentInput, in input) {
	started := event{Type: "RUN_STARTED", ThreadID: s.threadID, RunID: s.runID}
	if s.released {
		started.ProtocolVersion = "1.0"
	}
	s.JSON(started)
	if in.state != nil {
		s.JSON(event{Type: "STATE_SNAPSHOT", Snapshot: in.state})
	}
	if answer.Repeats() {
		s.JSON(event{Type: "MESSAGES_SNAPSHOT", Messages: s.without(body.Messages, in.names)})
	}
}

// without is the conversation without what this reading is about to say again. Clients keep thoughts that
// a snapshot does not mention: those are emptied.
func (s *stream) without(messages []json.RawMessage, names []string) []json.RawMessage {
	out := []json.RawMessage{}
	for i, raw := range messages {
		if !strings.HasPrefix(names[i], s.prefix) {
			out = append(out, raw)
			continue
		}
		var m message
		if json.Unmarshal(raw, &m) == nil && m.Role == "reasoning" {
			if empty, err := json.Marshal(map[string]string{"id": m.ID, "role": m.Role, "content": ""}); err == nil {
				out = append(out, empty)
			}
		}
	}
	return out
}

// close ends what is being said.
func (s *stream) close() {
	switch s.open {
	case "text":
		s.JSON(event{Type: "TEXT_MESSAGE_END", MessageID: s.openID})
	case "thought":
		s.JSON(event{Type: "REASONING_MESSAGE_END", MessageID: s.openID})
		s.JSON(event{Type: "REASONING_END", MessageID: s.openID})
	}
	s.open, s.parent = "", ""
}

// Text is a piece of the answer.
func (s *stream) Text(text string) {
	if s.open != "text" {
		s.close()
		s.open, s.openID = "text", s.nextID()
		s.JSON(event{Type: "TEXT_MESSAGE_START", MessageID: s.openID, Role: "assistant"})
	}
	s.JSON(event{Type: "TEXT_MESSAGE_CONTENT", MessageID: s.openID, Delta: text})
}

// Thought is a piece of what the model thinks.
func (s *stream) Thought(text string) {
	if s.open != "thought" {
		s.close()
		s.open, s.openID = "thought", s.nextID()
		s.JSON(event{Type: "REASONING_START", MessageID: s.openID})
		s.JSON(event{Type: "REASONING_MESSAGE_START", MessageID: s.openID, Role: "reasoning"})
	}
	s.JSON(event{Type: "REASONING_MESSAGE_CONTENT", MessageID: s.openID, Delta: text})
}

// call tells of a call, whole.
func (s *stream) call(id, name string, args json.RawMessage) {
	parent := s.parent
	s.close()
	if parent == "" {
		parent = s.nextID()
	}
	s.parent = parent
	s.JSON(event{Type: "TOOL_CALL_START", ToolCallID: id, ToolCallName: name, ParentMessageID: parent})
	s.JSON(event{Type: "TOOL_CALL_ARGS", ToolCallID: id, Delta: string(args)})
	s.JSON(event{Type: "TOOL_CALL_END", ToolCallID: id})
}

// Call is for the page to run.
func (s *stream) Call(c face.Call) {
	s.pending = append(s.pending, c.ID)
	s.call(c.ID, c.Name, c.Args)
}

// Tool is a call that the oracle runs itself.
func (s *stream) Tool(c oracle.ToolCallPayload) {
	if !s.begunCalls[c.EventID] {
		s.begunCalls[c.EventID] = true
		s.call(c.EventID, c.ToolName, face.OwnArgs(c))
	}
	if c.Status == plugin.Running {
		return
	}
	s.close()
	output := c.Error
	if c.Output != nil {
		output = *c.Output
	}
	s.JSON(event{Type: "TOOL_CALL_RESULT", MessageID: s.nextID(), ToolCallID: c.EventID, Role: "tool", Content: &output})
}

// Asked tells of a call that waits, unless the program knows.
func (s *stream) Asked(a oracle.ApprovalBody, answered bool) {
	if !answered && !s.begunCalls[a.ToolCallID] {
		s.call(a.ToolCallID, a.ToolName, a.Args)
	}
	s.begunCalls[a.ToolCallID] = true
}

// Notice carries a frame of the oracle's own, by its name.
func (s *stream) Notice(f oracle.Frame) {
	s.JSON(event{Type: "CUSTOM", Name: "castalia." + f.Event, Value: f.Data})
}

// finish ends the stream.
func (s *stream) finish(end *face.End) {
	s.close()
	u := end.Usage
	last := event{Type: "RUN_FINISHED", ThreadID: s.threadID, RunID: s.runID, Usage: []usage{{
		Input: u.InputTokens, Output: u.OutputTokens, Total: u.InputTokens + u.OutputTokens, Reasoning: u.ReasoningTokens,
		Cached: u.CachedTokens,
	}}}
	switch {
	case end.Reason == face.Rests:
		last.Outcome = &outcome{Type: "interrupt"}
		for _, a := range end.Waiting {
			message := "Approve the call of " + a.ToolName + "?"
			if q := a.Question; q != nil {
				message = q.From + " asks: " + q.Message
			}
			last.Outcome.Interrupts = append(last.Outcome.Interrupts, interrupt{
				ID: a.ID, Reason: "tool_call", Message: message, ToolCallID: a.ToolCallID,
				ResponseSchema: answerSchema(a), ExpiresAt: a.ExpiresAt,
				Metadata: map[string]any{"toolName": a.ToolName, "args": a.Args, "asks": a.Reason},
			})
		}
	case !s.released: // earlier clients refuse what follows
	case end.Reason == face.Aborted:
		last.Outcome = &outcome{Type: "cancelled"}
	default:
		last.Outcome = &outcome{Type: "success", PendingCallIDs: s.pending}
	}
	s.JSON(last)
}

var (
	_ face.Rester  = (*stream)(nil)
	_ face.Noticer = (*stream)(nil)
)
