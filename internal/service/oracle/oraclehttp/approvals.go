package oraclehttp

import (
	"encoding/json"
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
)

// ApprovalList is the calls that wait for the caller.
type ApprovalList struct {
	Approvals []oracle.ApprovalBody `json:"approvals"`
}

// AnswerBody is the caller's word on one of them.
type AnswerBody struct {
	Decision oracle.Decision `json:"decision"`
	// Content is what the call asks for, as its question's form says.
	Content json.RawMessage `json:"content,omitempty"`
	// Invocations are fresh ones for protected MCP tools: those of the message
	// are not kept while a run rests.
	Invocations map[string]string `json:"mcpInvocations,omitempty"`
}

func (a *api) approvalRoutes() []httpserver.Route {
	tags := []string{"Approvals"}
	return []httpserver.Route{
		{
			Method: "GET", Pattern: "/approvals", Summary: "Calls that wait for your approval", Tags: tags, Handler: identityhttp.Caller(a.listApprovals),
			Params:  []httpserver.Param{{Name: "sessionId", In: "query", Doc: "Only those of this session."}},
			Replies: []httpserver.Reply{{Status: 200, Body: ApprovalList{}}},
		},
		{
			Method: "POST", Pattern: "/approvals/{approvalId}", Summary: "Approve or deny a call", Tags: tags, Body: AnswerBody{}, Handler: identityhttp.Caller(a.answerApproval),
			Example: map[string]any{"decision": "approve"},
			Doc: "The same answer again is 200, another one 409. The run goes on when all its calls are answered: its stream, or /runs/{runId}, tells how. " +
				"It needs an invocation of the user's own, not one for chosen content.",
			Params: []httpserver.Param{{Name: "approvalId", In: "path", Required: true}},
			Replies: []httpserver.Reply{
				{Status: 200, Body: oracle.ApprovalBody{}},
				{Status: 400, Body: ErrorBody{}, Doc: "The decision is neither approve nor deny, the content does not fit the form, or there are other fields."},
				{Status: 403, Body: ErrorBody{}, Doc: "The credential is not the user's own invocation."},
				{Status: 404, Body: ErrorBody{}, Doc: "No such approval of yours."},
				{Status: 409, Body: ErrorBody{}, Doc: "It already has a different answer."},
				{Status: 410, Body: ErrorBody{}, Doc: "It does not wait any more: its time is over, or its turn has ended."},
			},
		},
	}
}

func (a *api) listApprovals(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	session := r.URL.Query().Get("sessionId")
	if session != "" && !oracle.PlausibleID(session) {
		return oracle.ErrSessionNotFound
	}
	list, err := a.deps.Engine.Pending(r.Context(), who.DID, session)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, ApprovalList{Approvals: oracle.ApprovalBodies(list)})
}

func (a *api) answerApproval(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	if err := inPerson(who); err != nil {
		return err
	}
	var body AnswerBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict, httpserver.AnyMedia); err != nil {
		return err
	}
	answered, err := a.deps.Engine.Answer(r.Context(), oracle.Answer{
		ApprovalID: r.PathValue("approvalId"), Owner: who.DID, By: who.TokenCID, Via: oracle.ViaHTTP, Decision: body.Decision,
		Content: body.Content, InPerson: true,
	}, oracle.Carried{MatrixToken: r.Header.Get("X-Matrix-Access-Token"), Brought: who.Brought(), Invocations: body.Invocations})
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, answered.Body())
}

// inPerson refuses whoever may not approve: an approval is the person's own word,
// so that neither a delegation, which others may hold, nor a token for chosen
// content gives it.
func inPerson(who identity.Principal) error {
	if !who.InPerson() {
		return fault.New(fault.Forbidden, "An approval needs an invocation of your own")
	}
	return nil
}

// replyPaused answers a message whose turn waits for its user, who is not to wait
// for themselves.
func (a *api) replyPaused(w http.ResponseWriter, r *http.Request, rests oracle.Run) error {
	waiting, err := a.deps.Engine.Pending(r.Context(), rests.Owner, rests.SessionID)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, ReplyBody{
		Message:   ReplyMessage{Type: oracle.AI, Content: turn.Question(waiting), ID: rests.ID},
		SessionID: rests.SessionID, RunID: rests.ID, Status: turn.Paused, Approvals: oracle.ApprovalBodies(waiting),
	})
}
