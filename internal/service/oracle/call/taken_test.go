package call_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callhttp"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
)

// Another tab takes a call over: the first is told, and can neither take it back by mending
// its line nor end it. It can be taken back as it was taken.
func TestAnotherTabTakesTheCallOver(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	first := calltest.NewPage(t, n, identitytest.Alice)
	first.Ring(call.Audio, false)
	first.Send(map[string]any{"type": "mute", "muted": true})
	var open callhttp.List
	first.Must(http.StatusOK, "GET", "/calls", nil, &open)
	if len(open.Calls) != 1 || open.Calls[0].CallID != first.Call.CallID || open.Calls[0].Identity == nil {
		t.Fatalf("the call is not found: %+v", open)
	}
	stale := first.OfferPayload(true)
	second := calltest.NewPage(t, n, identitytest.Alice)
	second.Session, second.Call = first.Session, open.Calls[0]
	second.Socket.Close()
	second.Socket = calltest.Dial(t, n.URL, second.Session, second.Token)
	second.Connect()
	var end struct{ CallID, Reason string }
	if err := json.Unmarshal(first.Socket.Await(t, "call_end"), &end); err != nil || end.Reason != "taken" ||
		end.CallID != first.Call.CallID {
		t.Errorf("the first page is told %+v, %v", end, err)
	}
	if code := refusal(t, first.Socket.Ask(t, "call_offer", stale)); code != "taken" {
		t.Errorf("the first page mends its line: %s", code)
	}
	if code := refusal(t, first.Socket.Ask(t, "call_ice", map[string]any{"callId": end.CallID, "candidate": nil})); code != "taken" {
		t.Errorf("the first page has another address: %s", code)
	}
	first.Socket.Ask(t, "call_end", map[string]any{"callId": end.CallID})
	second.Send(map[string]any{"type": "text", "text": "it is me"})
	second.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	if err := first.PC.Close(); err != nil {
		t.Error(err)
	}
	first.Connect() // with a new transport
	first.Send(map[string]any{"type": "text", "text": "and back"})
	first.Await("caption", "role", "user", "text", "and back")
	if got := n.Calls.Stats(); got.Live != 1 || got.Served != 1 {
		t.Errorf("%+v, want one call", got)
	}
	first.Socket.Ask(t, "call_end", map[string]any{"callId": end.CallID})
	ends(t, first, call.Hangup)
	first.Must(http.StatusOK, "GET", "/calls", nil, &open)
	if len(open.Calls) != 0 {
		t.Errorf("a call that has ended is open: %+v", open)
	}
}

// A tab that cannot take the call over takes it from nobody.
func TestATakeOverThatFailsLeavesTheCall(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	first := calltest.NewPage(t, n, identitytest.Alice)
	first.Ring(call.Audio, false)
	second := calltest.NewPage(t, n, identitytest.Alice)
	second.Session, second.Call = first.Session, first.Call
	second.Socket.Close()
	second.Socket = calltest.Dial(t, n.URL, second.Session, second.Token)
	second.NewPeer()
	broken := second.OfferPayload(false)
	broken["sdp"] = fmt.Sprint("a=fingerprint:", broken["fingerprint"], "\r\n")
	if code := refusal(t, second.Socket.Ask(t, "call_offer", broken)); code == "" || code == "taken" {
		t.Errorf("the offer is answered with %q", code)
	}
	first.Send(map[string]any{"type": "text", "text": "still here"})
	first.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	var ack calltest.Answer
	said := first.Socket.Ask(t, "call_ice", map[string]any{"callId": first.Call.CallID, "candidate": nil})
	if err := json.Unmarshal(said, &ack); err != nil || !ack.OK {
		t.Errorf("the first page is told %s", said)
	}
	first.Socket.Ask(t, "call_end", map[string]any{"callId": first.Call.CallID})
	ends(t, first, call.Hangup)
}

// A page that was away while its call was taken over does not know it: when it hangs up,
// by its new socket or without one, the call goes on in the other page.
func TestAPageThatWasAwayEndsNoCallOfAnother(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	first := calltest.NewPage(t, n, identitytest.Alice)
	first.Ring(call.Audio, false)
	was := first.OfferPayload(true)["fingerprint"]
	first.Socket.Close()
	second := calltest.NewPage(t, n, identitytest.Alice)
	second.Session, second.Call = first.Session, first.Call
	second.Socket.Close()
	second.Socket = calltest.Dial(t, n.URL, second.Session, second.Token)
	second.Connect()
	first.Socket = calltest.Dial(t, n.URL, first.Session, first.Token)
	var ack struct{ OK, Taken bool }
	said := first.Socket.Ask(t, "call_end", map[string]any{"callId": first.Call.CallID, "fingerprint": was})
	if err := json.Unmarshal(said, &ack); err != nil || !ack.OK || !ack.Taken {
		t.Errorf("the first page is told %s", said)
	}
	path, ended := "/calls/"+first.Call.CallID, map[string]any{"callStatus": "ended", "fingerprint": was}
	first.Must(http.StatusConflict, "PATCH", path, ended, nil)
	ended["fingerprint"] = "mine"
	first.Must(http.StatusBadRequest, "PATCH", path, ended, nil)
	second.Send(map[string]any{"type": "text", "text": "it is me"})
	second.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	ended["fingerprint"] = second.OfferPayload(true)["fingerprint"]
	second.Must(http.StatusOK, "PATCH", path, ended, nil)
	ends(t, second, call.Hangup)
}
