package oraclehttp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
	"github.com/castalia-org/castalia/internal/service/oracle/talksearch"
)

func (a *api) createSession(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	s, err := a.deps.Service.CreateSession(r.Context(), who.DID)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusCreated, a.sessionBody(s))
}

func (a *api) listSessions(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	limit, err := intParam(r, "limit", oracle.DefaultPage, 1, oracle.MaxPage)
	if err != nil {
		return err
	}
	offset, err := intParam(r, "offset", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	if search := r.URL.Query().Get("search"); strings.TrimSpace(search) != "" {
		return a.searchSessions(w, r, who.DID, search, limit, offset)
	}
	list, total, err := a.deps.Service.Sessions(r.Context(), who.DID, limit, offset)
	if err != nil {
		return err
	}
	body := SessionList{Sessions: make([]SessionBody, 0, len(list)), Total: total}
	for _, s := range list {
		body.Sessions = append(body.Sessions, a.sessionBody(s))
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

// Search finds a user's sessions by what was said in them.
type Search interface {
	Search(ctx context.Context, owner, text string, limit, offset int) (talksearch.Result, error)
}

func (a *api) searchSessions(w http.ResponseWriter, r *http.Request, owner, search string, limit, offset int) error {
	found, err := a.deps.Search.Search(r.Context(), owner, search, limit, offset)
	if err != nil {
		return err
	}
	body := SessionList{Sessions: make([]SessionBody, 0, len(found.Hits)), Total: found.Total, Behind: found.Behind}
	for _, hit := range found.Hits {
		session := a.sessionBody(hit.Session)
		session.Excerpt = hit.Excerpt
		body.Sessions = append(body.Sessions, session)
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a *api) deleteSession(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	if err := a.deps.Service.DeleteSession(r.Context(), who.DID, r.PathValue("sessionId")); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Deleted{Message: "Session deleted successfully"})
}

func (a *api) listMessages(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	leave, err := a.readings.Take(r.Context(), who.DID)
	if err != nil {
		return err
	}
	defer leave()
	list, err := a.deps.Service.Messages(r.Context(), who.DID, r.PathValue("sessionId"))
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, MessageList{Messages: messageBodies(list)})
}

func (a *api) pageMessages(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	limit, err := intParam(r, "limit", oracle.DefaultPage, 1, oracle.MaxPage)
	if err != nil {
		return err
	}
	leave, err := a.readings.Take(r.Context(), who.DID)
	if err != nil {
		return err
	}
	defer leave()
	q := r.URL.Query()
	page, err := a.deps.Service.Page(r.Context(), who.DID, r.PathValue("sessionId"), oracle.PageQuery{
		Limit: limit, Before: q.Get("before"), After: q.Get("after"),
	})
	if err != nil {
		return err
	}
	body := PageBody{Messages: messageBodies(page.Messages), HasOlder: page.HasOlder, HasNewer: page.HasNewer}
	if n := len(page.Messages); n > 0 {
		body.PrevCursor, body.NextCursor = &page.Messages[0].ID, &page.Messages[n-1].ID
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a *api) sessionRun(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	id := r.PathValue("sessionId")
	if err := a.deps.Service.CheckSession(r.Context(), who.DID, id); err != nil {
		return err
	}
	var found oracle.Run
	var ok bool
	var err error
	if request := r.URL.Query().Get("requestId"); request != "" {
		found, ok, err = a.deps.Engine.ByRequest(r.Context(), who.DID, id, request)
	} else {
		found, ok, err = a.deps.Engine.Latest(r.Context(), who.DID, id)
	}
	if err != nil {
		return err
	}
	body := RunBody{}
	if ok {
		body.Run = &RunState{
			RunID: found.ID, SessionID: found.SessionID, RequestID: found.RequestID, Status: found.Status,
			Attempt: found.Attempt,
			LastSeq: found.NextSeq - 1, CreatedAt: oracle.Timestamp(found.CreatedAt),
		}
	}
	if found.Paused {
		waiting, err := a.deps.Engine.Pending(r.Context(), who.DID, id)
		if err != nil {
			return err
		}
		body.Run.Approvals = oracle.ApprovalBodies(waiting)
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a *api) abort(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	var body AbortBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict, httpserver.AnyMedia); err != nil {
		return err
	}
	if body.SessionID == "" {
		return invalid([]string{"sessionId should not be empty"})
	}
	stopped, err := a.deps.Engine.Abort(r.Context(), who.DID, body.SessionID)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Aborted{Success: stopped})
}

func (a *api) storeDelegation(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	var body DepositBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict, httpserver.AnyMedia); err != nil {
		return err
	}
	if body.Raw == "" {
		return invalid([]string{"raw should not be empty", "raw must be a string"})
	}
	status, err := a.deps.Delegations.StoreDelegation(r.Context(), who, identity.Deposit{
		Raw: body.Raw, Issuer: body.Issuer, Audience: body.Audience, Expiration: body.Expiration,
	})
	if err != nil {
		return err
	}
	a.nudges.forget(who.DID)
	err = a.deps.Engine.Delegated(r.Context(), oracle.Answer{Owner: who.DID, By: who.TokenCID, Via: oracle.ViaHTTP},
		oracle.Carried{MatrixToken: r.Header.Get("X-Matrix-Access-Token")})
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Granted{OK: true, Expiration: seconds(status)})
}

func (a *api) delegation(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	status, err := a.deps.Delegations.DelegationOf(r.Context(), who.DID)
	if err != nil {
		return err
	}
	body := DelegationBody{Authorized: status.Authorized}
	if status.Authorized {
		body.Expiration = seconds(status)
		for _, c := range status.Capabilities {
			body.Capabilities = append(body.Capabilities, CapabilityBody{Can: c.Can, With: c.With, NB: caveats(c)})
		}
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func seconds(s identity.DelegationStatus) *int64 {
	if s.Expires.IsZero() {
		return nil
	}
	n := s.Expires.Unix()
	return &n
}

func (a *api) forgetDelegation(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	if err := a.deps.Delegations.ForgetDelegation(r.Context(), who.DID); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Granted{OK: true})
}

func (a *api) models(w http.ResponseWriter, _ *http.Request) error {
	all := a.deps.Provider.Models()
	if len(all) == 0 {
		return fault.New(fault.Unavailable, "No model is configured")
	}
	body := ModelList{Default: all[0].ID}
	for i, m := range all {
		body.Models = append(body.Models, ModelBody{
			ID: m.ID, Label: m.Label, Family: m.Family, Tier: m.Tier, CostLabel: m.CostLabel, Badge: m.Badge, Blurb: m.Blurb,
			Vision: m.Vision,
			Pricing: Pricing{
				InputPerMillion: m.InputPerMillion, OutputPerMillion: m.OutputPerMillion, Currency: "USD",
				Unit: "per_million_tokens",
			},
			IsDefault: i == 0,
		})
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a *api) openings(w http.ResponseWriter, r *http.Request) error {
	var all []instructions.Opening
	if a.deps.Openings != nil {
		all = a.deps.Openings()
	}
	from := FromOperator
	switch {
	case len(all) > 0:
	case a.deps.Suggest == nil:
		all = instructions.Everyday()
	default:
		var err error
		if all, err = a.deps.Suggest(r.Context()); err != nil {
			return fmt.Errorf("suggest questions: %w", err)
		}
		from = FromSample
	}
	if slices.Equal(all, instructions.Everyday()) {
		from = FromProgram
	}
	body := OpeningList{From: from, Openings: []OpeningBody{}}
	for _, o := range all {
		body.Openings = append(body.Openings, OpeningBody(o))
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}
