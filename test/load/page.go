package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// page is an open socket of somebody, as a browser keeps one.
type page struct {
	conn *websocket.Conn
	mu   sync.Mutex // of writes
}

// openPage connects a page of the session and reads its welcome.
func (w *world) openPage(ctx context.Context, node int, p *person, session string) (*page, error) {
	oracle, _, err := p.tokens()
	if err != nil {
		return nil, err
	}
	target := strings.Replace(w.url(node), "http", "ws", 1) + "/socket.io/?EIO=4&transport=websocket&sessionId=" + url.QueryEscape(session)
	dialer := websocket.Dialer{HandshakeTimeout: stepLimit, Proxy: http.ProxyFromEnvironment}
	conn, res, err := dialer.DialContext(ctx, target, nil)
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	pg := &page{conn: conn}
	auth, err := json.Marshal(map[string]string{"invocation": oracle})
	if err == nil {
		err = pg.send("40" + string(auth))
	}
	if err == nil {
		err = pg.await(ctx, "connected")
	}
	if err != nil {
		pg.close()
		return nil, err
	}
	return pg, nil
}

func (p *page) send(packet string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn.WriteMessage(websocket.TextMessage, []byte(packet))
}

func (p *page) emit(name string) error { return p.send(`42["` + name + `"]`) }

// await reads until the event comes. Heartbeats are answered, other events
// passed over; a refusal is an error.
func (p *page) await(ctx context.Context, name string) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(stepLimit)
	}
	if err := p.conn.SetReadDeadline(deadline); err != nil {
		return err
	}
	for {
		_, packet, err := p.conn.ReadMessage()
		if err != nil {
			return err
		}
		switch text := string(packet); {
		case text == "2":
			if err := p.send("3"); err != nil {
				return err
			}
		case strings.HasPrefix(text, "44"):
			return wrong("socket refused", "%s", text)
		case strings.HasPrefix(text, `42["`+name+`"`):
			return nil
		}
	}
}

// drain keeps an idle page alive until it is closed.
func (p *page) drain() {
	if p.conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for {
		_, packet, err := p.conn.ReadMessage()
		if err != nil {
			return
		}
		if string(packet) == "2" && p.send("3") != nil {
			return
		}
	}
}

func (p *page) close() { _ = p.conn.Close() }

func (w *world) closePages() {
	for _, p := range w.pages {
		p.close()
	}
}
