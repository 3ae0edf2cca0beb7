// Package uistreamface is the oracle as the AI SDK's useChat knows a chat: its UI message
// stream, for the default transport.
//
// It promises that a chat is a session, that approvals are approval parts, that tools which the
// page declares come back as calls, and that a page which comes back gets the last message whole, from
// its beginning. A turn goes on when its page leaves, since pages come back: there is a route that stops it.
// It refuses to take the page's history: the session has it.
//
// Decision: ADR 0190.
package uistreamface

import (
	"cmp"
	"context"
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
)

type api struct{ deps facehttp.Deps }

// Surface is the face's routes.
func Surface(d facehttp.Deps) httpserver.Surface {
	a := &api{deps: d}
	tags := []string{"AI SDK"}
	stream := httpserver.Reply{Status: 200, Media: "text/event-stream", Doc: "Parts of the UI message stream, version 1, until [DONE]."}
	id := []httpserver.Param{{Name: "id", In: "path", Required: true, Doc: "The id of the chat."}}
	routes := []httpserver.Route{
		{
			Method: "POST", Pattern: "/ai-sdk/chat", Summary: "Chat, as the AI SDK's useChat does", Tags: tags, Handler: a.chat,
			Doc: "For DefaultChatTransport: the bearer is an app key or a UCAN. A chat is a session, which has the history: only the last message is read. " +
				"A tool part with an approval that the user gave answers the call that waits; a UCAN approves, an app key may only deny.",
			Example: map[string]any{"id": "example-chat", "messages": []any{map[string]any{
				"id": "1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": "Hello"}},
			}}},
			Body: ChatRequest{}, MaxBody: facehttp.MaxBody, MaxValues: facehttp.MaxValues, Stream: true,
			Replies: []httpserver.Reply{
				stream,
				{Status: 400, Body: ErrorBody{}, Doc: "What is wrong with the request."},
				{Status: 402, Body: ErrorBody{}, Doc: "Nothing is left to spend."},
				{Status: 403, Body: ErrorBody{}, Doc: "The key opens something else, or may not approve."},
				{Status: 409, Body: ErrorBody{}, Doc: "The call was answered otherwise."},
				{Status: 410, Body: ErrorBody{}, Doc: "The call does not wait any more."},
				{Status: 429, Body: ErrorBody{}, Doc: "Too many requests, or the day's measure is used up."},
			},
		},
		{
			Method: "GET", Pattern: "/ai-sdk/chat/{id}/stream", Summary: "Come back to the last message", Tags: tags, Handler: a.resume, Params: id, Stream: true,
			Doc:     "For resumeStream: the last message from its beginning, until its answer has arrived whole, for a day.",
			Replies: []httpserver.Reply{stream, {Status: 204, Doc: "Nothing is owed."}},
		},
		{
			Method: "DELETE", Pattern: "/ai-sdk/chat/{id}/stream", Summary: "Stop the turn of a chat", Tags: tags, Handler: a.stop, Params: id,
			Doc:     "For stop buttons: hanging up does not stop a turn here, since pages come back.",
			Replies: []httpserver.Reply{{Status: 204, Doc: "Nothing goes on any more."}},
		},
	}
	for i := range routes {
		routes[i].Auth = httpserver.Principal
		routes[i].Replies = append(routes[i].Replies, httpserver.Reply{Status: 401, Body: ErrorBody{}, Doc: "No valid key."})
	}
	return httpserver.Surface{
		Name: "ai-sdk", Doc: "The oracle for pages that use the AI SDK.",
		Routes: routes, Prefixes: []string{"/ai-sdk"}, Errors: Errors, CORS: d.CORS, Authenticate: d.Authenticate,
	}
}

// ErrorBody says what failed. The client has it as the text of its error.
type ErrorBody struct {
	Message string `json:"message"`
	Code    string `json:"code"`
}

// Errors writes failures: see httpserver.Surface.
func Errors(w http.ResponseWriter, _ *http.Request, err error) {
	e := fault.From(err)
	facehttp.SetErrorHeaders(w.Header(), e)
	// the client may be gone
	_ = httpserver.WriteJSON(w, httpserver.Status(e.Kind), ErrorBody{e.Message, cmp.Or(e.Code, e.Kind.String())})
}

// chat answers what a page says.
func (a *api) chat(w http.ResponseWriter, r *http.Request) error {
	answer, s, err := a.begin(w, r)
	if err != nil {
		return err
	}
	defer answer.Close()
	return s.write(w, r, answer)
}

// begin reads the request and starts its turn, or goes on with it.
func (a *api) begin(w http.ResponseWriter, r *http.Request) (*face.Answer, *stream, error) {
	who, err := facehttp.Caller(r)
	if err != nil {
		return nil, nil, err
	}
	var body ChatRequest
	if err := facehttp.ReadBody(w, r, &body); err != nil {
		return nil, nil, err
	}
	in, err := body.read()
	if err != nil {
		return nil, nil, err
	}
	in.ask.Who = who
	answer, message, err := a.find(r.Context(), who, in)
	if err != nil {
		return nil, nil, err
	}
	answer.Stay()
	return answer, newStream(message), nil
}

// find is the run that the request is about, and the name of its message.
func (a *api) find(
	ctx context.Context, who identity.Principal, in input,
) (answer *face.Answer, message string, err error) {
	f := a.deps.Faces
	if len(in.decided) > 0 {
		if answer, err = f.Resume(ctx, who, in.ask.Conversation, in.decided); err != nil {
			return nil, "", err
		}
		if message, err = f.NoteLatest(ctx, answer, in.ask.Conversation, in.continues); err != nil {
			answer.Close()
			return nil, "", err
		}
		return answer, message, nil
	}
	if in.ask.Empty() {
		return nil, "", invalid("the last message has no text")
	}
	if err := f.Choose("", &in.ask.Request); err != nil {
		return nil, "", err
	}
	if err := face.CheckSize(in.ask.Request); err != nil {
		return nil, "", err
	}
	return f.BeginLatest(ctx, in.ask, in.continues)
}

// resume replays the last message of a chat.
func (a *api) resume(w http.ResponseWriter, r *http.Request) error {
	who, id, err := chatOf(r)
	if err != nil {
		return err
	}
	list, err := a.deps.Faces.Latest(r.Context(), who.DID, id)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	defer func() {
		for _, answer := range list {
			answer.Close()
		}
	}()
	return newStream(list[0].RunID).write(w, r, list...)
}

// stop ends what goes on in a chat.
func (a *api) stop(w http.ResponseWriter, r *http.Request) error {
	who, id, err := chatOf(r)
	if err != nil {
		return err
	}
	if _, err := a.deps.Faces.StopLatest(r.Context(), who.DID, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func chatOf(r *http.Request) (identity.Principal, string, error) {
	who, err := facehttp.Caller(r)
	if err != nil {
		return who, "", err
	}
	id := r.PathValue("id")
	if !oracle.PlausibleID(id) || len(id) > face.MaxConversation {
		return who, "", invalid("the id of a chat has 1 to %d bytes and no control characters", face.MaxConversation)
	}
	return who, id, nil
}
