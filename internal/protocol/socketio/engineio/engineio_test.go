package engineio_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// app echoes, and remembers what its sessions did.
type app struct {
	engine *engineio.Server
	url    string

	mu       sync.Mutex
	sessions []*engineio.Session
	reasons  []engineio.Reason
	changed  chan struct{}
}

type peer struct {
	app     *app
	session *engineio.Session
}

func (p peer) Message(m engineio.Message) []engineio.Frame {
	switch {
	case m.Binary:
		return []engineio.Frame{engineio.NewBinary(m.Data)}
	case string(m.Data) == "panic":
		panic("on purpose")
	case string(m.Data) == "close":
		_ = p.session.Send(engineio.NewText([]byte("bye")))
		p.session.Close()
		return nil
	}
	return []engineio.Frame{engineio.NewText(m.Data)}
}

func (p peer) Closed(reason engineio.Reason) {
	p.app.mu.Lock()
	defer p.app.mu.Unlock()
	p.app.reasons = append(p.app.reasons, reason)
	p.app.note()
}

func (a *app) note() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// quiet has no heartbeat within a test; lively has one that tests can wait for.
var (
	quiet  = engineio.Config{}
	lively = engineio.Config{PingInterval: 60 * time.Millisecond, PingTimeout: 10 * time.Second}
)

func serve(t *testing.T, cfg engineio.Config) *app {
	t.Helper()
	a := &app{changed: make(chan struct{})}
	a.engine = engineio.New(cfg, func(s *engineio.Session) engineio.Receiver {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.sessions = append(a.sessions, s)
		a.note()
		return peer{a, s}
	})
	server := httptest.NewServer(a.engine)
	a.url = server.URL + "/engine.io/"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = a.engine.Shutdown(ctx)
		server.Close()
		if n := a.engine.Stats().Sessions; n != 0 {
			t.Errorf("%d sessions are left after Shutdown", n)
		}
	})
	return a
}

