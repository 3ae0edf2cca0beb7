package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callhttp"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callrtc"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// ends waits until the record says that the call is over, and why.
func ends(t *testing.T, p *calltest.Page, reason call.Reason) {
	t.Helper()
	deadline := time.Now().Add(calltest.Patience)
	for {
		var got callhttp.Body
		p.Must(http.StatusOK, "GET", "/calls/"+p.Call.CallID, nil, &got)
		if got.CallStatus == call.Ended {
			if got.Reason != reason || got.CallEndedAt == "" || got.Identity != nil || got.ICEServers != nil {
				t.Errorf("the call ended as %+v, want %s and no identity", got, reason)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the call never ended; it is %s", got.CallStatus)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// told waits until the page hears that its call is over.
func told(t *testing.T, p *calltest.Page, event string, reason call.Reason) {
	t.Helper()
	var got struct{ CallID, SessionID, Reason, EventName string }
	if err := json.Unmarshal(p.Socket.Await(t, event), &got); err != nil {
		t.Fatal(err)
	}
	if got.CallID != p.Call.CallID || got.SessionID != p.Session || got.Reason != string(reason) ||
		got.EventName != event {
		t.Errorf("%s says %+v, want %s", event, got, reason)
	}
}

// refusal is the code of an acknowledgement that says no.
func refusal(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var a calltest.Answer
	if err := json.Unmarshal(raw, &a); err != nil || a.OK || a.Error.Message == "" {
		t.Fatalf("acknowledged with %s: %v", raw, err)
	}
	return a.Error.Code
}

func TestALifeOfACall(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		n := calltest.Start(t, calltest.Setup{DB: oracletest.Migrated(t, open(t))})
		p := calltest.NewPage(t, n, identitytest.Alice)
		p.Ring(call.Audio, false)
		if p.Call.CallStatus != call.Pending || p.Call.Limits.MaxSeconds != 3600 || p.Call.Speech != (call.SpeechState{}) {
			t.Errorf("made %+v", p.Call)
		}
		var state struct{ CallStatus, ExpiresAt string }
		if err := json.Unmarshal(p.Socket.Await(t, "call_state"), &state); err != nil || state.CallStatus != "active" ||
			state.ExpiresAt != p.Call.ExpiresAt {
			t.Errorf("state %+v, %v", state, err)
		}
		p.Hear(100 * time.Millisecond)
		var list callhttp.List
		p.Must(http.StatusOK, "GET", "/calls?sessionId="+p.Session, nil, &list)
		if len(list.Calls) != 1 || list.Calls[0].CallStatus != call.Active || list.Calls[0].CallStartedAt == "" {
			t.Errorf("listed %+v", list)
		}
		p.Must(http.StatusOK, "PATCH", "/calls/"+p.Call.CallID, `{"callStatus":"active","callStartedAt":"2026-11-15T20:00:00.000Z"}`, nil)
		late := p.OfferPayload(false)
		if got := string(p.Socket.Ask(t, "call_end", map[string]any{"callId": p.Call.CallID})); got != `{"ok":true}` {
			t.Errorf("call_end: %s", got)
		}
		p.Await("bye", "reason", "hangup")
		told(t, p, "call_end", call.Hangup)
		ends(t, p, call.Hangup)
		p.Must(http.StatusOK, "PATCH", "/calls/"+p.Call.CallID, `{"callStatus":"ended"}`, nil)
		p.Must(http.StatusConflict, "PATCH", "/calls/"+p.Call.CallID, `{"callStatus":"active"}`, nil)
		if code := refusal(t, p.Socket.Ask(t, "call_offer", late)); code != "call_ended" {
			t.Errorf("an offer to an ended call: %s", code)
		}
	})
}

func TestVideoComesBack(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Video, false)
	for i := range uint16(50) {
		p.Camera(vp8(i, []byte{0x00, 0x9d, 0x01, 0x2a, byte(i)}))
		time.Sleep(time.Millisecond)
	}
	p.See(40)
}

// vp8 is one packet with a whole frame.
func vp8(i uint16, frame []byte) *rtp.Packet {
	return &rtp.Packet{
		Header:  rtp.Header{Version: 2, Marker: true, SequenceNumber: i, Timestamp: 3000 * uint32(i)},
		Payload: append([]byte{0x10}, frame...),
	}
}

func TestFramesAreSealedBetweenTheEnds(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "sealed words")
	n := calltest.Start(t, calltest.Setup{Hearing: speech.Client(t)})
	p := calltest.NewPage(t, n, identitytest.Alice)
	seen := make(chan []byte, 256)
	p.Seen = func(packet *rtp.Packet) {
		if frame, err := p.Framed.OpenVideo.Open(packet.Payload[1:], callframe.ClearVP8(packet.Payload[1:])); err == nil {
			seen <- frame
		}
	}
	p.Ring(call.Video, true)
	p.Hear(500 * time.Millisecond) // only what opens counts
	p.Talk(1)
	p.Pause(1)
	p.Await("caption", "role", "user", "text", "sealed words")
	picture := append([]byte{0x00, 0x01, 0x02, 0x9d, 0x01, 0x2a, 0x10, 0x00, 0x10, 0x00}, "a picture"...)
	for i := range uint16(60) {
		p.Camera(vp8(i, p.Framed.SealVideo.Seal(picture, callframe.ClearVP8(picture))))
		time.Sleep(time.Millisecond)
	}
	select {
	case got := <-seen:
		if diff := cmp.Diff(picture, got); diff != "" {
			t.Errorf("the picture came back as (-want +got):\n%s", diff)
		}
	case <-time.After(calltest.Patience):
		t.Fatal("no picture came back that opens")
	}
}

