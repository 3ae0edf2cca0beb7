package ussdsql_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// Writes of SQLite are committed in groups. Whoever is told to count again because of
// a write of the same group must not be shown what was before the group: it would
// be told so again, until it gave up.
func TestCountingAgainWaitsForTheGroup(t *testing.T) {
	t.Parallel()
	db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), ussdsql.Migrations())
	store := ussdsql.New(db)
	counters := []ussdpin.Counter{{Subject: "a", Origin: ussdpin.OriginOwn}}
	inside, release, written := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		written <- db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO ussd_attempts (subject, origin, failures, locked_until_ms, updated_ms) VALUES ('a', $1, 3, 0, 1)`, ussdpin.OriginOwn)
			close(inside)
			<-release
			return err
		})
	}()
	<-inside
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := store.Recount(short, counters); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before the group was committed: %v, %v", got, err)
	}
	close(release)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if got, err := store.Recount(t.Context(), counters); err != nil || got[0] != 3 {
		t.Errorf("after it: %v, %v", got, err)
	}
}
