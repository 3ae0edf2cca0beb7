package sqldb_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/servers"
	"github.com/castalia-org/castalia/test/testenv"
)

// TestAServerWithoutConnectionsIsWaitedFor gives a node fewer connections than it
// wants: everybody is served by those that it has.
func TestAServerWithoutConnectionsIsWaitedFor(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	admin := sqldbtest.Open(t, address, sqldb.Options{})
	role := "few_" + testenv.Token()
	err := admin.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		for _, statement := range []string{"CREATE ROLE " + role + " LOGIN CONNECTION LIMIT 5", "GRANT ALL ON SCHEMA public TO " + role} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = admin.Write(context.Background(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, "DROP OWNED BY "+role+" CASCADE")
			if err == nil {
				_, err = tx.ExecContext(ctx, "DROP ROLE "+role)
			}
			return err
		})
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	db := things(t, func(t *testing.T) *sqldb.DB {
		t.Helper()
		return sqldbtest.Open(t, u.String(), sqldb.Options{MaxReaders: 8, MaxWriters: 8})
	})
	var all sync.WaitGroup
	const callers = 40
	for i := range callers {
		all.Go(func() {
			if err := db.Write(t.Context(), insert(fmt.Sprint(i))); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
			var n int
			if err := db.Read().QueryRowContext(t.Context(), "SELECT 1 FROM pg_sleep(0.05)").Scan(&n); err != nil {
				t.Errorf("read %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if s := db.Stats(); !s.Short {
		t.Errorf("it does not say that it is short of connections: %+v", s)
	}
	if n := count(t, db); n != callers {
		t.Errorf("%d rows", n)
	}
}

// TestAPoolerInTransactionModeIsRefused: advisory locks and settings would be
// lost there. In session mode all is well.
func TestAPoolerInTransactionModeIsRefused(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "pgbouncer")
	address := testenv.Postgres(t)
	for mode, refused := range map[string]bool{"transaction": true, "session": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			pooled := startPooler(t, address, mode)
			deadline := time.Now().Add(time.Minute)
			for {
				db, err := sqldb.Open(t.Context(), pooled, sqldb.Options{})
				switch {
				case err == nil:
					_ = db.Close()
				case sqldb.IsUnavailable(err) && time.Now().Before(deadline):
					continue // it is starting
				}
				if refused != (err != nil && strings.Contains(err.Error(), "transaction mode")) || !refused && err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
}

func startPooler(t *testing.T, address, mode string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "castalia-pooler-") // whoever is not root passes through it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port := testenv.Port(t)
	conf := filepath.Join(dir, "pooler", "pgbouncer.ini")
	if err := os.Mkdir(filepath.Dir(conf), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%d\nunix_socket_dir=\nauth_type=any\npool_mode=%s\n", u.Hostname(), u.Port(), port, mode)
	text = strings.Replace(text, "* = host", strings.TrimPrefix(u.Path, "/")+" = user="+u.User.Username()+" host", 1)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	as, err := servers.Unprivileged(dir, filepath.Dir(conf))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "pgbouncer", "-q", conf)
	cmd.Dir, cmd.SysProcAttr = filepath.Dir(conf), &syscall.SysProcAttr{Credential: as}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	u.Host = fmt.Sprintf("127.0.0.1:%d", port)
	return u.String()
}
