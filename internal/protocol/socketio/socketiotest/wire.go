// Package socketiotest has clients that speak Engine.IO and Socket.IO to a
// server under test: Wire, packet by packet, over WebSocket; Polling, request
// by request; and Client, which behaves as a well-mannered socket.io client.
package socketiotest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Patience bounds the waiting for what must happen; it is no measure of speed.
const Patience = time.Minute

// Wire is a bare WebSocket that speaks packets.
type Wire struct {
	t    testing.TB
	Conn *websocket.Conn
}

// DialWire opens a WebSocket to base (an http URL with the path of the server)
// with a query such as "sessionId=1&sid=x".
func DialWire(t testing.TB, base, query string) *Wire {
	t.Helper()
	w, err := tryWire(t, base, query)
	if err != nil {
		t.Fatalf("dial %s: %v", query, err)
	}
	return w
}

func tryWire(t testing.TB, base, query string) (*Wire, error) {
	t.Helper()
	address := strings.Replace(base, "http", "ws", 1) + "?EIO=4&transport=websocket&" + query
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), address, nil)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(Patience))
	return &Wire{t: t, Conn: conn}, nil
}

// Send writes a text frame.
func (w *Wire) Send(text string) {
	w.t.Helper()
	if err := w.Conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		w.t.Fatalf("send %.60q: %v", text, err)
	}
}

// SendBinary writes a binary frame.
func (w *Wire) SendBinary(data ...byte) {
	w.t.Helper()
	if err := w.Conn.WriteMessage(websocket.BinaryMessage, data); err != nil {
		w.t.Fatalf("send %d bytes: %v", len(data), err)
	}
}

// Next returns the next frame; a binary one as "bin:" and its bytes in hex.
func (w *Wire) Next() string {
	w.t.Helper()
	kind, data, err := w.Conn.ReadMessage()
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	if kind == websocket.BinaryMessage {
		return fmt.Sprintf("bin:%x", data)
	}
	return string(data)
}

// Expect fails unless the next frames are these.
func (w *Wire) Expect(frames ...string) {
	w.t.Helper()
	for _, want := range frames {
		if got := w.Next(); got != want {
			w.t.Fatalf("received %.200q, want %q", got, want)
		}
	}
}

// ExpectClose reads, ignoring frames, until the server closes, and returns the
// close code (1005 when it gave none, 1006 when it just hung up).
func (w *Wire) ExpectClose() int {
	w.t.Helper()
	for {
		_, _, err := w.Conn.ReadMessage()
		if err == nil {
			continue
		}
		if ce, ok := errors.AsType[*websocket.CloseError](err); ok {
			return ce.Code
		}
		return websocket.CloseAbnormalClosure
	}
}

// Polling speaks long polling, one request at a time.
type Polling struct {
	t     testing.TB
	Base  string // with the query of the session
	Query string
}

// OpenPolling makes a handshake and returns the session and the open packet.
func OpenPolling(t testing.TB, base, query string) (*Polling, string) {
	t.Helper()
	p := &Polling{t: t, Base: base, Query: "EIO=4&transport=polling&" + query}
	status, body := p.Get()
	if status != http.StatusOK || !strings.HasPrefix(body, "0{") {
		t.Fatalf("handshake: %d %s", status, body)
	}
	sid, _, ok := strings.Cut(strings.TrimPrefix(body, `0{"sid":"`), `"`)
	if !ok {
		t.Fatalf("handshake without a sid: %s", body)
	}
	p.Query += "&sid=" + url.QueryEscape(sid)
	return p, body
}

// SID is the session's id.
func (p *Polling) SID() string {
	q, _ := url.ParseQuery(p.Query)
	return q.Get("sid")
}

// Get polls.
func (p *Polling) Get() (status int, body string) {
	p.t.Helper()
	return Do(p.t, http.MethodGet, p.Base+"?"+p.Query, "")
}

// Post pushes a body.
func (p *Polling) Post(body string) (status int, answer string) {
	p.t.Helper()
	return Do(p.t, http.MethodPost, p.Base+"?"+p.Query, body)
}

// Expect polls until it has seen the packets, and fails if it sees others.
// Noops are skipped.
func (p *Polling) Expect(packets ...string) {
	p.t.Helper()
	for len(packets) > 0 {
		status, body := p.Get()
		if status != http.StatusOK {
			p.t.Fatalf("poll: %d %s", status, body)
		}
		for packet := range strings.SplitSeq(body, "\x1e") {
			if packet == "6" {
				continue
			}
			if len(packets) == 0 || packet != packets[0] {
				p.t.Fatalf("polled %.200q, want %q", packet, packets)
			}
			packets = packets[1:]
		}
	}
}

// Do makes one request on a connection of its own.
func Do(t testing.TB, method, address, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "text/plain;charset=UTF-8")
	}
	resp, err := (&http.Client{Timeout: Patience}).Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, address, err)
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, address, err)
	}
	return resp.StatusCode, string(raw)
}
