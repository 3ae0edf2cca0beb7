package queue

import (
	"context"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// TestAQueueIsEmptyWhenNothingWaits: what is due later, or in somebody's hands, becomes
// due by time alone, so that workers do not rest longer because of it.
func TestAQueueIsEmptyWhenNothingWaits(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), Migrations())
		q := New(db, Config{Name: "q"})
		w := &work{Queue: q, crew: Crew{Parallel: 1}, busy: map[string]int{}, ended: make(chan struct{}, 1)}
		look := func(when string, want bool) {
			t.Helper()
			got, empty, err := w.fill(t.Context(), nil)
			if err != nil || got || empty != want {
				t.Errorf("%s: empty %v (got %v, %v), want %v", when, empty, got, err, want)
			}
		}
		look("at first", true)
		add := func(delay time.Duration) {
			t.Helper()
			if err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				_, err := q.Add(ctx, tx, Item{ID: delay.String(), Lane: "x"}, delay)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		add(time.Hour)
		look("with something for later", false)
		add(0)
		held, err := New(db, Config{Name: "q"}).Take(t.Context(), 1, nil)
		if err != nil || len(held) != 1 {
			t.Fatalf("%v, %v", held, err)
		}
		look("with something that another has", false)
		w.Queue = New(db, Config{Name: "other"})
		look("of another queue", true)
	})
}
