package oraclesql_test

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/test/testenv"
)

// erase does what a sweep does, without its lease.
func erase(t *testing.T, db *sqldb.DB, s retention.Source, before time.Time) (total int64) {
	t.Helper()
	err := s.Walk(t.Context(), before, func(ids []string) error {
		return db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			for _, id := range ids {
				n, err := s.Erase(ctx, tx, before, id)
				if err != nil {
					return err
				}
				total += n
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

func TestOldConversationsGoAndThoseUnderWayStay(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := oracletest.Migrated(t, open(t))
		st := oraclesql.New(db)
		over, busy, calling := oracletest.NewSession(t, st), oracletest.NewSession(t, st), oracletest.NewSession(t, st)
		oracletest.Answer(t, st, oracletest.Say(t, st, over.ID, "hi", oracle.Interrupt).Run, "ho")
		oracletest.Say(t, st, busy.ID, "hi", oracle.Interrupt)
		_, err := db.WriteOne(t.Context(), `INSERT INTO oracle_calls (id, session_id, owner, node, kind, status, fingerprint, agreement, lease_ms, created_ms, expires_ms)
			VALUES ('c', $1, $2, 'n', 'voice', 'live', '', '', 0, 0, 0)`, calling.ID, oracletest.Owner)
		if err != nil {
			t.Fatal(err)
		}
		source := st.Retained()[retention.Transcripts][0]
		if n := erase(t, db, source, time.Now().Add(-time.Hour)); n != 0 {
			t.Errorf("%d went that were used of late", n)
		}
		later := time.Now().Add(time.Hour)
		if n, all, err := source.Count(t.Context(), later, 10); err != nil || n != 1 || !all {
			t.Errorf("%d are due, %t: %v", n, all, err)
		}
		if n := erase(t, db, source, later); n != 1 {
			t.Errorf("%d went, want the one that is over", n)
		}
		for _, table := range []string{"oracle_runs", "oracle_messages"} {
			var n int
			if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table+` WHERE session_id = $1`, over.ID).Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows of %s are left: %v", n, table, err)
			}
		}
		for _, id := range []string{busy.ID, calling.ID} {
			if _, err := st.Session(t.Context(), oracletest.Owner, id); err != nil {
				t.Errorf("a session under way: %v", err)
			}
		}
	})
}

// crowd is how many old sessions are still used.
const crowd = 5000

// manyUsed stores old sessions that are used, one in their middle that is not, and one
// behind them.
func manyUsed(t *testing.T, db *sqldb.DB) {
	t.Helper()
	_, err := db.WriteOne(t.Context(), `WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i <= $1)
		INSERT INTO oracle_sessions (id, owner, title, created_ms, updated_ms)
		SELECT 's' || (100000 + i), 'o', 't', i, CASE WHEN i IN ($2, $3) THEN i ELSE $4 END FROM n`,
		int64(crowd), int64(crowd/2), int64(crowd+1), sqldb.MS(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
}

func TestOldConversationsBehindManyThatAreUsedGo(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := oracletest.Migrated(t, open(t))
		manyUsed(t, db)
		source, before := oraclesql.New(db).Retained()[retention.Transcripts][0], time.Now().Add(-time.Hour)
		if n, all, err := source.Count(t.Context(), before, 2); err != nil || n != 2 || !all {
			t.Errorf("%d are due, %t: %v", n, all, err)
		}
		if n := erase(t, db, source, before); n != 2 {
			t.Errorf("%d went, want 2", n)
		}
		var left int
		if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM oracle_sessions`).Scan(&left); err != nil || left != crowd-1 {
			t.Errorf("%d are left, want %d: %v", left, crowd-1, err)
		}
	})
}

// A statement that says nothing until it has found enough is given up behind a long
// stretch of sessions that are used, each time at the same place.
func TestOneLookForOldConversationsReadsAPage(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "postgres") // SQLite does not tell how many rows it reads
	var reads sqldbtest.Reads
	var looks atomic.Int64
	db := oracletest.Migrated(t, sqldbtest.Open(t, testenv.Postgres(t), sqldb.Options{
		Seen: func(query string, args []driver.NamedValue) {
			if looks.Add(1) == 1 {
				reads.Seen(query, args)
			}
		},
	}))
	manyUsed(t, db)
	reads.Ready(t, db, "oracle_sessions")
	source := oraclesql.New(db).Retained()[retention.Transcripts][0]
	looks.Store(0)
	n := reads.Of(t, db, func() {
		if err := source.Walk(t.Context(), time.Now().Add(-time.Hour), func([]string) error { return nil }); err != nil {
			t.Error(err)
		}
	})
	if n == 0 || n > 1500 {
		t.Errorf("the first statement read %d rows, want a page", n)
	}
}

func TestRunsGoAfterTheirFramesAndLeaveTheTranscript(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := oracletest.Migrated(t, open(t))
		st := oraclesql.New(db)
		s, later := oracletest.NewSession(t, st), time.Now().Add(time.Hour)
		oracletest.Answer(t, st, oracletest.Say(t, st, s.ID, "hi", oracle.Interrupt).Run, "ho")
		source := st.Retained()[retention.Runs][0]
		if n := erase(t, db, source, later); n != 0 {
			t.Errorf("%d runs went whose frames may be resumed", n)
		}
		if _, err := st.Prune(t.Context(), later, 10); err != nil {
			t.Fatal(err)
		}
		if n := erase(t, db, source, later); n != 1 {
			t.Errorf("%d runs went, want one", n)
		}
		var messages int
		if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM oracle_messages WHERE session_id = $1`, s.ID).Scan(&messages); err != nil || messages != 2 {
			t.Errorf("%d messages are left, want 2: %v", messages, err)
		}
	})
}
