// Package webhookhttp has the routes with which owners keep their webhooks.
//
// They are for whoever signs the request: a delegation alone, which others could
// hold too, and a token that is bound to CIDs, are refused, because a webhook goes
// on telling when the token is over.
package webhookhttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/webhook"
)

const (
	listLimit = 20
	listMax   = 100
	maxBody   = 16 << 10
)

// Deps is what the routes need.
type Deps struct {
	Service      *webhook.Service
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
}

// Endpoint is a webhook as its owner sees it.
type Endpoint struct {
	ID          string   `json:"id"`
	URL         string   `json:"url"`
	Description string   `json:"description,omitempty"`
	Events      []string `json:"events"`
	// Status is active, failing, paused or disabled.
	Status       string `json:"status"`
	Reason       string `json:"reason,omitempty"`
	Created      string `json:"created"`
	LastSuccess  string `json:"lastSuccess,omitempty"`
	FailingSince string `json:"failingSince,omitempty"`
	Disabled     string `json:"disabled,omitempty"`
}

// MadeEndpoint is the answer that shows a secret, this once.
type MadeEndpoint struct {
	Endpoint
	Secret string `json:"secret"`
}

// EndpointList is the body of GET /api/webhooks.
type EndpointList struct {
	Webhooks []Endpoint `json:"webhooks"`
}

// NewEndpoint is the body of POST /api/webhooks.
type NewEndpoint struct {
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	Description string   `json:"description,omitempty"`
}

// Change is the body of PATCH /api/webhooks/{id}.
type Change struct {
	URL         *string  `json:"url,omitempty"`
	Events      []string `json:"events,omitempty"`
	Description *string  `json:"description,omitempty"`
	// Status is active or paused.
	Status string `json:"status,omitempty"`
}

// Secret is the answer of a rotation. It is shown this once.
type Secret struct {
	Secret string `json:"secret"`
	// OthersUntil is when the former secrets stop signing.
	OthersUntil string `json:"othersUntil"`
}

// Delivery is an event on its way to a webhook, or what became of it.
type Delivery struct {
	Event   string `json:"event"`
	Type    string `json:"type"`
	Created string `json:"created"`
	// State is waiting, delivered, failed or held.
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	Tried    string `json:"tried,omitempty"`
	Next     string `json:"next,omitempty"`
	Status   int    `json:"status,omitempty"`
	TookMS   int64  `json:"tookMs,omitempty"`
	Error    string `json:"error,omitempty"`
	Answer   string `json:"answer,omitempty"`
}

// DeliveryList is the body of GET /api/webhooks/{id}/deliveries.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries"`
	// Next continues the list; it is empty at its end.
	Next string `json:"next,omitempty"`
}

// Queued names the event that is on its way.
type Queued struct {
	Event string `json:"event"`
}

// Replay is the body of POST /api/webhooks/{id}/replay.
type Replay struct {
	Since string `json:"since,omitempty"`
	After string `json:"after,omitempty"`
	// Delivered sends those again too that have arrived.
	Delivered bool `json:"delivered,omitempty"`
}

// Replayed is its answer.
type Replayed struct {
	Queued int `json:"queued"`
	// Next is the after of the next call; it is empty when all are on their way.
	Next string `json:"next,omitempty"`
}

// Type is an event that can be chosen.
type Type struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	Data string `json:"data,omitempty"`
}

