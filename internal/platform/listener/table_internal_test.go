package listener

import (
	"net"
	"runtime"
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
