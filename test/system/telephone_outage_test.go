package system_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

const (
	outage      = 5 * time.Second
	unavailable = "END Service temporarily unavailable. Please try again later."
)

// away types and dials while the database is gone, for as long as the outage
// lasts and at least once, and looks at what users and operators are told.
func away(t *testing.T, c *caller) {
	t.Helper()
	over := time.After(outage)
	for turn := 0; ; turn++ {
		if got := c.send(); got != unavailable {
			t.Fatalf("input %d without a database: %q", turn, got)
		}
		if got, err := c.line.Send(t.Context(), fmt.Sprintf("away-%d", turn), "*2233#", c.phone, ""); err != nil || got != unavailable {
			t.Fatalf("dial %d without a database: %q %v", turn, got, err)
		}
		select {
		case <-over:
			return
		default:
		}
	}
}

// back waits until the session goes on where it was, on every node: a caller's
// requests go round, and a node may need longer than the one before it.
func back(t *testing.T, w *system.World, c *caller) {
	t.Helper()
	system.Eventually(t, "the session goes on everywhere", func() error {
		for range w.Nodes {
			if got := c.send(); !strings.Contains(got, "full name") {
				return fmt.Errorf("%q", got)
			}
		}
		return nil
	})
	c.line.retries = 3 // the first write of a node may still meet a line that died
	c.expect("Ann", "e-mail")
	c.dial("after")
}

// The database refuses connections for five seconds.
func TestTheDatabaseIsAwayForTelephones(t *testing.T) {
	t.Parallel()
	address, proxy := system.Through(t, testenv.Postgres(t))
	w := system.Start(t, system.Fleet, "DATABASE_URL="+address)
	c := &caller{t: t, line: &telephone{world: w}, phone: "+254700555666"}
	c.dial("d1")
	c.expect("2", "Account menu")
	proxy.Cut()
	c.text += "*2"
	away(t, c)
	system.Eventually(t, "/health tells", func() error { return database(w, "disconnected") })
	proxy.Restore()
	back(t, w, c)
	system.Eventually(t, "/health tells", func() error { return database(w, "connected") })
}

// The network to the database swallows everything: the answer comes while it
// still does, and what was half done is done once.
func TestTheDatabaseHangsForTelephones(t *testing.T) {
	t.Parallel()
	address, proxy := system.Through(t, testenv.Postgres(t))
	w := system.Start(t, system.Fleet, "DATABASE_URL="+address)
	c := &caller{t: t, line: &telephone{world: w}, phone: "+254700555888"}
	c.dial("h1")
	c.expect("2", "Account menu")
	proxy.Stall()
	c.text += "*2"
	away(t, c)
	proxy.Flow()
	back(t, w, c)
}

// Embedded, the database is a file: somebody else who holds its lock for longer
// than SQLite waits is what being away means there.
func TestTheDatabaseFileIsHeldForTelephones(t *testing.T) {
	t.Parallel()
	w := system.Start(t, system.Embedded)
	c := &caller{t: t, line: &telephone{world: w}, phone: "+254700555777"}
	c.dial("d1")
	c.expect("2", "Account menu")

	other, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(w.Data, sqldb.FileName), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- other.Write(t.Context(), func(context.Context, sqldb.Querier) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	c.text += "*2"
	away(t, c)
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	back(t, w, c)
}

// database compares what the nodes say of their database.
func database(w *system.World, want string) error {
	for i, n := range w.Nodes {
		reply, err := n.Try(context.Background(), system.Call{Method: "GET", Path: "/health"})
		if err != nil {
			return err
		}
		if !strings.Contains(string(reply.Body), fmt.Sprintf("%q:%q", "database", want)) {
			return fmt.Errorf("node %d: %d %s", i, reply.Status, reply.Body)
		}
	}
	return nil
}
