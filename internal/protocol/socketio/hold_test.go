package socketio_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

// TestNothingBeforeConnect: a decoder whose peer has joined nothing looks at no packet
// but CONNECT, and waits for no attachment.
func TestNothingBeforeConnect(t *testing.T) {
	t.Parallel()
	for _, c := range packetVectors(t) {
		if c.Packet == nil {
			continue
		}
		var d socketio.Decoder
		_, ok, err := d.Decode(c.messages(t)[0])
		switch connect := c.Packet.Type == string(socketio.Connect); {
		case connect && (err != nil || !ok):
			t.Errorf("%s: %v, complete %v", c.Name, err, ok)
		case !connect && !errors.Is(err, socketio.ErrPacket):
			t.Errorf("%s before CONNECT: complete %v, %v; want a refusal", c.Name, ok, err)
		}
	}
	d := socketio.Decoder{MaxConnect: 100}
	long := engineio.Message{Data: []byte(`0{"a":"` + strings.Repeat("x", 100) + `"}`)}
	if _, _, err := d.Decode(long); !errors.Is(err, socketio.ErrPacket) {
		t.Errorf("a CONNECT over the limit: %v", err)
	}
}

// TestArgumentsAreFew sees how much memory an event of many arguments, or of many
// values beside an attachment, makes a decoder ask for. It counts what the whole
// process asks for, so nothing runs beside it.
func TestArgumentsAreFew(t *testing.T) {
	const size = 1_000_000
	many := func(head, one, tail string) []engineio.Message {
		return []engineio.Message{
			{Data: []byte(head + strings.Repeat(one, (size-len(head)-len(tail))/len(one)) + tail)},
			{Data: []byte{1}, Binary: true},
		}
	}
	for name, messages := range map[string][]engineio.Message{
		"an event":             many(`2["x"`, `,0`, `]`)[:1],
		"an acknowledgement":   many(`31[0`, `,0`, `]`)[:1],
		"with an attachment":   many(`51-["x"`, `,0`, `]`),
		"beside a placeholder": many(`51-["x",[{"_placeholder":true,"num":0}`, `,{}`, `]]`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := decodeAll(messages)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, socketio.ErrPacket) {
			t.Errorf("%s of a megabyte: %v", name, err)
		}
		if asked := after.TotalAlloc - before.TotalAlloc; asked > 64<<10 {
			t.Errorf("%s of a megabyte makes the decoder ask for %d bytes", name, asked)
		}
	}
	few := engineio.Message{Data: []byte(`2["x"` + strings.Repeat(`,0`, 63) + `]`)}
	if p, ok, err := decodeAll([]engineio.Message{few}); err != nil || !ok || len(p.Args) != 64 {
		t.Errorf("64 arguments: %d, %v", len(p.Args), err)
	}
	data := engineio.Message{Data: []byte(`2["x",[0` + strings.Repeat(`,0`, size/2-20) + `]]`)}
	if p, ok, err := decodeAll([]engineio.Message{data}); err != nil || !ok || len(p.Args) != 2 {
		t.Errorf("one argument of half a million values: %d, %v", len(p.Args), err)
	}
}

// TestStrangersAreNotHeld sends what a peer that has joined nothing may not send.
func TestStrangersAreNotHeld(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{MaxConnect: 10_000})
	for name, send := range map[string]string{
		"a packet with attachments": `451-["x"]`,
		"an acknowledgement":        `430[]`,
		"a disconnect":              "41",
		"a long CONNECT":            `40{"token":"` + strings.Repeat("x", 10_000) + `"}`,
	} {
		w := socketiotest.DialWire(t, a.url, "")
		w.Next()
		w.Send(send)
		if code := w.ExpectClose(); code == 1009 {
			t.Errorf("%s: closed with %d", name, code)
		}
	}
	w := socketiotest.DialWire(t, a.url, "")
	w.Next()
	// A text of 100,000 bytes is announced, and none of them is sent.
	if _, err := w.Conn.NetConn().Write([]byte{0x81, 0xff, 0, 0, 0, 0, 0, 1, 0x86, 0xa0, 1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	if code := w.ExpectClose(); code != 1009 {
		t.Errorf("a longer message: closed with %d, want 1009", code)
	}
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	if status, _ := p.Post(`40{"token":"` + strings.Repeat("x", 100_000) + `"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body before the CONNECT: %d", status)
	}
	c, _ := a.connect(t) // who has shown who it is may say more
	c.Send(`42["message","` + strings.Repeat("x", 900_000) + `"]`)
	if got := c.Packet(); !strings.HasPrefix(got, `42["message-back"`) {
		t.Errorf("a large message of a member: %.60s", got)
	}
}

// exchange serves one request on the spot.
func exchange(s *socketio.Server, method, query, body string) (status int, answer string) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, "/socket.io/?EIO=4&transport=polling"+query, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// TestAttachmentsAreNotAwaitedForEver: what is held for attachments that do not come
// is let go, and each that comes in time buys time for the next.
func TestAttachmentsAreNotAwaitedForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &app{connected: make(chan *socketio.Socket, 1), ended: make(chan socketio.Reason, 1)}
		a.server = socketio.New(socketio.Config{
			AttachTimeout: time.Minute, Engine: engineio.Config{PingInterval: time.Hour},
		})
		a.server.Of("/", a)
		_, opened := exchange(a.server, http.MethodGet, "", "")
		sid, _, _ := strings.Cut(strings.TrimPrefix(opened, `0{"sid":"`), `"`)
		push := func(text string) {
			t.Helper()
			if status, answer := exchange(a.server, http.MethodPost, "&sid="+sid, text); status != http.StatusOK {
				t.Errorf("POST %s: %d %s", text, status, answer)
			}
		}
		alive := func() bool {
			synctest.Wait()
			select {
			case reason := <-a.ended:
				if reason != engineio.ForcedClose {
					t.Errorf("ended by %q", reason)
				}
				return false
			default:
				return true
			}
		}
		push("40")
		push(`453-["message"]`)
		for range 2 {
			time.Sleep(59 * time.Second)
			push("bAQ==")
		}
		time.Sleep(59 * time.Second)
		if !alive() {
			t.Fatal("the connection ended while attachments came in time")
		}
		push("bAQ==")
		time.Sleep(10 * time.Minute) // nothing is due
		push(`451-["message"]`)
		time.Sleep(59 * time.Second)
		if !alive() {
			t.Fatal("the connection ended before its time")
		}
		time.Sleep(2 * time.Second)
		if alive() {
			t.Error("the connection lives on, and the packet is held")
		}
		time.Sleep(time.Minute) // until nobody waits for the last poll
	})
}
