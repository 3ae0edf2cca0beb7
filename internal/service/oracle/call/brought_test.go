package call_test

import (
	"encoding/json"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// bringing is Access that notes what turns bring.
type bringing struct {
	turn.Access
	brought chan identity.Brought
}

func (a bringing) Files(userDID string, b identity.Brought) plugin.Files {
	a.brought <- b
	return a.Access.Files(userDID, b)
}

// What is said in a call is done with what the call stands on, which pages change over the
// socket: a delegation beside an invocation is one thing, and alone another (ADR 0270).
func TestACallBringsWhatItStandsOn(t *testing.T) {
	t.Parallel()
	access := bringing{turn.NoAccess(), make(chan identity.Brought, 64)}
	p := calltest.NewPage(t, calltest.Start(t, calltest.Setup{Access: access}), identitytest.Alice)
	p.Ring(call.Audio, false)
	delegation := identitytest.UserToOracle(t, identitytest.Alice, identitytest.Oracle.DID)
	invocation := identitytest.Invocation(t, identitytest.Alice, identitytest.Oracle.DID, identitytest.Nonce("again"))
	for _, c := range []struct {
		credentials map[string]any
		want        identity.Brought
	}{
		{map[string]any{"invocation": invocation}, identity.Brought{InPerson: true}},
		{map[string]any{"invocation": invocation, "ucanDelegation": delegation}, identity.Brought{Delegation: delegation, InPerson: true}},
		{map[string]any{"ucanDelegation": delegation}, identity.Brought{Delegation: delegation}},
	} {
		c.credentials["callId"] = p.Call.CallID
		var ack struct{ OK bool }
		if err := json.Unmarshal(p.Socket.Ask(t, "call_renew", c.credentials), &ack); err != nil || !ack.OK {
			t.Fatalf("renew: %+v, %v", ack, err)
		}
		for len(access.brought) > 0 {
			<-access.brought
		}
		p.Send(map[string]any{"type": "text", "text": "hello?"})
		got := <-access.brought
		for got == (identity.Brought{}) { // the end of the turn before is told without any
			got = <-access.brought
		}
		if got != c.want {
			t.Errorf("brought in person %v, with a delegation %v", got.InPerson, got.Delegation != "")
		}
		p.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	}
}