func TestAFramedCallNeedsAKey(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Create(call.Audio, true)
	p.NewPeer()
	offer := p.OfferPayload(false)
	for _, key := range []any{"", "AAAA", strings.Repeat("A", 43), 7} {
		offer["frameKey"] = key
		if code := refusal(t, p.Socket.Ask(t, "call_offer", offer)); code != "invalid" {
			t.Errorf("frameKey %v: %s", key, code)
		}
	}
}

func TestAnICERestartKeepsTheCall(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	before := p.PC.RemoteDescription().SDP
	p.Offer(true)
	if ufrag(before) == ufrag(p.PC.RemoteDescription().SDP) {
		t.Error("the restart kept the old credentials of ICE")
	}
	p.Send(map[string]any{"type": "text", "text": "still there?"})
	p.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	p.Must(http.StatusOK, "GET", "/calls/"+p.Call.CallID, nil, &p.Call)
	if p.Call.CallStatus != call.Active {
		t.Errorf("the call is %s", p.Call.CallStatus)
	}
}

func ufrag(sdp string) string {
	_, rest, _ := strings.Cut(sdp, "a=ice-ufrag:")
	out, _, _ := strings.Cut(rest, "\r\n")
	return out
}

func TestAReloadedPageGoesOnWithItsCall(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	old := p.PC
	p.Socket.Close()
	p.Socket = calltest.Dial(t, n.URL, p.Session, p.Token)
	p.Connect()
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	p.Send(map[string]any{"type": "text", "text": "me again"})
	p.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	if got := n.Calls.Stats(); got.Live != 1 || got.Served != 1 {
		t.Errorf("%+v, want one call", got)
	}
}

func TestCallsThatNobodyAnswersEnd(t *testing.T) {
	t.Parallel()
	t.Run("never connected", func(t *testing.T) {
		t.Parallel()
		n := calltest.Start(t, calltest.Setup{Call: call.Config{Connect: 50 * time.Millisecond}})
		p := calltest.NewPage(t, n, identitytest.Alice)
		p.Create(call.Audio, false)
		ends(t, p, call.Timeout)
	})
	t.Run("gone and not back", func(t *testing.T) {
		t.Parallel()
		// A page that only listens is heard of once a second.
		n := calltest.Start(t, calltest.Setup{
			Call: call.Config{Reconnect: 100 * time.Millisecond},
			RTC:  callrtc.Config{DisconnectedAfter: 2 * time.Second, FailedAfter: 4 * time.Second},
		})
		p := calltest.NewPage(t, n, identitytest.Alice)
		p.Ring(call.Audio, false)
		if err := p.PC.Close(); err != nil {
			t.Fatal(err)
		}
		told(t, p, "call_end", call.Timeout)
		ends(t, p, call.Timeout)
	})
	t.Run("too long", func(t *testing.T) {
		t.Parallel()
		n := calltest.Start(t, calltest.Setup{Call: call.Config{MaxLength: shortly(t)}})
		p := calltest.NewPage(t, n, identitytest.Alice)
		p.Ring(call.Audio, false)
		p.Await("bye", "reason", "limit")
		ends(t, p, call.TooLong)
	})
}

// shortly is when a call, or its credential, may end that is to connect first:
// not before that is done, on a machine as busy as this one is now.
func shortly(t *testing.T) time.Duration {
	t.Helper()
	start := time.Now()
	calltest.NewPage(t, calltest.Start(t, calltest.Setup{}), identitytest.Alice).Ring(call.Audio, false)
	return min(max(6*time.Second, 3*time.Since(start)), calltest.Patience/2)
}

func TestACallEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	t.Run("revoked", func(t *testing.T) {
		t.Parallel()
		n := calltest.Start(t, calltest.Setup{})
		p := calltest.NewPage(t, n, identitytest.Alice)
		p.Ring(call.Audio, false)
		if _, err := n.Identity.RevokeByOperator(t.Context(), identity.RevokedIssuer, identitytest.Alice.DID); err != nil {
			t.Fatal(err)
		}
		p.Await("bye", "reason", "token_revoked")
		r, err := n.Store.Call(t.Context(), identitytest.Alice.DID, p.Call.CallID)
		for ; err == nil && r.Status != call.Ended; r, err = n.Store.Call(t.Context(), identitytest.Alice.DID,
			p.Call.CallID) {
			time.Sleep(5 * time.Millisecond)
		}
		if err != nil || r.Reason != call.TokenRevoked {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		n := calltest.Start(t, calltest.Setup{})
		p := calltest.NewPage(t, n, identitytest.Alice, identitytest.TTL(shortly(t)))
		p.Ring(call.Audio, false)
		p.Await("bye", "reason", "token_expired")
		p.Token = identitytest.Invocation(t, identitytest.Alice, identitytest.Oracle.DID, identitytest.Nonce("later"))
		ends(t, p, call.TokenExpired)
	})
	t.Run("renewed", func(t *testing.T) {
		t.Parallel()
		n := calltest.Start(t, calltest.Setup{})
		p := calltest.NewPage(t, n, identitytest.Alice, identitytest.TTL(shortly(t)))
		p.Ring(call.Audio, false)
		fresh := identitytest.Invocation(t, identitytest.Alice, identitytest.Oracle.DID, identitytest.Nonce("fresh"))
		renew := func(token string) json.RawMessage {
			return p.Socket.Ask(t, "call_renew", map[string]any{"callId": p.Call.CallID, "invocation": token})
		}
		if code := refusal(t, renew("nonsense")); code != "malformed" {
			t.Errorf("a bad credential: %s", code)
		}
		if code := refusal(t, renew(identitytest.Invocation(t, identitytest.Bob, identitytest.Oracle.DID))); code != "forbidden" {
			t.Errorf("somebody else's credential: %s", code)
		}
		var ack struct {
			OK        bool
			ExpiresAt time.Time
		}
		if err := json.Unmarshal(renew(fresh), &ack); err != nil || !ack.OK || time.Until(ack.ExpiresAt) < 10*time.Second {
			t.Fatalf("renewed: %+v, %v", ack, err)
		}
		p.Socket.Closed(t) // the old token is over, and so is its socket
		p.Token = fresh
		p.Socket = calltest.Dial(t, n.URL, p.Session, p.Token)
		p.Send(map[string]any{"type": "text", "text": "still there?"})
		p.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	})
}

func TestACallOfSomebodyElseIsNotThere(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	alice, bob := calltest.NewPage(t, n, identitytest.Alice), calltest.NewPage(t, n, identitytest.Bob)
	alice.Create(call.Audio, false)
	unknown := "0b4d3a44-0000-4000-8000-000000000000"
	for _, q := range []struct{ method, path, body string }{
		{"GET", "/calls/%s", ""}, {"PATCH", "/calls/%s", `{"callStatus":"ended"}`},
	} {
		foreign, a := bob.Do(q.method, fmt.Sprintf(q.path, alice.Call.CallID), q.body)
		missing, b := bob.Do(q.method, fmt.Sprintf(q.path, unknown), q.body)
		if foreign != http.StatusNotFound || missing != foreign || string(a) != string(b) {
			t.Errorf("%s: %d %s, and %d %s", q.method, foreign, a, missing, b)
		}
	}
	if status, body := bob.Do("GET", "/calls?sessionId="+alice.Session, nil); status != http.StatusNotFound {
		t.Errorf("calls of another's session: %d %s", status, body)
	}
	if status, body := bob.Do("POST", "/calls",
		callhttp.CreateBody{SessionID: alice.Session, CallType: "audio"}); status != http.StatusNotFound {
		t.Errorf("a call in another's session: %d %s", status, body)
	}
	alice.NewPeer()
	offer := alice.OfferPayload(false)
	for _, id := range []string{alice.Call.CallID, unknown} {
		offer["callId"] = id
		for name, payload := range map[string]any{
			"call_offer": offer, "call_ice": map[string]any{"callId": id, "candidate": nil}, "call_end": map[string]any{"callId": id},
			"call_renew": map[string]any{"callId": id, "invocation": bob.Token},
		} {
			if code := refusal(t, bob.Socket.Ask(t, name, payload)); code != "not_found" {
				t.Errorf("%s of %s: %s", name, id, code)
			}
		}
	}
	other := calltest.NewPage(t, n, identitytest.Alice) // her own, but another session
	if code := refusal(t, other.Socket.Ask(t, "call_end", map[string]any{"callId": alice.Call.CallID})); code != "not_found" {
		t.Errorf("from another session: %s", code)
	}
}

