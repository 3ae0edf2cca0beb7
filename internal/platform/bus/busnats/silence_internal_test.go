package busnats

import (
	"bufio"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
)

// server is one whose first line stops taking what is written. It notes for how
// long the client is ready to wait for that, and does not make it wait.
type server struct {
	full    atomic.Bool
	longest atomic.Int64

	lines atomic.Int32
	again chan struct{} // closed when a later line is told of the subscription
	once  sync.Once
}

func (s *server) Dial(string, string) (net.Conn, error) {
	near, far := net.Pipe()
	first := s.lines.Add(1) == 1
	go s.serve(far, first)
	if first {
		return firstLine{near, s}, nil
	}
	return near, nil
}

func (s *server) serve(line net.Conn, first bool) {
	defer func() { _ = line.Close() }()
	_, _ = io.WriteString(line, "INFO {\"server_id\":\"s\",\"version\":\"2.10.0\",\"max_payload\":1048576}\r\n")
	for in := bufio.NewReader(line); ; {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if !first && strings.HasPrefix(text, "SUB castalia.room ") {
			s.once.Do(func() { close(s.again) })
		}
		if strings.HasPrefix(text, "PING") {
			go func() { _, _ = io.WriteString(line, "PONG\r\n") }() // a pipe holds nothing
		}
	}
}

type firstLine struct {
	net.Conn
	server *server
}

func (l firstLine) SetWriteDeadline(at time.Time) error {
	if l.server.full.Load() && !at.IsZero() {
		l.server.longest.Store(max(l.server.longest.Load(), int64(time.Until(at))))
	}
	return l.Conn.SetWriteDeadline(at)
}

func (l firstLine) Write(p []byte) (int, error) {
	if l.server.full.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	return l.Conn.Write(p)
}

// Everybody on the node who publishes or subscribes waits behind a write to the
// server, after their work is stored and while somebody waits for them. So it is
// given up soon, and with it the line: what was not written may have been a
// subscription, which would never be heard again.
func TestAServerThatDoesNotReadIsLeft(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*Bus) error{
		"a little": func(*Bus) error { return nil },
		"a lot":    func(b *Bus) error { return b.Publish(t.Context(), "b", make([]byte, bus.MaxData)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{again: make(chan struct{})}
			b, err := New(Config{URL: "nats://127.0.0.1:1", dial: s, ReconnectWait: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			s.full.Store(true)
			if _, err := b.Subscribe("room", func(bus.Message) {}); err != nil {
				t.Fatal(err)
			}
			_ = write(b) // it may say that it failed
			select {
			case <-s.again:
			case <-time.After(time.Minute):
				t.Error("no other line is told of the subscription")
			}
			if wait := time.Duration(s.longest.Load()); wait == 0 || wait > 2*time.Second {
				t.Errorf("a write may take %v", wait)
			}
		})
	}
}
