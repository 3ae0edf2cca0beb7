package oracle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/plugin"
)

// RunStatus is how far a run is.
type RunStatus string

// The states of a run. Queued, running and recovering runs are live.
const (
	Queued      RunStatus = "queued"
	Running     RunStatus = "running"
	Recovering  RunStatus = "recovering"
	Finished    RunStatus = "finished"
	Aborted     RunStatus = "aborted"
	Interrupted RunStatus = "interrupted"
	Failed      RunStatus = "failed"
)

// Live reports whether the run may still write frames.
func (s RunStatus) Live() bool { return s == Queued || s == Running || s == Recovering }

// Multitask says what a message does to a run that is already going on.
type Multitask string

// The three ways. The zero value counts as Interrupt, as published clients expect.
const (
	Interrupt Multitask = "interrupt"
	Enqueue   Multitask = "enqueue"
	Reject    Multitask = "reject"
)

// Run is one turn of the oracle: what was asked, and how far the answer is.
type Run struct {
	ID        string
	SessionID string
	Owner     string
	RequestID string
	// MessageID is the id of the human message that started the run.
	MessageID string
	// Turn is the sequence number of that message.
	Turn   int64
	Status RunStatus
	// Epoch fences writers: it grows whenever the run changes hands.
	Epoch int64
	// Attempt counts the nodes that worked on the run, from 1.
	Attempt int
	// NextSeq is the number of the next frame.
	NextSeq int64
	// AbortRequested is set once somebody asked the run to stop.
	AbortRequested bool
	// Request is what the user sent, as needed to run or resume the turn.
	Request TurnRequest
	// Checkpoint is what the turn had finished when it last saved itself.
	Checkpoint json.RawMessage
	// ErrorKind is why a failed run failed.
	ErrorKind string
	Model     string
	Usage     plugin.Usage
	Steps     int
	CreatedAt time.Time
	EndedAt   time.Time
	// BeganBy names the invocation that began the run; empty when none did.
	BeganBy string
	// Paused says that the run rests until a person has answered: nobody works on
	// it. Pauses counts how often it has.
	Paused bool
	Pauses int
	// Narrow says that the request proved itself by a delegation that others may hold
	// (identity.Brought.Narrow).
	Narrow bool
}

// Left is what a run has of its request when it goes on without it: the user's stored
// delegation counts, but for a narrow one, for which it did not before (ADR 0270).
func (r Run) Left() identity.Brought { return identity.Brought{Nothing: r.Narrow} }

// Sponsor is to whom the run is counted.
func (r Run) Sponsor() string { return cmp.Or(r.Request.Sponsor, r.Owner) }

// TurnRequest is the part of a message that a run needs again if another node
// takes it over. It holds no credential.
type TurnRequest struct {
	Message      string            `json:"message"`
	Model        string            `json:"model,omitempty"`
	BrowserTools []DeclaredTool    `json:"tools,omitempty"`
	Actions      []DeclaredAction  `json:"agActions,omitempty"`
	Attachments  []Attachment      `json:"attachments,omitempty"`
	Metadata     map[string]any    `json:"metadata,omitempty"`
	Invocations  map[string]string `json:"-"`
	Timezone     string            `json:"timezone,omitempty"`
	HomeServer   string            `json:"homeServer,omitempty"`
	// Tab names the page that sent the message, so that its tools run there.
	Tab string `json:"tab,omitempty"`
	// Sponsor is who answers for the message when it is not its owner.
	Sponsor string `json:"sponsor,omitempty"`
	// Origin is by which way the message came; empty for pages: see package usage.
	Origin string `json:"origin,omitempty"`
	// AppKey is the id of the app key by which the message came, whose budget it takes.
	AppKey string `json:"appKey,omitempty"`
	// Instructions are the caller's own, beside the oracle's.
	Instructions string `json:"instructions,omitempty"`
	// Given is the conversation before the message, where the caller keeps it.
	Given []GivenMessage `json:"given,omitempty"`
	// CallerTools are run by whoever asked: a turn that calls one ends with the call.
	CallerTools []DeclaredTool `json:"callerTools,omitempty"`
	// Results answer such calls of an earlier turn.
	Results []ToolCall `json:"results,omitempty"`
	// Plain asks for an answer from what was sent alone, without tools or anything
	// that plugins know.
	Plain bool `json:"plain,omitempty"`
	// Asks says that the program through which the user speaks can put a question to them.
	Asks bool `json:"asks,omitempty"`
	// Fills says that it can show a form as well, and send what the user writes into it.
	Fills bool `json:"fills,omitempty"`
	// Version, when set, makes the turn stand in the place of another.
	Version *VersionOf `json:"version,omitempty"`
}

