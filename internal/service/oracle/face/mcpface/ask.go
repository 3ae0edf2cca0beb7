package mcpface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/toolschema"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/plugin"
)

// What became of a question, as programs read it.
const (
	done    = "done"
	working = "working"
	waiting = "waiting_for_approval"
	stopped = "stopped"
)

// Question is what ask_oracle takes.
type Question struct {
	Question  string `json:"question" jsonschema:"what is asked, in the user's own words"`
	SessionID string `json:"sessionId,omitempty" jsonschema:"goes on with a conversation: as an earlier answer named it, or one of the user's sessions"`
}

// Fetch is what get_answer takes.
type Fetch struct {
	RunID string `json:"runId" jsonschema:"as ask_oracle returned it"`
}

// Facts are what programs want to know of an answer.
type Facts struct {
	Status    string `json:"status" jsonschema:"done, working, waiting_for_approval or stopped"`
	RunID     string `json:"runId"`
	SessionID string `json:"sessionId"`
	// Sources are the passages that the text points to, as [1].
	Sources []plugin.Citation `json:"sources,omitempty"`
	// Approvals are the calls that wait for the user.
	Approvals []Waiting `json:"approvals,omitempty"`
}

// Waiting is a call that waits for the user's approval.
type Waiting struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	ExpiresAt string `json:"expiresAt"`
	// URL is where the user approves or denies it.
	URL string `json:"url"`
}

// maxQuestion bounds a question, in bytes.
const maxQuestion = 256 << 10

func (f *Face) addTools(s *mcp.Server) {
	yes, no := true, false
	mcp.AddTool(s, &mcp.Tool{
		InputSchema: toolschema.Of[Question](), OutputSchema: toolschema.Of[Facts](),
		Name: toolAsk, Title: "Ask the oracle",
		Description: "Ask the community's oracle and get its answer, with sources. It may use tools of its own. " +
			"When it needs longer than you can wait it returns the status working and a runId: call get_answer with that.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &yes},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in Question) (*mcp.CallToolResult, Facts, error) {
		return f.tool(ctx, req, func(ctx context.Context, c call) (*face.Answer, error) { return f.ask(ctx, c, in) })
	})
	mcp.AddTool(s, &mcp.Tool{
		InputSchema: toolschema.Of[Fetch](), OutputSchema: toolschema.Of[Facts](),
		Name: toolGet, Title: "Get an answer of the oracle",
		Description: "Wait for the answer to a question that ask_oracle began, or get it again: for a day. It waits a while and may return working again.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in Fetch) (*mcp.CallToolResult, Facts, error) {
		return f.tool(ctx, req, func(ctx context.Context, c call) (*face.Answer, error) {
			return f.deps.Faces.Again(ctx, c.who.DID, in.RunID)
		})
	})
}

// tool serves a call of either tool: open finds the run that it is about.
func (f *Face) tool(ctx context.Context, req *mcp.CallToolRequest,
	open func(context.Context, call) (*face.Answer, error),
) (*mcp.CallToolResult, Facts, error) {
	c, ok := callOf(ctx)
	if !ok {
		return nil, Facts{}, errors.New("no token")
	}
	answer, err := f.resumed(ctx, c, req)
	if answer == nil && err == nil {
		if err = f.gate(c); err == nil { //nolint:contextcheck // the request has it
			answer, err = open(ctx, c)
		}
	}
	if err != nil {
		return nil, Facts{}, f.tellable(ctx, err)
	}
	defer answer.Close()
	return f.follow(ctx, c, req, answer)
}

func (f *Face) gate(c call) error {
	if f.deps.Gate == nil {
		return nil
	}
	return f.deps.Gate(c.request.WithContext(identity.WithPrincipal(c.request.Context(), c.who)))
}

// ask stores the question and begins to answer it.
func (f *Face) ask(ctx context.Context, c call, in Question) (*face.Answer, error) {
	ask := face.Ask{Who: c.who, Conversation: in.SessionID}
	ask.Request.Message = strings.TrimSpace(face.Storable(in.Question))
	ask.Request.Asks, ask.Request.Fills = true, true
	switch {
	case ask.Request.Message == "":
		return nil, fault.New(fault.Invalid, "The question is empty.")
	case len(ask.Request.Message) > maxQuestion:
		return nil, fault.Newf(fault.Invalid, "A question has at most %d bytes.", maxQuestion)
	case in.SessionID != "":
		if _, err := f.deps.Service.Session(ctx, c.who.DID, in.SessionID); err != nil {
			return nil, err
		}
	}
	if err := f.deps.Faces.Choose("", &ask.Request); err != nil {
		return nil, err
	}
	answer, err := f.deps.Faces.Begin(ctx, ask)
	if err != nil || c.name == "" {
		return answer, err
	}
	if err := f.deps.Faces.NoteCall(ctx, answer, c.name); err != nil {
		answer.Close()
		return nil, err
	}
	return answer, nil
}

// tellable is an error in words that an agent can act upon. What is the server's own
// fault is logged here, at the edge.
func (f *Face) tellable(ctx context.Context, err error) error {
	e := fault.From(err)
	switch e.Kind {
	case fault.Internal, fault.Unavailable, fault.Timeout:
		f.deps.Log.WarnContext(ctx, "an agent's question failed", slog.String("event", "mcp.question_failed"), slog.Any("error", err))
		return fmt.Errorf("%s The failure is the server's: ask again in a moment", e.Message)
	case fault.NotFound:
		return fmt.Errorf("%s. It does not exist, or is not this user's", e.Message)
	}
	return errors.New(e.Message)
}

