package oraclehttp

import (
	"encoding/json"
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// VersionPlace says which version of its turn a message is, and names the others.
type VersionPlace struct {
	// Number counts from 1.
	Number int                `json:"number"`
	Count  int                `json:"count"`
	Kind   oracle.VersionKind `json:"kind"`
	// MessageIDs are the messages that begin the versions, oldest first.
	MessageIDs []string `json:"messageIds"`
}

// VersionBody is one version of a turn.
type VersionBody struct {
	// MessageID is the message that begins it.
	MessageID string             `json:"messageId"`
	Kind      oracle.VersionKind `json:"kind"`
	Chosen    bool               `json:"chosen"`
	// Content is the first 2,000 characters of the message; with shortened there are more.
	Content   string `json:"content"`
	Shortened bool   `json:"shortened,omitempty"`
	CreatedAt string `json:"createdAt"`
}

// VersionList is the versions of one turn, oldest first.
type VersionList struct {
	Versions []VersionBody `json:"versions"`
}

// FeedbackBody is what the owner of a session thinks of an answer.
type FeedbackBody struct {
	Rating oracle.Rating `json:"rating"`
	Text   string        `json:"text,omitempty"`
}

func versionPlace(v *oracle.VersionPlace) *VersionPlace {
	if v == nil {
		return nil
	}
	return &VersionPlace{Number: v.Number, Count: len(v.MessageIDs), Kind: v.Kind, MessageIDs: v.MessageIDs}
}

func feedbackBody(f *oracle.Feedback) *FeedbackBody {
	if f == nil {
		return nil
	}
	return &FeedbackBody{Rating: f.Rating, Text: f.Text}
}

func (a *api) versionRoutes() []httpserver.Route {
	const message = "/sessions/{sessionId}/messages/{messageId}"
	tags := []string{"Versions"}
	params := []httpserver.Param{
		{Name: "sessionId", In: "path", Required: true},
		{Name: "messageId", In: "path", Required: true, Doc: "Any message of the turn; last is the last turn that is shown."},
	}
	answer := []httpserver.Param{params[0], {Name: "messageId", In: "path", Required: true, Doc: "A message of the oracle."}}
	unknown := httpserver.Reply{Status: 404, Body: ErrorBody{}, Doc: "No such session or message of yours."}
	bad := httpserver.Reply{Status: 400, Body: ErrorBody{}, Doc: "What is wrong with the request."}
	return []httpserver.Route{
		{
			Method: "POST", Pattern: message + "/versions", Summary: "Ask a turn again, as it was or otherwise", Tags: tags, Params: params,
			Body: oracle.SendBody{}, MaxBody: maxMessage, Stream: true, Handler: identityhttp.Caller(a.addVersion),
			Doc: "The body is that of POST /messages/{sessionId}, and nothing in it is required: what is absent is as it was asked before. Without a message " +
				"the same is asked again; with one, that takes its place. What followed the turn is hidden, not deleted. " +
				"A run that is going on is stopped, unless multitask is reject. An X-Request-Id that begins with once- names one request, as for messages.",
			Replies: []httpserver.Reply{
				{Status: 200, Body: ReplyBody{}},
				{Status: 200, Media: "text/event-stream", Doc: "Frames until done."},
				bad, unknown,
				{Status: 409, Body: ErrorBody{}, Doc: "The request id names another request, the turn has 64 versions, or a run is going on and multitask is reject."},
			},
		},
		{
			Method: "GET", Pattern: message + "/versions", Summary: "The versions of a turn", Tags: tags, Params: params,
			Handler: identityhttp.Caller(a.listVersions),
			Replies: []httpserver.Reply{{Status: 200, Body: VersionList{}}, unknown},
		},
		{
			Method: "POST", Pattern: message + "/choose", Summary: "Show another version of a turn", Tags: tags, Params: params,
			Handler: identityhttp.Caller(a.chooseVersion),
			Doc:     "The transcript becomes the branch of that message: what came before it, its turn, and what was last shown behind it. Models are told this branch alone.",
			Replies: []httpserver.Reply{
				{Status: 200, Body: VersionList{}}, unknown, {Status: 409, Body: ErrorBody{}, Doc: "A run is going on in the session."},
			},
		},
		{
			Method: "PUT", Pattern: message + "/feedback", Summary: "Say what you think of an answer", Tags: tags,
			Params: answer, Body: FeedbackBody{}, Handler: identityhttp.Caller(a.setFeedback),
			Example: map[string]any{"rating": "up"},
			Doc:     "You alone can read the text; operators see how many answers of a model were found good or bad.",
			Replies: []httpserver.Reply{{Status: 200, Body: FeedbackBody{}}, bad, unknown},
		},
		{
			Method: "DELETE", Pattern: message + "/feedback", Summary: "Take feedback back", Tags: tags, Params: answer,
			Handler: identityhttp.Caller(a.forgetFeedback),
			Replies: []httpserver.Reply{{Status: 204}, unknown},
		},
	}
}

func (a *api) addVersion(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	raw := json.RawMessage(`{}`)
	if err := httpserver.ReadJSON(w, r, &raw, httpserver.AnyMedia, httpserver.AllowEmpty); err != nil {
		return err
	}
	asked, err := a.deps.Service.Asked(r.Context(), who.DID, r.PathValue("sessionId"), r.PathValue("messageId"))
	if err != nil {
		return err
	}
	body, wrong := oracle.ParseVersion(raw, asked)
	if len(wrong) > 0 {
		return invalid(wrong)
	}
	read := asked.Read
	if !oracle.SameFiles(asked.Request.Attachments, body.Request.Attachments) {
		read = nil
	}
	return a.start(w, r, who, body, read)
}

func (a *api) listVersions(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	return a.writeVersions(w, r, who.DID)
}

func (a *api) writeVersions(w http.ResponseWriter, r *http.Request, owner string) error {
	leave, err := a.readings.Take(r.Context(), owner)
	if err != nil {
		return err
	}
	defer leave()
	list, err := a.deps.Service.Versions(r.Context(), owner, r.PathValue("sessionId"), r.PathValue("messageId"))
	if err != nil {
		return err
	}
	body := VersionList{Versions: make([]VersionBody, 0, len(list))}
	for _, v := range list {
		body.Versions = append(body.Versions, VersionBody{
			MessageID: v.MessageID, Kind: v.Kind, Chosen: v.Chosen, Content: v.Content, Shortened: v.Shortened,
			CreatedAt: oracle.Timestamp(v.CreatedAt),
		})
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a *api) chooseVersion(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	if err := a.deps.Turns.Choose(r.Context(), who.DID, r.PathValue("sessionId"), r.PathValue("messageId")); err != nil {
		return err
	}
	return a.writeVersions(w, r, who.DID)
}

func (a *api) setFeedback(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	var body FeedbackBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict, httpserver.AnyMedia); err != nil {
		return err
	}
	f := oracle.Feedback{MessageID: r.PathValue("messageId"), Rating: body.Rating, Text: body.Text}
	if err := a.deps.Turns.SetFeedback(r.Context(), who.DID, r.PathValue("sessionId"), f); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a *api) forgetFeedback(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	if err := a.deps.Turns.ForgetFeedback(r.Context(), who.DID, r.PathValue("sessionId"), r.PathValue("messageId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