// TypeList is the body of GET /api/webhooks/types.
type TypeList struct {
	Types []Type `json:"types"`
}

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	a := api{d.Service}
	id := httpserver.Param{Name: "id", In: "path", Required: true, Doc: "The webhook's id."}
	event := httpserver.Param{Name: "event", In: "path", Required: true, Doc: "The event's id, which is also its webhook-id."}
	route := func(method, pattern, summary, doc string, body any, status int, reply any,
		handler func(http.ResponseWriter, *http.Request, string) error, params ...httpserver.Param,
	) httpserver.Route {
		return httpserver.Route{
			Method: method, Pattern: "/api/webhooks" + pattern, Auth: httpserver.Principal, Tags: []string{"Webhooks"},
			Summary: summary, Doc: doc, Params: params,
			Body: body, MaxBody: maxBody, Replies: []httpserver.Reply{{Status: status, Body: reply}}, Handler: owned(handler),
		}
	}
	return httpserver.Surface{
		Name: "webhooks", CORS: d.CORS, Authenticate: d.Authenticate, Prefixes: []string{"/api/webhooks"},
		Doc: "Requests to your own program when something happens to what is yours, by Standard Webhooks. They need an invocation, as the " +
			"oracle does; a delegation alone is not enough.",
		Routes: []httpserver.Route{
			route(http.MethodGet, "", "Your webhooks", "The oldest first, without their secrets.", nil, http.StatusOK, EndpointList{}, a.list),
			route(http.MethodPost, "", "Make a webhook", "The url is https and public. events names events, groups such as file.*, or *. The secret is shown this once. At most 10.",
				NewEndpoint{}, http.StatusCreated, MadeEndpoint{}, a.add),
			route(http.MethodGet, "/types", "Events that can be chosen", "", nil, http.StatusOK, TypeList{}, a.types),
			route(http.MethodGet, "/{id}", "One webhook", "", nil, http.StatusOK, Endpoint{}, a.one, id),
			route(http.MethodPatch, "/{id}", "Change a webhook", "What is left out stays. The status paused holds deliveries back; active sends again, also after it was disabled, and what was held is replayed when you ask for it.",
				Change{}, http.StatusOK, Endpoint{}, a.change, id),
			route(http.MethodDelete, "/{id}", "Delete a webhook", "What waits for it is dropped.", nil, http.StatusNoContent, nil, a.remove, id),
			route(http.MethodPost, "/{id}/secret", "Make a new secret", "It is shown this once. The former secrets sign beside it for 24 hours.", nil, http.StatusCreated, Secret{}, a.rotate, id),
			route(http.MethodPost, "/{id}/test", "Send a test", "Puts a webhook.test on its way. The deliveries tell what came of it.", nil, http.StatusAccepted, Queued{}, a.test, id),
			route(http.MethodGet, "/{id}/deliveries", "What was sent", "The newest first, for 30 days.", nil, http.StatusOK, DeliveryList{}, a.deliveries, id,
				httpserver.Param{Name: "state", In: "query", Doc: "waiting, delivered, failed or held."}, httpserver.Param{Name: "before", In: "query", Doc: "The event before which to go on."},
				httpserver.Param{Name: "limit", In: "query", Schema: 0, Doc: "At most 100, usually 20."}),
			route(http.MethodPost, "/{id}/deliveries/{event}/replay", "Send one again", "Under the same id; one that waits goes at once.", nil, http.StatusAccepted, Queued{}, a.replay, id, event),
			route(http.MethodPost, "/{id}/replay", "Send all since a time again",
				"Those that did not arrive, or with delivered all, oldest first, 100 in a call: go on with after until next is missing.",
				Replay{}, http.StatusAccepted, Replayed{}, a.replaySince, id),
		},
	}
}

// owned hands the owner to a handler.
func owned(next func(http.ResponseWriter, *http.Request, string) error) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, ok := identity.FromContext(r.Context())
		switch {
		case !ok:
			return fault.New(fault.Unauthenticated, identity.TextMissingInvocation)
		case p.Kind != identity.ByInvocation:
			return fault.New(fault.Forbidden, "Webhooks need an invocation that you sign; a delegation alone is not enough.").WithCode("invocation_needed")
		case p.CIDs != nil:
			return fault.New(fault.Forbidden, "The token is for some content only.").WithCode("token_is_narrow")
		}
		if id := r.PathValue("id"); id != "" && !webhook.PlausibleID(webhook.EndpointPrefix, id) {
			return webhook.ErrNotFound
		}
		return next(w, r, p.DID)
	}
}

type api struct{ *webhook.Service }

func (a api) list(w http.ResponseWriter, r *http.Request, owner string) error {
	all, err := a.Store.Endpoints(r.Context(), owner)
	if err != nil {
		return err
	}
	body := EndpointList{Webhooks: make([]Endpoint, len(all))}
	for i, e := range all {
		body.Webhooks[i] = endpointBody(e)
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a api) add(w http.ResponseWriter, r *http.Request, owner string) error {
	var body NewEndpoint
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	e, secret, err := a.Add(r.Context(), owner,
		webhook.NewEndpoint{URL: body.URL, Events: body.Events, Description: body.Description})
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusCreated, MadeEndpoint{Endpoint: endpointBody(e), Secret: secret.Reveal()})
}

