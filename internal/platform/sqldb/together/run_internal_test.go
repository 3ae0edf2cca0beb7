package together

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// TestAWriteRunsTwiceAtTheMost has writes that fail beside those that do not: g is good, b
// is bad always, o once, as one that a write before it of the same transaction was in the way of.
func TestAWriteRunsTwiceAtTheMost(t *testing.T) {
	t.Parallel()
	errBad := errors.New("a condition does not hold")
	for _, batch := range []string{
		"ggggggggggggggggbbbbbbbbbbbbbbbb", "bbbbbbbbbbbbbbbbgggggggggggggggg", "gbgbgbgbgbgbgbgbgbgbgbgbgbgbgbgb",
		"ggogbgog", "gb", "bg", "bb", "og", "go",
	} {
		t.Run(batch, func(t *testing.T) {
			t.Parallel()
			db := sqldbtest.Migrate(t, sqldbtest.Open(t, testenv.Postgres(t), sqldb.Options{}), sqldb.Platform())
			w := New(db)
			runs, numbers := make([]int, len(batch)), make([]int64, len(batch))
			var jobs []*job
			for i, kind := range batch {
				fn := func(ctx context.Context, tx sqldb.Querier) error {
					runs[i]++
					if kind == 'b' || kind == 'o' && runs[i] == 1 {
						return errBad
					}
					var err error
					numbers[i], err = sqldb.NextFeed(ctx, tx, "together")
					return err
				}
				jobs = append(jobs, &job{ctx: t.Context(), done: make(chan struct{}), fn: fn})
			}
			w.run("together", jobs)
			var taken, want []int64
			for i, kind := range batch {
				if err := jobs[i].err; (kind == 'b') != errors.Is(err, errBad) || kind != 'b' && err != nil {
					t.Errorf("write %d ended with %v", i, err)
				}
				if runs[i] > 2 {
					t.Errorf("write %d ran %d times", i, runs[i])
				}
				if kind != 'b' {
					taken, want = append(taken, numbers[i]), append(want, int64(len(want)+1))
				}
			}
			if !slices.Equal(taken, want) {
				t.Errorf("their numbers are %s, in the order in which they came", fmt.Sprint(taken))
			}
		})
	}
}

// TestTheSlowWriteIsNamed has one that takes long share a transaction with others: the log
// names that one, and never the transaction, which may take long with any writes.
func TestTheSlowWriteIsNamed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	db := sqldbtest.Migrate(t, sqldbtest.Open(t, testenv.Postgres(t), sqldb.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}), sqldb.Platform())
	log.Reset()
	one := func(fn Write) *job { return &job{ctx: t.Context(), done: make(chan struct{}), fn: fn} }
	jobs := []*job{one(quickly), one(slowly), one(quickly)}
	New(db).run("together", jobs)
	for i, j := range jobs {
		if j.err != nil {
			t.Errorf("write %d: %v", i, j.err)
		}
	}
	if !strings.Contains(log.String(), ".slowly") {
		t.Errorf("it is not named: %s", &log)
	}
	if strings.Contains(log.String(), "Writer") {
		t.Errorf("the transaction is named: %s", &log)
	}
}

func quickly(ctx context.Context, tx sqldb.Querier) error {
	_, err := tx.ExecContext(ctx, `SELECT 1`)
	return err
}

func slowly(ctx context.Context, tx sqldb.Querier) error {
	_, err := tx.ExecContext(ctx, `SELECT pg_sleep(0.15)`)
	return err
}
