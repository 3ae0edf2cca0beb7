package listener

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestRoomIsMadeByWhoeverBeginsToWait: new connections come in as soon as one that was
// served waits for its client, and not only when one closes.
func TestRoomIsMadeByWhoeverBeginsToWait(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *Conn){
		"the answer is complete":        func(c *Conn) { c.Idle(time.Now()) },
		"the client sends nothing more": func(c *Conn) { c.Waiting(time.Now()) },
		"it closes":                     func(c *Conn) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 200 {
				table := NewTable(2)
				served := []*Conn{enter(t, table), enter(t, table)}
				taken := make(chan bool, 2)
				for range 2 { // two doors of one table
					go func() {
						_, ok := table.add(ends(t), nil)
						taken <- ok
					}()
				}
				for table.queue.Load() < 2 {
					runtime.Gosched()
				}
				for _, c := range served {
					go end(c)
				}
				for range served {
					if !<-taken {
						t.Fatal("a connection was refused")
					}
				}
			}
		})
	}
}

// TestPlacesAreKept fills a table with what is served, and sees who comes in then.
func TestPlacesAreKept(t *testing.T) {
	t.Parallel()
	table := NewTable(32)
	var served []*Conn
	for range 30 {
		c := enter(t, table)
		if c.Late() {
			t.Fatalf("connection %d of 32 is late", len(served)+1)
		}
		served = append(served, c)
	}
	first, second := enter(t, table), enter(t, table)
	if !first.Late() || !second.Late() {
		t.Error("the last two of 32 places are not kept")
	}
	first.Idle(time.Now())
	third := enter(t, table) // who waits in a kept place makes room
	if !first.closed.Load() || second.closed.Load() || !third.Late() || table.Len() != 32 {
		t.Errorf("closed %v and %v, late %v, %d open", first.closed.Load(), second.closed.Load(), third.Late(), table.Len())
	}
	_ = served[0].Close()
	if third.Late() {
		t.Error("it is late although there is room")
	}
	if fourth := enter(t, table); !second.Late() || !fourth.Late() || table.Len() != 32 {
		t.Errorf("the place that became free: late %v and %v, %d open", second.Late(), fourth.Late(), table.Len())
	}
	served[1].Idle(time.Now())
	if fifth := enter(t, table); fifth.Late() || !served[1].closed.Load() {
		t.Error("who waits did not make room")
	}
	for c := range table.all {
		_ = c.Close()
	}
	if table.late != 0 || table.Len() != 0 {
		t.Errorf("%d are late of %d", table.late, table.Len())
	}
}

func enter(t *testing.T, table *Table) *Conn {
	t.Helper()
	got, _ := table.add(ends(t), nil)
	c, ok := got.(*Conn)
	if !ok {
		t.Fatal("no connection of the table")
	}
	c.Begin()
	return c
}

func ends(t *testing.T) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near
}

// pieces counts what is written, and fails when it is told to.
type pieces struct {
	net.Conn
	all    []string
	fails  error
	closed bool
}

func (p *pieces) Write(b []byte) (int, error) {
	p.all = append(p.all, string(b))
	return len(b), p.fails
}

func (p *pieces) Close() error {
	p.closed = true
	return nil
}

func (p *pieces) RemoteAddr() net.Addr { return nil }

func TestWhatIsWrittenTogetherIsOnePiece(t *testing.T) {
	t.Parallel()
	under := &pieces{}
	conn, ok := NewTable(1).add(under, nil)
	c := conn.(*Conn)
	write := func(texts ...string) func() error {
		return func() error {
			for _, text := range texts {
				if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
					return err
				}
			}
			return nil
		}
	}
	no := errors.New("no")
	if err := c.together(write("a", "b")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := c.together(func() error { _ = write("lost")(); return no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = c.together(func() error { _ = write("lost too")(); panic("no") })
	}()
	if err := write("c", "d")(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(under.all, " "); got != "ab c d" || under.closed {
		t.Errorf("wrote %q, closed %v", got, under.closed)
	}
	under.fails = no
	if err := c.together(write("e")); !errors.Is(err, no) || !under.closed {
		t.Errorf("got %v, closed %v", err, under.closed)
	}
}
