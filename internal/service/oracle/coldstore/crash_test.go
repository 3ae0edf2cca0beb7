package coldstore_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/test/testenv"
)

var errDead = errors.New("the process is dead")

// fuse lets some trips to the stores through, and none after them until it is mended. A
// fuse of less than nothing never blows.
type fuse struct {
	left  atomic.Int64
	blown atomic.Bool
}

func (f *fuse) trip() error {
	if f.blown.Load() || f.left.Add(-1) == 0 {
		f.blown.Store(true)
		return errDead
	}
	return nil
}

func (f *fuse) set(trips int64) {
	f.blown.Store(false)
	f.left.Store(trips)
}

// mortal is an object store behind a fuse.
type mortal struct {
	blob.Store
	fuse *fuse
}

func (m mortal) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if err := m.fuse.trip(); err != nil {
		return blob.Info{}, err
	}
	return m.Store.Put(ctx, key, body, opt)
}

func (m mortal) Get(ctx context.Context, key string, off, n int64) (io.ReadCloser, error) {
	if err := m.fuse.trip(); err != nil {
		return nil, err
	}
	return m.Store.Get(ctx, key, off, n)
}

func (m mortal) Delete(ctx context.Context, key string) error {
	if err := m.fuse.trip(); err != nil {
		return err
	}
	return m.Store.Delete(ctx, key)
}

// A process that dies between any two steps leaves a conversation that is either in the
// tables or in the archive, and whole; whoever comes after it goes on.
func TestAProcessMayDieAnywhere(t *testing.T) {
	t.Parallel()
	die := func(t *testing.T, url string) {
		t.Helper()
		var f fuse
		f.set(-1)
		dieAnywhere(t, sqldbtest.Open(t, url, sqldb.Options{Fault: func(sqldb.Stage) error { return f.trip() }}), &f)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		die(t, sqldbtest.SQLiteURL(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testenv.Need(t, "postgres")
		die(t, testenv.Postgres(t))
	})
}

func dieAnywhere(t *testing.T, db *sqldb.DB, f *fuse) {
	t.Helper()
	w := newWorld(t, db)
	s := w.talk(2)
	said := must(w.st.Messages(t.Context(), oracletest.Owner, s.ID, 0))
	rows := w.rows(s.ID)
	w.cold.Blobs = mortal{w.blobs, f}
	die := func(what string, do func() error) (steps int64) {
		for steps = 1; ; steps++ {
			f.set(steps)
			err := do()
			dead := f.blown.Load()
			f.set(-1)
			hot, cold := len(w.rows(s.ID)), w.totals().Conversations
			if (hot == len(rows)) == (cold == 1) || hot != 0 && hot != len(rows) {
				t.Fatalf("%s, dead at step %d: %d of %d rows are in the tables, and %d objects count", what, steps, hot, len(rows), cold)
			}
			if !dead {
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				return steps
			}
			if steps > 200 {
				t.Fatalf("%s never ends", what)
			}
			if what == "freeze" { // it may have gone, and only the answer was lost
				if now := must(w.on.Messages(t.Context(), oracletest.Owner, s.ID, 0)); cmp.Diff(said, now) != "" {
					t.Fatalf("dead at step %d: %s", steps, cmp.Diff(said, now))
				}
			}
		}
	}
	if n := die("freeze", func() error { _, err := w.tryFreeze(t.Context()); return err }); n < 8 {
		t.Errorf("there were %d steps: the fuse never blew", n)
	}
	if got := w.totals(); got.Conversations != 1 {
		t.Fatalf("it did not go in the end: %+v", got)
	}
	if n := die("thaw", func() error { return w.cold.Thaw(t.Context(), s.ID) }); n < 5 {
		t.Errorf("there were %d steps: the fuse never blew", n)
	}
	if d := cmp.Diff(rows, w.rows(s.ID)); d != "" {
		t.Error(d)
	}
	w.freeze()
	w.write(`UPDATE oracle_cold SET dead_ms = dead_ms - 90000000 WHERE dead_ms > 1`)
	if n := die("sweep", func() error { return w.cold.Tidy(t.Context(), time.Time{}) }); n < 5 {
		t.Errorf("there were %d steps: the fuse never blew", n)
	}
	if n := w.objects(); n != 1 {
		t.Errorf("%d objects are left, want the one that counts", n)
	}
}

// An object store that is away is said to be: nothing is lost, and nothing is answered as
// if the conversation were empty.
func TestAnArchiveThatIsAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(1)
		away := blobtest.Healthy()
		away.Err = errDead
		w.blobs.Set(away)
		if n, err := w.tryFreeze(t.Context()); err == nil || n != 0 {
			t.Errorf("%d went: %v", n, err)
		}
		w.blobs.Set(blobtest.Healthy())
		w.freeze()
		for _, flip := range []bool{false, true} {
			away := blobtest.Healthy()
			if away.Err = errDead; flip { // as bad: it gives other bytes
				away.Err, away.Flip = nil, 99
			}
			w.blobs.Set(away)
			if list, err := w.st.Messages(t.Context(), oracletest.Owner, s.ID, 0); err == nil {
				t.Errorf("%d messages came from nowhere", len(list))
			}
			if _, err := w.on.Run(t.Context(), oracletest.Owner, "no such run"); err == nil {
				t.Error("a run came from nowhere")
			}
		}
		w.blobs.Set(blobtest.Healthy())
		if list, err := w.st.Messages(t.Context(), oracletest.Owner, s.ID, 0); err != nil || len(list) != 2 {
			t.Errorf("%d messages afterwards: %v", len(list), err)
		}
	})
}

// A node that lost its lease moves nothing.
func TestALostLeaseMovesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.talk(1)
		w.write(`UPDATE platform_leases SET epoch = epoch + 1`)
		if n, err := w.tryFreeze(t.Context()); err == nil || n != 0 {
			t.Errorf("%d went: %v", n, err)
		}
		if got := w.totals(); got != (coldstore.Totals{}) {
			t.Errorf("totals %+v", got)
		}
	})
}

// A conversation whose object is gone does not hold up others that must come back.
func TestOneThatIsLostHoldsUpNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for range 3 {
			w.talk(1)
		}
		w.freeze()
		for info := range w.blobs.List(t.Context(), coldstore.Prefix) {
			w.must(w.blobs.Delete(t.Context(), info.Key))
			break
		}
		w.must(w.st.ForgetIndex(t.Context(), oracletest.Owner, time.Now()))
		if err := w.cold.Tidy(t.Context(), time.Time{}); err == nil {
			t.Error("nobody heard of the one that is lost")
		}
		if got := w.totals(); got.Conversations != 1 {
			t.Errorf("%d did not come back, want the lost one alone", got.Conversations)
		}
	})
}