// await blocks until the condition, which runs under the lock, holds.
func (a *app) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(socketiotest.Patience)
	for {
		a.mu.Lock()
		done, changed := ok(), a.changed
		a.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func (a *app) expectReason(t *testing.T, want engineio.Reason) {
	t.Helper()
	a.await(t, "the session ends", func() bool { return len(a.reasons) > 0 })
	a.mu.Lock()
	defer a.mu.Unlock()
	if diff := cmp.Diff([]engineio.Reason{want}, a.reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func (a *app) session(t *testing.T) *engineio.Session {
	t.Helper()
	a.await(t, "a session", func() bool { return len(a.sessions) > 0 })
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[0]
}

func wire(t *testing.T, a *app, query string) *socketiotest.Wire {
	t.Helper()
	w := socketiotest.DialWire(t, a.url, query)
	if open := w.Next(); !strings.HasPrefix(open, "0{") {
		t.Fatalf("the first packet is %q", open)
	}
	return w
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	a := serve(t, engineio.Config{PingInterval: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond})
	_, polling := socketiotest.OpenPolling(t, a.url, "")
	overWebSocket := socketiotest.DialWire(t, a.url, "").Next()
	for body, upgrades := range map[string][]any{polling: {"websocket"}, overWebSocket: {}} {
		var got map[string]any
		if err := json.Unmarshal([]byte(body[1:]), &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if sid, _ := got["sid"].(string); len(sid) < 20 {
			t.Errorf("sid %q is too short for a secret", sid)
		}
		delete(got, "sid")
		want := map[string]any{"upgrades": upgrades, "pingInterval": 300.0, "pingTimeout": 200.0, "maxPayload": 1e6}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("open packet (-want +got):\n%s", diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	cfg := quiet
	cfg.Allow = func(r *http.Request) error {
		if r.URL.Query().Has("evil") {
			return errors.New("not <you>")
		}
		return nil
	}
	a := serve(t, cfg)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	for _, test := range []struct {
		method, query string
		status        int
		body          string
	}{
		{"GET", "EIO=4", 400, `{"code":0,"message":"Transport unknown"}`},
		{"GET", "EIO=4&transport=abc", 400, `{"code":0,"message":"Transport unknown"}`},
		{"GET", "EIO=4&transport=polling&sid=nobody", 400, `{"code":1,"message":"Session ID unknown"}`},
		{"GET", "EIO=4&transport=polling&sid=__proto__", 400, `{"code":1,"message":"Session ID unknown"}`},
		{"POST", "EIO=4&transport=polling", 400, `{"code":2,"message":"Bad handshake method"}`},
		{"PUT", "EIO=4&transport=polling", 400, `{"code":2,"message":"Bad handshake method"}`},
		{"GET", "EIO=4&transport=websocket", 400, `{"code":3,"message":"Bad request"}`},
		{"GET", "EIO=4&transport=websocket&sid=" + p.SID(), 400, `{"code":3,"message":"Bad request"}`},
		{"GET", "EIO=3&transport=polling&sid=" + p.SID(), 400, `{"code":3,"message":"Bad request"}`},
		{"DELETE", p.Query, 400, `{"code":3,"message":"Bad request"}`},
		{"GET", "EIO=4&transport=polling&evil=1", 403, `{"code":4,"message":"not \u003cyou\u003e"}`},
		{"GET", "transport=polling", 400, `{"code":5,"message":"Unsupported protocol version"}`},
		{"GET", "EIO=3&transport=polling", 400, `{"code":5,"message":"Unsupported protocol version"}`},
	} {
		status, body := socketiotest.Do(t, test.method, a.url+"?"+test.query, "")
		if status != test.status || body != test.body {
			t.Errorf("%s %s: %d %s, want %d %s", test.method, test.query, status, body, test.status, test.body)
		}
	}
	if got := a.engine.Stats().Refused; got != 13 {
		t.Errorf("Refused = %d", got)
	}
}

func TestWebSocketRefusalsComeBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	for query, want := range map[string]string{
		"transport=websocket&EIO=3":          "Unsupported protocol version",
		"transport=websocket":                "Unsupported protocol version",
		"transport=abc&EIO=4":                "Transport unknown",
		"transport=websocket&EIO=4&sid=none": "Session ID unknown",
		"transport=polling&EIO=4":            "Bad request",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+"?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || string(body) != want || !resp.Close {
			t.Errorf("%s: %d %q close=%v, want 400 %q", query, resp.StatusCode, body, resp.Close, want)
		}
	}
}

// TestUpgradesCarryTheIDOfTheirRequest: whoever mounts the server names each request, also one that becomes a socket.
func TestUpgradesCarryTheIDOfTheirRequest(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "the-id")
		w.Header().Set("Connection", "close")
		a.engine.ServeHTTP(w, r)
	}))
	defer front.Close()
	polling, _ := socketiotest.OpenPolling(t, a.url, "")
	for _, query := range []string{"EIO=4&transport=websocket", "EIO=4&transport=websocket&sid=" + polling.SID()} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/engine.io/?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		got, connection := resp.Header.Get("X-Request-Id"), resp.Header["Connection"]
		if resp.StatusCode != http.StatusSwitchingProtocols || got != "the-id" ||
			!cmp.Equal(connection, []string{"Upgrade"}) {
			t.Errorf("%s: %d with id %q, Connection %q", query, resp.StatusCode, got, connection)
		}
	}
}

func TestTooManySessions(t *testing.T) {
	t.Parallel()
	a := serve(t, engineio.Config{MaxSessions: 1})
	socketiotest.OpenPolling(t, a.url, "")
	if status, _ := socketiotest.Do(t, http.MethodGet, a.url+"?EIO=4&transport=polling", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a session too many: %d", status)
	}
}

