package sqldb

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// cluster is two servers of one address. A server that is frozen takes lines and
// never says a word; one that is fenced refuses what writes.
type cluster struct{ one, two member }

type member struct {
	server

	fenced, frozen atomic.Bool
	asked          atomic.Int32
}

func (c *cluster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	m := &c.one
	if strings.HasPrefix(address, "10.0.0.2") {
		m = &c.two
	}
	m.asked.Add(1)
	if m.frozen.Load() {
		near, far := net.Pipe()
		go func() {
			_, _ = io.Copy(io.Discard, far) // what the system takes for it
			_ = far.Close()
		}()
		return near, nil
	}
	return m.dial(ctx, network, address)
}

const clusterAddress = "postgres://somebody@10.0.0.1,10.0.0.2/db?sslmode=disable&default_query_exec_mode=simple_protocol&target_session_attrs="

// newCluster has its first server fenced.
func newCluster() *cluster {
	c := &cluster{}
	for _, m := range []*member{&c.one, &c.two} {
		m.set(func(string) bool { return !m.frozen.Load() })
		m.refuses = func() bool { return m.fenced.Load() }
	}
	return c
}

func openCluster(t *testing.T, c *cluster, word string) *DB {
	t.Helper()
	db, err := Open(t.Context(), clusterAddress+word, Options{dial: c.dial})
	if err != nil {
		t.Fatalf("%s: %v", word, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func readOne(ctx context.Context, db *DB) error {
	var n int
	return db.Read().QueryRowContext(ctx, `SELECT n FROM things`).Scan(&n)
}

// Both words lead to the server that can be written to, for readers too, and no
// word means the same.
func TestTheServerThatCanBeWrittenToIsFound(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"read-write", "primary", "any"} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster()
			c.one.fenced.Store(true)
			db := openCluster(t, c, word)
			if err := errors.Join(readOne(t.Context(), db), db.Write(t.Context(), update)); err != nil {
				t.Errorf("%s: %v", word, err)
			}
		})
	}
	for _, word := range []string{"standby", "read-only", "prefer-standby"} {
		if _, err := Open(t.Context(), clusterAddress+word, Options{}); err == nil || !strings.Contains(err.Error(), "read-write or primary") {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// A primary that was fenced while it was used is left with the first write that it
// refuses, which goes through elsewhere.
func TestAFencedPrimaryIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.two.fenced.Store(true)
		db := openCluster(t, c, "primary")
		if err := errors.Join(readOne(t.Context(), db), db.Write(t.Context(), update)); err != nil {
			t.Fatal(err)
		}
		c.one.fenced.Store(true)
		c.two.fenced.Store(false)
		if err := db.Write(t.Context(), update); err != nil {
			t.Errorf("the write after: %v", err)
		}
		c.one.frozen.Store(true) // nobody notices: readers have left it too
		began := time.Now()
		if err := readOne(t.Context(), db); err != nil || time.Since(began) > time.Second {
			t.Errorf("a read after %s: %v", time.Since(began), err)
		}
	})
}

// A primary that stands still costs at most ten seconds: those who wait for it are
// told, and who asks next is served by the other. Later connections do not ask
// it first.
func TestAFrozenPrimaryCostsTenSeconds(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(ctx context.Context, db *DB) error{
		"a read":  readOne,
		"a write": func(ctx context.Context, db *DB) error { return db.Write(ctx, update) },
	} {
		for _, rested := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := newCluster()
					c.two.fenced.Store(true)
					db := openCluster(t, c, "read-write")
					if err := ask(t.Context(), db); err != nil {
						t.Fatal(err)
					}
					if rested {
						<-time.After(time.Minute)
					}
					c.one.frozen.Store(true)
					c.two.fenced.Store(false) // promoted at once
					began := time.Now()
					for ask(t.Context(), db) != nil {
						if time.Since(began) > time.Minute {
							t.Fatal("never served again")
						}
						<-time.After(10 * time.Millisecond)
					}
					if took := time.Since(began); took > 10*time.Second {
						t.Errorf("served again after %s", took)
					}
					before := c.one.asked.Load()
					for range 3 {
						if err := errors.Join(readOne(t.Context(), db), db.Write(t.Context(), update)); err != nil {
							t.Errorf("afterwards: %v", err)
						}
					}
					if n := c.one.asked.Load() - before; n > 0 {
						t.Errorf("the frozen server was asked %d times more", n)
					}
					<-time.After(time.Minute) // the driver still tries to end what it gave up
				})
			})
		}
	}
}

// A server that stood still, was left, and goes on knows nothing of what happened
// elsewhere meanwhile: what it says to those who still wait does not count.
func TestAServerThatWasLeftHasNoSay(t *testing.T) {
	t.Parallel()
	leave := func(ctx context.Context, db *DB) error { // as who finds it frozen does
		conn, err := db.writers.Conn(ctx)
		if err != nil {
			return err
		}
		return errors.Join(conn.Raw(func(c any) error {
			c.(*postgresConn).hosts.Leave(c.(*postgresConn).epoch)
			return nil
		}), conn.Close())
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.two.fenced.Store(true)
		db := openCluster(t, c, "primary")
		tries := 0
		err := db.Write(t.Context(), func(ctx context.Context, tx Querier) error {
			if tries++; tries == 1 {
				if err := leave(ctx, db); err != nil {
					return err
				}
			}
			return update(ctx, tx)
		})
		if err != nil || tries != 2 {
			t.Errorf("a statement that was answered after: %d tries, %v", tries, err)
		}
		tries = 0
		err = db.Write(t.Context(), func(ctx context.Context, tx Querier) error {
			tries++
			return errors.Join(update(ctx, tx), leave(ctx, db))
		})
		if !IsUnavailable(err) || tries != 1 {
			t.Errorf("a commit after: %d tries, %v", tries, err)
		}
	})
}

// refuse is what a fenced server says to a statement.
func refuse(b *pgproto3.Backend) {
	b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "25006", Message: "cannot execute UPDATE in a read-only transaction"})
}
