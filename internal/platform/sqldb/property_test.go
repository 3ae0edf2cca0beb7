package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// fate is what a test does to one write.
type fate int

const (
	fateGood fate = iota
	fateError
	fatePanics
	fateCancelled
	fateDuplicate
	fates
)

// TestWhatIsAcknowledgedIsStored lets random crowds write through random
// faults. Afterwards what was acknowledged is there, what failed is not, and of
// what ended in doubt (a lost acknowledgement) every write is there whole or not at all.
func TestWhatIsAcknowledgedIsStored(t *testing.T) {
	t.Parallel()
	var b sqldbtest.Breaker
	db := sqliteThings(t, sqldb.Options{Fault: b.Fault})
	rapid.Check(t, func(r *rapid.T) {
		mustWrite(t, db, func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM demo_things`)
			return err
		})
		want, doubt := map[string]bool{}, map[string]bool{}
		for round := range rapid.IntRange(1, 4).Draw(r, "rounds") {
			crowd := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) fate {
				return fate(rapid.IntRange(0, int(fates)-1).Draw(r, "fate"))
			}), 1, 12).Draw(r, "crowd")
			losing := false
			switch rapid.IntRange(0, 3).Draw(r, "fault") {
			case 1:
				b.FailCommits(1)
			case 2:
				b.LoseAcks(1)
				losing = true
			}
			errs := make([]error, len(crowd))
			var wg sync.WaitGroup
			for i, f := range crowd {
				wg.Go(func() { errs[i] = suffer(t.Context(), db, fmt.Sprintf("%d/%d", round, i), f) })
			}
			wg.Wait()
			b.FailCommits(0)
			b.LoseAcks(0)
			for i, err := range errs {
				id := fmt.Sprintf("%d/%d", round, i)
				switch {
				case err == nil && crowd[i] != fateGood:
					r.Errorf("write %s should fail", id)
				case err == nil:
					want[id] = true
				case crowd[i] == fateGood && losing:
					doubt[id] = true
				}
			}
		}
		rows := map[string]int{}
		for _, id := range ids(t, db) {
			name := id[:len(id)-2]
			rows[name]++
			if !want[name] && !doubt[name] {
				r.Errorf("%s is stored although its write failed", id)
			}
		}
		for name := range want {
			if rows[name] != 2 {
				r.Errorf("%s was acknowledged and has %d of 2 rows", name, rows[name])
			}
		}
		for name := range doubt {
			if rows[name] == 1 {
				r.Errorf("%s is stored by half", name)
			}
		}
	})
}

// suffer writes two rows and meets its fate.
func suffer(ctx context.Context, db *sqldb.DB, name string, f fate) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for _, half := range []string{name + "/l", name + "/r"} {
			if err := insert(half)(ctx, tx); err != nil {
				return err
			}
		}
		switch f {
		case fateError:
			return errors.New("the function failed")
		case fatePanics:
			panic("the function panicked")
		case fateCancelled:
			cancel()
		case fateDuplicate:
			return insert(name+"/l")(ctx, tx)
		}
		return nil
	})
}

func ids(t *testing.T, db *sqldb.DB) []string {
	t.Helper()
	rows, err := db.Read().QueryContext(t.Context(), `SELECT id FROM demo_things ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
