package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// Tool is a tool with what the loop must know beyond the contract.
type Tool struct {
	plugin.Tool
	// Plugin is the owner's name, or empty.
	Plugin string
	// Action marks AG-UI actions, which are told about differently.
	Action bool
	// Asks says that the operator wants the person asked before each call.
	Asks bool
	// Caller marks tools that whoever asked runs: the turn ends with the call.
	Caller bool
}

// Limits bound a turn. The zero value is what production uses.
type Limits struct {
	MaxSteps int // 20; then one last step without tools
	Parallel int // 8 tools at once
	MaxCalls int // 32 calls in one step
}

const (
	toolTimeout = time.Minute // unless the tool says otherwise
	outputBytes = 32 << 10    // of one tool's result
	repeats     = 2           // so many identical calls are run, the next are refused
)

func (l Limits) withDefaults() Limits {
	l.MaxSteps = cmp.Or(l.MaxSteps, 20)
	l.Parallel = cmp.Or(l.Parallel, 8)
	l.MaxCalls = cmp.Or(l.MaxCalls, 32)
	return l
}

// Sink hears of a turn while it happens. Chunks come from the loop's own
// goroutine; tools report from theirs.
type Sink interface {
	Chunk(c plugin.Chunk)
	// Retract takes back the text of the present step; kept is what the turn had
	// said before it.
	Retract(kept string)
	ToolStarted(c Call)
	ToolEnded(c Call)
	// Save is called with everything finished so far. When durable is set, the
	// state must be safe before Save returns: what follows cannot be undone.
	Save(ctx context.Context, s State, durable bool) error
}

// Task is one turn to do.
type Task struct {
	Model   plugin.ModelFunc
	Runtime *plugin.Runtime
	// Request is the first request, without tools.
	Request plugin.ModelRequest
	// Tools is asked before each step, because tools can load others.
	Tools func() []Tool
	// CallTool wraps the running of tools with middleware; nil runs them directly.
	CallTool func(next plugin.ToolFunc) plugin.ToolFunc
	Limits   Limits
	Sink     Sink
	// Answers returns what became of the calls that were put to the person, by
	// their ids. Nil means that nobody can be asked: calls that need an approval
	// are then refused.
	Answers func(ctx context.Context) (map[string]oracle.Approval, error)
	// Unasked is what the model reads of a call that is refused so; nil is what is
	// said to sub-agents.
	Unasked error
	// Fills says that the person can fill in a form, where they are.
	Fills bool
	// Delegates says that the person's page can be asked for a delegation.
	Delegates bool
	// Untrusted says that the task itself is somebody else's text.
	Untrusted bool
	// State is where an earlier attempt stopped; zero at the beginning.
	State State
	Log   *slog.Logger
	// Trim shortens the conversation when the model says that it is too long,
	// and takes out what the provider had said for itself. It reports whether it
	// could.
	Trim func(ctx context.Context, req *plugin.ModelRequest) bool
}

// State is what a turn has done. It is JSON, because it is kept.
type State struct {
	Steps []Step `json:"steps"`
	// Note is what the model was told beside the question, kept so that who
	// continues the turn tells it the same.
	Note  string       `json:"note,omitempty"`
	Usage plugin.Usage `json:"usage"`
	Model string       `json:"model,omitempty"`
	// Finish is why the last answer ended: see plugin.ModelResponse.
	Finish string `json:"finish,omitempty"`
	// Shortened says that the user is to be told that older turns were left out.
	Shortened bool `json:"shortened,omitempty"`
}

// Step is one model call and the tools that it asked for.
type Step struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	// State is what the provider wants back with this step.
	State *plugin.ModelState `json:"state,omitempty"`
}

// Call is one tool call. Status is empty while nothing is known of it.
type Call struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Status  plugin.Status   `json:"status,omitempty"`
	Output  string          `json:"output,omitempty"`
	Error   string          `json:"error,omitempty"`
	Unknown bool            `json:"unknown,omitempty"`
	Action  bool            `json:"action,omitempty"`
	// Caller marks a call that is not ours to run; its result comes with a later turn.
	Caller bool `json:"caller,omitempty"`
	// Component is what the page shows beside the result.
	Component *plugin.Component `json:"component,omitempty"`
	// Asks is why the call needs the person's approval; empty when it needs none.
	Asks string `json:"asks,omitempty"`
	// Approved says that it was approved, so that it may have begun.
	Approved bool `json:"approved,omitempty"`
	// Question is what its tool asks the person for, Given what the person said, and
	// Round how often it has asked.
	Question *plugin.Ask     `json:"question,omitempty"`
	Given    json.RawMessage `json:"given,omitempty"`
	Round    int             `json:"round,omitempty"`
	// Untrusted says that the result is somebody else's text.
	Untrusted bool `json:"untrusted,omitempty"`
	// Citations are the passages that the result quotes.
	Citations []plugin.Citation `json:"citations,omitempty"`
}

