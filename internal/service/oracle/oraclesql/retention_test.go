package oraclesql_test

import (
	"context"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
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
