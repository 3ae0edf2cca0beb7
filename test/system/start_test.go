package system_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

// answers asks once and says what is different from what is wanted.
func answers(t *testing.T, n *system.Node, path string, status int, contains string) error {
	t.Helper()
	reply, err := n.Try(t.Context(), system.Call{Method: "GET", Path: path})
	if err != nil {
		return err
	}
	if reply.Status != status || !strings.Contains(string(reply.Body), contains) {
		return fmt.Errorf("GET %s: %d %s", path, reply.Status, reply.Body)
	}
	return nil
}

// TestANodeWaitsForItsDatabase starts a fleet during an outage of its database:
// every node lives, says that it is degraded, and serves when the database comes.
func TestANodeWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	address, proxy := system.Through(t, testenv.Postgres(t))
	proxy.Cut()
	w := system.Prepare(t, system.Fleet, "DATABASE_URL="+address)
	for _, n := range w.Nodes {
		n.Start()
	}
	for _, n := range w.Nodes {
		system.Eventually(t, "the port is open", func() error { return answers(t, n, "/", 200, `"status":"ok"`) })
		for _, c := range []struct {
			path, contains string
		}{
			{"/health", `"status":"degraded"`},
			{"/health", `"database":"disconnected"`},
			{"/ready", `"ready":false`},
			{"/sessions", "The database is not available."},
		} {
			if err := answers(t, n, c.path, 503, c.contains); err != nil {
				t.Error(err)
			}
		}
		line := &telephone{world: &system.World{Nodes: []*system.Node{n}}}
		if got, err := line.Send(t.Context(), "early", "*2233#", "+254700555777", ""); err != nil || got != unavailable {
			t.Errorf("a telephone that dials early: %q %v", got, err)
		}
		system.Eventually(t, "the log says what it waits for", func() error {
			if !strings.Contains(n.Log(), "the database is away: waiting for it") {
				return fmt.Errorf("log: %s", n.Log())
			}
			return nil
		})
	}
	proxy.Restore()
	for _, n := range w.Nodes {
		n.WaitReady()
		if err := answers(t, n, "/health", 200, `"database":"connected"`); err != nil {
			t.Error(err)
		}
	}
}

// TestANodeWaitsForADatabaseThatFalters takes the database away again when a
// starting node has just reached it: it goes on waiting, as it would have before.
func TestANodeWaitsForADatabaseThatFalters(t *testing.T) {
	t.Parallel()
	address, proxy := system.Through(t, testenv.Postgres(t))
	proxy.Admit(1) // enough to see that it is there, not to write
	n := system.Prepare(t, system.Fleet, "DATABASE_URL="+address).Node(0)
	n.Start()
	system.Eventually(t, "it waits", func() error { return answers(t, n, "/ready", 503, "starting") })
	proxy.Restore()
	n.WaitReady()
}

// TestANodeWaitsForADatabaseThatGoesWhileItMigrates takes the database away while
// a starting node changes a service's tables. Somebody else has them, so that the
// node is certainly there.
func TestANodeWaitsForADatabaseThatGoesWhileItMigrates(t *testing.T) {
	t.Parallel()
	direct := testenv.Postgres(t)
	db := sqldbtest.Open(t, direct+"&idle_in_transaction_session_timeout=0", sqldb.Options{})
	enough := errors.New("enough")
	has, done, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	let := sync.OnceFunc(func() { close(done) })
	t.Cleanup(let)
	go func() {
		ended <- db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			if _, err := tx.ExecContext(ctx, `CREATE TABLE identity_migrations (version BIGINT)`); err != nil {
				return err
			}
			close(has)
			<-done
			return enough
		})
	}()
	select {
	case <-has:
	case err := <-ended:
		t.Fatal(err)
	}
	address, proxy := system.Through(t, direct)
	n := system.Prepare(t, system.Fleet, "DATABASE_URL="+address).Node(0)
	n.Start()
	system.Eventually(t, "it migrates", func() error {
		var waiting int
		err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err == nil && waiting == 0 {
			err = fmt.Errorf("nobody waits for the table; log: %s", n.Log())
		}
		return err
	})
	proxy.Cut()
	system.Eventually(t, "it waits", func() error { return answers(t, n, "/ready", 503, "starting") })
	let()
	if err := <-ended; !errors.Is(err, enough) {
		t.Error(err)
	}
	proxy.Restore()
	n.WaitReady()
}

func TestAWaitForTheDatabaseEnds(t *testing.T) {
	t.Parallel()
	address, proxy := system.Through(t, testenv.Postgres(t))
	proxy.Cut()
	t.Run("when its time is up", func(t *testing.T) {
		t.Parallel()
		n := system.Prepare(t, system.Fleet, "DATABASE_URL="+address, "DATABASE_WAIT=300ms").Node(0)
		n.Start()
		if code := n.ExitCode(); code != 1 || !strings.Contains(n.Log(), "gave up after 300ms (DATABASE_WAIT)") {
			t.Errorf("exit %d: %s", code, n.Log())
		}
	})
	t.Run("at once when it is off", func(t *testing.T) {
		t.Parallel()
		n := system.Prepare(t, system.Fleet, "DATABASE_URL="+address, "DATABASE_WAIT=off").Node(0)
		n.Start()
		if code := n.ExitCode(); code != 1 || strings.Contains(n.Log(), "waiting for it") {
			t.Errorf("exit %d: %s", code, n.Log())
		}
	})
	t.Run("at once when the database refuses", func(t *testing.T) {
		t.Parallel()
		unknown := testenv.Postgres(t)
		unknown = strings.Replace(unknown, "?", "_that_is_not_there?", 1)
		n := system.Prepare(t, system.Fleet, "DATABASE_URL="+unknown).Node(0)
		n.Start()
		if code := n.ExitCode(); code != 1 || strings.Contains(n.Log(), "waiting for it") {
			t.Errorf("exit %d: %s", code, n.Log())
		}
	})
	t.Run("when it is told to stop", func(t *testing.T) {
		t.Parallel()
		n := system.Prepare(t, system.Fleet, "DATABASE_URL="+address).Node(0)
		n.Start()
		system.Eventually(t, "it waits", func() error { return answers(t, n, "/ready", 503, "starting") })
		n.Signal(syscall.SIGTERM)
		if code := n.ExitCode(); code != 0 {
			t.Errorf("exit %d: %s", code, n.Log())
		}
	})
}

// TestRequestsAreTraced gives the program a collector and finds the span of a
// request there, in the trace that the caller began.
func TestRequestsAreTraced(t *testing.T) {
	t.Parallel()
	spans := make(chan string, 64)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
		select {
		case spans <- string(body):
		default:
		}
	}))
	t.Cleanup(collector.Close)
	n := system.Start(t, system.Embedded, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL).Node(0)
	const trace = "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"
	n.Do(t, system.Call{Method: "GET", Path: "/health", Header: http.Header{
		"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	}})
	n.Stop() // which exports what is left
	for {
		select {
		case body := <-spans:
			if strings.Contains(body, "GET /health") && strings.Contains(body, trace) {
				return
			}
		default:
			t.Fatalf("the request was not exported; log:\n%s", n.Log())
		}
	}
}