// Waits reports whether the call waits for the person.
func (c Call) Waits() bool { return c.Status == "" && c.Asks != "" && !c.Approved }

// Untrusted reports whether the turn has read somebody else's text.
func (s State) Untrusted() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool {
		return slices.ContainsFunc(step.Calls, func(c Call) bool { return c.Untrusted })
	})
}

// Shown are the passages that the turn was shown.
func (s State) Shown() []plugin.Citation {
	var out []plugin.Citation
	for _, step := range s.Steps {
		for _, c := range step.Calls {
			out = append(out, c.Citations...)
		}
	}
	return out
}

// Text is everything that the turn said to the user.
func (s State) Text() string {
	var text strings.Builder
	for _, step := range s.Steps {
		text.WriteString(step.Text)
	}
	return text.String()
}

// HandedOut reports whether the turn ended with calls for whoever asked.
func (s State) HandedOut() bool {
	n := len(s.Steps)
	return n > 0 && slices.ContainsFunc(s.Steps[n-1].Calls, func(c Call) bool { return c.Caller })
}

func (s State) clone() State {
	out := s
	out.Steps = make([]Step, len(s.Steps))
	for i, step := range s.Steps {
		out.Steps[i] = step
		out.Steps[i].Calls = append([]Call(nil), step.Calls...)
	}
	return out
}

// Error is a failure with how far the turn had come.
type Error struct {
	State State
	// Partial is what the failing step had said.
	Partial Step
	Cause   error
}

// Error describes the cause.
func (e *Error) Error() string { return "turn failed: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// loop is a Task being done.
type loop struct {
	Task
	mu    sync.Mutex // guards state while tools run
	state State
	seen  map[string]int
	ids   map[string]bool
	// fresh are the calls that were approved just now: they have not begun.
	fresh map[string]bool
}

// Run does the turn. The error, if any, is an *Error; its cause is ErrWaits when
// calls wait for the person.
func Run(ctx context.Context, t Task) (State, error) {
	t.Limits = t.Limits.withDefaults()
	if t.Log == nil {
		t.Log = slog.New(slog.DiscardHandler)
	}
	l := &loop{Task: t, state: t.State.clone(), seen: map[string]int{}, ids: map[string]bool{}, fresh: map[string]bool{}}
	for _, step := range l.state.Steps {
		for _, c := range step.Calls {
			l.ids[c.ID] = true
			l.seen[fingerprint(c)]++
		}
	}
	if n := len(l.state.Steps); n > 0 {
		if len(l.state.Steps[n-1].Calls) == 0 {
			return l.state, nil // it had answered
		}
		if err := l.runTools(ctx, true); err != nil {
			return l.state, &Error{State: l.state, Cause: err}
		}
		if l.state.HandedOut() {
			return l.state, nil
		}
	}
	for {
		last := len(l.state.Steps) >= l.Limits.MaxSteps || l.stuck()
		step, err := l.think(ctx, last)
		if err != nil {
			return l.state, &Error{State: l.state, Partial: step, Cause: err}
		}
		l.state.Steps = append(l.state.Steps, step)
		if len(step.Calls) == 0 {
			return l.state, nil
		}
		if err := l.runTools(ctx, false); err != nil {
			return l.state, &Error{State: l.state, Cause: err}
		}
		if l.state.HandedOut() {
			return l.state, nil
		}
	}
}

// think makes one model call.
func (l *loop) think(ctx context.Context, last bool) (Step, error) {
	req := l.Request
	tools := l.Tools()
	req.Tools = specs(tools)
	req.Messages = append(append([]plugin.ModelMessage(nil), req.Messages...), l.conversation()...)
	if n := len(req.Messages); last && n > 0 {
		req.NoCalls = true
		req.Messages[n-1].Note = strings.TrimPrefix(req.Messages[n-1].Note+"\n"+enough, "\n")
	}
	var text, reasoning strings.Builder
	sink := func(c plugin.Chunk) {
		if c.Retract {
			text.Reset()
			l.Sink.Retract(l.state.Text())
		}
		text.WriteString(c.Text)
		reasoning.WriteString(c.Reasoning)
		l.Sink.Chunk(c)
	}
	resp, err := l.Model(ctx, l.Runtime, req, sink)
	guessed := false
	for try := 0; err != nil && text.Len() == 0 && model.From(err).Kind == model.TooLong && try < 3 &&
		l.Trim != nil; try++ {
		if guessed && model.From(err).Guessed || !l.Trim(ctx, &req) {
			break
		}
		guessed = model.From(err).Guessed
		for i := range l.state.Steps { // it was said behind what was taken out
			l.state.Steps[i].State = nil
		}
		l.Request.Messages = req.Messages[:max(0, len(req.Messages)-len(l.conversation()))]
		resp, err = l.Model(ctx, l.Runtime, req, sink)
	}
	l.state.Usage = l.state.Usage.Add(resp.Usage) // a cut answer was used too
	if err != nil {
		return Step{Text: text.String(), Reasoning: reasoning.String()}, err
	}
	if resp.Model != "" {
		l.state.Model = resp.Model
	}
	l.state.Finish = resp.Finish
	step := Step{Text: resp.Text, Reasoning: resp.Reasoning}
	if resp.State != nil {
		kept := *resp.State
		kept.Data = AsStored(kept.Data)
		step.State = &kept
	}
	if !last {
		step.Calls = l.accept(resp.ToolCalls, tools)
	}
	return step, nil
}

// AsStored is JSON as a store gives it back, so that a model is shown the same
// bytes whoever remembers them.
func AsStored(raw json.RawMessage) json.RawMessage {
	b, err := json.Marshal(raw)
	if err != nil {
		return raw
	}
	return b
}

// enough is what a model is told that may call no more tools.
const enough = "You have used all your tool calls for this turn. Answer now with what you know."

// Bounds of what a model says in a call, in bytes.
const (
	maxCallID = 256
	maxName   = 128
	maxArgs   = 1 << 20
)

// accept gives each call an id of its own and an object as arguments.
func (l *loop) accept(asked []plugin.ModelToolCall, tools []Tool) []Call {
	byName := index(tools)
	var calls []Call
	for i, c := range asked {
		if i == l.Limits.MaxCalls {
			l.Log.Warn("the model asked for too many tools in one step", slog.String("event", "tool.too_many"), slog.Int("asked", len(asked)))
			break
		}
		id := c.ID
		if id == "" || len(id) > maxCallID || l.ids[id] {
			id = fmt.Sprintf("call_%d_%d", len(l.state.Steps), i)
		}
		for l.ids[id] {
			id += "_"
		}
		l.ids[id] = true
		args := c.Args
		switch {
		case len(args) == 0:
			args = json.RawMessage(`{}`)
		case len(args) > maxArgs: // the model is told, as when it is no JSON
			args, _ = json.Marshal(fmt.Sprintf("a text of %d bytes; %d are allowed", len(args), maxArgs))
		case !json.Valid(args): // kept as text, so that the model can be told
			args, _ = json.Marshal(string(args))
		default:
			args = AsStored(args)
		}
		calls = append(calls, Call{
			ID: id, Name: Cap(c.Name, maxName), Args: args, Action: byName[c.Name].Action, Caller: byName[c.Name].Caller,
		})
	}
	return calls
}

func index(tools []Tool) map[string]Tool {
	out := make(map[string]Tool, len(tools))
	for _, t := range tools {
		out[t.Name] = t
	}
	return out
}

func specs(tools []Tool) []plugin.ToolSpec {
	out := make([]plugin.ToolSpec, len(tools))
	for i, t := range tools {
		out[i] = plugin.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema}
	}
	return out
}

