// Package aguiface is the oracle as clients of AG-UI know an agent: one route that takes
// a RunAgentInput and answers with events.
//
// It promises that a thread is a session, that each stream begins with RUN_STARTED and
// ends with RUN_FINISHED or RUN_ERROR, that frontend tools come back as calls, that a
// call which waits for approval is an interrupt, and that a run which is asked for again is
// replayed. Clients from before version 1.0 end at events and members that they do not know:
// none is sent to them. It refuses to change the page's state, which the model only reads.
//
// Decision: ADR 0190.
package aguiface

import (
	"cmp"
	"context"
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
)

type api struct{ deps facehttp.Deps }

// Surface is the face's route.
func Surface(d facehttp.Deps) httpserver.Surface {
	a := &api{deps: d}
	return httpserver.Surface{
		Name: "ag-ui", Doc: "The oracle for programs that know AG-UI.",
		Routes: []httpserver.Route{{
			Method: "POST", Pattern: "/ag-ui", Summary: "Run the agent, as AG-UI does", Tags: []string{"AG-UI"}, Handler: a.run,
			Doc: "For @ag-ui/client's HttpAgent, CopilotKit and the like: the bearer is an app key or a UCAN. A thread is a session, which has the history: only what follows " +
				"the last answer is read. The same threadId and runId again replay the run. Calls that wait for approval are interrupts; a UCAN approves them, " +
				"an app key may only deny.",
			Example: map[string]any{
				"threadId": "example-thread", "runId": "example-run",
				"messages": []any{map[string]any{"id": "1", "role": "user", "content": "Hello"}},
			},
			Auth: httpserver.Principal, Body: RunAgentInput{}, MaxBody: facehttp.MaxBody, MaxValues: facehttp.MaxValues,
			Stream: true,
			Replies: []httpserver.Reply{
				{Status: 200, Media: "text/event-stream", Doc: "Events until RUN_FINISHED or RUN_ERROR."},
				{Status: 400, Body: ErrorEvent{}, Doc: "What is wrong with the request."},
				{Status: 401, Body: ErrorEvent{}, Doc: "No valid key."},
				{Status: 402, Body: ErrorEvent{}, Doc: "Nothing is left to spend."},
				{Status: 403, Body: ErrorEvent{}, Doc: "The key opens something else, or may not approve (approval_needs_person)."},
				{Status: 404, Body: ErrorEvent{}, Doc: "No such interrupt of yours."},
				{Status: 409, Body: ErrorEvent{}, Doc: "The interrupt was answered otherwise (approval_answered)."},
				{Status: 410, Body: ErrorEvent{}, Doc: "The interrupt is over (approval_over)."},
				{Status: 429, Body: ErrorEvent{}, Doc: "Too many requests, or the day's measure is used up."},
			},
		}},
		Prefixes: []string{"/ag-ui"}, Errors: Errors, CORS: d.CORS, Authenticate: d.Authenticate,
	}
}

// ErrorEvent is how AG-UI says that something failed. A request that is refused has one as its
// body.
type ErrorEvent struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Code    string `json:"code"`
}

func errorEvent(e *fault.Error) ErrorEvent {
	return ErrorEvent{Type: "RUN_ERROR", Message: e.Message, Code: cmp.Or(e.Code, e.Kind.String())}
}

// Errors writes failures as an event: see httpserver.Surface.
func Errors(w http.ResponseWriter, _ *http.Request, err error) {
	e := fault.From(err)
	facehttp.SetErrorHeaders(w.Header(), e)
	_ = httpserver.WriteJSON(w, httpserver.Status(e.Kind), errorEvent(e)) // the client may be gone
}

// run answers one run.
func (a *api) run(w http.ResponseWriter, r *http.Request) error {
	answer, s, err := a.begin(w, r)
	if err != nil {
		return err
	}
	defer answer.Close()
	w.Header().Set(facehttp.HeaderRunID, answer.RunID)
	s.Open(w, r)
	end, err := answer.Follow(r.Context(), httpserver.Draining(r.Context()), false, s)
	if err != nil {
		s.fail(fault.From(err))
		return nil
	}
	s.finish(end)
	if s.Flush(false) == nil && end.Reason != face.Rests {
		answer.Arrived(r.Context())
	}
	return nil
}

// fail ends a stream with what went wrong: its status has been sent.
func (s *stream) fail(e *fault.Error) {
	if e.Kind == fault.Canceled {
		return
	}
	s.close()
	s.JSON(errorEvent(e))
	_ = s.Flush(false) // nobody is left to tell
}

// begin reads the request and starts its turn, or finds it. What was read is not kept while
// the answer is written, but for what the first events repeat.
func (a *api) begin(w http.ResponseWriter, r *http.Request) (*face.Answer, *stream, error) {
	who, err := facehttp.Caller(r)
	if err != nil {
		return nil, nil, err
	}
	var body RunAgentInput
	if err := facehttp.ReadBody(w, r, &body); err != nil {
		return nil, nil, err
	}
	in, err := body.read()
	if err != nil {
		return nil, nil, err
	}
	in.ask.Who = who
	answer, noted, err := a.find(r.Context(), who, body, in)
	if err != nil {
		return nil, nil, err
	}
	if !noted {
		if err := a.deps.Faces.Note(r.Context(), answer, in.ask, body.RunID); err != nil {
			answer.Close()
			return nil, nil, err
		}
	}
	s := newStream(answer, body)
	s.begin(answer, body, in)
	return answer, s, nil
}

// find is the run that the request is about: the one that it goes on with, the one that it asks
// for again, or else a new one.
func (a *api) find(ctx context.Context, who identity.Principal, body RunAgentInput,
	in input,
) (answer *face.Answer, noted bool, err error) {
	f := a.deps.Faces
	if len(in.decided) > 0 {
		answer, err = f.Resume(ctx, who, body.ThreadID, in.decided)
		return answer, false, err
	}
	if !in.says {
		if answer, ok, err := f.Noted(ctx, in.ask, body.RunID, false); ok || err != nil {
			return answer, true, err
		}
		if in.last != "" {
			if answer, ok, err := f.Owed(ctx, who.DID, body.ThreadID, in.last); ok || err != nil {
				return answer, false, err
			}
		}
	}
	if in.ask.Empty() {
		return nil, false, invalid("the last message has no text")
	}
	if err := f.Choose("", &in.ask.Request); err != nil {
		return nil, false, err
	}
	if err := face.CheckSize(in.ask.Request); err != nil {
		return nil, false, err
	}
	answer, err = f.BeginNamed(ctx, in.ask, body.RunID)
	return answer, true, err
}
