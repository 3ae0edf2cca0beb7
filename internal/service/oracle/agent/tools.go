package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// runTools runs the calls of the last step that have no result yet. After a
// takeover (resumed) only safe tools are run again.
func (l *loop) runTools(ctx context.Context, resumed bool) error {
	step := &l.state.Steps[len(l.state.Steps)-1]
	tools := index(l.Tools())
	if err := l.consult(ctx, step.Calls, tools, resumed); err != nil {
		return err
	}
	durable, waits, approved := false, false, false
	var (
		todo   []int
		handed []Call
	)
	for i := range step.Calls {
		c := &step.Calls[i]
		t, known := tools[c.Name]
		switch {
		case c.Status != "":
		case c.Caller:
			handed = append(handed, *c)
		case c.Waits():
			waits = true
		case resumed && known && !t.Safe && !l.fresh[c.ID]:
			l.settle(i, plugin.Result{}, errInterrupted)
		default:
			durable = durable || known && !t.Safe
			approved = approved || c.Approved
			todo = append(todo, i)
		}
	}
	if err := l.Sink.Save(ctx, l.snapshot(), durable); err != nil {
		return err
	}
	for _, c := range handed {
		l.Sink.ToolStarted(c)
	}
	var all sync.WaitGroup
	places := make(chan struct{}, l.Limits.Parallel)
	for _, i := range todo {
		call := step.Calls[i]
		l.Sink.ToolStarted(call)
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			result, err := l.call(ctx, tools, call, resumed)
			if asks, ok := errors.AsType[*plugin.AskError](err); ok {
				if err = l.question(i, asks.Ask); err == nil {
					return
				}
			}
			l.settle(i, result, err)
		})
	}
	all.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case waits || slices.ContainsFunc(step.Calls, Call.Waits):
		return ErrWaits
	}
	// What a person approved is worth a moment: its result is not to become unknown.
	return l.Sink.Save(ctx, l.snapshot(), approved)
}

func (l *loop) snapshot() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.clone()
}

// errInterrupted is the result of a call whose node died while it ran.
var errInterrupted = &plugin.Error{Message: "The server restarted while this tool ran. Nobody knows whether it took effect; " +
	"do not assume either, and tell the user before trying again."}

// settle gives a call its one result.
func (l *loop) settle(i int, result plugin.Result, err error) {
	l.mu.Lock()
	c := &l.state.Steps[len(l.state.Steps)-1].Calls[i]
	if c.Status != "" {
		l.mu.Unlock()
		return
	}
	if err != nil {
		c.Status, c.Error = plugin.Failed, l.explain(*c, err)
		c.Unknown = errors.Is(err, errInterrupted)
	} else {
		c.Status, c.Output, c.Unknown = plugin.Done, Cap(result.Text, outputBytes), result.Unknown
		c.Component, c.Citations = drawable(result.Component), quotable(result.Citations)
	}
	c.Untrusted = result.Untrusted // what went wrong may be told in foreign words too
	settled := *c
	l.mu.Unlock()
	l.Sink.ToolEnded(settled)
}

// Bounds of what is kept of the passages that a result quotes.
const (
	maxCitations    = 32
	maxCitationText = 2 << 10
)

// quotable bounds citations: the transcript keeps them.
func quotable(all []plugin.Citation) []plugin.Citation {
	out := slices.Clone(all[:min(len(all), maxCitations)])
	for i := range out {
		out[i].Text = Cap(out[i].Text, maxCitationText)
	}
	return out
}

// Bounds of a component.
const (
	maxComponentName = 100
	maxComponentArgs = 64 << 10
)

// drawable returns a component that pages can be asked to show, or nil.
func drawable(c *plugin.Component) *plugin.Component {
	if c == nil || c.Name == "" || len(c.Name) > maxComponentName || len(c.Args) > maxComponentArgs {
		return nil
	}
	out := *c
	if !IsObject(out.Args) {
		out.Args = json.RawMessage(`{}`)
	}
	return &out
}

