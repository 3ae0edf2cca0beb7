package engineio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

func TestPollingEchoes(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	for _, payload := range []string{"4hello", "4test1\x1e4test2\x1e4test3", "4hello\x1ebAQIDBA==", "4", "4żółw 🔥", "b"} {
		p, _ := socketiotest.OpenPolling(t, a.url, "")
		if status, answer := p.Post(payload); status != http.StatusOK || answer != "ok" {
			t.Fatalf("push %q: %d %s", payload, status, answer)
		}
		if status, body := p.Get(); status != http.StatusOK || body != payload {
			t.Errorf("polled %d %q, want %q", status, body, payload)
		}
	}
}

func TestPollingHoldsUntilThereIsSomething(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	polled := make(chan string, 1)
	go func() {
		_, body := p.Get()
		polled <- body
	}()
	a.awaitHeld(t)
	p.Post("4late")
	if got := <-polled; got != "4late" {
		t.Errorf("the held poll got %q", got)
	}
}

func TestPollingViolationsCloseTheSession(t *testing.T) {
	t.Parallel()
	push := func(body string) func(*testing.T, *app, *socketiotest.Polling) int {
		return func(_ *testing.T, _ *app, p *socketiotest.Polling) int {
			status, _ := p.Post(body)
			return status
		}
	}
	for name, test := range map[string]struct {
		do     func(*testing.T, *app, *socketiotest.Polling) int
		status int
		reason engineio.Reason
	}{
		"unknown packet":     {push("abc"), 400, engineio.ParseError},
		"empty body":         {push(""), 400, engineio.ParseError},
		"empty packet":       {push("4a\x1e"), 400, engineio.ParseError},
		"bad base64":         {push("bA*=="), 400, engineio.ParseError},
		"bad UTF-8":          {push("4\xff"), 400, engineio.ParseError},
		"ping from a client": {push("2"), 200, engineio.TransportError},
		"octet stream": {func(t *testing.T, a *app, p *socketiotest.Polling) int {
			resp, err := http.Post(a.url+"?"+p.Query, "application/octet-stream", strings.NewReader("4x"))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}, 400, engineio.TransportError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, quiet)
			p, _ := socketiotest.OpenPolling(t, a.url, "")
			if status := test.do(t, a, p); status != test.status {
				t.Errorf("the push got %d, want %d", status, test.status)
			}
			if status, body := p.Get(); status != http.StatusBadRequest {
				t.Errorf("the next poll got %d %s", status, body)
			}
			a.expectReason(t, test.reason)
		})
	}
}

func TestTwoPollsAtOnce(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	first := make(chan string, 1)
	go func() {
		_, body := p.Get()
		first <- body
	}()
	a.awaitHeld(t)
	if status, _ := p.Get(); status != http.StatusBadRequest {
		t.Errorf("the second poll got %d", status)
	}
	if got := <-first; got != "1" {
		t.Errorf("the first poll got %q", got)
	}
	if status, _ := p.Get(); status != http.StatusBadRequest {
		t.Errorf("the third poll got %d", status)
	}
	a.expectReason(t, engineio.TransportError)
}

func TestTwoPushesAtOnce(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	body, feed := io.Pipe()
	firstDone := make(chan struct{})
	go func() {
		defer close(firstDone)
		resp, err := http.Post(a.url+"?"+p.Query, "text/plain", body)
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	if _, err := io.WriteString(feed, "4slo"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(socketiotest.Patience)
	for status := 200; status == 200; status, _ = p.Post("4quick") {
		if time.Now().After(deadline) {
			t.Fatal("overlapping pushes were never refused")
		}
	}
	a.expectReason(t, engineio.TransportError)
	_ = feed.Close()
	<-firstDone
}

// hasty is a client that pushes again the moment it reads an answer.
type hasty struct {
	*httptest.ResponseRecorder
	again func()
}

func (h hasty) Write(p []byte) (int, error) {
	h.again()
	return h.ResponseRecorder.Write(p)
}

func TestAnAnsweredPushIsOver(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	push := func() *http.Request {
		return httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/?"+p.Query, strings.NewReader("4x"))
	}
	second := httptest.NewRecorder()
	first := hasty{httptest.NewRecorder(), func() { a.engine.ServeHTTP(second, push()) }}
	a.engine.ServeHTTP(first, push())
	if first.Code != http.StatusOK || second.Code != http.StatusOK {
		t.Errorf("the pushes got %d and %d %s", first.Code, second.Code, second.Body)
	}
	p.Expect("4x", "4x")
}

func TestASlowPushIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	cfg := quiet
	cfg.IOTimeout = 50 * time.Millisecond
	a := serve(t, cfg)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	body, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	go func() { _, _ = io.WriteString(feed, "4a trickle") }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url+"?"+p.Query, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/plain")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("a trickle got %d", resp.StatusCode)
		}
	}
	if got := a.engine.Stats().Refused; got != 1 {
		t.Errorf("Refused = %d", got)
	}
}

