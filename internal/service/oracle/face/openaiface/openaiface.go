// Package openaiface is the oracle as the clients of OpenAI's API know one: the
// list of models, chat completions and responses.
//
// It promises the bodies, chunks, finish reasons and errors that the published
// SDKs read. Tools that a request declares come back as tool calls, and their
// results are taken with the next request; the oracle's own tools run inside and
// are not shown. Members of a request that it does not know are ignored. It
// refuses what it could only pretend: several choices, and models that are not
// offered.
package openaiface

import (
	"net/http"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
)

type api struct{ deps facehttp.Deps }

// The headers by which programs name their conversations.
const (
	headerOpenWebUI    = "X-Openwebui-Chat-Id"
	headerConversation = "X-Conversation-Id"
)

// Surface is the face's routes.
func Surface(d facehttp.Deps) httpserver.Surface {
	a := &api{deps: d}
	tags := []string{"OpenAI-compatible"}
	bad := httpserver.Reply{Status: 400, Body: ErrorBody{}, Doc: "What is wrong with the request."}
	unknown := httpserver.Reply{Status: 404, Body: ErrorBody{}, Doc: "No such model."}
	routes := []httpserver.Route{
		{
			Method: "GET", Pattern: "/v1/models", Summary: "List the models, as OpenAI does", Tags: tags, Handler: a.models,
			Replies: []httpserver.Reply{{Status: 200, Body: ModelList{}}},
		},
		{
			Method: "GET", Pattern: "/v1/models/{model}", Summary: "One model", Tags: tags, Handler: a.model,
			Params:  []httpserver.Param{{Name: "model", In: "path", Required: true}},
			Replies: []httpserver.Reply{{Status: 200, Body: Model{}}, unknown},
		},
		{
			Method: "POST", Pattern: "/v1/chat/completions", Summary: "Chat, as with OpenAI", Tags: tags, Handler: a.chat,
			Doc: "For programs that know OpenAI's API: the key is an app key or a UCAN. With the name of a conversation the answer belongs to a session, " +
				"which has the history: only what follows the last answer is read. Without one, the messages are all there is. " +
				"A request that repeats one whose answer did not arrive whole gets that answer.",
			Params: []httpserver.Param{
				{Name: "X-Conversation-Id", In: "header", Doc: "Names a conversation, or one of your sessions. X-OpenWebUI-Chat-Id and metadata.session_id do as well."},
			},
			Example: map[string]any{"model": "oracle", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}},
			Body:    ChatRequest{}, MaxBody: facehttp.MaxBody, MaxValues: facehttp.MaxValues, Stream: true,
			Replies: []httpserver.Reply{
				{Status: 200, Body: Completion{}},
				{Status: 200, Media: "text/event-stream", Doc: "Chunks until [DONE]."},
				bad, unknown,
				{Status: 402, Body: ErrorBody{}, Doc: "Nothing is left to spend (insufficient_quota)."},
				{Status: 429, Body: ErrorBody{}, Doc: "Too many requests, or the day's measure is used up (insufficient_quota)."},
			},
		},
	}
	routes = append(routes, httpserver.Route{
		Method: "POST", Pattern: "/v1/responses", Summary: "Respond, as OpenAI does", Tags: tags, Handler: a.respond,
		Doc: "As chat completions, with items and typed events. previous_response_id continues the conversation of an earlier response: for a day, or as long as " +
			"its session is there. conversation names a session as X-Conversation-Id does.",
		Example: map[string]any{"model": "oracle", "input": "Hello"},
		Body:    ResponseRequest{}, MaxBody: facehttp.MaxBody, MaxValues: facehttp.MaxValues, Stream: true,
		Replies: []httpserver.Reply{
			{Status: 200, Body: Response{}},
			{Status: 200, Media: "text/event-stream", Doc: "Events until response.completed, response.incomplete or response.failed."},
			bad, unknown,
			{Status: 402, Body: ErrorBody{}, Doc: "Nothing is left to spend (insufficient_quota)."},
			{Status: 409, Body: ErrorBody{}, Doc: "The earlier response is still being given."},
		},
	})
	for i := range routes {
		routes[i].Auth = httpserver.Principal
		routes[i].Replies = append(routes[i].Replies, httpserver.Reply{Status: 401, Body: ErrorBody{}, Doc: "No valid key."})
	}
	return httpserver.Surface{
		Name: "openai", Doc: "The oracle for programs that know OpenAI's API.",
		Routes: routes, Prefixes: []string{"/v1"}, Errors: Errors, CORS: cors(d.CORS), Authenticate: d.Authenticate,
	}
}

// cors lets pages send what the SDKs put beside a request, and the name of its conversation: a
// browser asks for each of these headers before it sends any of them.
func cors(p httpserver.CORSPolicy) httpserver.CORSPolicy {
	p.Headers = append(
		slices.Clone(p.Headers), headerConversation, headerOpenWebUI, "User-Agent",
		"OpenAI-Organization", "OpenAI-Project", "OpenAI-Beta",
	)
	for _, name := range []string{
		"Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Retry-Count", "Timeout",
		"Helper-Method", "Poll-Helper", "Custom-Poll-Interval",
	} {
		p.Headers = append(p.Headers, "X-Stainless-"+name)
	}
	p.Exposed = append(slices.Clone(p.Exposed), headerRetry)
	return p
}

// Model is one name that can be asked for.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// ModelList is all of them.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// made is when the models are said to have been made: programs want a time.
const made = 1_763_251_200

func (a *api) list() []Model {
	var out []Model
	for _, id := range a.deps.Faces.Models() {
		out = append(out, Model{ID: id, Object: "model", Created: made, OwnedBy: "castalia"})
	}
	return out
}

func (a *api) models(w http.ResponseWriter, _ *http.Request) error {
	return httpserver.WriteJSON(w, http.StatusOK, ModelList{Object: "list", Data: a.list()})
}

func (a *api) model(w http.ResponseWriter, r *http.Request) error {
	for _, m := range a.list() {
		if m.ID == r.PathValue("model") {
			return httpserver.WriteJSON(w, http.StatusOK, m)
		}
	}
	return noModel(r.PathValue("model"))
}
