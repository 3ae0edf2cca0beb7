package face

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/plugin"
)

// Answer is a run that a face reads. It is for one goroutine; Close gives it up.
type Answer struct {
	RunID     string
	SessionID string
	Created   time.Time

	faces   *Faces
	owner   string
	attempt int
	known   int64 // the last frame when the reading began
	reader  *run.Reader
	began   bool // by this request, so that it ends with it
	over    bool
	stays   bool // the turn goes on when its program leaves
	// skip are the approvals behind which this reading begins.
	skip map[string]bool
}

// Behind names the approval behind which this reading begins: the first by its name, where there
// were several; empty when it begins with the run.
func (a *Answer) Behind() string {
	first := ""
	for id := range a.skip {
		if first == "" || id < first {
			first = id
		}
	}
	return first
}

// Stay makes the turn go on when its program leaves: wires that can come back for it.
func (a *Answer) Stay() { a.stays = true }

// Repeats reports whether the run was begun by an earlier request, whose program may
// have read some of it.
func (a *Answer) Repeats() bool { return !a.began }

// Sink is how a face writes an answer. Pieces are written down and go out with Flush,
// which fails when nobody reads any more.
type Sink interface {
	// Text is a piece of the answer, Thought one of what the model thinks.
	Text(text string)
	Thought(text string)
	// Call is for the caller to run. It comes once.
	Call(c Call)
	// Tool tells of a call that the oracle runs itself, twice: at its beginning and
	// at its end.
	Tool(c oracle.ToolCallPayload)
	// Flush sends what was written. beat is set when nothing was, for a while.
	Flush(beat bool) error
}

// Rester is a Sink of a wire that knows pauses: the reading ends where the run
// waits for its user.
type Rester interface {
	Sink
	// Asked tells of a call that waits, or, with answered, of one that waited where
	// this reading begins, and of which the program knows.
	Asked(a oracle.ApprovalBody, answered bool)
}

// Noticer is a Sink of a wire that carries the oracle's other frames too.
type Noticer interface {
	Sink
	Notice(f oracle.Frame)
}

// Citer is a Sink of a wire that has a place of its own for what an answer points to.
// A Noticer gets the frame instead.
type Citer interface {
	Sink
	// Cite comes last, when there is something to cite.
	Cite(passages []plugin.Citation)
}

// Watcher is a Sink that sees the frames as they come, whatever is held back.
type Watcher interface {
	Sink
	Saw(f oracle.Frame)
}

// Call is a call of a tool of the caller's.
type Call struct {
	ID, Name string
	Args     json.RawMessage
}

// OwnArgs are the arguments of a call of the oracle's own, without the name that pages find
// among them.
func OwnArgs(c oracle.ToolCallPayload) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Args, &members) != nil {
		return c.Args
	}
	delete(members, "toolName")
	if out, err := json.Marshal(members); err == nil {
		return out
	}
	return c.Args
}

// Why an answer ended, as programs need to know it.
const (
	Stopped  = "stop"
	Calls    = "tool_calls"
	Length   = "length"
	Filtered = "filter"
	// Aborted says that somebody stopped the turn, Rests that it waits for its user.
	Aborted = "aborted"
	Rests   = "rests"
)

// End is how an answer ended.
type End struct {
	Reason string
	Usage  plugin.Usage
	// Waiting are the calls for which a run rests.
	Waiting []oracle.ApprovalBody
}

// Why an answer does not end, as faults that programs may read. Each is
// answered whole when the same request comes again.
var (
	// ErrStopping says that this node goes down.
	ErrStopping = fault.New(fault.Unavailable, "The server restarts. Send the same request again to get the whole answer.").WithCode("server_restarting").WithRetryAfter(time.Second)
	// ErrChanged says that another node went on and said something else than
	// what the program has.
	ErrChanged = fault.New(fault.Unavailable, "The answer began anew on another node. Send the same request again to get it whole.").WithCode("answer_restarted").WithRetryAfter(time.Second)
)

// Close gives the answer up. When its program left before the end, the turn is
// stopped.
func (a *Answer) Close() {
	a.reader.Close()
	a.faces.release(a.RunID)
}