func TestDeadlinesEndWithTheirAnswer(t *testing.T) {
	t.Parallel()
	cfg := quiet
	cfg.IOTimeout = 30 * time.Millisecond
	a := serve(t, cfg)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}} // one connection for all
	defer client.CloseIdleConnections()
	for range 2 {
		resp, err := client.Post(a.url+"?"+p.Query, "text/plain", strings.NewReader("4x"))
		if err != nil {
			t.Fatalf("push: %v", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		time.Sleep(60 * time.Millisecond) // longer than the deadline of that answer
	}
	p.Expect("4x", "4x")
}

func TestCanceledPollEndsTheSession(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { a.awaitHeld(t); cancel() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"?"+p.Query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
		t.Fatal("the poll was answered")
	}
	a.expectReason(t, engineio.TransportClose)
	if status, _ := p.Get(); status != http.StatusBadRequest {
		t.Errorf("the next poll got %d", status)
	}
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	a := serve(t, engineio.Config{MaxPayload: 100})
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	if status, body := p.Post("4" + strings.Repeat("x", 100)); status != http.StatusRequestEntityTooLarge || body != "" {
		t.Errorf("a body too large: %d %q", status, body)
	}
	if status, _ := p.Post("4" + strings.Repeat("x", 99)); status != http.StatusOK {
		t.Errorf("the largest body: %d", status)
	}
	w := wire(t, a, "")
	w.Send("4" + strings.Repeat("x", 99))
	w.Expect("4" + strings.Repeat("x", 99))
	w.Send("4" + strings.Repeat("x", 100))
	if code := w.ExpectClose(); code != websocket.CloseMessageTooBig {
		t.Errorf("a message too large closed with %d", code)
	}
}

func TestClientCloses(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	polled := make(chan string, 1)
	go func() {
		_, body := p.Get()
		polled <- body
	}()
	a.awaitHeld(t)
	if status, answer := p.Post("1"); status != http.StatusOK || answer != "ok" {
		t.Errorf("the push got %d %s", status, answer)
	}
	if got := <-polled; got != "6" {
		t.Errorf("the held poll got %q", got)
	}
	if status, _ := p.Get(); status != http.StatusBadRequest {
		t.Errorf("the next poll got %d", status)
	}
	a.expectReason(t, engineio.TransportClose)
}

func TestAPollThatRacesWithTheClientsClose(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	p.Post("1")
	status, body := p.Get()
	if status == http.StatusOK && body != "6" {
		t.Errorf("the poll got %q", body)
	}
	if status, _ := p.Get(); status != http.StatusBadRequest {
		t.Errorf("the poll after it got %d", status)
	}
}

func TestServerClosesOverPolling(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	p.Post("4close")
	for _, want := range []string{"4bye", "1"} { // apart: clients see a close before what comes with it
		if _, body := p.Get(); body != want {
			t.Errorf("polled %q, want %q", body, want)
		}
	}
	if status, _ := p.Get(); status != http.StatusBadRequest {
		t.Errorf("the next poll got %d", status)
	}
	a.expectReason(t, engineio.ForcedClose)
}

func TestWebSocketEchoes(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	w := wire(t, a, "")
	w.Send("4hello")
	w.SendBinary(1, 2, 3, 4)
	w.Send("bAQID") // binary in text form is allowed
	for _, ignored := range []string{"0", "5", "6"} {
		w.Send(ignored)
	}
	w.Send("4" + strings.Repeat("x", 70_000))
	w.Expect("4hello", "bin:01020304", "bin:010203", "4"+strings.Repeat("x", 70_000))

	plain := wire(t, a, "b64=1")
	plain.SendBinary(1, 2, 3)
	plain.Expect("bAQID")
}

func TestWebSocketPingIsAnswered(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	w := wire(t, a, "")
	pong := make(chan string, 1)
	w.Conn.SetPongHandler(func(data string) error { pong <- data; return nil })
	if err := w.Conn.WriteControl(websocket.PingMessage, []byte("here?"), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	w.Send("4x")
	w.Expect("4x")
	select {
	case got := <-pong:
		if got != "here?" {
			t.Errorf("pong %q", got)
		}
	default:
		t.Error("no pong before the echo")
	}
}

func TestWebSocketEndings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		send   string
		code   int
		reason engineio.Reason
	}{
		"malformed":         {"abc", websocket.CloseNoStatusReceived, engineio.ParseError},
		"empty":             {"", websocket.CloseNoStatusReceived, engineio.ParseError},
		"bad UTF-8":         {"4\xff", websocket.CloseInvalidFramePayloadData, engineio.ParseError},
		"close packet":      {"1", websocket.CloseAbnormalClosure, engineio.TransportClose},
		"client ping":       {"2", websocket.CloseNoStatusReceived, engineio.TransportError},
		"late probe":        {"2probe", websocket.CloseNoStatusReceived, engineio.TransportError},
		"server closes":     {"4close", websocket.CloseNoStatusReceived, engineio.ForcedClose},
		"a handler's panic": {"4panic", websocket.CloseAbnormalClosure, engineio.ForcedClose},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, quiet)
			w := wire(t, a, "")
			w.Send(test.send)
			if test.send == "4close" {
				w.Expect("4bye")
			}
			if code := w.ExpectClose(); code != test.code {
				t.Errorf("closed with %d, want %d", code, test.code)
			}
			a.expectReason(t, test.reason)
		})
	}
}

