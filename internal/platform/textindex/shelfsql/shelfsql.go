// Package shelfsql keeps the records of a shelf in SQLite or PostgreSQL, in tables of
// the service that owns the index.
//
// It promises that a segment takes the place of others only while all of them are
// there, and that whatever was lost meanwhile stays noted. Tables of segments have the
// columns id, collection, wrapped_key, header, size, sealed, passages, dead_ms and
// created_ms; those of collections id, revision, dirty_ms and crowded, besides others.
package shelfsql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
)

// Tables are where the records of a shelf are.
type Tables struct {
	DB *sqldb.DB
	// Segments and Collections are names of tables: constants, never input.
	Segments, Collections string
	// Inline says that the table of segments has the column inline as well.
	Inline bool
}

var _ shelf.Records = Tables{}

func (t Tables) records(ctx context.Context, db sqldb.Querier, where string, args ...any) ([]shelf.Record, error) {
	inline := "NULL"
	if t.Inline {
		inline = "inline"
	}
	rows, err := db.QueryContext(ctx, `SELECT id, collection, wrapped_key, header, size, sealed, passages, created_ms, `+inline+` FROM `+t.Segments+where, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []shelf.Record
	for rows.Next() {
		var r shelf.Record
		var created int64
		if err := rows.Scan(&r.ID, &r.Collection, &r.WrappedKey, &r.Header, &r.Size, &r.Sealed, &r.Passages, &created,
			&r.Inline); err != nil {
			return nil, err
		}
		r.Created = sqldb.Time(created)
		all = append(all, r)
	}
	return all, rows.Err()
}

// Add stores the record of a segment.
func (t Tables) Add(ctx context.Context, tx sqldb.Querier, r shelf.Record) error {
	if err := t.add(ctx, tx, r); err != nil {
		return err
	}
	return t.count(ctx, tx, r.Collection)
}

func (t Tables) add(ctx context.Context, tx sqldb.Querier, r shelf.Record) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO `+t.Segments+` (id, collection, wrapped_key, header, size, sealed, passages, dead_ms, created_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)`, r.ID, r.Collection, r.WrappedKey, r.Header, r.Size, r.Sealed, r.Passages, sqldb.MS(r.Created))
	if err == nil && r.Inline != nil {
		_, err = tx.ExecContext(ctx, `UPDATE `+t.Segments+` SET inline = $1 WHERE id = $2`, r.Inline, r.ID)
	}
	return err
}

// count notes whether a collection is crowded, so that it is found among others. It
// counts as if there were no vectors: who has them looks at some in vain.
func (t Tables) count(ctx context.Context, tx sqldb.Querier, collection string) error {
	_, err := tx.ExecContext(ctx, `UPDATE `+t.Collections+` SET crowded = 1 - crowded WHERE id = $1
		AND crowded <> CASE WHEN `+t.many("$1", segmentsize.Many, segmentsize.Tiers(false))+` THEN 1 ELSE 0 END`, collection)
	if err != nil {
		return fmt.Errorf("count segments: %w", err)
	}
	return nil
}

// many is the condition that a collection has many segments of about one size.
func (t Tables) many(collection string, many int, tiers []int64) string {
	var tier strings.Builder
	for i, below := range tiers {
		_, _ = fmt.Fprintf(&tier, " WHEN size < %d THEN %d", below, i)
	}
	return fmt.Sprintf(`EXISTS (SELECT 1 FROM %s WHERE collection = %s AND dead_ms = 0 AND size < %d GROUP BY CASE%s END HAVING COUNT(*) >= %d)`,
		t.Segments, collection, tiers[len(tiers)-1], tier.String(), many)
}

// Of lists the segments of a collection by id.
func (t Tables) Of(ctx context.Context, tx sqldb.Querier, collection string) ([]shelf.Record, error) {
	return t.records(ctx, tx, ` WHERE collection = $1 AND dead_ms = 0 ORDER BY id`, collection)
}

// Touch says that what can be found in a collection has changed, and that something
// was lost at a time, unless that is zero.
func (t Tables) Touch(ctx context.Context, tx sqldb.Querier, collection string, lost time.Time) error {
	if _, err := tx.ExecContext(ctx, `UPDATE `+t.Collections+` SET revision = revision + 1 WHERE id = $1`, collection); err != nil || lost.IsZero() {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE `+t.Collections+` SET dirty_ms = $1 WHERE id = $2 AND (dirty_ms = 0 OR dirty_ms > $1)`, sqldb.MS(lost), collection)
	return err
}

