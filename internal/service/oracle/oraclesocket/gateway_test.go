package oraclesocket_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
)

// sessions knows who owns which session.
type sessions map[string]string

func (s sessions) CheckSession(_ context.Context, owner, id string) error {
	if id == "broken" {
		return context.DeadlineExceeded
	}
	if s[id] != owner {
		return fault.New(fault.NotFound, "Session not found")
	}
	return nil
}

// node is one gateway that serves.
type node struct {
	*oraclesocket.Gateway
	url      string
	identity *identity.Service
	stop     func()
}

const alices = "$alice:1" // a session id as Matrix makes them

// fleet starts gateways that share a bus. An own change may alter one's configuration.
func fleet(t *testing.T, n int, change ...func(*oraclesocket.Deps, *oraclesocket.Config)) []*node {
	t.Helper()
	hints := busmem.New()
	t.Cleanup(func() { _ = hints.Close() })
	ids := identitytest.New(t)
	nodes := make([]*node, n)
	for i := range nodes {
		nodes[i] = start(t, hints, ids, string(rune('a'+i)), n == 1, change...)
	}
	return nodes
}

func start(t *testing.T, hints bus.Bus, ids *identity.Service, name string, alone bool,
	change ...func(*oraclesocket.Deps, *oraclesocket.Config),
) *node {
	t.Helper()
	var serve http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve.ServeHTTP(w, r) }))
	d := oraclesocket.Deps{
		Guard: oraclesocket.NewGuard(ids), Bus: hints,
		Sessions: sessions{alices: identitytest.Alice.DID, "$alice:2": identitytest.Alice.DID, "bobs": identitytest.Bob.DID},
	}
	cfg := oraclesocket.Config{Node: name, NodeURL: server.URL, Alone: alone, AskWindow: time.Second}
	for _, f := range change {
		f(&d, &cfg)
	}
	answers := make(chan struct{}, 2)
	d.Bus = answeringBus{d.Bus, answers}
	g := oraclesocket.New(d, cfg)
	handler := g.Routes()[0].Handler
	serve = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := handler(w, r); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := g.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	from := 2 // what its pages ask, and where it is
	if cfg.Alone || cfg.NodeURL == "" {
		from = 1
	}
	for range from { // until then other nodes do not know of it
		select {
		case <-answers:
		case <-done:
		}
	}
	stop := sync.OnceFunc(func() {
		cancel()
		<-done
		server.Close()
	})
	t.Cleanup(stop)
	return &node{Gateway: g, url: server.URL + oraclesocket.Path, identity: ids, stop: stop}
}

// answeringBus tells when a node answers the others.
type answeringBus struct {
	bus.Bus
	answers chan<- struct{}
}

func (b answeringBus) Respond(subject string, fn bus.Responder) (bus.Subscription, error) {
	sub, err := b.Bus.Respond(subject, fn)
	select {
	case b.answers <- struct{}{}:
	default:
	}
	return sub, err
}

func (n *node) auth(t *testing.T, who identitytest.Actor, options ...identitytest.Option) map[string]any {
	t.Helper()
	return map[string]any{"invocation": identitytest.Invocation(t, who, n.identity.DID(), options...)}
}

// connect opens a page of Alice's session and reads its welcome.
func (n *node) connect(t *testing.T) *socketiotest.Client {
	t.Helper()
	c := socketiotest.Connect(t, n.url, "sessionId="+alices, n.auth(t, identitytest.Alice))
	c.ExpectEvent("connected", nil)
	return c
}

func fields(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return m
}

