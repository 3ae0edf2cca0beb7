package socketiotest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Client is a connected socket in the default namespace, over WebSocket. It
// answers heartbeats while it reads.
type Client struct {
	*Wire
	t   testing.TB
	ID  string
	ack int
}

// Connect dials and joins the namespace "/" with an auth object; a nil auth
// sends none. The query is that of the handshake.
func Connect(t testing.TB, base, query string, auth any) *Client {
	t.Helper()
	c, refusal := TryConnect(t, base, query, auth)
	if c == nil {
		t.Fatalf("connect refused: %s", refusal)
	}
	return c
}

// TryConnect is Connect for servers that may refuse; it then returns nil and
// the payload of the refusal, and the connection is left open.
func TryConnect(t testing.TB, base, query string, auth any) (client *Client, refusal string) {
	t.Helper()
	c := Join(t, base, query, auth)
	answer := c.Packet()
	if rest, ok := strings.CutPrefix(answer, "44"); ok {
		return nil, rest
	}
	var body struct{ SID string }
	if rest, ok := strings.CutPrefix(answer, "40"); !ok || json.Unmarshal([]byte(rest), &body) != nil || body.SID == "" {
		t.Fatalf("the answer to CONNECT is %q", answer)
	}
	c.ID = body.SID
	return c, ""
}

// Join dials and sends the CONNECT, without waiting for the answer.
func Join(t testing.TB, base, query string, auth any) *Client {
	t.Helper()
	c := &Client{Wire: DialWire(t, base, query), t: t}
	if open := c.Next(); !strings.HasPrefix(open, "0{") {
		t.Fatalf("the first packet is %q", open)
	}
	packet := "40"
	if auth != nil {
		packet += JSON(t, auth)
	}
	c.Send(packet)
	return c
}

// Packet returns the next packet that is no ping; pings are answered.
func (c *Client) Packet() string {
	c.t.Helper()
	for {
		p := c.Next()
		if p != "2" {
			return p
		}
		c.Send("3")
	}
}

// Emit sends an event.
func (c *Client) Emit(name string, args ...any) {
	c.t.Helper()
	c.Send("42" + JSON(c.t, append([]any{name}, args...)))
}

// EmitAck sends an event and returns its acknowledgement, which must be the
// next packet.
func (c *Client) EmitAck(name string, args ...any) string {
	c.t.Helper()
	id := c.ack
	c.ack++
	c.Send(fmt.Sprintf("42%d%s", id, JSON(c.t, append([]any{name}, args...))))
	got := c.Packet()
	rest, ok := strings.CutPrefix(got, fmt.Sprintf("43%d", id))
	if !ok {
		c.t.Fatalf("received %q, want acknowledgement %d", got, id)
	}
	return rest
}

// Event returns the next packet, which must be an event: its name and its first
// argument as it came.
func (c *Client) Event() (name string, arg json.RawMessage) {
	c.t.Helper()
	p := c.Packet()
	rest, ok := strings.CutPrefix(p, "42")
	if !ok {
		c.t.Fatalf("received %q, want an event", p)
	}
	rest = rest[strings.IndexByte(rest, '['):]
	var args []json.RawMessage
	if err := json.Unmarshal([]byte(rest), &args); err != nil || len(args) == 0 {
		c.t.Fatalf("received %q: %v", p, err)
	}
	if err := json.Unmarshal(args[0], &name); err != nil {
		c.t.Fatalf("received %q: %v", p, err)
	}
	if len(args) > 1 {
		arg = args[1]
	}
	return name, arg
}

// ExpectEvent reads an event of that name into v.
func (c *Client) ExpectEvent(name string, v any) {
	c.t.Helper()
	got, arg := c.Event()
	if got != name {
		c.t.Fatalf("received the event %q %s, want %q", got, arg, name)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(arg, v); err != nil {
		c.t.Fatalf("event %q %s: %v", name, arg, err)
	}
}

// JSON marshals, or fails the test.
func JSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