// IsObject reports whether JSON is an object.
func IsObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// explain turns an error into what the model may read.
func (l *loop) explain(c Call, err error) string {
	if e, ok := errors.AsType[*plugin.Error](err); ok {
		return e.Message
	}
	switch {
	case errors.Is(err, plugin.ErrNoDelegation):
		return "The user has not authorised the oracle for this, or the authorisation has run out. " +
			"Ask the user to authorise the oracle and to try again."
	case errors.Is(err, errEnded):
		return "The tool did not complete."
	case errors.Is(err, context.DeadlineExceeded):
		return "The tool took too long and was stopped. It may or may not have taken effect."
	}
	l.Log.Warn("a tool failed", slog.String("event", "tool.failed"), slog.String("tool", c.Name), slog.Any("error", err))
	return "The tool failed."
}

// check finds the tool of a call, if the call may be made.
func (l *loop) check(tools map[string]Tool, c Call, resumed bool) (Tool, error) {
	t, known := tools[c.Name]
	if !known {
		return t, plugin.Errorf(404, "There is no tool called %q. The tools are: %s.", c.Name, names(tools))
	}
	if !resumed && l.repeated(c) {
		return t, plugin.Errorf(409, "You have already called %s with exactly these arguments. Use the earlier result or do something else.", c.Name)
	}
	if problem := validate(t.Schema, c.Args); problem != "" {
		return t, plugin.Errorf(400, "The arguments are not valid: %s", problem)
	}
	return t, nil
}

// call checks and runs one tool.
func (l *loop) call(ctx context.Context, tools map[string]Tool, c Call, resumed bool) (plugin.Result, error) {
	t, err := l.check(tools, c, resumed)
	if err != nil {
		return plugin.Result{}, err
	}
	limit := t.Timeout
	if limit == 0 {
		limit = toolTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	run := func(ctx context.Context, rt *plugin.Runtime, call plugin.ToolInvocation) (plugin.Result, error) {
		return t.Run(ctx, rt, call.Args)
	}
	if l.CallTool != nil {
		run = l.CallTool(run)
	}
	rt := plugin.Runtime{}
	if l.Runtime != nil {
		rt = *l.Runtime
	}
	rt.ToolCallID, rt.Answered = c.ID, c.answered()
	result, err := l.guarded(ctx, limit, run, &rt,
		plugin.ToolInvocation{ID: c.ID, Name: c.Name, Plugin: t.Plugin, Args: c.Args})
	result.Untrusted = result.Untrusted || t.Foreign
	return result, err
}

// guarded runs a tool that may panic, and does not wait for one that ignores
// its context.
func (l *loop) guarded(ctx context.Context, limit time.Duration, run plugin.ToolFunc, rt *plugin.Runtime,
	call plugin.ToolInvocation,
) (plugin.Result, error) {
	type answer struct {
		result plugin.Result
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				l.Log.Error("a tool panicked", slog.String("event", "tool.panicked"), slog.String("tool", call.Name),
					slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
				got <- answer{err: errors.New("the tool panicked")}
			}
		}()
		result, err := run(ctx, rt, call)
		got <- answer{result, err}
	}()
	select {
	case a := <-got:
		return a.result, a.err
	case <-ctx.Done():
	}
	// A moment of grace: most tools return at once when their context ends, and
	// their own answer is better than ours.
	grace := time.NewTimer(min(limit, 250*time.Millisecond))
	defer grace.Stop()
	select {
	case a := <-got:
		return a.result, a.err
	case <-grace.C:
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return plugin.Result{}, ctx.Err()
	}
	return plugin.Result{}, errEnded
}

// repeated counts a call and reports whether it was made too often.
func (l *loop) repeated(c Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fingerprint(c)
	l.seen[key]++
	return l.seen[key] > repeats
}

func names(tools map[string]Tool) string {
	var list []string
	for name := range tools {
		list = append(list, name)
		if len(list) == 40 {
			break
		}
	}
	return strings.Join(list, ", ")
}

// Cap cuts a text to at most limit bytes and says so.
func Cap(s string, limit int) string {
	s = model.Storable(s)
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s\n[cut: %d of %d bytes shown]", s[:cut], cut, len(s))
}

// Arguments returns the object that a call carries, for display.
func (c Call) Arguments() json.RawMessage { return objectOf(c.Args) }