func TestCallsAreLimited(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db, hints := oracletest.Migrated(t, open(t)), calltest.Hints(t)
		ids := identitytest.New(t)
		a := calltest.Start(t, calltest.Setup{DB: db, Bus: hints, Identity: ids, Call: call.Config{PerUser: 2, PerNode: 3}})
		b := calltest.Start(t, calltest.Setup{DB: db, Bus: hints, Identity: ids, Call: call.Config{PerUser: 2, PerNode: 3}})
		p := calltest.NewPage(t, a, identitytest.Alice)
		p.Create(call.Audio, false)
		first := p.Call.CallID
		p.Base = b.URL
		p.Create(call.Audio, false)
		for _, n := range []*calltest.Node{a, b} {
			p.Base = n.URL
			if status, body := p.Do("POST", "/calls",
				callhttp.CreateBody{SessionID: p.Session, CallType: "audio"}); status != http.StatusTooManyRequests {
				t.Errorf("a third call: %d %s", status, body)
			}
		}
		p.Must(http.StatusOK, "PATCH", "/calls/"+first, `{"callStatus":"ended"}`, nil)
		p.Base = b.URL
		p.Create(call.Audio, false)
		for _, who := range []identitytest.Actor{identitytest.Bob, identitytest.Mallory} {
			q := calltest.NewPage(t, b, who)
			status, body := q.Do("POST", "/calls", callhttp.CreateBody{SessionID: q.Session, CallType: "audio"})
			if want := map[string]int{
				identitytest.Bob.DID:     http.StatusCreated,
				identitytest.Mallory.DID: http.StatusServiceUnavailable,
			}[who.DID]; status != want {
				t.Errorf("on a full node: %d %s, want %d", status, body, want)
			}
		}
	})
}

func TestADrainingNodeTellsItsPages(t *testing.T) {
	t.Parallel()
	db, hints := oracletest.Migrated(t, sqldbtest.SQLite(t)), calltest.Hints(t)
	ids := identitytest.New(t)
	a := calltest.Start(t, calltest.Setup{DB: db, Bus: hints, Identity: ids})
	b := calltest.Start(t, calltest.Setup{DB: db, Bus: hints, Identity: ids})
	p := calltest.NewPage(t, a, identitytest.Alice)
	p.Ring(call.Audio, false)
	go a.Stop()
	p.Await("bye", "reason", "drain")
	told(t, p, "call_moved", call.Drained)
	p.Base = b.URL
	ends(t, p, call.Drained)
	p.Socket = calltest.Dial(t, b.URL, p.Session, p.Token)
	p.Ring(call.Audio, false) // elsewhere
}

func TestACallAndItsPageOnDifferentNodes(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db, hints := oracletest.Migrated(t, open(t)), calltest.Hints(t)
		ids := identitytest.New(t)
		a := calltest.Start(t, calltest.Setup{DB: db, Bus: hints, Identity: ids})
		b := calltest.Start(t, calltest.Setup{DB: db, Bus: hints, Identity: ids})
		p := calltest.NewPage(t, b, identitytest.Alice)
		p.Base = a.URL // made there, talked about here
		p.Create(call.Audio, false)
		p.Base = b.URL
		p.Connect()
		p.Socket.Await(t, "call_state")
		if a.Calls.Stats().Live != 1 || b.Calls.Stats().Live != 0 {
			t.Errorf("the call is not where it was made")
		}
		if got := string(p.Socket.Ask(t, "call_ice", map[string]any{"callId": p.Call.CallID, "candidate": nil})); got != `{"ok":true}` {
			t.Errorf("call_ice: %s", got)
		}
		forged := fmt.Sprintf(`{"body":{"from":{"owner":%q,"sessionId":%q},"name":"call_end","data":{"callId":%q}},"signature":"AAAA"}`,
			identitytest.Alice.DID, p.Session, p.Call.CallID)
		if _, err := hints.Request(t.Context(), "oracle.call.desk."+bus.Token(a.Name), []byte(forged)); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a forged event: %v", err)
		}
		p.Must(http.StatusOK, "PATCH", "/calls/"+p.Call.CallID, `{"callStatus":"ended","reason":"bored"}`, nil)
		p.Await("bye", "reason", "bored")
		told(t, p, "call_end", "bored")
	})
}

