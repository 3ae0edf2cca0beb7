// Package turn does the work of a run: it gathers what the model must know,
// lets the agent think, and tells readers and open pages what happens.
//
// It promises that a plugin whose hook fails is left out of that turn and never
// ends it, that nothing a sub-agent or a summary says reaches the reply, that
// trouble with the operator's own account is not shown to users, and that what
// it stores is what readers saw.
//
// Decisions: ADR 0140, ADR 0155, ADR 0171, ADR 0175.
package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf16"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/recent"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// Access gives a turn what may be done in the user's name. delegation is the
// request's own verified one, or empty to use the stored one.
type Access interface {
	Authority(userDID string, b identity.Brought) plugin.Authority
	Files(userDID string, b identity.Brought) plugin.Files
	Query(userDID string) plugin.Query
	Knowledge(userDID string, b identity.Brought) plugin.Knowledge
}

// Attachments reads the files that came with a message.
type Attachments interface {
	// Fetch fills in Text, Note and Category of each attachment and returns
	// pictures for models that can see. It does not fail: what could not be
	// read has a Note that says why.
	Fetch(ctx context.Context, q AttachmentQuery) ([]oracle.Attachment, []plugin.Image)
}

// AttachmentQuery is the attachments of one message.
type AttachmentQuery struct {
	Owner       string
	Attachments []oracle.Attachment
	HomeServer  string
	MatrixToken string
	RoomID      string
	Brought     identity.Brought
}

// MCP connects to MCP servers.
type MCP interface {
	// Tools lists the tools of the servers, ready to be called. close ends
	// the connections. Servers that do not answer are left out.
	Tools(ctx context.Context, servers []plugin.MCPServer, u MCPUser) (tools []agent.Tool, closeAll func())
}

// MCPUser is in whose name MCP tools are called.
type MCPUser struct {
	DID         string
	Invocations map[string]string
}

// Deps is what turns need. Publisher, Dispatcher, Access, Attachments and MCP
// may be nil: what they do is then not available.
type Deps struct {
	Store      oracle.Store
	Provider   model.Provider
	Plugins    *registry.Registry
	Publisher  oracle.Publisher
	Dispatcher oracle.Dispatcher
	Identity   oracle.Identity
	// Name is what the oracle is called now; nil is the name of its identity.
	Name        func() string
	Access      Access
	Attachments Attachments
	MCP         MCP
	// Approvals is what people were asked and said; nil means that nobody can be
	// asked, so that what needs an approval is refused.
	Approvals Approvals
	// Instructions is what the operator tells the model in a session that was
	// summarised up to a turn; nil tells nothing. It must be the same for the same
	// arguments: see systemPrompt.
	Instructions func(ctx context.Context, sessionID string, through int64) string
	// Ledger counts what the model costs, where that is limited; nil counts nothing.
	Ledger Ledger
	// Budgets are those of app keys; nil has none.
	Budgets Budgets
	// Meter counts requests to models; nil counts nothing.
	Meter  Meter
	Log    *slog.Logger
	Config Config
}

// Budgets keeps what app keys may spend; *appkey.Service is one.
type Budgets interface {
	// Reserve holds what a call may cost, or less of the last of a budget, and refuses
	// when nothing is left. Settle counts what it did cost in its place.
	Reserve(ctx context.Context, maker, id string, want appkey.Amount) (held appkey.Amount, err error)
	Settle(ctx context.Context, id string, held, used appkey.Amount) error
}

// Approvals knows what became of the calls that a run put to its user.
type Approvals interface {
	Approvals(ctx context.Context, runID string) ([]oracle.Approval, error)
}

// Ledger counts what the model costs, by who answers for it and by day.
type Ledger interface {
	// AddCost counts what was spent, or takes back what was held beyond it.
	AddCost(ctx context.Context, sponsor string, micros int64, now time.Time) error
	// ReserveCost adds as much of what is wanted as the limit leaves of the day, and says how
	// much that is and what was spent before.
	ReserveCost(ctx context.Context, sponsor string, limit, want int64, now time.Time) (held, spent int64, err error)
	Cost(ctx context.Context, sponsor string, now time.Time) (micros int64, err error)
}

const (
	browserTime   = 30 * time.Second // for a browser tool
	subAgentSteps = 8                // unless the plugin says otherwise
)

