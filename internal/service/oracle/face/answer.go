package face

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

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
	reader  *run.Reader
	began   bool // by this request, so that it ends with it
	over    bool
}

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

// Call is a call of a tool of the caller's.
type Call struct {
	ID, Name string
	Args     json.RawMessage
}

// Why an answer ended, as programs need to know it.
const (
	Stopped  = "stop"
	Calls    = "tool_calls"
	Length   = "length"
	Filtered = "filter"
)

// End is how an answer ended.
type End struct {
	Reason string
	Usage  plugin.Usage
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
	if !a.began || a.over {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := a.faces.deps.Engine.AbortRun(ctx, a.owner, a.SessionID, a.RunID); err != nil {
		a.faces.deps.Log.Warn("a turn whose program left was not stopped", slog.String("run_id", a.RunID), slog.Any("error", err))
	}
}

// Arrived notes that the whole answer was sent.
func (a *Answer) Arrived(ctx context.Context) { a.faces.arrived(ctx, a.RunID) }

// Follow writes the answer to the sink until its end. whole asks for the text in
// one piece. leave is closed when the server stops. Errors are faults; when the program has left it
// is fault.Canceled, and the turn has been stopped.
func (a *Answer) Follow(ctx context.Context, leave <-chan struct{}, whole bool, sink Sink) (End, error) {
	a.reader.Until(leave)
	v := view{sink: sink, attempt: 1, seen: map[string]bool{}}
	switch {
	case whole:
		v.held = never
	case !a.began: // what was said before the run changed hands may not hold
		v.held = max(a.attempt, 2)
	}
	for {
		frames, err := a.reader.Next(ctx, a.faces.deps.Heartbeat)
		switch {
		case errors.Is(err, run.ErrIdle):
		case errors.Is(err, run.ErrLeaving):
			return End{}, ErrStopping
		case ctx.Err() != nil:
			a.stop(ctx)
			return End{}, fault.Wrap(fault.Canceled, "The request was cancelled.", context.Cause(ctx))
		case errors.Is(err, io.EOF): // the run was deleted
			a.over = true
			return End{Reason: Stopped}, nil
		case err != nil:
			return End{}, err
		}
		for _, f := range frames {
			if err := v.frame(f); err != nil {
				return End{}, err
			}
			if v.done != nil {
				a.over = true
				return a.end(ctx, v)
			}
		}
		if err := sink.Flush(len(frames) == 0); err != nil {
			a.stop(ctx)
			return End{}, fault.Wrap(fault.Canceled, "The request was cancelled.", err)
		}
	}
}

// end says how the run ended.
func (a *Answer) end(ctx context.Context, v view) (End, error) {
	r, err := a.faces.deps.Engine.Get(ctx, a.owner, a.RunID)
	if err != nil && !errors.Is(err, oracle.ErrRunNotFound) {
		return End{}, err
	}
	switch v.done.Status {
	case oracle.Failed:
		return End{}, failure(v.failed)
	case oracle.Interrupted:
		return End{}, fault.New(fault.Unavailable, "The server was interrupted too often. Please try again.").WithCode("interrupted")
	}
	end := End{Reason: Stopped, Usage: r.Usage}
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

// never holds text back until the end.
const never = 1 << 30

// view is what a reader of frames has shown.
type view struct {
	sink Sink
	// shown is the text of the answer, as the log has it.
	shown strings.Builder
	// again is what the program has beyond shown: an attempt that begins anew must
	// say it again.
	again string
	// held is the attempt before which no text is shown; 0 holds nothing back.
	held    int
	attempt int
	seen    map[string]bool // calls
	calls   []Call          // that are held back
	thinks  bool
	failed  *oracle.ErrorFrame
	done    *oracle.DoneFrame
}

func (v *view) frame(f oracle.Frame) error {
	switch f.Event {
	case oracle.FrameMessage:
		var m oracle.MessageFrame
		if err := json.Unmarshal(f.Data, &m); err != nil {
			return err
		}
		return v.text(m.Content)
	case oracle.FrameReasoning:
		// The first thought of a run is a phrase for pages.
		if first := !v.thinks; first {
			v.thinks = true
			return nil
		}
		var r oracle.ReasoningFrame
		if err := json.Unmarshal(f.Data, &r); err != nil {
			return err
		}
		if r.Reasoning != "" && v.held == 0 {
			v.sink.Thought(r.Reasoning)
		}
	case oracle.FrameRun:
		var r oracle.RunFrame
		if err := json.Unmarshal(f.Data, &r); err != nil {
			return err
		}
		if r.Resumed && r.PartialLength != nil {
			v.rewind(*r.PartialLength, r.Attempt)
		}
	case oracle.FrameToolCall:
		var c oracle.ToolCallPayload
		if err := json.Unmarshal(f.Data, &c); err != nil {
			return err
		}
		v.call(c)
	case oracle.FrameError:
		v.failed = &oracle.ErrorFrame{}
		return json.Unmarshal(f.Data, v.failed)
	case oracle.FrameDone:
		v.done = &oracle.DoneFrame{}
		if err := json.Unmarshal(f.Data, v.done); err != nil {
			return err
		}
		v.show()
	}
	return nil
}

// text shows a piece of the answer, without what the program has already.
func (v *view) text(text string) error {
	v.shown.WriteString(text)
	if v.held > 0 {
		return nil
	}
	if v.again != "" {
		n := min(len(v.again), len(text))
		if v.again[:n] != text[:n] {
			return ErrChanged
		}
		v.again, text = v.again[n:], text[n:]
	}
	if text != "" {
		v.sink.Text(text)
	}
	return nil
}

// show ends the holding back.
func (v *view) show() {
	if v.held > 0 && v.shown.Len() > 0 {
		v.sink.Text(v.shown.String())
	}
	for _, c := range v.calls {
		v.sink.Call(c)
	}
	v.held, v.calls = 0, nil
}

// rewind takes back the text beyond a length in UTF-16 units. An attempt that
// takes back its own text has seen that it was a thought: the program keeps it.
func (v *view) rewind(length, attempt int) {
	text := v.shown.String()
	at := cut(text, length)
	switch {
	case v.held > 0:
	case attempt > v.attempt:
		v.again = text[at:] + v.again
	case at < len(text):
		v.again = ""
		v.sink.Text("\n\n")
	}
	v.attempt = max(v.attempt, attempt)
	v.shown.Reset()
	v.shown.WriteString(text[:at])
	if v.held > 0 && v.held != never && attempt >= v.held {
		v.show()
	}
}

// cut is where the first units of UTF-16 end in a text.
func cut(text string, units int) int {
	for i := 0; i < len(text); {
		if units <= 0 {
			return i
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if units--; r > 0xffff {
			units--
		}
		i += size
	}
	return len(text)
}

func (v *view) call(c oracle.ToolCallPayload) {
	if !c.Caller {
		if v.held == 0 {
			v.sink.Tool(c)
		}
		return
	}
	if v.seen[c.EventID] {
		return
	}
	v.seen[c.EventID] = true
	call := Call{ID: c.EventID, Name: c.ToolName, Args: c.Args}
	if v.held > 0 {
		v.calls = append(v.calls, call)
		return
	}
	v.sink.Call(call)
}
