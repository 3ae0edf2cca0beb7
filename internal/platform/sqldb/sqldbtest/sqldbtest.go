// Package sqldbtest opens databases for tests, on both engines, and breaks them
// on demand.
//
// A store's test is a few lines:
//
//	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
//		ussdtest.TestStore(t, func(t *testing.T) ussd.Store { … open(t) … })
//	})
//
// Inside a synctest bubble open the database in the bubble, and use SQLite only:
// a bubble does not wait for the network.
package sqldbtest

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/test/testenv"
)

// Each runs body once on SQLite and once on PostgreSQL, in parallel subtests.
// Every call of open returns a new, empty database, which is closed (and
// dropped) when the test that called it ends.
func Each(t *testing.T, body func(t *testing.T, open func(t *testing.T) *sqldb.DB)) {
	t.Helper()
	EachWith(t, sqldb.Options{}, body)
}

// EachWith is Each with options.
func EachWith(t *testing.T, opt sqldb.Options, body func(t *testing.T, open func(t *testing.T) *sqldb.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		body(t, func(t *testing.T) *sqldb.DB { t.Helper(); return Open(t, SQLiteURL(t), opt) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testenv.Need(t, "postgres")
		body(t, func(t *testing.T) *sqldb.DB { t.Helper(); return Open(t, testenv.Postgres(t), opt) })
	})
}

// SQLite returns a new, empty SQLite database.
func SQLite(t testing.TB) *sqldb.DB {
	t.Helper()
	return Open(t, SQLiteURL(t), sqldb.Options{})
}

// SQLiteURL returns the address of a database file that does not exist yet.
func SQLiteURL(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "castalia.db")
}

// Open opens the database and closes it when the test ends. Several handles on
// one PostgreSQL address stand for the nodes of a fleet.
func Open(t testing.TB, url string, opt sqldb.Options) *sqldb.DB {
	t.Helper()
	if opt.MaxReaders == 0 {
		opt.MaxReaders = 6 // many tests share one server
	}
	if opt.MaxWriters == 0 {
		opt.MaxWriters = 6
	}
	db, err := sqldb.Open(t.Context(), url, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Migrate applies the migrations, or fails the test, as it does when a table
// breaks the house rules (see sqldb.Check).
func Migrate(t testing.TB, db *sqldb.DB, sets ...sqldb.Migrations) *sqldb.DB {
	t.Helper()
	for _, m := range sets {
		if err := db.Migrate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	problems, err := db.Check(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	return db
}

// Breaker makes a database go away and come back:
//
//	var b sqldbtest.Breaker
//	db := sqldbtest.Open(t, url, sqldb.Options{Fault: b.Fault})
//	b.Break()    // every statement, commit and new connection now fails
//	b.Restore()  // and works again
//
// The zero value lets everything through. Its errors are fault.Unavailable.
type Breaker struct {
	broken atomic.Bool
	// lost counts the commits whose acknowledgement is still to be lost.
	lost atomic.Int64
	// dead counts the commits that are still to fail.
	dead atomic.Int64
}

// Break makes the database go away.
func (b *Breaker) Break() { b.broken.Store(true) }

// Restore brings it back.
func (b *Breaker) Restore() { b.broken.Store(false) }

// BreakFor is an outage of duration d.
func (b *Breaker) BreakFor(d time.Duration) {
	b.Break()
	time.AfterFunc(d, b.Restore)
}

// FailCommits makes the next n commits fail: nothing of them is stored.
func (b *Breaker) FailCommits(n int64) { b.dead.Store(n) }

// LoseAcks makes the next n commits succeed while their callers hear that they
// failed, as when the line breaks at the wrong moment.
func (b *Breaker) LoseAcks(n int64) { b.lost.Store(n) }

// Fault is for sqldb.Options.Fault.
func (b *Breaker) Fault(s sqldb.Stage) error {
	switch {
	case b.broken.Load() && s != sqldb.StageCommitted:
		return gone("the test has broken the database")
	case s == sqldb.StageCommit && take(&b.dead):
		return gone("the test has made a commit fail")
	case s == sqldb.StageCommitted && take(&b.lost):
		return gone("the test has lost an acknowledgement")
	}
	return nil
}

func take(n *atomic.Int64) bool {
	for {
		v := n.Load()
		if v <= 0 {
			return false
		}
		if n.CompareAndSwap(v, v-1) {
			return true
		}
	}
}

type brokenError string

func (e brokenError) Error() string { return string(e) }

func gone(why string) error {
	return fault.Wrap(fault.Unavailable, "The database is not available.", brokenError(why))
}
