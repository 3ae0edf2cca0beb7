// Package callhttp is the live agent over HTTP: making a call, reading it, and
// moving it on.
//
// It promises the names that pages know (callId, callStatus, callStartedAt), the
// oracle's error bodies, and one 404 for calls that are not there and calls of
// others. Media and its signalling go other ways: see package call.
package callhttp

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsignal"
)

// Deps is what the surface serves.
type Deps struct {
	Calls *call.Service
	// Speech tells whether the services of calls answer; nil knows nothing of them.
	Speech       Speech
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
}

// Speech tells whether each half of speech is of use.
type Speech interface {
	SpeechWorks(ctx context.Context) (ears, voice call.Working, err error)
}

type api struct {
	deps  Deps
	drain sync.Once
}

// Bounds of a request.
const (
	maxBody  = 16 << 10
	maxVoice = 64
)

// Surface makes the routes.
func Surface(d Deps) httpserver.Surface {
	a := &api{deps: d}
	id := httpserver.Param{Name: "callId", In: "path", Required: true}
	tags := []string{"Calls"}
	bad := httpserver.Reply{Status: 400, Body: ErrorBody{}, Doc: "What is wrong with the request."}
	unknown := httpserver.Reply{Status: 404, Body: ErrorBody{}, Doc: "No such call, or session, of yours."}
	routes := []httpserver.Route{
		{
			Method: "POST", Pattern: "/calls", Summary: "Make a call", Tags: tags, Body: CreateBody{}, MaxBody: maxBody,
			Handler: identityhttp.Caller(a.create),
			Example: map[string]any{"callType": "audio", "sessionId": "example-session"},
			Doc:     "The call is pending until media flows. Its offer, answer and addresses go over the session's socket: see docs/guides/calls.md.",
			Replies: []httpserver.Reply{
				{Status: 201, Body: Body{}},
				bad, unknown,
				{Status: 403, Body: ErrorBody{}, Doc: "With record: you have not let the oracle write into your files."},
				{Status: 429, Body: ErrorBody{}, Doc: "You have as many calls as one may have."},
				{Status: 503, Body: ErrorBody{}, Doc: "All lines of this node are busy."},
			},
		},
		{
			Method: "GET", Pattern: "/calls", Summary: "The calls of a session", Tags: tags,
			Handler: identityhttp.Caller(a.list),
			Doc:     "Without sessionId: your calls that have not ended, of all sessions. A page can go on with one of them: see docs/guides/calls.md.",
			Params:  []httpserver.Param{{Name: "sessionId", In: "query"}},
			Replies: []httpserver.Reply{{Status: 200, Body: List{}}, bad, unknown},
		},
		{
			Method: "GET", Pattern: "/calls/speech", Summary: "Whether calls can hear and speak", Tags: tags, Handler: a.speech,
			Doc: "For a page that wants to say so before it asks for the microphone. Services are asked at most every half minute: " +
				"this may take as long as they do.",
			Replies: []httpserver.Reply{{Status: 200, Body: SpeechBody{}}},
		},
		{
			Method: "GET", Pattern: "/calls/{callId}", Summary: "Read a call", Tags: tags, Params: []httpserver.Param{id},
			Handler: identityhttp.Caller(a.get),
			Replies: []httpserver.Reply{{Status: 200, Body: Body{}}, unknown},
		},
		{
			Method: "PATCH", Pattern: "/calls/{callId}", Summary: "Move a call on", Tags: tags, Params: []httpserver.Param{id},
			Body: PatchBody{}, MaxBody: maxBody, Handler: identityhttp.Caller(a.patch),
			Doc: "From pending to active to ended, and not back. Repeating the last step changes nothing.",
			Replies: []httpserver.Reply{
				{Status: 200, Body: Body{}},
				bad, unknown,
				{Status: 409, Body: ErrorBody{}, Doc: "The call is further already, or goes on in another page (taken)."},
			},
		},
	}
	for i := range routes {
		routes[i].Auth = httpserver.Principal
		routes[i].Replies = append(routes[i].Replies, httpserver.Reply{Status: 401, Body: ErrorBody{}, Doc: "No valid UCAN."})
	}
	return httpserver.Surface{
		Name: "calls", Doc: "Voice and video calls with the oracle.", Routes: routes, Prefixes: []string{"/calls"},
		Errors: httpserver.NestErrors, CORS: d.CORS, Authenticate: d.Authenticate,
	}
}

