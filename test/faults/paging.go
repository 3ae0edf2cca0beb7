//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// page is a web page: a chatter whose messages make the model call a tool of
// the page, over a socket that is opened again wherever it can be.
type page struct {
	*crowd
	who  *person
	chat *chatter
	n    int

	mu    sync.Mutex
	conns int
	open  bool
	ends  []error // of sockets that were open
}

func (p *page) name() string { return "page" }

const stampTool = `,"tools":[{"name":"stamp","description":"Stamps a number","schema":{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}}]`

func (p *page) step(ctx context.Context) bool {
	if p.chat == nil {
		c := &chatter{crowd: p.crowd, who: p.who}
		if !c.enter(ctx) {
			return false
		}
		p.chat = c
		p.going.Go(func() { p.stay(ctx) })
	}
	// Wait for a socket, but not for ever: without a page the tool's outcome is
	// unknown, and that is an answer too.
	for i := 0; i < 20 && !p.connected(); i++ {
		pause(ctx, 100*time.Millisecond)
	}
	p.n++
	return p.chat.turn(ctx, fmt.Sprintf("%s%d", toolPrefix, p.n), stampTool)
}

func (p *page) connected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

func (p *page) set(open bool) (conn int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open = open; open {
		p.conns++
	}
	return p.conns
}

// stay keeps a socket open.
func (p *page) stay(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.listen(ctx, rand.IntN(fleetSize))
		if p.connected() && ctx.Err() == nil {
			p.mu.Lock()
			p.ends = append(p.ends, err)
			p.mu.Unlock()
		}
		p.set(false)
		p.world.Tell("%-12s socket ended: %.120v", p.name(), err)
		pause(ctx, 200*time.Millisecond)
	}
}

// errRefused says that the server did not let the page in.
var errRefused = errors.New("the socket was refused")

// listen opens one socket and answers calls until it ends.
func (p *page) listen(ctx context.Context, node int) error {
	dialer := websocket.Dialer{NetDialContext: p.world.stage.dial, HandshakeTimeout: 3 * time.Second}
	address := strings.Replace(p.world.url(node), "http", "ws", 1) + "/socket.io/?EIO=4&transport=websocket&sessionId=" + p.chat.session
	conn, response, err := dialer.DialContext(ctx, address, nil)
	if response != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	token := strings.TrimPrefix(p.who.oracle().Get("Authorization"), "Bearer ")
	auth, err := json.Marshal(map[string]string{"invocation": token})
	if err != nil {
		return err
	}
	send := func(text string) error { return conn.WriteMessage(websocket.TextMessage, []byte(text)) }
	if err := send("40" + string(auth)); err != nil {
		return err
	}
	label := ""
	for {
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Second)) // twice the server's heartbeat
		_, packet, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		text := string(packet)
		switch {
		case text == "2":
			err = send("3")
		case strings.HasPrefix(text, "44"):
			return fmt.Errorf("%w: %s", errRefused, text)
		case strings.HasPrefix(text, "40"):
			label = fmt.Sprintf("socket %d at node %d", p.set(true), node)
			p.world.Tell("%-12s has %s", p.name(), label)
		case strings.HasPrefix(text, "42"):
			if answer := p.event(text[2:], label); answer != "" {
				err = send("42" + answer)
			}
		}
		if err != nil {
			return err
		}
	}
}

// event notes a call of the tool, and answers it.
func (p *page) event(text, label string) string {
	var name string
	var call struct {
		ToolCallID string
		Args       struct{ Number string }
	}
	if json.Unmarshal([]byte(text), &[]any{&name, &call}) != nil || name != "browser_tool_call" {
		return ""
	}
	p.world.Tell("%-12s is asked to stamp %s (%s) at %s", p.name(), call.Args.Number, call.ToolCallID, label)
	p.book.write(func(e *Evidence) {
		e.Calls = append(e.Calls, Call{Session: p.chat.session, ID: call.ToolCallID, Page: label, Number: call.Args.Number})
	})
	return fmt.Sprintf(`["tool_result",{"toolCallId":%q,"sessionId":%q,"result":{"stamped":%q}}]`, call.ToolCallID, p.chat.session, call.Args.Number)
}