// One more session of an origin than may be unproven ends the oldest of them, so that
// nobody who shares the address is kept out by who leaves sessions waiting.
func TestAnOriginsOldestSessionMakesRoom(t *testing.T) {
	t.Parallel()
	a := serve(t, engineio.Config{MaxUnproven: 2, Origin: func(r *http.Request) string {
		return r.URL.Query().Get("from")
	}})
	open := func(from string) (sid string) {
		t.Helper()
		status, body := socketiotest.Do(t, http.MethodGet, a.url+"?EIO=4&transport=polling&from="+from, "")
		var opened struct{ SID string }
		if status != http.StatusOK || json.Unmarshal([]byte(body[1:]), &opened) != nil {
			t.Fatalf("a handshake from %s: %d %s", from, status, body)
		}
		return opened.SID
	}
	known := func(sid string) bool { // a pong is taken of every session
		status, _ := socketiotest.Do(t, http.MethodPost, a.url+"?EIO=4&transport=polling&sid="+sid, "3")
		return status == http.StatusOK
	}
	proven := open("x")
	a.session(t).Prove()
	a.session(t).Prove() // once is enough, and twice is once
	elsewhere, first, second, third := open("y"), open("x"), open("x"), open("x")
	got := map[string]bool{
		"proven": known(proven), "elsewhere": known(elsewhere), "first": known(first),
		"second": known(second), "third": known(third),
	}
	if want := map[string]bool{
		"proven": true, "elsewhere": true, "first": false, "second": true,
		"third": true,
	}; !cmp.Equal(got, want) {
		t.Errorf("what is left: %v, want %v", got, want)
	}
	for range 10 { // the honest neighbour is let in, however many are left waiting
		if sid := open("x"); !known(sid) {
			t.Fatal("a new session is not there")
		}
	}
}

func TestForeignSessions(t *testing.T) {
	t.Parallel()
	cfg := quiet
	cfg.Foreign = func(_ *http.Request, sid string) http.Handler {
		if sid != "elsewhere" {
			return nil
		}
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "proxied") })
	}
	a := serve(t, cfg)
	if _, body := socketiotest.Do(t, http.MethodGet, a.url+"?EIO=4&transport=polling&sid=elsewhere", ""); body != "proxied" {
		t.Errorf("a foreign session: %s", body)
	}
	if status, _ := socketiotest.Do(t, http.MethodGet, a.url+"?EIO=4&transport=polling&sid=nowhere", ""); status != http.StatusBadRequest {
		t.Errorf("an unknown session: %d", status)
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	a := serve(t, lively)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	w := wire(t, a, "")
	for range 3 {
		p.Expect("2")
		p.Post("3")
		w.Expect("2")
		w.Send("3")
	}
}

func TestPingTimeout(t *testing.T) {
	t.Parallel()
	cfg := engineio.Config{PingInterval: 30 * time.Millisecond, PingTimeout: 30 * time.Millisecond}
	t.Run("polling", func(t *testing.T) {
		t.Parallel()
		a := serve(t, cfg)
		p, _ := socketiotest.OpenPolling(t, a.url, "")
		a.expectReason(t, engineio.PingTimeout)
		if status, body := p.Get(); status != http.StatusBadRequest {
			t.Errorf("a poll after the timeout: %d %s", status, body)
		}
	})
	t.Run("websocket", func(t *testing.T) {
		t.Parallel()
		a := serve(t, cfg)
		wire(t, a, "").ExpectClose()
		a.expectReason(t, engineio.PingTimeout)
	})
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	idle, _ := socketiotest.OpenPolling(t, a.url, "")
	w := wire(t, a, "")
	polled := make(chan string, 1)
	go func() {
		_, body := p.Get()
		polled <- body
	}()
	a.awaitHeld(t)
	closed := make(chan int, 1)
	go func() { closed <- w.ExpectClose() }()
	ctx, cancel := context.WithTimeout(t.Context(), socketiotest.Patience)
	defer cancel()
	if err := a.engine.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if got := <-polled; got != "1" {
		t.Errorf("the held poll got %q, want a close packet", got)
	}
	if got := <-closed; got != 1005 {
		t.Errorf("the WebSocket closed with %d", got)
	}
	if status, _ := idle.Get(); status != http.StatusBadRequest {
		t.Errorf("a poll after Shutdown: %d", status)
	}
	if status, _ := socketiotest.Do(t, http.MethodGet, a.url+"?EIO=4&transport=polling", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a handshake after Shutdown: %d", status)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if diff := cmp.Diff([]engineio.Reason{engineio.ServerShutdown, engineio.ServerShutdown, engineio.ServerShutdown},
		a.reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// awaitHeld waits until the first session holds a poll: only then a volatile
// message is writable.
func (a *app) awaitHeld(t *testing.T) {
	t.Helper()
	s := a.session(t)
	deadline := time.Now().Add(socketiotest.Patience)
	for !engineio.Held(s) {
		if time.Now().After(deadline) {
			t.Fatal("no poll is held")
		}
		time.Sleep(time.Millisecond)
	}
}
