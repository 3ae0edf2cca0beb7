package together_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/together"
)

// number takes the next number of a feed and keeps who has it.
func number(ctx context.Context, tx sqldb.Querier, who string) error {
	n, err := sqldb.NextFeed(ctx, tx, "together")
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO platform_slots (name, slot) VALUES ($1, $2)`, who, n)
	return err
}

func numbers(t *testing.T, db *sqldb.DB) (all []int64) {
	t.Helper()
	rows, err := db.Read().QueryContext(t.Context(), `SELECT slot FROM platform_slots ORDER BY slot`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return all
}

var errRefused = errors.New("refused")

// TestEveryWriteGetsItsOwnOutcome has writes that fail, panic and leave among those that
// do not: who was told that it is stored finds it, with numbers without gaps.
func TestEveryWriteGetsItsOwnOutcome(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), sqldb.Platform())
		w := together.New(db)
		const writers, each = 24, 12
		var all sync.WaitGroup
		var mu sync.Mutex
		stored := 0
		for i := range writers {
			all.Go(func() {
				for n := range each {
					ctx, cancel := context.WithCancel(t.Context())
					err := w.Write(ctx, "together", func(ctx context.Context, tx sqldb.Querier) error {
						if err := number(ctx, tx, fmt.Sprint(i, " ", n)); err != nil {
							return err
						}
						switch (i + n) % 6 {
						case 0:
							return errRefused
						case 1:
							panic("it fell over")
						case 2:
							cancel()
						}
						return nil
					})
					cancel()
					switch {
					case err == nil:
						mu.Lock()
						stored++
						mu.Unlock()
					case (i+n)%6 == 0 && !errors.Is(err, errRefused):
						t.Errorf("refused as %v", err)
					case (i+n)%6 > 2:
						t.Errorf("%v", err)
					}
				}
			})
		}
		all.Wait()
		got := numbers(t, db)
		if len(got) != stored {
			t.Errorf("%d were told that they are stored, %d are", stored, len(got))
		}
		for i, n := range got {
			if n != int64(i+1) {
				t.Fatalf("number %d is %d: there is a gap", i+1, n)
			}
		}
	})
}

// TestWritesOfAKeyShareCommits holds the first write until others wait.
func TestWritesOfAKeyShareCommits(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), sqldb.Platform())
		w := together.New(db)
		before := db.Stats().Commits
		const others = 20
		held, entered := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		var once sync.Once
		all.Go(func() {
			err := w.Write(t.Context(), "together", func(ctx context.Context, tx sqldb.Querier) error {
				once.Do(func() { close(entered) })
				<-held
				return number(ctx, tx, "first")
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-entered
		var waiting sync.WaitGroup
		for i := range others {
			waiting.Add(1)
			all.Go(func() {
				waiting.Done()
				err := w.Write(t.Context(), "together", func(ctx context.Context, tx sqldb.Querier) error {
					return number(ctx, tx, fmt.Sprint(i))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		waiting.Wait()
		close(held)
		all.Wait()
		if n := len(numbers(t, db)); n != others+1 {
			t.Errorf("%d writes are there, want %d", n, others+1)
		}
		if n := db.Stats().Commits - before; n > others {
			t.Errorf("%d commits for %d writes", n, others+1)
		}
	})
}
