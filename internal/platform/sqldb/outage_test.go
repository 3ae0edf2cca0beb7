package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/pgadmin"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestAnOutageIsUnavailableAndEndsByItself(t *testing.T) {
	t.Parallel()
	var b [2]sqldbtest.Breaker
	for i, fresh := range []func(testing.TB) string{sqldbtest.SQLiteURL, testenv.Postgres} {
		t.Run([]string{"sqlite", "postgres"}[i], func(t *testing.T) {
			t.Parallel()
			breaker := &b[i]
			db := things(t, func(t *testing.T) *sqldb.DB {
				return sqldbtest.Open(t, fresh(t), sqldb.Options{Fault: breaker.Fault})
			})
			mustWrite(t, db, insert("before"))

			breaker.Break()
			if err := db.Write(t.Context(), insert("during")); !fault.Is(err, fault.Unavailable) {
				t.Errorf("write: %v", err)
			}
			var n int
			if err := db.Read().QueryRowContext(t.Context(), `SELECT 1`).Scan(&n); !fault.Is(err, fault.Unavailable) {
				t.Errorf("read: %v", err)
			}
			if err := db.Ping(t.Context()); !fault.Is(err, fault.Unavailable) {
				t.Errorf("ping: %v", err)
			}
			err := db.Snapshot(t.Context(), func(context.Context, sqldb.Querier) error { return nil })
			if !fault.Is(err, fault.Unavailable) {
				t.Errorf("snapshot: %v", err)
			}

			breaker.Restore()
			mustWrite(t, db, insert("after"))
			awaitPing(t, db)
			if n := count(t, db); n != 2 {
				t.Errorf("%d rows, want 2", n)
			}

			breaker.FailCommits(1)
			if err := db.Write(t.Context(), insert("uncommitted")); !fault.Is(err, fault.Unavailable) {
				t.Errorf("failed commit: %v", err)
			}
			breaker.LoseAcks(1)
			if err := db.Write(t.Context(), insert("unacknowledged")); !fault.Is(err, fault.Unavailable) {
				t.Errorf("lost acknowledgement: %v", err)
			}
			if n := count(t, db); n != 3 {
				t.Errorf("%d rows, want 3: the failed commit must not be stored, the unacknowledged one must", n)
			}
			mustWrite(t, db, insert("last"))
		})
	}
}

// awaitPing waits until the database answers in time, which on a machine that is
// busy with other tests may not be at once.
func awaitPing(t *testing.T, db *sqldb.DB) {
	t.Helper()
	var err error
	for range 30 {
		if err = db.Ping(t.Context()); err == nil {
			return
		}
	}
	t.Errorf("the database does not come back: %v", err)
}

func mustWrite(t *testing.T, db *sqldb.DB, fn func(context.Context, sqldb.Querier) error) {
	t.Helper()
	if err := db.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestARestartedPostgresGoesUnnoticed(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	db := things(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Open(t, address, sqldb.Options{}) })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		var wg sync.WaitGroup // fill both pools
		for j := range 6 {
			wg.Go(func() {
				if err := db.Write(t.Context(), insert(fmt.Sprintf("%d/%d", i, j))); err != nil {
					t.Error(err)
				}
				count(t, db)
			})
		}
		wg.Wait()
		if err := pgadmin.Disconnect(t.Context(), testenv.Env(t, "TEST_POSTGRES_URL"), strings.TrimPrefix(u.Path, "/")); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, db); n != 60 {
		t.Errorf("%d rows, want 60", n)
	}
}

func TestPingFollowsTheServer(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := startProxy(t, u.Host)
	u.Host = p.listener.Addr().String()
	db := sqldbtest.Open(t, u.String(), sqldb.Options{})
	awaitPing(t, db)
	p.set(proxyRefuses)
	if err := db.Ping(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("ping of a stopped server: %v", err)
	}
	p.set(proxySwallows)
	if err := db.Ping(t.Context()); err == nil { // and it returns at all
		t.Error("ping of a server that does not answer succeeded")
	}
	p.set(proxyPasses)
	awaitPing(t, db)
}

type proxyMode int

const (
	proxyPasses proxyMode = iota
	proxyRefuses
	proxySwallows
	proxyStands // what was sent is kept until the mode changes
)

// proxy is a line to a server that can be cut.
type proxy struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	mode     proxyMode
	conns    []net.Conn
	still    chan struct{} // while it stands still; closed when that ends
	wg       sync.WaitGroup
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.handle(c)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.set(proxyRefuses)
		p.wg.Wait()
	})
	return p
}

// set changes the mode and cuts every line, but for those that are to stand still.
func (p *proxy) set(mode proxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	if p.still != nil {
		close(p.still)
		p.still = nil
	}
	if mode == proxyStands {
		p.still = make(chan struct{})
		return
	}
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func (p *proxy) handle(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
	switch p.mode {
	case proxyRefuses:
		_ = c.Close()
	case proxyPasses, proxyStands:
		s, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = c.Close()
			return
		}
		p.conns = append(p.conns, s)
		for _, pair := range [][2]net.Conn{{c, s}, {s, c}} {
			p.wg.Go(func() {
				_, _ = io.Copy(gate{pair[0], p}, pair[1])
				p.standing()
				_ = pair[0].Close()
			})
		}
	}
}

// standing waits for as long as the proxy stands still.
func (p *proxy) standing() {
	p.mu.Lock()
	still := p.still
	p.mu.Unlock()
	if still != nil {
		<-still
	}
}

// gate is an end of a line on which nothing comes out while the proxy stands still.
type gate struct {
	net.Conn
	proxy *proxy
}

