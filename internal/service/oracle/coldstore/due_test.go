package coldstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// object is the name of a conversation's object.
func (w *world) object(session string) string {
	w.t.Helper()
	var id string
	w.must(w.db.Read().QueryRowContext(w.t.Context(), `SELECT id FROM oracle_cold WHERE session_id = $1 AND dead_ms = 0`, session).Scan(&id))
	return coldstore.Prefix + id[:2] + "/" + id
}

// lose takes the object of a conversation away, and returns how it comes back.
func (w *world) lose(session string) (found func()) {
	w.t.Helper()
	key := w.object(session)
	body, err := w.blobs.Get(w.t.Context(), key, 0, -1)
	w.must(err)
	content, err := io.ReadAll(body)
	w.must(errors.Join(err, body.Close()))
	w.must(w.blobs.Delete(w.t.Context(), key))
	return func() {
		w.t.Helper()
		_, err := w.blobs.Put(w.t.Context(), key, bytes.NewReader(content), blob.PutOptions{})
		w.must(err)
	}
}

// loseMany makes records of conversations whose objects are nowhere, in front of all others
// in whatever order they are looked at.
func (w *world) loseMany(n int, like string) {
	w.t.Helper()
	w.must(w.db.Write(w.t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		for i := range n {
			id := fmt.Sprintf("%08d", i)
			if _, err := tx.ExecContext(ctx, `INSERT INTO oracle_sessions (id, owner, title, created_ms, updated_ms, cold, unread) VALUES ($1, $2, '', 1, 1, 1, 1)`,
				id, oracletest.Owner); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO oracle_cold (id, session_id, wrapped_key, sealed, digest, oldest_run_ms, dead_ms)
				SELECT CAST($1 AS TEXT), CAST($1 AS TEXT), wrapped_key, sealed, digest, 5, 0 FROM oracle_cold WHERE session_id = $2`, id, like); err != nil {
				return err
			}
		}
		return nil
	}))
}

// More than a page of conversations that are lost keeps none from coming back that is behind
// them, for the index or for a rule of runs.
func TestWhatIsLostHoldsUpNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		toRead, withRuns, stays := w.talk(1), w.talk(1), w.talk(1)
		w.freeze()
		w.write(`UPDATE oracle_sessions SET unread = 1 WHERE id = $1`, toRead.ID)
		w.write(`UPDATE oracle_cold SET oldest_run_ms = 0 WHERE session_id <> $1`, withRuns.ID)
		w.loseMany(201, stays.ID)
		err := w.cold.Tidy(t.Context(), later())
		if !errors.Is(err, oracle.ErrLost) || len(strings.Split(err.Error(), "\n")) > 40 {
			t.Errorf("what was lost: %.2000v", err)
		}
		if len(w.rows(toRead.ID)) == 0 {
			t.Error("what the index has to read did not come back")
		}
		if len(w.rows(withRuns.ID)) == 0 {
			t.Error("runs that are due did not come back")
		}
		if len(w.rows(stays.ID)) != 0 {
			t.Error("what is not due came back")
		}
		if err := w.cold.Tidy(t.Context(), later()); err != nil {
			t.Errorf("what was lost an hour ago is looked for again: %v", err)
		}
	})
}

// What was lost and is found again comes back after a day, and at once for who opens it.
func TestWhatIsFoundAgainComesBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		one, other, stays := w.talk(1), w.talk(1), w.talk(1)
		w.freeze()
		w.write(`UPDATE oracle_sessions SET unread = 1 WHERE id <> $1`, stays.ID)
		foundOne, foundOther := w.lose(one.ID), w.lose(other.ID)
		if err := w.cold.Tidy(t.Context(), time.Time{}); !errors.Is(err, oracle.ErrLost) {
			t.Fatalf("two are lost: %v", err)
		}
		foundOne()
		foundOther()
		w.must(w.cold.Tidy(t.Context(), time.Time{}))
		if len(w.rows(one.ID)) != 0 {
			t.Error("it was tried again in the same hour")
		}
		if list := must(w.on.Messages(t.Context(), oracletest.Owner, one.ID, 0)); len(list) != 2 {
			t.Errorf("who opened it got %d messages", len(list))
		}
		w.write(`UPDATE oracle_cold SET retry_ms = retry_ms - $1 WHERE retry_ms > 0`, (25 * time.Hour).Milliseconds())
		w.must(w.cold.Tidy(t.Context(), time.Time{}))
		if len(w.rows(other.ID)) == 0 {
			t.Error("it did not come back on the next day")
		}
	})
}

// An archive that is away is not asked for all that is due, and it comes back when the
// archive does. Those that failed come later than the others: an archive may refuse them for
// good.
func TestAnArchiveThatIsAwayHoldsUpNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(1)
		w.freeze()
		w.write(`UPDATE oracle_sessions SET unread = 1`)
		w.loseMany(30, s.ID)
		away := blobtest.Healthy()
		away.Err = errDead
		w.blobs.Set(away)
		asked := &touching{Store: w.blobs}
		w.cold.Blobs = asked
		if err := w.cold.Tidy(t.Context(), time.Time{}); err == nil || errors.Is(err, oracle.ErrLost) {
			t.Errorf("away: %v", err)
		}
		if asked.gets != 20 {
			t.Errorf("an archive that is away was asked %d times", asked.gets)
		}
		w.blobs.Set(blobtest.Healthy())
		if err := w.cold.Tidy(t.Context(), time.Time{}); !errors.Is(err, oracle.ErrLost) {
			t.Errorf("thirty are lost: %v", err)
		}
		if asked.gets != 31 {
			t.Errorf("it was asked %d times in both hours; it has 31", asked.gets)
		}
		if len(w.rows(s.ID)) == 0 {
			t.Error("what was away did not come back")
		}
	})
}