// Dirty implements shelf.Records.
func (t Tables) Dirty(
	ctx context.Context, many int, tiers []int64, lostBefore time.Time, after string, limit int,
) ([]string, error) {
	text, args := t.DirtyIDs(many, tiers, lostBefore, after, limit)
	return sqldb.Strings(ctx, t.DB.Read(), text, args...)
}

// DirtyIDs is the query for what Dirty lists. Each half reads an index that has only
// what may be dirty.
func (t Tables) DirtyIDs(
	many int, tiers []int64, lostBefore time.Time, after string, limit int,
) (text string, args []any) {
	return `SELECT id FROM (SELECT c.id FROM ` + t.Collections + ` c WHERE c.crowded = 1 AND c.id > $1 AND ` + t.many("c.id", many, tiers) + ` ORDER BY c.id LIMIT $2) crowded
		UNION SELECT id FROM (SELECT id FROM ` + t.Collections + ` WHERE dirty_ms > 0 AND id > $1 AND dirty_ms < $3 ORDER BY id LIMIT $2) lost
		ORDER BY id LIMIT $2`, []any{after, limit, sqldb.MS(lostBefore)}
}

// DestroyLater implements shelf.Records.
func (t Tables) DestroyLater(ctx context.Context, collection string, revision int64, until time.Time) error {
	_, err := t.DB.WriteOne(ctx, `UPDATE `+t.Collections+` SET dirty_ms = $1 WHERE id = $2 AND revision = $3 AND dirty_ms > 0`, sqldb.MS(until), collection, revision)
	return err
}

// Replace implements shelf.Records.
func (t Tables) Replace(
	ctx context.Context, collection string, old []shelf.Held, by *shelf.Record, revision int64, settled bool,
	now time.Time,
) error {
	return t.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		return t.ReplaceIn(ctx, tx, collection, old, by, revision, settled, now)
	})
}

// ReplaceIn is Replace in a transaction. Those that are replaced are dead then, and their
// keys are destroyed.
func (t Tables) ReplaceIn(
	ctx context.Context, tx sqldb.Querier, collection string, old []shelf.Held, by *shelf.Record, revision int64,
	settled bool,
	now time.Time,
) error {
	destroy := `wrapped_key = $4` // whoever reads it has its key in memory
	if t.Inline {
		destroy += `, inline = NULL`
	}
	for _, h := range old {
		if err := t.changeOne(ctx, tx, "the segment", `UPDATE `+t.Segments+` SET dead_ms = $1, `+destroy+` WHERE id = $2 AND collection = $3 AND dead_ms = 0`,
			sqldb.MS(now), h.ID, collection, []byte{}); err != nil {
			return err
		}
	}
	if by != nil {
		if err := t.add(ctx, tx, *by); err != nil {
			return err
		}
	}
	if err := t.count(ctx, tx, collection); err != nil {
		return err
	}
	if settled { // what was lost since the segments were read is lost still
		if _, err := tx.ExecContext(ctx, `UPDATE `+t.Collections+` SET dirty_ms = 0 WHERE id = $1 AND revision = $2`, collection, revision); err != nil {
			return err
		}
	}
	return t.changeOne(ctx, tx, "the collection", `UPDATE `+t.Collections+` SET revision = revision + 1 WHERE id = $1`, collection)
}

// changeOne fails unless exactly one row was changed.
func (t Tables) changeOne(ctx context.Context, tx sqldb.Querier, what, text string, args ...any) error {
	r, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	if n != 1 {
		return fault.New(fault.Conflict, what+" has moved on")
	}
	return nil
}

// DeadSegments implements shelf.Graves.
func (t Tables) DeadSegments(ctx context.Context, before time.Time, limit int) ([]shelf.Record, error) {
	return t.records(ctx, t.DB.Read(), ` WHERE dead_ms > 0 AND dead_ms < $1 LIMIT $2`, sqldb.MS(before), limit)
}

// Forget implements shelf.Graves.
func (t Tables) Forget(ctx context.Context, ids []string) error {
	return t.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+t.Segments+` WHERE id = $1 AND dead_ms > 0`, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Knows implements shelf.Graves.
func (t Tables) Knows(ctx context.Context, id string) (bool, error) {
	var n int
	err := t.DB.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM `+t.Segments+` WHERE id = $1`, id).Scan(&n)
	return n > 0, err
}