func (g gate) Write(b []byte) (int, error) {
	g.proxy.standing()
	return g.Conn.Write(b)
}

func TestADeletedFileIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "castalia.db")
	db := sqldbtest.Open(t, "sqlite:"+path, sqldb.Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("ping of a deleted file: %v", err)
	}
}

func TestAFrozenTransactionLetsGo(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	first := things(t, func(t *testing.T) *sqldb.DB {
		return sqldbtest.Open(t, address+"&idle_in_transaction_session_timeout=500ms", sqldb.Options{})
	})
	second := sqldbtest.Open(t, address, sqldb.Options{})
	mustWrite(t, first, insert("row"))
	frozen, thaw := make(chan struct{}), make(chan struct{})
	update := `UPDATE demo_things SET n = n + 1 WHERE id = 'row'`
	var wg sync.WaitGroup
	var once sync.Once
	wg.Go(func() {
		err := first.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			if _, err := tx.ExecContext(ctx, update); err != nil {
				return err
			}
			once.Do(func() { close(frozen); <-thaw }) // the process is stopped here, the first time
			_, err := tx.ExecContext(ctx, update)
			return err
		})
		if err != nil {
			t.Errorf("the frozen write should be run again: %v", err)
		}
	})
	<-frozen
	mustWrite(t, second, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, update)
		return err
	})
	close(thaw)
	wg.Wait()
	var n int
	if err := second.Read().QueryRowContext(t.Context(), `SELECT n FROM demo_things WHERE id = 'row'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 3 {
		t.Errorf("n = %d, want 3: one of the second, two of the first", n)
	}
}

func TestOpenRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"mysql://x", "sqlite:", "sqlite::memory:", "sqlite:/no/such/folder/x.db",
		"postgres://127.0.0.1:1/none?connect_timeout=1", "postgres://%zz",
	} {
		if db, err := sqldb.Open(t.Context(), address, sqldb.Options{}); err == nil {
			t.Errorf("Open(%q) succeeded", address)
			_ = db.Close()
		}
	}
	bad := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(bad, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqldb.Open(t.Context(), "sqlite:"+bad, sqldb.Options{}); err == nil {
		t.Error("Open of a text file succeeded")
	}
}

func TestWriteAfterCloseIsRefused(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		entered, closing := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { // accepted before Close: it finishes
			err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				close(entered)
				<-closing
				return insert("accepted")(ctx, tx)
			})
			if err != nil {
				t.Errorf("an accepted write: %v", err)
			}
		})
		<-entered
		wg.Go(func() {
			close(closing)
			for range 2 {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Wait()
		if err := db.Write(t.Context(), insert("x")); !errors.Is(err, sqldb.ErrClosed) {
			t.Errorf("write: %v", err)
		}
	})
}

// TestOppositeOrdersBothSucceed makes two writers lock two rows crosswise.
func TestOppositeOrdersBothSucceed(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		mustWrite(t, db, insert("a"))
		mustWrite(t, db, insert("b"))
		met := make(chan struct{}, 2)
		var wg sync.WaitGroup
		for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
			var first sync.Once
			wg.Go(func() {
				err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
					for i, id := range order {
						if _, err := tx.ExecContext(ctx, `UPDATE demo_things SET n = n + 1 WHERE id = $1`, id); err != nil {
							return err
						}
						if i == 0 && db.Dialect() == sqldb.Postgres {
							first.Do(func() { // wait for the other to hold its first row
								met <- struct{}{}
								for len(met) < 2 {
									runtime.Gosched()
								}
							})
						}
					}
					return nil
				})
				if err != nil {
					t.Errorf("%v: %v", order, err)
				}
			})
		}
		wg.Wait()
		for _, id := range []string{"a", "b"} {
			var n int
			err := db.Read().QueryRowContext(t.Context(), `SELECT n FROM demo_things WHERE id = $1`, id).Scan(&n)
			if err != nil || n != 2 {
				t.Errorf("%s is %d (%v), want 2", id, n, err)
			}
		}
	})
}

func TestAStuckWriterIsNoticed(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	if err := db.Ping(t.Context()); err == nil {
		t.Error("ping says that all is well while the writer is stuck")
	}
	release()
	wg.Wait()
	awaitPing(t, db)
}

// TestAFullDiskFailsCleanly bounds the file's size, so that SQLite rolls the
// whole transaction back by itself, and with it everybody in the batch.
func TestAFullDiskFailsCleanly(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	errs := crowd(t, db, 30, func(i int) func(context.Context, sqldb.Querier) error {
		return func(ctx context.Context, tx sqldb.Querier) error {
			if err := insert(fmt.Sprint(i))(ctx, tx); err != nil {
				return err
			}
			if i != 15 {
				return nil
			}
			if _, err := tx.ExecContext(ctx, `PRAGMA max_page_count = 40`); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `UPDATE demo_things SET body = $1 WHERE id = '15'`, make([]byte, 4<<20))
			return err
		}
	})
	stored := 0
	for i, err := range errs {
		switch {
		case i == 15 && !fault.Is(err, fault.StorageFull):
			t.Errorf("the write that fills the disk: %v", err)
		case err == nil:
			stored++
		case !fault.Is(err, fault.StorageFull):
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := count(t, db); n != stored {
		t.Errorf("%d rows, but %d writes were acknowledged", n, stored)
	}
	mustWrite(t, db, insert("there is room again"))
	if problems, err := db.Check(t.Context(), true); err != nil || problems != nil {
		t.Errorf("check: %q, %v", problems, err)
	}
}
