package oraclesocket

import (
	"context"
	"encoding/json"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// TakeAnswers makes h the one that hears what people approve and deny.
func (g *Gateway) TakeAnswers(h oracle.AnswerHandler) { g.answers.Store(&h) }

var (
	errNoAnswers   = fault.New(fault.Unavailable, "Approvals are not taken here").WithCode("unavailable")
	errNotInPerson = fault.New(fault.Forbidden, "An approval needs an invocation of your own").WithCode("forbidden")
)

// answer is what a page sends.
type answer struct {
	ApprovalID string          `json:"approvalId"`
	Decision   oracle.Decision `json:"decision"`
	Content    json.RawMessage `json:"content,omitempty"`
}

// takenAnswer is the acknowledgement of an answer that counts.
type takenAnswer struct {
	OK       bool                `json:"ok"`
	Approval oracle.ApprovalBody `json:"approval"`
}

// takeAnswer hands a page's answer on and acknowledges it.
func (g *Gateway) takeAnswer(s *socketio.Socket, p *page, e *socketio.Event) {
	raw, err := g.askAnswers(s, p, e)
	if err != nil {
		raw = g.refuseSignal(oracle.ClientApprovalAnswer, err)
	}
	if e.WantsAck() {
		_ = e.Ack(raw) // a socket that goes needs none
	}
}

func (g *Gateway) askAnswers(s *socketio.Socket, p *page, e *socketio.Event) (json.RawMessage, error) {
	handler := g.answers.Load()
	if handler == nil {
		return nil, errNoAnswers
	}
	if ok, _ := g.cfg.Events.Allow(ratelimit.KeyOf(p.did)); !ok {
		return nil, errTooMany
	}
	if p.token == "" {
		return nil, errNotInPerson
	}
	var a answer
	if err := e.Decode(0, &a); err != nil || len(e.Args) == 0 || strictjson.CheckNames(e.Args[0], &a) != nil {
		return nil, errBadSignal
	}
	ctx, cancel := context.WithTimeout(s.Context(), signalTime)
	defer cancel()
	got, err := (*handler).Answer(ctx, oracle.Answer{
		ApprovalID: a.ApprovalID, Owner: p.did, By: p.token, Via: oracle.ViaSocket, Decision: a.Decision,
		Content: a.Content, InPerson: true,
	}, oracle.Carried{})
	if err != nil {
		return nil, err
	}
	return json.Marshal(takenAnswer{OK: true, Approval: got.Body()})
}