// GivenMessage is one entry of a conversation that the caller keeps.
type GivenMessage struct {
	Role  plugin.Role            `json:"role"`
	Text  string                 `json:"text,omitempty"`
	Calls []plugin.ModelToolCall `json:"calls,omitempty"`
	// CallID says which call a tool's message answers.
	CallID string `json:"callId,omitempty"`
}

// Shown is the message as the transcript has it.
func (q TurnRequest) Shown() string {
	if q.Message != "" || len(q.Results) == 0 {
		return q.Message
	}
	return DescribeResults(q.Results)
}

// DescribeResults is what people read where a program answered calls.
func DescribeResults(results []ToolCall) string {
	var b strings.Builder
	for i, r := range results {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("Result of " + cmp.Or(r.Name, r.ID) + ":\n" + r.Output)
	}
	return b.String()
}

// Same reports whether two requests say the same message. Where they come from
// may differ: a page that was moved to another place repeats itself.
func (q TurnRequest) Same(other TurnRequest) bool {
	said := func(q TurnRequest) []byte {
		q.Origin, q.Sponsor, q.AppKey, q.Timezone, q.HomeServer, q.Tab = "", "", "", "", "", ""
		if q.Version != nil { // an edit that comes again finds the turn edited
			q.Version = &VersionOf{Root: q.Version.Root}
		}
		data, err := json.Marshal(q)
		if err != nil {
			return nil
		}
		return data
	}
	a, b := said(q), said(other)
	return a != nil && bytes.Equal(a, b)
}

// DeclaredTool is a browser tool that the page offers for one turn.
type DeclaredTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// DeclaredAction is an AG-UI action that the page offers for one turn.
type DeclaredAction struct {
	DeclaredTool
	HasRender bool `json:"hasRender,omitempty"`
}

// AttemptShift separates the frame numbers of attempts: a later attempt starts
// at a multiple of 1<<AttemptShift.
const AttemptShift = 32

// Frame is one entry of a run's log, exactly as it goes over the wire.
type Frame struct {
	Seq   int64           `json:"seq"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// Ends reports whether the frame is the last of its run.
func (f Frame) Ends() bool { return f.Event == FrameDone }

// Transcript is a session's messages behind its summary, as one node left them.
// It needs no care: messages are numbered without gaps, in the session's own
// row, so that a next message with another number than ours says that somebody
// else has written meanwhile.
type Transcript struct {
	Through  int64 // the turn up to which the summary stands for them
	Next     int64 // the number of the next message
	Branch   int64 // which branch was shown: Session.Branch
	Messages []Message
}

// Carried is what a request hands to the run that it starts, in memory only:
// credentials are not stored, so a run that another node takes over has none (Run.Left).
type Carried struct {
	MatrixToken string
	// Brought is the request's own verified x-ucan-delegation, and whether the user signed
	// the request as well.
	Brought identity.Brought
	// Invocations are the request's mcpInvocations.
	Invocations map[string]string
	// Attachments are the message's, with the keys of encrypted ones.
	Attachments []Attachment
	// Images are shown with the message to models that see, and kept nowhere.
	Images []plugin.Image
	// AskDelegation says that the user should be asked to authorise the oracle.
	AskDelegation bool
	// Spans traces what the run asks of others below the request; nil traces nothing.
	Spans Spans
}

// Spans begins a span, and returns what ends it.
type Spans = func(ctx context.Context, name string,
	attrs ...slog.Attr) (context.Context, func(err error, attrs ...slog.Attr))