// expectHybrid reads an event and checks both of its forms.
func expectHybrid(t *testing.T, c *socketiotest.Client, name string, want map[string]any) {
	t.Helper()
	got, arg := c.Event()
	m := fields(t, arg)
	if got != name || m["eventName"] != name {
		t.Fatalf("received %s %s, want %s", got, arg, name)
	}
	payload, _ := m["payload"].(map[string]any)
	delete(m, "eventName")
	delete(m, "payload")
	if diff := cmp.Diff(m, payload); diff != "" {
		t.Errorf("%s: the two forms differ:\n%s", name, diff)
	}
	if stamp, ok := m["timestamp"].(string); ok {
		if _, err := time.Parse(time.RFC3339Nano, stamp); err != nil || !strings.HasSuffix(stamp, "Z") {
			t.Errorf("%s: timestamp %q", name, stamp)
		}
		delete(m, "timestamp")
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	c := socketiotest.Connect(t, n.url, "userDid=did:key:zMallory&sessionId="+alices, n.auth(t, identitytest.Alice))
	expectHybrid(t, c, "connected", map[string]any{"message": "Connected successfully", "sessionId": alices})
	other := socketiotest.Connect(t, n.url, "sessionId=bobs", n.auth(t, identitytest.Bob))
	other.ExpectEvent("connected", nil)

	c.Emit("ping")
	expectHybrid(t, c, "pong", map[string]any{"sessionId": alices})
	c.Emit("subscribe")
	expectHybrid(t, c, "subscribed", map[string]any{"sessionId": alices})
	c.Emit("status")
	expectHybrid(t, c, "status", map[string]any{"connected": true, "sessionId": alices, "activeSessions": 1.0, "totalConnections": 1.0})
	c.Emit("list-events")
	expectHybrid(t, c, "available-events", map[string]any{
		"sessionId": alices,
		"clientEvents": []any{
			"ping", "status", "subscribe", "list-events", "tool_result", "action_call_result",
			"call_offer", "call_ice", "call_end", "call_renew", "approval_answer",
		},
		"serverEvents": []any{
			"connected", "pong", "status", "subscribed", "available-events", "render_component", "tool_call",
			"action_call", "browser_tool_call", "router_update", "message_cache_invalidation",
			"call_ice", "call_end", "call_moved", "call_state", "run_started", "approval_required", "approval_answered", "citations",
		},
	})
	c.Send(`427["ping"]`)
	expectHybrid(t, c, "pong", map[string]any{"sessionId": alices})
	c.Expect("437[]")
	c.Send(`428["something-new",{"x":1}]`)
	c.Expect("438[]")
}

func TestDelegationAloneIsEnough(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	c := socketiotest.Connect(t, n.url, "sessionId="+alices, map[string]any{
		"ucanDelegation": identitytest.UserToOracle(t, identitytest.Alice, n.identity.DID()),
	})
	c.ExpectEvent("connected", nil)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	good := n.auth(t, identitytest.Alice)
	longest := strings.Repeat("A", 2*ucan.MaxBytes) // as text; it is read before it is refused
	narrow := func(can identitytest.Option) map[string]any {
		return map[string]any{"ucanDelegation": identitytest.Delegation(t, identitytest.Alice, n.identity.DID(), can)}
	}
	for name, test := range map[string]struct {
		query string
		auth  any
		want  string
	}{
		"no session":        {"", good, `{"message":"Missing sessionId","data":{"statusCode":400}}`},
		"no credential":     {"sessionId=" + alices, nil, "401"},
		"empty credentials": {"sessionId=" + alices, map[string]any{"invocation": "", "ucanDelegation": ""}, "401"},
		"malformed":         {"sessionId=" + alices, map[string]any{"invocation": "nonsense"}, "Invalid UCAN invocation"},
		"not even a string": {"sessionId=" + alices, map[string]any{"invocation": 7}, "Invalid UCAN invocation"},
		"expired": {
			"sessionId=" + alices,
			n.auth(t, identitytest.Alice, identitytest.Expires(time.Now().Add(-time.Minute))), "Invalid UCAN invocation",
		},
		"two of the longest": {
			"sessionId=" + alices, map[string]any{"invocation": longest, "ucanDelegation": longest}, "Invalid UCAN invocation",
		},
		"bad delegation": {"sessionId=" + alices, map[string]any{"ucanDelegation": "nonsense"}, "401"},
		"not rescued": {
			"sessionId=" + alices,
			map[string]any{"invocation": "nonsense", "ucanDelegation": identitytest.UserToOracle(t, identitytest.Alice,
				n.identity.DID())},
			"Invalid UCAN invocation",
		},
		"for files":           {"sessionId=" + alices, narrow(identitytest.Can("*", identitytest.Alice.Home(""))), "401"},
		"for no CID":          {"sessionId=" + alices, narrow(identitytest.CIDs("fs/list", identitytest.Alice.Home(""))), "401"},
		"for queries":         {"sessionId=" + alices, narrow(identitytest.Can(identity.QueryAbility, identity.QueryResource)), "401"},
		"for one tool":        {"sessionId=" + alices, narrow(identitytest.Can("mcp/call", "ixo:oracle:x:mcp/db/query")), "401"},
		"somebody else's":     {"sessionId=bobs", good, `{"message":"Session not found","data":{"statusCode":404}}`},
		"unknown session":     {"sessionId=nothing", good, `{"message":"Session not found","data":{"statusCode":404}}`},
		"DID in the query":    {"sessionId=bobs&userDid=" + identitytest.Bob.DID, good, `{"message":"Session not found","data":{"statusCode":404}}`},
		"database is away":    {"sessionId=broken", good, `"statusCode":504`},
		"session id too long": {"sessionId=" + strings.Repeat("x", 300), good, "Missing sessionId"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := socketiotest.Join(t, n.url, test.query, test.auth)
			got := c.Packet()
			if !strings.HasPrefix(got, "44{") || !strings.Contains(got, test.want) {
				t.Errorf("received %s, want packet 44 with %s", got, test.want)
			}
			c.ExpectClose()
		})
	}
}

