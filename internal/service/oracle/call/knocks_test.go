package call_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
)

// Whoever begins a call anew again and again, each time with as many addresses as an offer
// may have, does not make the node knock at all of them. Others are not held up by that.
func TestAddressesAreCountedInAllOffersOfAPerson(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	alice, bob := calltest.NewPage(t, n, identitytest.Alice), calltest.NewPage(t, n, identitytest.Bob)
	for _, p := range []*calltest.Page{alice, bob} {
		p.Create(call.Audio, false)
		p.NewPeer()
	}
	said := func(answer json.RawMessage) string {
		var a calltest.Answer
		if err := json.Unmarshal(answer, &a); err != nil {
			t.Fatal(err)
		}
		return a.Error.Code
	}
	payload := alice.OfferPayload(false)
	good := payload["sdp"].(string)
	taken, code := 0, ""
	for round := range 20 {
		var lines strings.Builder
		for i := range 100 {
			fmt.Fprintf(&lines, "a=candidate:%d 1 udp 1 198.51.100.%d %d typ host\r\n", i+1, round+1, 10000+i)
		}
		sdp := strings.Replace(good, "a=mid:0\r\n", "a=mid:0\r\n"+lines.String(), 1)
		payload["sdp"] = strings.ReplaceAll(sdp, "a=ice-ufrag:", fmt.Sprintf("a=ice-ufrag:r%d", round))
		if code = said(alice.Socket.Ask(t, "call_offer", payload)); code == "" {
			taken++
		}
	}
	if taken == 0 || taken > 5 || code != "rate_limited" {
		t.Errorf("%d offers of 100 addresses were taken, and the last says %q", taken, code)
	}
	one := map[string]any{"candidate": "candidate:1 1 udp 1 198.51.100.99 9 typ host", "sdpMid": "0"}
	ice := map[string]any{"callId": alice.Call.CallID, "candidate": one}
	for range 600 { // until the last minute's measure is used up
		if code = said(alice.Socket.Ask(t, "call_ice", ice)); code == "rate_limited" {
			break
		}
	}
	if code != "rate_limited" {
		t.Errorf("one more address: %q", code)
	}
	bob.Offer(false)
}