func TestUnreadFramesDoNotLoseTheLastWords(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	for range 20 {
		w := wire(t, a, "")
		w.Send("4close")
		for range 50 {
			if w.Conn.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte("4"), 1000)) != nil {
				break
			}
		}
		w.Expect("4bye")
		w.ExpectClose()
	}
}

func TestASlowReaderIsCut(t *testing.T) {
	t.Parallel()
	a := serve(t, engineio.Config{MaxQueueBytes: 64 << 10})
	w := wire(t, a, "")
	if tcp, ok := w.Conn.NetConn().(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	s := a.session(t)
	frame := engineio.NewText(bytes.Repeat([]byte("x"), 16<<10))
	var err error
	for i := 0; err == nil; i++ {
		if i > 10_000 {
			t.Fatal("160 MB were queued for a peer that does not read")
		}
		err = s.Send(frame)
	}
	if !errors.Is(err, engineio.ErrOverflow) {
		t.Errorf("Send: %v", err)
	}
	a.expectReason(t, engineio.TransportError)
	if got := a.engine.Stats().Overflowed; got != 1 {
		t.Errorf("Overflowed = %d", got)
	}
	if err := s.Send(frame); !errors.Is(err, engineio.ErrClosed) {
		t.Errorf("Send after that: %v", err)
	}
}

func TestVolatileIsDroppedWhenNobodyListens(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	s := a.session(t)
	if err := s.SendVolatile(engineio.NewText([]byte("lost"))); !errors.Is(err, engineio.ErrNotWritable) {
		t.Errorf("SendVolatile without a poll: %v", err)
	}
	polled := make(chan string, 1)
	go func() {
		_, body := p.Get()
		polled <- body
	}()
	a.awaitHeld(t)
	if err := s.SendVolatile(engineio.NewText([]byte("seen"))); err != nil {
		t.Errorf("SendVolatile with a poll: %v", err)
	}
	if got := <-polled; got != "4seen" {
		t.Errorf("polled %q", got)
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	held := make(chan string, 1)
	go func() {
		_, body := p.Get()
		held <- body
	}()
	a.awaitHeld(t)
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	if got := <-held; got != "6" {
		t.Errorf("the held poll got %q", got)
	}
	for range 3 { // every poll ends by itself from now on, not only the first
		if _, got := p.Get(); got != "6" {
			t.Errorf("a poll while upgrading got %q", got)
		}
	}
	p.Post("4one") // polling goes on until the client says so
	p.Expect("4one")
	p.Post("4two")
	w.Send("5")
	w.Send("4three")
	w.Expect("4two", "4three")

	for method, want := range map[string]string{http.MethodGet: `"code":3`, http.MethodPost: `"code":3`} {
		if status, body := socketiotest.Do(t, method, a.url+"?"+p.Query, "4x"); status != 400 || !strings.Contains(body, want) {
			t.Errorf("%s after the upgrade: %d %s", method, status, body)
		}
	}
	socketiotest.DialWire(t, a.url, "sid="+p.SID()).ExpectClose()
	w.Send("4alive")
	w.Expect("4alive")
	if s := a.session(t); s.Transport() != "websocket" {
		t.Errorf("Transport() = %s", s.Transport())
	}
}

func TestAFailedProbeHarmsNobody(t *testing.T) {
	t.Parallel()
	cfg := quiet
	cfg.UpgradeTimeout = time.Second
	for name, packets := range map[string][]string{
		"nothing":           nil,
		"a message":         {"4hello"},
		"no upgrade":        {"2probe"},
		"upgrade unprobed":  {"5"},
		"message, no probe": {"2probe", "4x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, cfg)
			p, _ := socketiotest.OpenPolling(t, a.url, "")
			w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
			for _, packet := range packets {
				w.Send(packet)
			}
			w.ExpectClose()
			p.Post("4alive")
			p.Expect("4alive")
			again := socketiotest.DialWire(t, a.url, "sid="+p.SID())
			again.Send("2probe")
			again.Expect("3probe")
			again.Send("5")
			again.Send("4upgraded")
			again.Expect("4upgraded")
		})
	}
}

func TestOrderAcrossTheUpgrade(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	s := a.session(t)
	const total = 500
	go func() {
		for i := range total {
			if s.Send(engineio.NewText(fmt.Appendf(nil, "%d", i))) != nil {
				return
			}
		}
	}()
	next := 0
	take := func(packet string) {
		if packet == "6" {
			return
		}
		if packet != fmt.Sprintf("4%d", next) {
			t.Fatalf("received %q, want number %d", packet, next)
		}
		next++
	}
	poll := func() {
		_, body := p.Get()
		for packet := range strings.SplitSeq(body, "\x1e") {
			take(packet)
		}
	}
	poll()
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	poll()
	w.Send("5")
	for next < total {
		take(w.Next())
	}
}
