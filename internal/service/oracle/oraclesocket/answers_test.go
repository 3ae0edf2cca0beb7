package oraclesocket_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// answerDesk remembers what it heard.
type answerDesk struct{ heard chan oracle.Answer }

func (d answerDesk) Answer(_ context.Context, a oracle.Answer, _ oracle.Carried) (oracle.Approval, error) {
	d.heard <- a
	if a.Decision == oracle.Deny {
		return oracle.Approval{}, oracle.ErrAnswered
	}
	return oracle.Approval{ID: a.ApprovalID, Decision: a.Decision}, nil
}

func TestAPageAnswers(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	desk := answerDesk{make(chan oracle.Answer, 9)}
	n.TakeAnswers(desk)
	page := n.connect(t)
	page.Send(`427["approval_answer",{"approvalId":"a-1","decision":"approve"}]`)
	if got := page.Packet(); !strings.HasPrefix(got, "437[") || !strings.Contains(got, `"ok":true`) ||
		!strings.Contains(got, `"decision":"approve"`) {
		t.Errorf("acknowledged with %s", got)
	}
	heard := <-desk.heard
	if heard.By == "" {
		t.Error("nobody knows by which token")
	}
	heard.By = ""
	if d := cmp.Diff(oracle.Answer{
		ApprovalID: "a-1", Owner: identitytest.Alice.DID, Via: oracle.ViaSocket,
		Decision: oracle.Approve, InPerson: true,
	}, heard); d != "" {
		t.Error(d)
	}
	page.Send(`428["approval_answer",{"approvalId":"a-1","decision":"deny"}]`)
	if got := page.Packet(); !strings.Contains(got, `"ok":false`) || !strings.Contains(got, "approval_answered") {
		t.Errorf("acknowledged with %s", got)
	}
	<-desk.heard
	for _, odd := range []string{`,{"approvalId":"a-1","Decision":"approve"}`, `,{"APPROVALID":"a-1","decision":"approve"}`, ``} {
		page.Send(`429["approval_answer"` + odd + `]`)
		if got := page.Packet(); !strings.Contains(got, `"code":"invalid"`) || len(desk.heard) != 0 {
			t.Errorf("%s is acknowledged with %s", odd, got)
		}
	}
}

func TestABareDelegationAnswersNothing(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	desk := answerDesk{make(chan oracle.Answer, 9)}
	n.TakeAnswers(desk)
	page := socketiotest.Connect(t, n.url, "sessionId="+alices, map[string]any{
		"ucanDelegation": identitytest.UserToOracle(t, identitytest.Alice, n.identity.DID()),
	})
	page.ExpectEvent("connected", nil)
	page.Send(`427["approval_answer",{"approvalId":"a-1","decision":"approve"}]`)
	if got := page.Packet(); !strings.Contains(got, "forbidden") || len(desk.heard) != 0 {
		t.Errorf("acknowledged with %s", got)
	}
}
