package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// page is how many rows one statement reads at most, whether they are due or not: behind
// many that are still used it would be silent for longer than a database is waited for.
const page = 1000

// Rows is a Source of records that are a row with an id each, and rows of other tables
// that belong to it. There must be an index of At and id of the rows for which Of holds.
type Rows struct {
	DB   *sqldb.DB
	Name string
	// At is the column with the time, in milliseconds. Without it ids sort by time, and
	// Place is where those of a time begin.
	At    string
	Place func(time.Time) string
	// Of is which rows are looked at, as the index has it. Where is what else must hold of
	// them, such as that a record is not used; in it $1 is the time, in milliseconds.
	Of, Where string
	Parts     []Part
	// Slice is how many records go at once.
	Slice int
}

// Part is the rows of another table that belong to a record, whose id is $1. Parts go in
// their order.
type Part struct{ Table, Where string }

var _ Source = Rows{}

// Table implements Source.
func (r Rows) Table() string { return r.Name }

// old is which rows are looked at; its $1 is what cut returns.
func (r Rows) old() string {
	text := "id < $1"
	if r.At != "" {
		text = r.At + " < $1"
	}
	if r.Of != "" {
		text += " AND " + r.Of
	}
	return text
}

// due is what is left to hold for a row that is old.
func (r Rows) due() string {
	if r.Where == "" {
		return "1 = 1"
	}
	return r.Where
}

func (r Rows) cut(before time.Time) any {
	if r.At == "" {
		return r.Place(before)
	}
	return sqldb.MS(before)
}

// Count implements Source.
func (r Rows) Count(ctx context.Context, before time.Time, limit int) (n int, all bool, err error) {
	err = r.pages(ctx, before, func(ids []string) error {
		if n += len(ids); n > limit {
			n = limit
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return n, false, nil
	}
	return n, err == nil, err
}

var errEnough = errors.New("enough was counted")

// Walk implements Source.
func (r Rows) Walk(ctx context.Context, before time.Time, each func(ids []string) error) error {
	return r.pages(ctx, before, func(ids []string) error {
		for some := range slices.Chunk(ids, r.Slice) {
			if err := each(some); err != nil {
				return err
			}
		}
		return nil
	})
}

// pages calls do with what is due of each page of old rows.
func (r Rows) pages(ctx context.Context, before time.Time, do func(ids []string) error) error {
	at, id := int64(-1), ""
	for {
		read, ids, err := r.next(ctx, before, &at, &id)
		if err != nil {
			return fmt.Errorf("find what is due of %s: %w", r.Name, err)
		}
		if err := do(ids); err != nil || read < page {
			return err
		}
	}
}

// next reads the rows behind a place, moves it to the last of them, and returns how many
// it read and the ids of those that are due.
func (r Rows) next(ctx context.Context, before time.Time, at *int64, id *string) (read int, ids []string, err error) {
	when, place, order, args := "0", "id > $2", "id", []any{r.cut(before), *id}
	if r.At != "" {
		when, place, order, args = r.At, "("+r.At+", id) > ($3, $2)", r.At+", id", append(args, *at)
	}
	rows, err := r.DB.Read().QueryContext(ctx, fmt.Sprintf(`SELECT %s, id, CASE WHEN %s THEN 1 ELSE 0 END FROM %s
		WHERE %s AND %s ORDER BY %s LIMIT %d`, when, r.due(), r.Name, r.old(), place, order, page), args...)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var due int
		if err := rows.Scan(at, id, &due); err != nil {
			return 0, nil, err
		}
		if read++; due == 1 {
			ids = append(ids, *id)
		}
	}
	return read, ids, rows.Err()
}

// Export implements Source.
func (r Rows) Export(ctx context.Context, _ time.Time, id string, to *JSONLines) error {
	err := to.Rows(ctx, r.Name, "id = $1", id)
	for _, p := range r.Parts {
		err = errors.Join(err, to.Rows(ctx, p.Table, p.Where, id))
	}
	return err
}

// Erase implements Source.
func (r Rows) Erase(ctx context.Context, tx sqldb.Querier, before time.Time, id string) (int64, error) {
	res, err := tx.ExecContext(ctx, `DELETE FROM `+r.Name+` WHERE `+r.old()+` AND `+r.due()+` AND id = $2`, r.cut(before), id)
	if err != nil {
		return 0, fmt.Errorf("erase of %s: %w", r.Name, err)
	}
	n, err := res.RowsAffected()
	if err != nil || n == 0 {
		return 0, err
	}
	return n, r.EraseParts(ctx, tx, id)
}

// EraseParts deletes what belongs to a record.
func (r Rows) EraseParts(ctx context.Context, tx sqldb.Querier, id string) error {
	for _, p := range r.Parts {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+p.Table+` WHERE `+p.Where, id); err != nil {
			return fmt.Errorf("erase of %s: %w", p.Table, err)
		}
	}
	return nil
}