func (api) types(w http.ResponseWriter, _ *http.Request, _ string) error {
	var body TypeList
	for _, t := range webhook.Types() {
		body.Types = append(body.Types, Type{Name: t.Name, Doc: t.Doc, Data: t.Data})
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a api) one(w http.ResponseWriter, r *http.Request, owner string) error {
	e, err := a.Store.Endpoint(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, endpointBody(e))
}

func (a api) change(w http.ResponseWriter, r *http.Request, owner string) error {
	var body Change
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	c := webhook.Change{URL: body.URL, Description: body.Description, Events: body.Events}
	switch body.Status {
	case "":
	case "active", "paused":
		paused := body.Status == "paused"
		c.Paused = &paused
	default:
		return fault.New(fault.Invalid, "status must be active or paused")
	}
	e, err := a.Change(r.Context(), owner, r.PathValue("id"), c)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, endpointBody(e))
}

func (a api) remove(w http.ResponseWriter, r *http.Request, owner string) error {
	if err := a.Store.Delete(r.Context(), owner, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a api) rotate(w http.ResponseWriter, r *http.Request, owner string) error {
	secret, err := a.Rotate(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusCreated,
		Secret{Secret: secret.Reveal(), OthersUntil: timestamp(a.Now().Add(webhook.SecretOverlap))})
}

func (a api) test(w http.ResponseWriter, r *http.Request, owner string) error {
	event, err := a.Test(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusAccepted, Queued{Event: event})
}

func (a api) deliveries(w http.ResponseWriter, r *http.Request, owner string) error {
	q := webhook.DeliveryQuery{
		State: webhook.State(r.URL.Query().Get("state")), Before: r.URL.Query().Get("before"), Limit: listLimit,
	}
	switch q.State {
	case "", webhook.Waiting, webhook.Delivered, webhook.Failed, webhook.Held:
	default:
		return fault.New(fault.Invalid, "state must be waiting, delivered, failed or held")
	}
	if q.Before != "" && !webhook.PlausibleID(webhook.EventPrefix, q.Before) {
		return webhook.ErrNotFound
	}
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > listMax {
			return fault.Newf(fault.Invalid, "limit must be a whole number from 1 to %d", listMax)
		}
		q.Limit = n
	}
	all, err := a.Store.Deliveries(r.Context(), owner, r.PathValue("id"), q)
	if err != nil {
		return err
	}
	body := DeliveryList{Deliveries: make([]Delivery, len(all))}
	for i, d := range all {
		body.Deliveries[i] = deliveryBody(d)
	}
	if len(all) == q.Limit {
		body.Next = all[len(all)-1].Event
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a api) replay(w http.ResponseWriter, r *http.Request, owner string) error {
	event := r.PathValue("event")
	if !webhook.PlausibleID(webhook.EventPrefix, event) {
		return webhook.ErrNotFound
	}
	if err := a.Replay(r.Context(), owner, r.PathValue("id"), event); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusAccepted, Queued{Event: event})
}

func (a api) replaySince(w http.ResponseWriter, r *http.Request, owner string) error {
	var body Replay
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	q := webhook.ReplayQuery{After: body.After, Delivered: body.Delivered}
	switch {
	case body.After == "":
		since, err := time.Parse(time.RFC3339Nano, body.Since)
		if err != nil || since.UnixMilli() < 0 {
			return fault.New(fault.Invalid, "since must be a time such as 2026-11-16T12:00:00Z")
		}
		q.Since = since
	case !webhook.PlausibleID(webhook.EventPrefix, body.After):
		return webhook.ErrNotFound
	}
	n, next, err := a.ReplaySince(r.Context(), owner, r.PathValue("id"), q)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusAccepted, Replayed{Queued: n, Next: next})
}

func endpointBody(e webhook.Endpoint) Endpoint {
	return Endpoint{
		ID: e.ID, URL: e.URL, Description: e.Description, Events: e.Events, Status: e.Status(), Reason: e.Reason,
		Created:     timestamp(e.Created),
		LastSuccess: timestamp(e.LastSuccess), FailingSince: timestamp(e.FailingSince), Disabled: timestamp(e.Disabled),
	}
}

func deliveryBody(d webhook.Delivery) Delivery {
	return Delivery{
		Event: d.Event, Type: d.Type, Created: timestamp(d.Created), State: string(d.State), Attempts: d.Attempts,
		Tried: timestamp(d.Tried),
		Next:  timestamp(d.Next), Status: d.Status, TookMS: d.Took.Milliseconds(), Error: d.Error, Answer: d.Answer,
	}
}

// timestamp writes a time; none is left out.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
