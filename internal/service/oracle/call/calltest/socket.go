package calltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Event is something that a server told a page.
type Event struct {
	Name string
	Data json.RawMessage
}

// Socket is a socket.io connection that reads by itself.
type Socket struct {
	conn *websocket.Conn
	read sync.WaitGroup

	write sync.Mutex
	next  int

	mu     sync.Mutex
	acks   map[int]chan json.RawMessage
	events chan Event
	closed bool
}

// Dial connects to a node with a credential, as a page of the session. Servers hang up on
// whoever takes too long to come in, which on a busy machine is anybody: as pages do, it
// knocks again then. Whoever is refused is told so, and does not.
func Dial(t testing.TB, base, session, token string) *Socket {
	t.Helper()
	hungUp := func(err error) bool {
		return websocket.IsCloseError(errors.Unwrap(err), websocket.CloseNoStatusReceived)
	}
	s, err := dial(t.Context(), base, session, token)
	for deadline := time.Now().Add(Patience); hungUp(err) && time.Now().Before(deadline); {
		s, err = dial(t.Context(), base, session, token)
	}
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func dial(ctx context.Context, base, session, token string) (_ *Socket, err error) {
	at := "ws" + strings.TrimPrefix(base, "http") + "/socket.io/?EIO=4&transport=websocket&sessionId=" + url.QueryEscape(session)
	conn, resp, err := websocket.DefaultDialer.DialContext(ctx, at, nil)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	_ = resp.Body.Close()
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	s := &Socket{conn: conn, acks: make(map[int]chan json.RawMessage), events: make(chan Event, 256)}
	auth, err := json.Marshal(map[string]string{"invocation": token})
	if err != nil {
		return nil, err
	}
	if _, _, err := conn.ReadMessage(); err != nil { // open
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := conn.WriteMessage(websocket.TextMessage, append([]byte("40"), auth...)); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if _, data, err := conn.ReadMessage(); err != nil || !strings.HasPrefix(string(data), "40") {
		return nil, fmt.Errorf("refused: %s %w", data, err)
	}
	s.read.Go(s.loop)
	return s, nil
}

// Close hangs up.
func (s *Socket) Close() {
	_ = s.conn.Close()
	s.read.Wait()
}

func (s *Socket) loop() {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		for _, got := range s.acks {
			close(got)
		}
		close(s.events)
	}()
	for {
		_, data, err := s.conn.ReadMessage()
		if err != nil {
			return
		}
		text := string(data)
		switch {
		case text == "2":
			s.send("3")
		case strings.HasPrefix(text, "42"):
			var args []json.RawMessage
			var name string
			if json.Unmarshal(data[2:], &args) != nil || len(args) == 0 || json.Unmarshal(args[0], &name) != nil {
				continue
			}
			e := Event{Name: name}
			if len(args) > 1 {
				e.Data = args[1]
			}
			select {
			case s.events <- e:
			default:
			}
		case strings.HasPrefix(text, "43"):
			s.acknowledged(text[2:])
		}
	}
}

func (s *Socket) acknowledged(text string) {
	digits := strings.IndexByte(text, '[')
	if digits < 0 {
		return
	}
	id, err := strconv.Atoi(text[:digits])
	var args []json.RawMessage
	if err != nil || json.Unmarshal([]byte(text[digits:]), &args) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.acks[id]; got != nil {
		delete(s.acks, id)
		if len(args) > 0 {
			got <- args[0]
		}
		close(got)
	}
}

func (s *Socket) send(text string) {
	s.write.Lock()
	defer s.write.Unlock()
	_ = s.conn.WriteMessage(websocket.TextMessage, []byte(text))
}

// Ask emits an event and returns what it was acknowledged with.
func (s *Socket) Ask(t testing.TB, name string, payload any) json.RawMessage {
	t.Helper()
	data, ok := payload.(json.RawMessage)
	if !ok {
		var err error
		data, err = json.Marshal(payload)
		must(t, err)
	}
	got := make(chan json.RawMessage, 1)
	s.mu.Lock()
	s.next++
	id := s.next
	if !s.closed {
		s.acks[id] = got
	} else {
		close(got)
	}
	s.mu.Unlock()
	s.send(fmt.Sprintf(`42%d[%q,%s]`, id, name, data))
	select {
	case answer := <-got:
		return answer
	case <-time.After(Patience):
		t.Fatalf("%s was never acknowledged", name)
		return nil
	}
}

// Await returns the next event of a name, throwing others away.
func (s *Socket) Await(t testing.TB, name string) json.RawMessage {
	t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				t.Fatalf("the socket closed before %s", name)
			}
			if e.Name == name {
				return e.Data
			}
		case <-timer.C:
			t.Fatalf("%s never came", name)
		}
	}
}

// Closed waits until the server has closed the socket.
func (s *Socket) Closed(t testing.TB) {
	t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	for {
		select {
		case _, ok := <-s.events:
			if !ok {
				return
			}
		case <-timer.C:
			t.Fatal("the socket was never closed")
		}
	}
}
