package socketio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

// app is a Handler whose events do what their names say.
type app struct {
	server    *socketio.Server
	main      *socketio.Namespace
	url       string
	connected chan *socketio.Socket
	ended     chan socketio.Reason
}

func (a *app) Connect(s *socketio.Socket, auth json.RawMessage) error {
	switch string(auth) {
	case `{"token":"bad"}`:
		return &socketio.RefusalError{Message: "not authorized", Data: map[string]any{"hint": "<renew>"}}
	case `{"token":"fatal"}`:
		return &socketio.RefusalError{Message: "go away", Close: true}
	case `{"token":"broken"}`:
		return errors.New("database is on fire")
	case `{"token":"panic"}`:
		panic("on purpose")
	case `{"token":"slow"}`:
		<-s.Context().Done()
		return s.Context().Err()
	}
	s.Data = auth
	return nil
}

func (a *app) Connected(s *socketio.Socket) {
	_ = s.Emit("auth", s.Data)
	a.connected <- s
}

func (a *app) Event(s *socketio.Socket, e *socketio.Event) {
	switch e.Name {
	case "message":
		values, err := e.Values()
		if err != nil {
			panic(err)
		}
		_ = s.Emit("message-back", values...)
	case "message-with-ack":
		_ = e.AckRaw(e.Args, e.Attachments)
		if err := e.Ack("again"); !errors.Is(err, socketio.ErrAcked) {
			panic(fmt.Sprintf("second ack: %v", err))
		}
	case "late-ack":
		go func() { _ = e.Ack("late", socketio.Binary{7}) }()
	case "join":
		var room string
		_ = e.Decode(0, &room)
		s.Join(room)
		_ = e.Ack()
	case "leave":
		var room string
		_ = e.Decode(0, &room)
		s.Leave(room)
		_ = e.Ack()
	case "kick":
		s.Disconnect(false)
	case "kick-all":
		s.Disconnect(true)
	case "drop":
		s.Drop()
	}
}

func (a *app) Disconnect(_ *socketio.Socket, reason socketio.Reason) { a.ended <- reason }

func serve(t *testing.T, cfg socketio.Config) *app {
	t.Helper()
	a := &app{
		server: socketio.New(cfg), connected: make(chan *socketio.Socket, 100), ended: make(chan socketio.Reason, 100),
	}
	a.main = a.server.Of("/", a)
	a.server.Of("/custom", a)
	h := httptest.NewServer(a.server)
	a.url = h.URL + "/socket.io/"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = a.server.Shutdown(ctx)
		h.Close()
		if n, r := a.main.Len(), a.main.Rooms(); n != 0 || r != 0 {
			t.Errorf("%d sockets in %d rooms are left after Shutdown", n, r)
		}
	})
	return a
}

func (a *app) connect(t *testing.T) (*socketiotest.Client, *socketio.Socket) {
	t.Helper()
	c := socketiotest.Connect(t, a.url, "", nil)
	c.ExpectEvent("auth", nil)
	return c, <-a.connected
}

func (a *app) expectEnd(t *testing.T, want socketio.Reason) {
	t.Helper()
	select {
	case got := <-a.ended:
		if got != want {
			t.Errorf("ended by %q, want %q", got, want)
		}
	case <-time.After(socketiotest.Patience):
		t.Fatal("the socket did not end")
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	w := socketiotest.DialWire(t, a.url, "")
	w.Next()
	for _, test := range []struct{ send, prefix, after string }{
		{"40", `40{"sid":"`, `42["auth",{}]`},
		{`40/custom,{"token":"abc"}`, `40/custom,{"sid":"`, `42/custom,["auth",{"token":"abc"}]`},
	} {
		w.Send(test.send)
		if got := w.Next(); !strings.HasPrefix(got, test.prefix) || strings.Count(got, `":`) != 1 {
			t.Errorf("%s: %s", test.send, got)
		}
		w.Expect(test.after)
	}
	w.Send("40/random")
	w.Expect(`44/random,{"message":"Invalid namespace"}`)
	w.Send(`42["message","still here"]`)
	w.Expect(`42["message-back","still here"]`)
}

func TestPublicIDIsNotTheSecretOne(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	c, s := a.connect(t)
	if c.ID != s.ID() || s.ID() == s.Session().ID() {
		t.Errorf("ids: client %s, socket %s, session %s", c.ID, s.ID(), s.Session().ID())
	}
	if a.main.Socket(c.ID) != s {
		t.Error("the socket is not found by its id")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{ConnectTimeout: 2 * time.Second})
	for token, want := range map[string]string{
		"bad":    `{"message":"not authorized","data":{"hint":"<renew>"}}`,
		"fatal":  `{"message":"go away"}`,
		"broken": `{"message":"Internal server error"}`,
	} {
		c := socketiotest.Join(t, a.url, "", map[string]string{"token": token})
		if got := c.Packet(); got != "44"+want {
			t.Errorf("%s: %s", token, got)
		}
		if token == "fatal" {
			c.ExpectClose()
		}
	}
	for _, token := range []string{"slow", "panic"} {
		socketiotest.Join(t, a.url, "", map[string]string{"token": token}).ExpectClose()
	}
	if n := a.main.Len(); n != 0 {
		t.Errorf("%d sockets joined", n)
	}
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{ConnectTimeout: 20 * time.Millisecond})
	socketiotest.DialWire(t, a.url, "").ExpectClose()
	w := socketiotest.DialWire(t, a.url, "")
	w.Next()
	w.Send("40/random") // a refusal is no membership
	w.ExpectClose()
}