// Config tunes turns. The zero value is what production uses.
type Config struct {
	Limits      agent.Limits
	Action      time.Duration // 2m for an AG-UI action, which may ask a person
	WindowShare float64       // 0.6 of the model's window is for the history
	Readers     int           // one per CPU: turns that read their history at the same time
	// ApproveMCP makes every tool of an MCP server that is not marked as read only
	// wait for the person.
	ApproveMCP bool
	Measures   oracle.Measures
}

func (c Config) withDefaults() Config {
	c.Action = cmp.Or(c.Action, 2*time.Minute)
	c.WindowShare = cmp.Or(c.WindowShare, 0.6)
	c.Readers = cmp.Or(c.Readers, runtime.GOMAXPROCS(0))
	return c
}

// Worker does runs. It is a run.Worker.
type Worker struct {
	deps Deps
	// reading holds a token for each turn that reads its history. Turns that
	// have just begun take turns here, so that many of them at once do not keep
	// the node from accepting further messages.
	reading chan struct{}
	schemas agent.Schemas
	// transcripts are those that this node has just written, by session.
	transcripts *recent.Map[string, oracle.Transcript]
}

var _ run.Worker = (*Worker)(nil)

// New makes a Worker.
func New(d Deps) (*Worker, error) {
	if d.Plugins == nil {
		r, err := registry.New(registry.Config{})
		if err != nil {
			return nil, err
		}
		d.Plugins = r
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Publisher == nil {
		d.Publisher = nobody{}
	}
	if d.Dispatcher == nil {
		d.Dispatcher = nobody{}
	}
	if d.Access == nil {
		d.Access = nobody{}
	}
	if d.Provider != nil {
		d.Provider = model.Careful(d.Provider, d.Log)
	}
	d.Config = d.Config.withDefaults()
	return &Worker{
		deps: d, reading: make(chan struct{}, d.Config.Readers),
		transcripts: recent.New[string, oracle.Transcript](rememberedBytes),
	}, nil
}

// turn is one run being worked on.
type turn struct {
	*Worker
	job       run.Job
	run       oracle.Run
	carried   oracle.Carried
	to        oracle.Address
	rt        *plugin.Runtime
	plugins   *pluginSet
	tools     *toolbox
	model     model.Info
	usage     *meter
	titled    bool
	short     bool               // older turns were left out of this one
	saidShort bool               // an earlier turn said so
	through   int64              // the turn up to which a summary stands for the conversation
	past      *oracle.Transcript // before this turn, when it is known to be whole
	// untrusted says that the turn has read somebody else's text.
	untrusted atomic.Bool
	log       *slog.Logger
}

// Work does a run: see run.Worker.
func (w *Worker) Work(ctx context.Context, job run.Job) run.Result {
	r := job.Run
	t := &turn{
		Worker: w, job: job, run: r, to: oracle.Address{SessionID: r.SessionID, RequestID: r.RequestID},
		model: model.Find(w.deps.Provider, r.Request.Model), usage: &meter{},
		log:     w.deps.Log.With(slog.String("run_id", r.ID), slog.String("request_id", r.RequestID)),
		carried: job.Carried,
	}
	state := agent.State{}
	if len(r.Checkpoint) > 0 {
		if err := json.Unmarshal(r.Checkpoint, &state); err != nil {
			t.log.Error("a checkpoint cannot be read; the turn starts again", slog.String("event", "turn.checkpoint_unreadable"), slog.Any("error", err))
			state = agent.State{}
		}
	}
	if r.Attempt > 1 {
		length := len(utf16.Encode([]rune(state.Text())))
		t.emit(oracle.FrameRun, oracle.RunFrame{
			RunID: r.ID, Address: t.to, Resumed: true, Attempt: r.Attempt, PartialLength: &length,
		})
	}
	if r.Attempt == 1 {
		t.publish(ctx, oracle.EventRunStarted, oracle.RunStarted{Address: t.to, RunID: r.ID, TabID: r.Request.Tab})
	}
	if t.carried.AskDelegation {
		t.askDelegation()
	}
	state, err := t.think(ctx, state)
	return t.conclude(ctx, state, err)
}

// think prepares the conversation and runs the agent.
func (t *turn) think(ctx context.Context, state agent.State) (agent.State, error) {
	session, err := t.session(ctx)
	if err != nil {
		return state, fmt.Errorf("load session: %w", err)
	}
	t.titled = session.Title != oracle.Untitled
	t.rt = t.runtime(ctx, session)
	if numbered, ok := t.rt.Knowledge.(interface{ CiteAfter(n int) }); ok {
		last := 0
		for _, c := range state.Shown() {
			last = max(last, c.Number)
		}
		numbered.CiteAfter(last) // another node began the turn
	}
	t.plugins = newPluginSet(t.deps.Plugins, t.rt, t.log)
	tools := &toolbox{t: t, session: session, close: func() {}}
	if !t.run.Request.Plain {
		tools = t.toolbox(ctx, session)
	}
	defer tools.close()
	t.tools = tools
	history, err := t.history(ctx, session)
	if err != nil {
		return state, err
	}
	// What came with the message was written by anybody, whoever attached it.
	attached := len(t.run.Request.Attachments) > 0
	t.untrusted.Store(attached || state.Untrusted())
	if state.Note == "" && !t.run.Request.Plain {
		state.Note = t.noteOf(ctx)
	}
	history[len(history)-1].Note = state.Note
	state.Shortened = state.Shortened || t.short && !t.saidShort
	task := agent.Task{
		Model: t.plugins.wrapModel(t.callModel("")), Runtime: t.rt,
		Request: plugin.ModelRequest{
			Model: t.model.ID, System: t.systemPrompt(ctx, tools), Messages: history, Purpose: "turn", Session: session.ID,
		},
		Tools: tools.list, CallTool: t.plugins.wrapTool, Limits: t.deps.Config.Limits, Sink: (*sink)(t), State: state,
		Log:       t.log,
		Untrusted: attached,
		Trim: func(_ context.Context, req *plugin.ModelRequest) bool {
			t.through = passing
			if !trimHalf(req) {
				return false
			}
			t.short = true
			return true
		},
	}
	switch {
	case t.run.Request.Origin == usage.SourceFace && !t.run.Request.Asks:
		task.Unasked = agent.ErrNotThere // programs would wait in silence
	case t.deps.Approvals != nil:
		task.Answers = t.answers
		task.Fills = fills(t.run.Request)
		task.Delegates = t.run.Request.Tab != "" // a page is there
	}
	return agent.Run(ctx, task)
}

// session is the turn's: as the store saw it a moment ago, or as it is now.
func (t *turn) session(ctx context.Context) (oracle.Session, error) {
	if t.job.Session != nil {
		return *t.job.Session, nil
	}
	return patiently(ctx, func() (oracle.Session, error) {
		return t.deps.Store.Session(ctx, t.run.Owner, t.run.SessionID)
	})
}

// callModel is the innermost model call, in the name of a plugin or of the turn.
func (t *turn) callModel(owner string) plugin.ModelFunc {
	return func(ctx context.Context, _ *plugin.Runtime, req plugin.ModelRequest,
		out func(plugin.Chunk),
	) (plugin.ModelResponse, error) {
		held, err := t.reserve(ctx, t.run, req)
		if err != nil {
			return plugin.ModelResponse{}, err
		}
		return t.ask(ctx, asking{run: t.run, spans: t.carried.Spans, held: held, plugin: owner}, req, out)
	}
}

// trimHalf drops the older half of the turns before the last, each whole: results
// may not lose their calls. When the last turn alone is too long, the longest
// results in it are shortened.
func trimHalf(req *plugin.ModelRequest) bool {
	n, cut := len(req.Messages), -1
	for i, m := range req.Messages {
		if m.Role == plugin.RoleUser && i > 0 && (cut < 0 || cut < n/2) {
			cut = i
		}
	}
	req.Messages = slices.Clone(req.Messages)
	defer func() { forgetStates(req.Messages) }()
	if cut > 0 {
		req.Messages = req.Messages[cut:]
		return true
	}
	return shortenResults(req.Messages)
}

// shortest is the length below which a result is not worth shortening, in bytes.
const shortest = 1024

// shortenResults halves the results that are longer than most.
func shortenResults(messages []plugin.ModelMessage) (shortened bool) {
	longest := 0
	for _, m := range messages {
		if m.Role == plugin.RoleTool {
			longest = max(longest, len(m.Text))
		}
	}
	for i, m := range messages {
		if m.Role == plugin.RoleTool && len(m.Text) > max(shortest, longest/2) {
			messages[i].Text = agent.Cap(m.Text, len(m.Text)/2)
			shortened = true
		}
	}
	return shortened
}

// conclude turns the end of a turn into frames and messages.
func (t *turn) conclude(ctx context.Context, state agent.State, err error) run.Result {
	steps := state.Steps
	result := run.Result{Status: oracle.Finished, Model: t.model.ID, Steps: len(steps), Titled: t.titled, Before: t.past}
	if failed, ok := errors.AsType[*agent.Error](err); ok {
		state, steps = failed.State, failed.State.Steps
		if failed.Partial.Text != "" || failed.Partial.Reasoning != "" {
			steps = append(slices.Clip(steps), failed.Partial)
		}
	}
	if refusal, ok := refused(err); ok { // a plugin ends the turn with a text of its own
		t.emit(oracle.FrameMessage, oracle.MessageFrame{
			Content: refusal.Message, Timestamp: oracle.Timestamp(time.Now()), Refused: inWords(refusal),
		})
		steps = append(slices.Clip(steps), agent.Step{Text: refusal.Message})
		err = nil
	} else if text := notice(state); err == nil && text != "" && !state.HandedOut() {
		t.emit(oracle.FrameMessage, oracle.MessageFrame{Content: text, Timestamp: oracle.Timestamp(time.Now())})
		steps = append(slices.Clip(steps), agent.Step{Text: text})
	}
	waits := errors.Is(err, agent.ErrWaits)
	if !waits && !state.HandedOut() && (state.Shortened || t.short && !t.saidShort) {
		text := shortened
		if len(steps) > 0 {
			text = "\n\n" + text
		}
		t.emit(oracle.FrameMessage, oracle.MessageFrame{Content: text, Timestamp: oracle.Timestamp(time.Now())})
		steps = append(slices.Clip(steps), agent.Step{Text: text})
	}
	t.tellCitations(ctx, steps)
	if !waits {
		t.emit(oracle.FrameReasoning,
			oracle.ReasoningFrame{Address: t.to, IsComplete: true, Timestamp: oracle.Timestamp(time.Now())})
	}
	var failure *model.Error
	switch cause := context.Cause(ctx); {
	case err == nil:
	case run.IsAbort(cause), waits:
		result.Status = oracle.Aborted
	case run.IsTimeout(cause):
		failure = &model.Error{Kind: model.Timeout, Cause: cause}
	default:
		failure = model.From(err)
		if ctx.Err() == nil {
			t.logFailure(ctx, failure, err)
		}
	}
	result.Messages = t.messages(state.Note, steps)
	if failure != nil {
		result.Status, result.ErrorKind = oracle.Failed, string(failure.Kind)
		t.fail(failure)
		result.Titled = result.Titled || len(result.Messages) == 0 // nothing to name yet
		result.Messages = append(result.Messages, failed(failure))
	}
	result.Text = agent.State{Steps: steps}.Text()
	result.Usage = state.Usage.Add(t.usage.total())
	if waits {
		t.pauseFor(state, &result)
	}
	result.Finish = finish(state)
	return result
}

// tellCitations tells which passages the answer points to, as the transcript will.
func (t *turn) tellCitations(ctx context.Context, steps []agent.Step) {
	answer := agent.State{Steps: steps}
	cited := oracle.Cited(answer.Text(), answer.Shown())
	if len(cited) == 0 {
		return
	}
	p := oracle.CitationsPayload{Address: t.to, Citations: cited, Timestamp: oracle.Timestamp(time.Now())}
	t.emit(oracle.FrameCitations, p)
	t.publish(ctx, oracle.EventCitations, p)
}

// logFailure notes a failure once. What a user asked for and a filter refused is
// no error of ours.
func (t *turn) logFailure(ctx context.Context, failure *model.Error, err error) {
	level := slog.LevelError
	if failure.Kind == model.Filter {
		level = slog.LevelInfo
	}
	t.log.Log(ctx, level, "a turn failed", slog.String("event", "turn.failed"), slog.Any("error", err))
}

// failed is what the transcript keeps of a failure.
func failed(e *model.Error) oracle.Message {
	p := e.Public()
	return oracle.Message{
		ID: oracle.NewID(), Role: oracle.AI, Content: p.Text, CreatedAt: time.Now(),
		Failure: &oracle.Failure{Kind: string(p.Kind), Text: p.Text, Retryable: p.Retryable},
	}
}

func (t *turn) fail(e *model.Error) {
	p := e.Public()
	t.emit(oracle.FrameError, oracle.ErrorFrame{
		Error: p.Text, Kind: string(p.Kind), Source: "platform", Provider: t.deps.Provider.Name(), ProviderLabel: t.model.Label,
		Status: p.Status, Retryable: p.Retryable, Detail: p.Detail, RunID: t.run.ID, Address: t.to,
		Timestamp: oracle.Timestamp(time.Now()),
	})
}

// emit appends a frame. A log that refuses has already cancelled the run.
func (t *turn) emit(event string, payload any) {
	if err := t.job.Log.Emit(event, payload); err != nil {
		t.log.Debug("a frame was not written", slog.String("frame", event), slog.Any("error", err))
	}
}

// messages are what the transcript keeps of the turn, with what later turns need
// to begin as this one did.
func (t *turn) messages(note string, steps []agent.Step) []oracle.Message {
	out := messages(steps)
	if len(out) > 0 {
		out[0].Note = note
	}
	for i := range out {
		if out[i].State != nil {
			out[i].State.Through = t.through
		}
	}
	return out
}

// messages turns steps into what the transcript keeps: a text that the store
// refused would leave the run without an end. Calls without a result get one, so
// that no later turn finds a call without an answer.
func messages(steps []agent.Step) []oracle.Message {
	var out []oracle.Message
	for _, s := range steps {
		if s.Text == "" && len(s.Calls) == 0 {
			continue
		}
		m := oracle.Message{
			ID: oracle.NewID(), Role: oracle.AI, Content: model.Storable(s.Text),
			Reasoning: model.Storable(s.Reasoning), CreatedAt: time.Now(),
		}
		for _, c := range s.Calls {
			call := oracle.ToolCall{
				ID: c.ID, Name: c.Name, Args: agent.AsStored(c.Arguments()), Status: c.Status,
				Output: c.Output, Error: c.Error, Action: c.Action, Component: c.Component, Citations: c.Citations,
			}
			if call.Caller = c.Caller; c.Caller {
				call.Status = plugin.Done
			}
			if call.Status == "" {
				call.Status, call.Error = plugin.Failed, "The tool did not complete."
				if c.Waits() && c.Question == nil { // who asks has begun
					call.Error = unapproved
				}
			}
			m.ToolCalls = append(m.ToolCalls, call)
		}
		if s.State != nil {
			m.State = &oracle.ModelState{ModelState: *s.State}
		}
		out = append(out, m)
	}
	return out
}

// GiveUp ends a run whose nodes died too often: see run.Worker.
func (w *Worker) GiveUp(_ context.Context, r oracle.Run, frames []oracle.Frame) run.Result {
	text := TextOf(frames)
	result := run.Result{
		Status: oracle.Interrupted, ErrorKind: "interrupted", Text: text,
		Model: model.Find(w.deps.Provider, r.Request.Model).ID,
	}
	var state agent.State
	if json.Unmarshal(r.Checkpoint, &state) == nil && len(state.Steps) > 0 {
		kept := state.Text()
		steps := state.Steps
		if rest, ok := cutPrefix(text, kept); ok && rest != "" {
			steps = append(steps, agent.Step{Text: rest})
		}
		t := &turn{through: passing} // nobody knows behind which beginning it was said
		result.Messages, result.Usage, result.Steps = t.messages(state.Note, steps), state.Usage, len(steps)
	} else if text != "" {
		result.Messages = messages([]agent.Step{{Text: text}})
	}
	result.Messages = append(result.Messages, oracle.Message{
		ID: oracle.NewID(), Role: oracle.AI, Content: interrupted, CreatedAt: time.Now(),
		Failure: &oracle.Failure{Kind: "interrupted", Text: interrupted, Retryable: true},
	})
	return result
}

// interrupted is what the user is told of a turn whose nodes died too often.
const interrupted = "The server stopped again and again while it answered. Please try again."

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return "", false
}

// TextOf returns the text that a reader of frames shows: what was said, cut
// back where an attempt began anew.
func TextOf(frames []oracle.Frame) string {
	var shown []uint16
	for _, f := range frames {
		switch f.Event {
		case oracle.FrameMessage:
			var m oracle.MessageFrame
			if json.Unmarshal(f.Data, &m) == nil {
				shown = append(shown, utf16.Encode([]rune(m.Content))...)
			}
		case oracle.FrameRun:
			var r oracle.RunFrame
			if json.Unmarshal(f.Data, &r) == nil && r.Resumed && r.PartialLength != nil {
				shown = shown[:min(*r.PartialLength, len(shown))]
			}
		}
	}
	return string(utf16.Decode(shown))
}