func TestRefusalOverPolling(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	p, _ := socketiotest.OpenPolling(t, n.url, "sessionId=bobs")
	p.Post("40" + socketiotest.JSON(t, n.auth(t, identitytest.Alice)))
	p.Expect(`44{"message":"Session not found","data":{"statusCode":404}}`, "1")
	if status, _ := p.Get(); status != http.StatusBadRequest {
		t.Errorf("the session lives on: %d", status)
	}
}

func TestTooManySocketsOfOneUser(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1, func(_ *oraclesocket.Deps, c *oraclesocket.Config) { c.MaxPerUser = 2 })[0]
	n.connect(t)
	n.connect(t)
	if c, why := socketiotest.TryConnect(t, n.url, "sessionId="+alices, n.auth(t, identitytest.Alice)); c != nil ||
		!strings.Contains(why, "429") {
		t.Errorf("a third socket: %s", why)
	}
	socketiotest.Connect(t, n.url, "sessionId=bobs", n.auth(t, identitytest.Bob))
}

func TestWrongCredentialsAreCounted(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	for range 3 {
		if c, why := socketiotest.TryConnect(t, n.url, "sessionId="+alices, map[string]any{"invocation": "bad"}); c != nil ||
			!strings.Contains(why, "401") {
			t.Errorf("a bad token: %s", why)
		}
	}
	if got := n.Stats().Sockets; got != 0 {
		t.Errorf("%d sockets", got)
	}
}

func TestARevokedTokenClosesItsSockets(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	token := identitytest.Invocation(t, identitytest.Alice, n.identity.DID())
	c := socketiotest.Connect(t, n.url, "sessionId="+alices, map[string]any{"invocation": token})
	c.ExpectEvent("connected", nil)
	stays := socketiotest.Connect(t, n.url, "sessionId=bobs", n.auth(t, identitytest.Bob))
	stays.ExpectEvent("connected", nil)
	if _, err := n.identity.RevokeByOperator(t.Context(), identity.RevokedToken, tokenCID(t, n, token)); err != nil {
		t.Fatal(err)
	}
	c.ExpectClose()
	stays.Emit("ping")
	stays.ExpectEvent("pong", nil)
}

func tokenCID(t *testing.T, n *node, token string) string {
	t.Helper()
	p, err := n.identity.Authenticate(t.Context(), identity.Oracle, identity.Handshake(token, ""))
	if err != nil {
		t.Fatal(err)
	}
	return p.TokenCID
}

func TestAnExpiredTokenClosesItsSockets(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	c := socketiotest.Connect(t, n.url, "sessionId="+alices, n.auth(t, identitytest.Alice, identitytest.TTL(4*time.Second)))
	c.ExpectEvent("connected", nil)
	c.ExpectClose()
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			c := nodes[i%2].connect(t)
			if i%4 < 2 {
				_ = c.Conn.Close()
			} else {
				c.Send("41")
			}
		})
	}
	wg.Wait()
	deadline := time.Now().Add(socketiotest.Patience)
	for nodes[0].Stats().Sockets+nodes[1].Stats().Sockets+nodes[0].Stats().Rooms+nodes[1].Stats().Rooms > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("left: %+v %+v", nodes[0].Stats(), nodes[1].Stats())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := nodes[0].Dispatch(t.Context(), call("x", oracle.BrowserTool)); err == nil {
		t.Error("a call found a page")
	}
}

func manyPerUser(_ *oraclesocket.Deps, c *oraclesocket.Config) { c.MaxPerUser = 10_000 }