// ErrorBody is what every failure looks like.
type ErrorBody struct {
	StatusCode int    `json:"statusCode"`
	Message    any    `json:"message"`
	Error      string `json:"error,omitempty"`
}

// CreateBody asks for a call.
type CreateBody struct {
	SessionID  string `json:"sessionId"`
	CallType   string `json:"callType"`
	AgentVoice string `json:"agentVoice,omitempty"`
	Language   string `json:"language,omitempty"`
	E2EE       bool   `json:"e2ee,omitempty"`
	Record     bool   `json:"record,omitempty"`
	// RecordFormat is ogg (Opus, the default) or wave.
	RecordFormat string `json:"recordFormat,omitempty"`
}

// PatchBody moves a call on. The times are the page's own; the server's count.
type PatchBody struct {
	CallStatus    string `json:"callStatus"`
	CallStartedAt string `json:"callStartedAt,omitempty"`
	CallEndedAt   string `json:"callEndedAt,omitempty"`
	Reason        string `json:"reason,omitempty"`
	// Fingerprint is that of the page's last offer: a page that the call was taken from
	// cannot end it.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Body is a call.
type Body struct {
	CallID        string           `json:"callId"`
	SessionID     string           `json:"sessionId"`
	CallType      call.Type        `json:"callType"`
	CallStatus    call.Status      `json:"callStatus"`
	CreatedAt     string           `json:"createdAt"`
	CallStartedAt string           `json:"callStartedAt,omitempty"`
	CallEndedAt   string           `json:"callEndedAt,omitempty"`
	ExpiresAt     string           `json:"expiresAt"`
	Reason        call.Reason      `json:"reason,omitempty"`
	AgentVoice    string           `json:"agentVoice,omitempty"`
	Language      string           `json:"language,omitempty"`
	E2EE          bool             `json:"e2ee"`
	Record        bool             `json:"record"`
	Recording     *Recording       `json:"recording,omitempty"`
	ICEServers    []call.ICEServer `json:"iceServers,omitempty"`
	Identity      *call.Identity   `json:"identity,omitempty"`
	Limits        Limits           `json:"limits"`
	Speech        call.SpeechState `json:"speech"`
}

// Recording says where the sound of a call goes: it is on, saved, empty (nothing
// was said) or failed.
type Recording struct {
	State call.RecordingState `json:"state"`
	Path  string              `json:"path"`
}

// Limits are what a call may not exceed.
type Limits struct {
	MaxSeconds int `json:"maxSeconds"`
}

// List is calls, newest first.
type List struct {
	Calls []Body `json:"calls"`
}

func bodyOf(v call.View) Body {
	b := Body{
		CallID: v.ID, SessionID: v.SessionID, CallType: v.Type, CallStatus: v.Status,
		CreatedAt: oracle.Timestamp(v.CreatedAt),
		ExpiresAt: oracle.Timestamp(v.ExpiresAt), Reason: v.Reason, AgentVoice: v.Voice, Language: v.Language, E2EE: v.Framed,
		ICEServers: v.Servers, Identity: v.Identity, Limits: Limits{MaxSeconds: int(v.MaxLength / time.Second)},
		Speech: call.SpeechState{STT: v.Hearing, TTS: v.Speaks},
	}
	if v.Recording.State != "" {
		b.Record, b.Recording = true, &Recording{State: v.Recording.State, Path: v.Recording.Path}
	}
	if !v.StartedAt.IsZero() {
		b.CallStartedAt = oracle.Timestamp(v.StartedAt)
	}
	if !v.EndedAt.IsZero() {
		b.CallEndedAt = oracle.Timestamp(v.EndedAt)
	}
	return b
}

// invalid is a list of things that are wrong with a request.
func invalid(list []string) error {
	return fault.New(fault.Invalid, strings.Join(list, "; ")).WithField("message", list)
}

// languageForm is enough of BCP 47 to hand on.
var languageForm = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

var voiceForm = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} ._:-]*$`)

func (b CreateBody) problems() []string {
	var list []string
	if b.SessionID == "" {
		list = append(list, "sessionId should not be empty")
	}
	if b.CallType != string(call.Audio) && b.CallType != string(call.Video) {
		list = append(list, "callType must be one of the following values: audio, video")
	}
	if b.AgentVoice != "" && (utf8.RuneCountInString(b.AgentVoice) > maxVoice || !voiceForm.MatchString(b.AgentVoice)) {
		list = append(list, fmt.Sprintf("agentVoice must be the name of a voice, at most %d characters", maxVoice))
	}
	if b.Language != "" && (len(b.Language) > 35 || !languageForm.MatchString(b.Language)) {
		list = append(list, "language must be a language tag such as en or pt-BR")
	}
	switch call.RecordingFormat(b.RecordFormat) {
	case "", call.Ogg, call.Wave:
	default:
		list = append(list, "recordFormat must be one of the following values: ogg, wave")
	}
	return list
}

func (a *api) create(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	if draining := httpserver.Draining(r.Context()); draining != nil {
		a.drain.Do(func() { go a.drainWith(draining) }) //nolint:contextcheck // it waits for longer than the request
	}
	var body CreateBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict, httpserver.AnyMedia); err != nil {
		return err
	}
	if list := body.problems(); len(list) > 0 {
		return invalid(list)
	}
	if !oracle.PlausibleID(body.SessionID) {
		return oracle.ErrSessionNotFound
	}
	v, err := a.deps.Calls.Create(r.Context(), who, call.Request{
		SessionID: body.SessionID, Type: call.Type(body.CallType), Voice: body.AgentVoice, Language: body.Language,
		Framed: body.E2EE,
		Record: body.Record, RecordFormat: call.RecordingFormat(body.RecordFormat),
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/calls/"+v.ID)
	return httpserver.WriteJSON(w, http.StatusCreated, bodyOf(v))
}

// drainTime bounds how long pages are told that their calls go elsewhere.
const drainTime = 5 * time.Second

// drainWith sends the calls of this node elsewhere as soon as it begins to stop.
func (a *api) drainWith(draining <-chan struct{}) {
	<-draining
	a.deps.Calls.DrainWithin(drainTime)
}

func (a *api) list(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	all, err := a.deps.Calls.Calls(r.Context(), who.DID, r.URL.Query().Get("sessionId"))
	if err != nil {
		return err
	}
	body := List{Calls: make([]Body, 0, len(all))}
	for _, v := range all {
		body.Calls = append(body.Calls, bodyOf(v))
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a *api) get(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	v, err := a.deps.Calls.Call(r.Context(), who.DID, r.PathValue("callId"))
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, bodyOf(v))
}

// SpeechBody says what becomes of speech in calls: it works, none is set (callers
// type and read), or what is set does not answer (away).
type SpeechBody struct {
	Hearing call.Working `json:"hearing"`
	Voice   call.Working `json:"voice"`
}

func (a *api) speech(w http.ResponseWriter, r *http.Request) error {
	body := SpeechBody{Hearing: call.NoService, Voice: call.NoService}
	if a.deps.Speech != nil {
		var err error
		if body.Hearing, body.Voice, err = a.deps.Speech.SpeechWorks(r.Context()); err != nil {
			return err
		}
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (b PatchBody) problems() []string {
	var list []string
	if b.CallStatus != string(call.Active) && b.CallStatus != string(call.Ended) {
		list = append(list, "callStatus must be one of the following values: active, ended")
	}
	for _, at := range []struct{ name, text string }{{"callStartedAt", b.CallStartedAt}, {"callEndedAt", b.CallEndedAt}} {
		if at.text == "" {
			continue
		}
		if _, err := time.Parse(time.RFC3339, at.text); err != nil {
			list = append(list, at.name+" must be a valid ISO 8601 date string")
		}
	}
	if err := callsignal.CheckReason(b.Reason); err != nil {
		list = append(list, err.Message)
	}
	if _, err := callsignal.CheckFingerprint(b.Fingerprint); err != nil {
		list = append(list, err.Message)
	}
	return list
}

func (a *api) patch(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	var body PatchBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict, httpserver.AnyMedia); err != nil {
		return err
	}
	if list := body.problems(); len(list) > 0 {
		return invalid(list)
	}
	v, err := a.deps.Calls.Advance(r.Context(), who.DID, r.PathValue("callId"), call.Status(body.CallStatus),
		call.Reason(body.Reason), body.Fingerprint)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, bodyOf(v))
}