// stop ends the turn of a program that has left.
func (a *Answer) stop(ctx context.Context) {
	if !a.began || a.over || a.stays || a.faces.readers(a.RunID) > 1 { // its program may have come back
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := a.faces.deps.Engine.AbortRun(ctx, a.owner, a.SessionID, a.RunID); err != nil {
		a.faces.deps.Log.Warn("a turn whose program left was not stopped", slog.String("event", "face.stop_failed"), slog.String("run_id", a.RunID), slog.Any("error", err))
	}
}

// Arrived notes that the whole answer was sent.
func (a *Answer) Arrived(ctx context.Context) { a.faces.arrived(ctx, a.RunID) }

// Follow writes the answer to the sink until its end. whole asks for the text in
// one piece. leave is closed when the server stops. Errors are faults; when the program has left it
// is fault.Canceled, and the turn has been stopped.
func (a *Answer) Follow(ctx context.Context, leave <-chan struct{}, whole bool, sink Sink) (*End, error) {
	a.reader.Until(leave)
	v := &view{sink: sink, attempt: 1, seen: map[string]bool{}, skip: a.skip}
	switch {
	case whole:
		v.held = never
	case !a.began && !a.reader.First(): // whoever said it may be dead, and another say it otherwise
		v.held = max(a.attempt, 2)
	}
	for {
		frames, err := a.reader.Next(ctx, a.faces.deps.Heartbeat)
		switch {
		case errors.Is(err, run.ErrIdle):
		case errors.Is(err, run.ErrLeaving):
			return nil, ErrStopping
		case ctx.Err() != nil:
			a.stop(ctx)
			return nil, fault.Wrap(fault.Canceled, "The request was cancelled.", context.Cause(ctx))
		case errors.Is(err, io.EOF): // the run was deleted
			a.over = true
			return &End{Reason: Stopped}, nil
		case err != nil:
			return nil, err
		}
		if end, over, err := a.show(ctx, v, frames); over || err != nil {
			return end, err
		}
		if err := sink.Flush(len(frames) == 0); err != nil {
			a.stop(ctx)
			return nil, fault.Wrap(fault.Canceled, "The request was cancelled.", err)
		}
	}
}

// show writes frames to the sink. over says that they have the end.
func (a *Answer) show(ctx context.Context, v *view, frames []oracle.Frame) (end *End, over bool, err error) {
	for _, f := range frames {
		if w, ok := v.sink.(Watcher); ok {
			w.Saw(f)
		}
		if err := v.frame(f); err != nil {
			return nil, false, err
		}
		if f.Event == oracle.FrameMessage && f.Seq > a.known { // it goes on being said
			v.trust()
		}
		if v.done != nil {
			a.over = true
			if err := v.sink.Flush(false); err != nil { // a short answer does not wait for what it cost
				return nil, false, fault.Wrap(fault.Canceled, "The request was cancelled.", err)
			}
			end, err = a.end(ctx, v)
			return end, true, err
		}
		if v.asked {
			if end, rests, err := a.rest(ctx, v); rests || err != nil {
				return end, rests, err
			}
		}
	}
	return nil, false, nil
}

// rest ends the reading of a run that waits for its user, where the wire knows
// that. Calls that were answered meanwhile are passed by.
func (a *Answer) rest(ctx context.Context, v *view) (*End, bool, error) {
	v.asked = false
	rester, ok := v.sink.(Rester)
	if !ok {
		return nil, false, nil
	}
	waiting, err := a.Waiting(ctx)
	if err != nil || len(waiting) == 0 {
		return nil, false, err
	}
	r, err := a.faces.deps.Engine.Get(ctx, a.owner, a.RunID)
	if err != nil {
		return nil, false, err
	}
	v.show()
	end := &End{Reason: Rests, Usage: r.Usage, Waiting: waiting}
	for _, one := range end.Waiting {
		rester.Asked(one, false)
	}
	a.over = true // as far as this reading goes: hanging up does not stop what rests
	return end, true, nil
}

// Waiting are the calls of the run that wait for its user.
func (a *Answer) Waiting(ctx context.Context) ([]oracle.ApprovalBody, error) {
	all, err := a.faces.deps.Engine.Approvals(ctx, a.RunID)
	if err != nil {
		return nil, err
	}
	return oracle.ApprovalBodies(slices.DeleteFunc(all, func(one oracle.Approval) bool { return one.Decision != "" })), nil
}

// end says how the run ended.
func (a *Answer) end(ctx context.Context, v *view) (*End, error) {
	r, err := a.faces.deps.Engine.Get(ctx, a.owner, a.RunID)
	if err != nil && !errors.Is(err, oracle.ErrRunNotFound) {
		return nil, err
	}
	if v.refused != nil { // who repeats the request wants to be asked about again
		a.Arrived(ctx)
		return nil, v.refused
	}
	switch v.done.Status {
	case oracle.Failed:
		return nil, failure(v.failed)
	case oracle.Interrupted:
		return nil, fault.New(fault.Unavailable, "The server was interrupted too often. Please try again.").WithCode("interrupted")
	}
	end := &End{Reason: Stopped, Usage: r.Usage}
	if v.done.Status == oracle.Aborted {
		end.Reason = Aborted
	}
	switch v.done.Finish {
	case wire.FinishCalls:
		end.Reason = Calls
	case wire.FinishLength, wire.FinishWindow:
		end.Reason = Length
	case wire.FinishFilter, wire.FinishRefusal:
		end.Reason = Filtered
	}
	return end, nil
}

// failure is what the oracle said of a failed turn, as a fault.
func failure(said *oracle.ErrorFrame) error {
	switch {
	case said == nil:
		return fault.New(fault.Internal, "The oracle failed to answer.")
	case said.Retryable:
		return fault.New(fault.Unavailable, said.Error).WithCode(said.Kind).WithRetryAfter(time.Second)
	}
	return fault.New(fault.Internal, said.Error).WithCode(said.Kind)
}
