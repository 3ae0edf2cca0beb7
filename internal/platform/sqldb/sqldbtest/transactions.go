package sqldbtest

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

func all(t *testing.T, db *sqldb.DB) []string {
	t.Helper()
	return texts(t, db, `SELECT id FROM edge_values ORDER BY id`)
}

func insert(ctx context.Context, tx sqldb.Querier, id string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO edge_values (id) VALUES ($1)`, id)
	return err
}

func cancelled(t *testing.T, db *sqldb.DB) {
	for name, after := range map[string]bool{"before the statement": false, "after the statement": true} {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
			if !after {
				cancel()
			}
			err := insert(ctx, tx, name)
			cancel()
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled %s: %v", name, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err := db.Write(gone, func(context.Context, sqldb.Querier) error {
		t.Error("a function ran although its context had ended")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before Write: %v", err)
	}
	if left := all(t, db); left != nil {
		t.Errorf("cancelled writes left %q", left)
	}
	put(t, db, "the next one works", nil, nil, nil, nil, nil)
}

// longRead asks for something that never ends.
func longRead(t *testing.T, db *sqldb.DB) {
	const endless = `WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count) SELECT COUNT(*) FROM count`
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		var n int
		err := db.Read().QueryRowContext(ctx, endless).Scan(&n)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an endless read ended with %v", err)
		}
	}
	put(t, db, "one", nil, nil, nil, nil, nil)
	if diff := cmp.Diff([]string{"one"}, all(t, db)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func failedStatement(t *testing.T, db *sqldb.DB) {
	put(t, db, "one", nil, nil, nil, nil, nil)
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		if err := insert(ctx, tx, "two"); err != nil {
			return err
		}
		if err := insert(ctx, tx, "one"); !sqldb.IsUnique(err) {
			t.Errorf("second insert: %v", err)
		}
		if err := insert(ctx, tx, "three"); err == nil {
			t.Error("a transaction went on after a failed statement")
		}
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT 1`).Scan(&n); err == nil {
			t.Error("a transaction read after a failed statement")
		}
		return nil // as if nothing had happened
	})
	if err == nil {
		t.Error("a write with a failed statement succeeded")
	}
	if diff := cmp.Diff([]string{"one"}, all(t, db)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	// No row is not a failed statement.
	err = db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		var id string
		if err := tx.QueryRowContext(ctx, `SELECT id FROM edge_values WHERE id = 'none'`).Scan(&id); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("no row: %v", err)
		}
		return insert(ctx, tx, "two")
	})
	if err != nil {
		t.Error(err)
	}
}

func oneLine(t *testing.T, db *sqldb.DB) {
	put(t, db, "one", nil, nil, nil, nil, nil)
	put(t, db, "two", nil, nil, nil, nil, nil)
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		rows, err := tx.QueryContext(ctx, `SELECT id FROM edge_values`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		if !rows.Next() {
			t.Error("no rows")
		}
		if err := insert(ctx, tx, "three"); err == nil {
			t.Error("a statement ran while rows were open")
		}
		return rows.Err()
	})
	if err == nil {
		t.Error("the write succeeded")
	}
	// Rows that are left open fail the write or are closed for it, but harm no one.
	_ = db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		rows, err := tx.QueryContext(ctx, `SELECT id FROM edge_values`) //nolint:sqlclosecheck // on purpose
		if err != nil {
			return err
		}
		rows.Next()
		return rows.Err()
	})
	_ = db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		return tx.QueryRowContext(ctx, `SELECT id FROM edge_values`).Err()
	})
	put(t, db, "four", nil, nil, nil, nil, nil)
	if diff := cmp.Diff([]string{"four", "one", "two"}, all(t, db)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func over(t *testing.T, db *sqldb.DB) {
	var kept sqldb.Querier
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		kept = tx
		return insert(ctx, tx, "one")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := insert(t.Context(), kept, "two"); err == nil {
		t.Error("a transaction was used after its function returned")
	}
	var n int
	if err := kept.QueryRowContext(t.Context(), `SELECT 1`).Scan(&n); err == nil {
		t.Error("a transaction was read after its function returned")
	}
	if diff := cmp.Diff([]string{"one"}, all(t, db)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func nested(t *testing.T, db *sqldb.DB) {
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		if err := insert(ctx, tx, "outer"); err != nil {
			return err
		}
		err := db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error { return insert(ctx, tx, "inner") })
		if err == nil {
			t.Error("a write inside a write succeeded")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"outer"}, all(t, db)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func readOnly(t *testing.T, db *sqldb.DB) {
	if err := insert(t.Context(), db.Read(), "one"); err == nil {
		t.Error("a reader wrote")
	}
	err := db.Snapshot(t.Context(), func(ctx context.Context, tx sqldb.Querier) error { return insert(ctx, tx, "two") })
	if err == nil {
		t.Error("a snapshot wrote")
	}
	if left := all(t, db); left != nil {
		t.Errorf("readers left %q", left)
	}
}

func snapshot(t *testing.T, db *sqldb.DB) {
	put(t, db, "one", nil, nil, nil, nil, nil)
	err := db.Snapshot(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		for i := range 3 {
			var n int
			if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM edge_values`).Scan(&n); err != nil {
				return err
			}
			if n != 1 {
				t.Errorf("look %d of a snapshot sees %d rows", i+1, n)
			}
			if err := tryPut(ctx, db, string(rune('a'+i)), nil, nil, nil, nil, nil); err != nil {
				return err
			}
		}
		return errStop
	})
	if !errors.Is(err, errStop) {
		t.Errorf("Snapshot returned %v, want the function's error", err)
	}
	if got := len(all(t, db)); got != 4 {
		t.Errorf("%d rows, want 4", got)
	}
}

func clock(t *testing.T, db *sqldb.DB) {
	first, err := db.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ms int64
	if err := db.Read().QueryRowContext(t.Context(), `SELECT `+db.Dialect().NowMS()).Scan(&ms); err != nil {
		t.Fatal(err)
	}
	second, err := db.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if between := sqldb.Time(ms); between.Before(first) || second.Before(between) {
		t.Errorf("the clock went %s, %s, %s", first, between, second)
	}
	if first.Location() != time.UTC {
		t.Errorf("the clock is in %s", first.Location())
	}
}