// follow waits for the end of a run, or as long as clients wait.
func (f *Face) follow(ctx context.Context, c call, req *mcp.CallToolRequest,
	answer *face.Answer,
) (*mcp.CallToolResult, Facts, error) {
	facts := Facts{RunID: answer.RunID, SessionID: answer.SessionID}
	leave, release := f.leaving(c) //nolint:contextcheck // the request has it
	defer release()
	sink := &sink{ctx: ctx, run: answer.RunID, token: req.Params.GetProgressToken(), session: req.Session}
	var into face.Sink = sink
	switch f.asksHow(c, req) {
	case byResult:
		into = asking{sink}
	case byStream:
		asked := map[string]bool{}
		sink.rests = func() {
			if list, err := answer.Waiting(ctx); err == nil { // else it is asked for elsewhere
				c.elicit(list, asked)
			}
		}
	}
	end, err := answer.Follow(ctx, leave, true, into)
	facts.Sources = sink.cited
	switch {
	case errors.Is(err, face.ErrStopping):
		return f.later(ctx, c, answer, facts)
	case err != nil:
		return nil, Facts{}, f.tellable(ctx, err)
	case end.Reason == face.Rests:
		if asked, ok := question(end.Waiting); ok {
			return asked, Facts{}, nil
		}
		return f.later(ctx, c, answer, facts)
	case end.Reason == face.Aborted:
		facts.Status = stopped
		return text("The question was stopped before it was answered.\n\n" + sink.text.String()), facts, nil
	}
	answer.Arrived(ctx)
	facts.Status = done
	return text(sink.text.String()), facts, nil
}

// leaving returns a channel that is closed when the tool has to return: its time is
// over, the node stops, or the credential has ended.
func (f *Face) leaving(c call) (leave <-chan struct{}, release func()) {
	ctx, end := identity.UntilEnded(context.WithoutCancel(c.request.Context()), c.request.Context())
	ctx, cancel := context.WithTimeout(ctx, f.deps.Wait)
	stop := context.AfterFunc(c.request.Context(), cancel)
	draining := httpserver.Draining(c.request.Context())
	go func() {
		select {
		case <-draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx.Done(), func() {
		stop()
		cancel()
		end()
	}
}

// later says how to come back for an answer.
func (f *Face) later(ctx context.Context, c call, answer *face.Answer,
	facts Facts,
) (*mcp.CallToolResult, Facts, error) {
	if c.name != "" { // who cancels from now on does not mean the run
		if err := f.deps.Faces.ForgetCall(ctx, c.who.DID, c.name); err != nil {
			return nil, Facts{}, f.tellable(ctx, err)
		}
	}
	list, err := answer.Waiting(ctx)
	if err != nil {
		return nil, Facts{}, f.tellable(ctx, err)
	}
	if len(list) > 0 {
		facts.Status, facts.Approvals = waiting, waitings(c, list)
		return text(describe(c, list) + "\n\nCall get_answer with runId " + answer.RunID + " when the user has decided."), facts, nil
	}
	facts.Status = working
	return text("The oracle is still working on it. Call get_answer with runId " + answer.RunID + "."), facts, nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// metaRun is the run's id in the _meta of its progress.
const metaRun = "runId"

// sink collects an answer and tells of its progress.
type sink struct {
	ctx     context.Context //nolint:containedctx // of the call that it belongs to
	run     string
	token   any
	session *mcp.ServerSession
	rests   func() // is called when the run waits for its user; nil asks nobody
	text    strings.Builder
	cited   []plugin.Citation
	last    time.Time
	steps   float64
}

// Text is a piece of the answer.
func (s *sink) Text(text string) { s.text.WriteString(text) }

// Thought is not told.
func (s *sink) Thought(string) {}

// Call does not come: an agent declares no tools.
func (s *sink) Call(face.Call) {}

// Tool was told of when it began.
func (s *sink) Tool(oracle.ToolCallPayload) {}

// Flush tells that the work goes on.
func (s *sink) Flush(beat bool) error {
	if beat {
		s.progress("still working")
	}
	return s.ctx.Err()
}

// between is how often progress is told at most, where nothing happens but text.
const between = time.Second

// Saw tells of what happens.
func (s *sink) Saw(f oracle.Frame) {
	switch f.Event {
	case oracle.FrameRun:
		s.progress("thinking")
	case oracle.FrameMessage:
		if time.Since(s.last) >= between {
			s.progress("answering")
		}
	case oracle.FrameToolCall:
		var c oracle.ToolCallPayload
		if json.Unmarshal(f.Data, &c) == nil && c.Status == plugin.Running {
			s.progress("using " + c.ToolName)
		}
	case oracle.FrameApprovalRequired:
		s.progress("waiting for the user's approval")
		if s.rests != nil {
			s.rests()
		}
	case oracle.FrameCitations:
		var c oracle.CitationsPayload
		if json.Unmarshal(f.Data, &c) == nil {
			s.cited = c.Citations
		}
	}
}

// progress tells a client that asked for it, and by which id the answer can be fetched
// should this node not live to give it.
func (s *sink) progress(what string) {
	s.last = time.Now()
	if s.token == nil {
		return
	}
	s.steps++
	// A client that has left is noticed by its request.
	_ = s.session.NotifyProgress(s.ctx, &mcp.ProgressNotificationParams{
		Meta: mcp.Meta{metaRun: s.run}, ProgressToken: s.token, Progress: s.steps, Message: what,
	})
}

// asking is a sink whose reading ends where the user is asked.
type asking struct{ *sink }

// Asked is in the end of the reading too.
func (asking) Asked(oracle.ApprovalBody, bool) {}

var (
	_ face.Watcher = (*sink)(nil)
	_ face.Rester  = asking{}
)