// conversation is the turn so far, as the model sees it.
func (l *loop) conversation() []plugin.ModelMessage {
	return Conversation(l.state.Steps)
}

// Conversation turns steps into messages for a model.
func Conversation(steps []Step) []plugin.ModelMessage {
	var out []plugin.ModelMessage
	for _, step := range steps {
		m := plugin.ModelMessage{Role: plugin.RoleAssistant, Text: step.Text, State: step.State}
		for _, c := range step.Calls {
			m.ToolCalls = append(m.ToolCalls, plugin.ModelToolCall{ID: c.ID, Name: c.Name, Args: objectOf(c.Args)})
		}
		out = append(out, m)
		for _, c := range step.Calls {
			if c.Caller { // a later message has the result
				continue
			}
			text, failed := c.Output, false
			if c.Status != plugin.Done {
				text, failed = c.Error, true
			}
			out = append(out, plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: c.ID, Text: text, Failed: failed})
		}
	}
	return out
}

// objectOf returns arguments that providers accept in a history.
func objectOf(args json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil || fields == nil {
		return json.RawMessage(`{}`)
	}
	return args
}

// stuck reports whether the last step did nothing but repeat refused calls.
func (l *loop) stuck() bool {
	if len(l.state.Steps) == 0 {
		return false
	}
	calls := l.state.Steps[len(l.state.Steps)-1].Calls
	for _, c := range calls {
		if l.seen[fingerprint(c)] <= repeats+1 {
			return false
		}
	}
	return len(calls) > 0
}

// fingerprint is equal for calls that ask for the same thing.
func fingerprint(c Call) string {
	var v any
	if json.Unmarshal(c.Args, &v) != nil {
		return c.Name + "\x00" + string(c.Args)
	}
	canonical, err := json.Marshal(v) // maps are written in key order
	if err != nil {
		return c.Name
	}
	return c.Name + "\x00" + string(canonical)
}

// errEnded is why tools of a cancelled turn have no result.
var errEnded = errors.New("the turn ended before the tool did")