func TestEvents(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	c, _ := a.connect(t)
	for _, test := range []struct {
		send []string
		want []string
	}{
		{[]string{`42["message",1,"2",{"3":[true]}]`}, []string{`42["message-back",1,"2",{"3":[true]}]`}},
		{[]string{`42["message","<żółw>"]`}, []string{`42["message-back","<żółw>"]`}},
		{
			[]string{`452-["message",{"_placeholder":true,"num":0},{"a":[{"_placeholder":true,"num":1}]}]`, "\x01\x02", "\x03"},
			[]string{`452-["message-back",{"_placeholder":true,"num":0},{"a":[{"_placeholder":true,"num":1}]}]`, "bin:0102", "bin:03"},
		},
		{[]string{`42456["message-with-ack",1,"2",{"3":[false]}]`}, []string{`43456[1,"2",{"3":[false]}]`}},
		{[]string{`420["message-with-ack"]`}, []string{`430[]`}},
		{
			[]string{`451-789["message-with-ack",{"_placeholder":true,"num":0}]`, "\x01"},
			[]string{`461-789[{"_placeholder":true,"num":0}]`, "bin:01"},
		},
		{[]string{`425["late-ack"]`}, []string{`461-5["late",{"_placeholder":true,"num":0}]`, "bin:07"}},
	} {
		for i, m := range test.send {
			if i == 0 {
				c.Send(m)
			} else {
				c.SendBinary([]byte(m)...)
			}
		}
		c.Expect(test.want...)
	}
}

func TestOffencesCloseTheConnection(t *testing.T) {
	t.Parallel()
	for _, send := range []string{
		"4abc", "42{}", `42abc["m"]`, `42["connect"]`, "40", `42/custom,["m"]`, "41/custom,", `43/custom,1[]`, `44{"message":"x"}`, `450-["m"]`,
	} {
		t.Run(send, func(t *testing.T) {
			t.Parallel()
			a := serve(t, socketio.Config{})
			c, _ := a.connect(t)
			c.Send(send)
			c.ExpectClose()
			a.expectEnd(t, engineio.ForcedClose)
		})
	}
	t.Run("event before connect", func(t *testing.T) {
		t.Parallel()
		a := serve(t, socketio.Config{})
		w := socketiotest.DialWire(t, a.url, "")
		w.Next()
		w.Send(`42["message"]`)
		w.ExpectClose()
	})
}

func TestTooManyNamespaces(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{MaxNamespaces: 1})
	c, _ := a.connect(t)
	c.Send("40/custom,")
	c.ExpectClose()
}

func TestDisconnect(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	c, s := a.connect(t)
	c.Send("40/custom,")
	c.Packet()
	c.Expect(`42/custom,["auth",{}]`)
	<-a.connected

	c.Send("41/custom")
	a.expectEnd(t, socketio.ClientDisconnect)
	c.Send(`42/custom,["message","late"]`) // was on its way: no offence
	c.Send(`42["message","main"]`)
	c.Expect(`42["message-back","main"]`)

	c.Emit("kick")
	c.Expect("41")
	a.expectEnd(t, socketio.ServerDisconnect)
	if err := s.Emit("too late"); !errors.Is(err, socketio.ErrDisconnected) {
		t.Errorf("Emit to a socket that left: %v", err)
	}
	c.Send(`42["message","late"]`)
	c.Send("40") // the connection goes on, and may join again
	if got := c.Packet(); !strings.HasPrefix(got, `40{"sid":"`) {
		t.Errorf("joining again: %s", got)
	}
	c.ExpectEvent("auth", nil)
	c.Emit("kick-all")
	c.Expect("41")
	c.ExpectClose()
	a.expectEnd(t, socketio.ServerDisconnect)
}

func TestDropLeavesTheClientFreeToComeBack(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	c, _ := a.connect(t)
	c.Emit("drop")
	if _, _, err := c.Conn.ReadMessage(); err == nil {
		t.Error("a packet came before the close")
	}
	a.expectEnd(t, engineio.ForcedClose)
}

