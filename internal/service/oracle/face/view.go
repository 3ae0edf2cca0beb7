package face

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// never holds everything back until the end.
const never = 1 << 30

// view is what a reader of frames has shown.
type view struct {
	sink Sink
	// shown is the text of the answer, as the log has it.
	shown strings.Builder
	// again is what the program has beyond shown: an attempt that begins anew must
	// say it again.
	again string
	// held is the attempt before which nothing is shown; 0 holds nothing back.
	held    int
	pieces  []piece // that are held back
	attempt int
	seen    map[string]bool // calls
	thinks  bool
	// skip are the approvals before which everything was shown by another reading.
	skip map[string]bool
	// asked is set by a frame that says that the run rests.
	asked bool
	// cited is the last frame that says which passages the answer points to.
	cited  *oracle.Frame
	failed *oracle.ErrorFrame
	// refused is what the run said in place of an answer, or of the rest of one.
	refused *fault.Error
	done    *oracle.DoneFrame
}

// piece is something that is held back: a part of the shown text, or one of the others.
type piece struct {
	from, to int
	thought  string
	call     *Call
	tool     *oracle.ToolCallPayload
	notice   *oracle.Frame
}

func (p piece) isText() bool { return p.to > p.from }

func (v *view) frame(f oracle.Frame) error {
	switch f.Event {
	case oracle.FrameMessage:
		var m oracle.MessageFrame
		if err := json.Unmarshal(f.Data, &m); err != nil {
			return err
		}
		switch {
		case m.Refused != nil:
			v.refused = fault.New(httpserver.KindOf(m.Refused.Status), m.Content).WithCode(m.Refused.Code)
		case v.refused == nil: // what follows a refusal explains it
			return v.text(m.Content)
		}
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
		if r.Reasoning != "" {
			v.put(piece{from: v.shown.Len(), to: v.shown.Len(), thought: r.Reasoning})
		}
	case oracle.FrameRun:
		var r oracle.RunFrame
		if err := json.Unmarshal(f.Data, &r); err != nil {
			return err
		}
		if r.Resumed && r.PartialLength != nil {
			v.refused = nil // the new attempt asks again
			v.rewind(*r.PartialLength, r.Attempt)
		}
	case oracle.FrameToolCall:
		var c oracle.ToolCallPayload
		if err := json.Unmarshal(f.Data, &c); err != nil {
			return err
		}
		v.call(c)
	case oracle.FrameRenderComponent, oracle.FrameActionCall, oracle.FrameRouterUpdate, oracle.FrameDelegationRequired:
		v.put(piece{notice: &f})
	case oracle.FrameCitations:
		v.cited = &f // a run that changed hands may say so twice
	case oracle.FrameApprovalRequired:
		return v.rests(f)
	case oracle.FrameError:
		v.failed = &oracle.ErrorFrame{}
		return json.Unmarshal(f.Data, v.failed)
	case oracle.FrameDone:
		v.done = &oracle.DoneFrame{}
		if err := json.Unmarshal(f.Data, v.done); err != nil {
			return err
		}
		v.show()
		return v.cite()
	}
	return nil
}

// cite tells what the answer points to, where the wire has a place for it.
func (v *view) cite() error {
	if v.cited == nil {
		return nil
	}
	if n, ok := v.sink.(Noticer); ok {
		n.Notice(*v.cited)
		return nil
	}
	citer, ok := v.sink.(Citer)
	if !ok {
		return nil
	}
	var p oracle.CitationsPayload
	if err := json.Unmarshal(v.cited.Data, &p); err != nil {
		return err
	}
	citer.Cite(p.Citations)
	return nil
}

// rests notes that the run rests, and ends the skipping at the right place.
func (v *view) rests(f oracle.Frame) error {
	var asked oracle.ApprovalRequired
	if err := json.Unmarshal(f.Data, &asked); err != nil {
		return err
	}
	v.asked = true
	if slices.ContainsFunc(asked.Approvals, func(a oracle.ApprovalBody) bool { return v.skip[a.ID] }) {
		v.skip = nil
		if rester, ok := v.sink.(Rester); ok {
			for _, a := range asked.Approvals {
				rester.Asked(a, true)
			}
		}
	}
	return nil
}

// text shows a piece of the answer, without what the program has already.
func (v *view) text(text string) error {
	from := v.shown.Len()
	v.shown.WriteString(text)
	if v.held > 0 || v.skip != nil {
		v.put(piece{from: from, to: from + len(text)})
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

// put shows a piece, or keeps it.
func (v *view) put(p piece) {
	switch last := len(v.pieces) - 1; {
	case v.skip != nil:
	case v.held == 0:
		v.play(p)
	case p.isText() && last >= 0 && v.pieces[last].isText() && v.pieces[last].to == p.from:
		v.pieces[last].to = p.to
	default:
		v.pieces = append(v.pieces, p)
	}
}

func (v *view) play(p piece) {
	switch {
	case p.isText():
		v.sink.Text(v.shown.String()[p.from:p.to])
	case p.thought != "":
		v.sink.Thought(p.thought)
	case p.call != nil:
		v.sink.Call(*p.call)
	case p.tool != nil:
		v.sink.Tool(*p.tool)
	case p.notice != nil:
		if n, ok := v.sink.(Noticer); ok {
			n.Notice(*p.notice)
		}
	}
}

// show ends the holding back.
func (v *view) show() {
	for _, p := range v.pieces {
		v.play(p)
	}
	v.held, v.pieces = 0, nil
}

// trust shows what was held back because its speaker might have been dead.
func (v *view) trust() {
	if v.held > 0 && v.held != never && v.skip == nil {
		v.show()
	}
}

// rewind takes back the text beyond a length in UTF-16 units. An attempt that
// takes back its own text has seen that it was a thought: the program keeps it.
func (v *view) rewind(length, attempt int) {
	text := v.shown.String()
	at := cut(text, length)
	switch {
	case v.skip != nil:
	case v.held > 0:
		v.drop(at, attempt > v.attempt)
	case attempt > v.attempt:
		v.again = text[at:] + v.again
	case at < len(text):
		v.again = ""
		v.sink.Text("\n\n")
	}
	v.attempt = max(v.attempt, attempt)
	v.shown.Reset()
	v.shown.WriteString(text[:at])
	if attempt >= v.held {
		v.trust()
	}
}

// drop forgets held text beyond a place and, where another attempt begins, thoughts that
// it will have again: those behind the last call that ended.
func (v *view) drop(at int, anew bool) {
	ended := -1
	for i, p := range v.pieces {
		if p.tool != nil && p.tool.Status != plugin.Running {
			ended = i
		}
	}
	kept := v.pieces[:0]
	for i, p := range v.pieces {
		switch {
		case p.isText() && p.from >= at, anew && p.thought != "" && i > ended && p.from >= at:
			continue
		case p.isText():
			p.to = min(p.to, at)
		}
		kept = append(kept, p)
	}
	v.pieces = kept
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
		v.put(piece{tool: &c})
		return
	}
	if v.seen[c.EventID] {
		return
	}
	v.seen[c.EventID] = true
	v.put(piece{call: &Call{ID: c.EventID, Name: c.ToolName, Args: c.Args}})
}