func TestADeadNodesCallsAreInterrupted(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := oracletest.Migrated(t, open(t))
		n := calltest.Start(t,
			calltest.Setup{DB: db, Call: call.Config{Lease: 3 * time.Second, Look: 100 * time.Millisecond}})
		p := calltest.NewPage(t, n, identitytest.Alice)
		p.Create(call.Audio, false) // one that lives, and is renewed
		dead := call.Record{
			ID: "dead", SessionID: p.Session, Owner: identitytest.Alice.DID, Node: "gone", Type: call.Audio,
			CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
		}
		if err := n.Store.CreateCall(t.Context(), dead, call.Claim{PerUser: 10, TTL: 200 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		mine := p.Call.CallID
		p.Call.CallID = dead.ID
		told(t, p, "call_end", call.Interrupted)
		ends(t, p, call.Interrupted)
		if code := refusal(t, p.Socket.Ask(t, "call_renew", map[string]any{"callId": dead.ID, "invocation": p.Token})); code != "call_ended" {
			t.Errorf("renewing a dead call: %s", code)
		}
		p.Must(http.StatusOK, "GET", "/calls/"+mine, nil, &p.Call)
		if p.Call.CallStatus != call.Pending {
			t.Errorf("the living call is %s", p.Call.CallStatus)
		}
	})
}

func TestADeletedSessionEndsItsCalls(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Must(http.StatusOK, "DELETE", "/sessions/"+p.Session, nil, nil)
	p.Await("bye", "reason", "session_deleted")
	p.Must(http.StatusNotFound, "GET", "/calls/"+p.Call.CallID, nil, nil)
}

func TestAnotherCertificateThanSaidIsRefused(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Create(call.Audio, false)
	p.NewPeer()
	offer := p.OfferPayload(false)
	offer["fingerprint"] = "sha-256 " + strings.TrimSuffix(strings.Repeat("AB:", 32), ":")
	if code := refusal(t, p.Socket.Ask(t, "call_offer", offer)); code != "fingerprint_mismatch" {
		t.Errorf("code %s", code)
	}
	// Both say so, and the page's transport is another: nothing flows.
	sdp, _ := offer["sdp"].(string)
	offer["sdp"] = strings.ReplaceAll(sdp, "a=fingerprint:"+strings.ReplaceAll(calltest.RawFingerprint(sdp), "\r", ""),
		"a=fingerprint:"+fmt.Sprint(offer["fingerprint"]))
	var a calltest.Answer
	if err := json.Unmarshal(p.Socket.Ask(t, "call_offer", offer), &a); err != nil || !a.OK {
		t.Fatalf("%+v, %v", a, err)
	}
	failed, fail := context.WithCancel(t.Context())
	defer fail()
	p.PC.OnConnectionStateChange(func(s webrtc.PeerConnectionState) {
		if s == webrtc.PeerConnectionStateFailed || s == webrtc.PeerConnectionStateClosed {
			fail() // both states may come, one after the other
		}
	})
	if err := p.PC.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: a.SDP}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-failed.Done():
	case <-time.After(calltest.Patience):
		t.Error("the page was not refused")
	}
	if p.Heard() > 0 {
		t.Error("the page heard something")
	}
}

func TestACallThroughTheRelay(t *testing.T) {
	t.Parallel()
	relay, err := callrtc.NewRelay(t.Context(), callrtc.RelayConfig{Listen: "127.0.0.1:0", PublicIP: "127.0.0.1", Secret: "between us"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := relay.Close(); err != nil {
			t.Error(err)
		}
	})
	n := calltest.Start(t, calltest.Setup{RTC: callrtc.Config{Relay: relay}})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Video, false, func(c *webrtc.Configuration) {
		c.ICETransportPolicy = webrtc.ICETransportPolicyRelay
		for _, s := range p.Call.ICEServers {
			c.ICEServers = append(c.ICEServers, webrtc.ICEServer{URLs: s.URLs, Username: s.Username, Credential: s.Credential})
		}
	})
	if relay.Allocations() == 0 {
		t.Error("nothing is relayed")
	}
	p.Hear(200 * time.Millisecond)
	for i := range uint16(50) {
		p.Camera(vp8(i, []byte{0x00, 0x9d, 0x01, 0x2a, byte(i)}))
		time.Sleep(time.Millisecond)
	}
	p.See(30)
}