func TestServerAcks(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{MaxPendingAcks: 2})
	c, s := a.connect(t)
	type result struct {
		reply socketio.Reply
		err   error
	}
	ask := func(ctx context.Context) chan result {
		got := make(chan result, 1)
		go func() {
			r, err := s.EmitAck(ctx, "question", 42)
			got <- result{r, err}
		}()
		return got
	}
	first := ask(t.Context())
	c.Expect(`420["question",42]`)
	c.Send("4399[]") // nobody asked
	c.Send(`430["answer"]`)
	c.Send(`430["twice"]`)
	if r := <-first; r.err != nil || len(r.reply.Args) != 1 || string(r.reply.Args[0]) != `"answer"` {
		t.Errorf("EmitAck: %v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	second := ask(ctx)
	c.Expect(`421["question",42]`)
	cancel()
	if r := <-second; !errors.Is(r.err, context.Canceled) {
		t.Errorf("EmitAck with a canceled context: %v", r.err)
	}
	third, fourth := ask(t.Context()), ask(t.Context())
	c.Packet()
	c.Packet()
	if r := <-ask(t.Context()); !errors.Is(r.err, socketio.ErrAckLimit) {
		t.Errorf("an ack too many: %v", r.err)
	}
	_ = c.Conn.Close()
	for _, got := range []chan result{third, fourth} {
		if r := <-got; !errors.Is(r.err, socketio.ErrDisconnected) {
			t.Errorf("EmitAck to a socket that goes: %v", r.err)
		}
	}
}

func TestRooms(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	var clients []*socketiotest.Client
	for i := range 3 {
		c, _ := a.connect(t)
		clients = append(clients, c)
		if i < 2 {
			c.EmitAck("join", "a")
		}
		if i > 0 {
			c.EmitAck("join", "b")
		}
	}
	say := func(text string, rooms ...string) int {
		p, err := a.main.Prepare("said", text)
		if err != nil {
			t.Fatal(err)
		}
		return a.main.Broadcast(p, rooms...)
	}
	got := []int{say("1", "a"), say("2", "a", "b"), say("3"), say("4", "nobody")}
	if diff := cmp.Diff([]int{2, 3, 3, 0}, got); diff != "" {
		t.Errorf("receivers (-want +got):\n%s", diff)
	}
	clients[0].Expect(`42["said","1"]`, `42["said","2"]`, `42["said","3"]`)
	clients[1].Expect(`42["said","1"]`, `42["said","2"]`, `42["said","3"]`)
	clients[2].Expect(`42["said","2"]`, `42["said","3"]`)
	clients[1].EmitAck("leave", "a")
	if n := len(a.main.Members("a")); n != 1 {
		t.Errorf("%d members after one left", n)
	}
}

func TestReservedNamesAreNotEmitted(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	_, s := a.connect(t)
	if err := s.Emit("disconnect"); !errors.Is(err, socketio.ErrReservedEvent) {
		t.Errorf("Emit(disconnect): %v", err)
	}
	if err := s.Emit("raw", json.RawMessage("{")); !errors.Is(err, socketio.ErrPacket) {
		t.Errorf("Emit with broken JSON: %v", err)
	}
}

func TestAPacketThatBeginsOnPollingAndEndsOnWebSocket(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	p.Post("40")
	_, body := p.Get()
	if !strings.HasPrefix(body, `40{"sid":"`) {
		t.Fatalf("polled %q", body)
	}
	p.Post(`451-["message",{"_placeholder":true,"num":0}]`)
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	p.Get()
	w.Send("5")
	w.SendBinary(1, 2, 3)
	for {
		if got := w.Next(); !strings.HasPrefix(got, `42["auth"`) {
			if got != `451-["message-back",{"_placeholder":true,"num":0}]` {
				t.Errorf("received %s", got)
			}
			break
		}
	}
	w.Expect("bin:010203")
}

// TestStorm opens, uses and kills many sockets at once: for the race detector,
// and for what is left behind.
func TestStorm(t *testing.T) {
	t.Parallel()
	a := serve(t, socketio.Config{})
	a.connected, a.ended = make(chan *socketio.Socket, 1000), make(chan socketio.Reason, 1000)
	stop := make(chan struct{})
	var talker sync.WaitGroup
	talker.Go(func() {
		p, _ := a.main.Prepare("said", "x")
		for {
			select {
			case <-stop:
				return
			default:
				a.main.Broadcast(p, "room")
			}
		}
	})
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			c := socketiotest.Connect(t, a.url, "", nil)
			c.Emit("join", "room")
			for name := ""; name != "said"; {
				name, _ = c.Event()
			}
			switch i % 3 {
			case 0:
				_ = c.Conn.Close()
			case 1:
				c.Send("1")
			case 2:
				c.Emit("kick-all")
			}
		})
	}
	wg.Wait()
	close(stop)
	talker.Wait()
	for range 60 {
		select {
		case <-a.ended:
		case <-time.After(socketiotest.Patience):
			t.Fatal("a socket did not end")
		}
	}
}
