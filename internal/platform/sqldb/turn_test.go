package sqldb_test

import (
	"context"
	"net/url"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// TestAFrozenNodeLosesItsTurn freezes a node that waits for its turn in the fleet: the
// server then gives the turn to nobody who could use it.
func TestAFrozenNodeLosesItsTurn(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	u, err := url.Parse(address + "&idle_in_transaction_session_timeout=500ms")
	if err != nil {
		t.Fatal(err)
	}
	line := startProxy(t, u.Host)
	u.Host = line.listener.Addr().String()
	works := things(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Open(t, address, sqldb.Options{}) })
	frozen := sqldbtest.Open(t, u.String(), sqldb.Options{})

	var all sync.WaitGroup
	entered, leave := make(chan struct{}), make(chan struct{})
	all.Go(func() {
		err := works.Write(inTurn(t.Context()), func(ctx context.Context, tx sqldb.Querier) error {
			close(entered)
			<-leave
			return insert("first")(ctx, tx)
		})
		if err != nil {
			t.Errorf("the write in whose turn the other waited: %v", err)
		}
	})
	<-entered
	ctx, giveUp := context.WithCancel(t.Context())
	all.Go(func() { _ = frozen.Write(inTurn(ctx), insert("frozen")) }) // there or not: nobody hears of it
	awaitWaiting(t, works)
	line.set(proxyStands)
	close(leave)
	for _, id := range []string{"second", "third"} {
		if err := works.Write(inTurn(t.Context()), insert(id)); err != nil {
			t.Errorf("the %s write, behind a node that stands still: %v", id, err)
		}
	}
	giveUp()
	line.set(proxyRefuses)
	all.Wait()
}

func inTurn(ctx context.Context) context.Context { return sqldb.InFeedTurn(ctx, "turn") }

// awaitWaiting waits until somebody waits for a turn.
func awaitWaiting(t *testing.T, db *sqldb.DB) {
	t.Helper()
	for n := 0; n == 0; {
		err := db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
			AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestATurnLeavesTheSessionAsItWas looks at the only writing session within a turn and
// behind it: who rests between two writes must not be cut off.
func TestATurnLeavesTheSessionAsItWas(t *testing.T) {
	t.Parallel()
	db := sqldbtest.Open(t, testenv.Postgres(t)+"&idle_session_timeout=7min", sqldb.Options{MaxWriters: 1})
	for _, c := range []struct {
		where string
		ctx   context.Context
		want  string
	}{
		{"before", t.Context(), "7min"},
		{"within", inTurn(t.Context()), "5s"},
		{"behind", t.Context(), "7min"},
	} {
		err := db.Write(c.ctx, func(ctx context.Context, tx sqldb.Querier) error {
			var limit string
			var locks int
			err := tx.QueryRowContext(ctx, `SELECT current_setting('idle_session_timeout'), count(*) FROM pg_locks
				WHERE locktype = 'advisory' AND pid = pg_backend_pid()`).Scan(&limit, &locks)
			if err == nil && (limit != c.want || (locks > 0) != (c.where == "within")) {
				t.Errorf("%s the turn: cut off after %s with %d locks, want %s", c.where, limit, locks, c.want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
