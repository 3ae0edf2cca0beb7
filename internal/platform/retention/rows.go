package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Rows is a Source of records that are a row with an id each, and rows of other tables
// that belong to it. There must be an index of At and id for Where.
type Rows struct {
	DB   *sqldb.DB
	Name string
	// At is the column with the time, in milliseconds. Without it ids sort by time, and
	// Place is where those of a time begin.
	At    string
	Place func(time.Time) string
	// Where is what else must hold, such as that a record has ended. In it $1 is the
	// time, in milliseconds.
	Where string
	Parts []Part
	// Slice is how many records go at once.
	Slice int
}

// Part is the rows of another table that belong to a record, whose id is $1. Parts go in
// their order.
type Part struct{ Table, Where string }

var _ Source = Rows{}

// Table implements Source.
func (r Rows) Table() string { return r.Name }

// due is the condition under which a row is due; its $1 is what cut returns.
func (r Rows) due() string {
	text := "id < $1"
	if r.At != "" {
		text = r.At + " < $1"
	}
	if r.Where != "" {
		text += " AND " + r.Where
	}
	return text
}

func (r Rows) cut(before time.Time) any {
	if r.At == "" {
		return r.Place(before)
	}
	return sqldb.MS(before)
}

// Count implements Source.
func (r Rows) Count(ctx context.Context, before time.Time, limit int) (n int, all bool, err error) {
	err = r.DB.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM `+r.Name+` WHERE `+r.due()+` LIMIT $2) AS found`,
		r.cut(before), limit+1).Scan(&n)
	if err != nil {
		return 0, false, fmt.Errorf("count %s: %w", r.Name, err)
	}
	return min(n, limit), n <= limit, nil
}

// Walk implements Source.
func (r Rows) Walk(ctx context.Context, before time.Time, each func(ids []string) error) error {
	at, id := int64(-1), ""
	for {
		ids, err := r.next(ctx, before, &at, &id)
		if err != nil {
			return fmt.Errorf("find what is due of %s: %w", r.Name, err)
		}
		if len(ids) == 0 {
			return nil
		}
		if err := each(ids); err != nil {
			return err
		}
		if len(ids) < r.Slice {
			return nil
		}
	}
}

// next returns the ids behind a place, and moves it.
func (r Rows) next(ctx context.Context, before time.Time, at *int64, id *string) (ids []string, err error) {
	if r.At == "" {
		ids, err = sqldb.Strings(ctx, r.DB.Read(), `SELECT id FROM `+r.Name+` WHERE `+r.due()+` AND id > $2 ORDER BY id LIMIT $3`,
			r.cut(before), *id, r.Slice)
		if len(ids) > 0 {
			*id = ids[len(ids)-1]
		}
		return ids, err
	}
	rows, err := r.DB.Read().QueryContext(ctx, `SELECT `+r.At+`, id FROM `+r.Name+` WHERE `+r.due()+
		` AND (`+r.At+`, id) > ($2, $3) ORDER BY `+r.At+`, id LIMIT $4`, r.cut(before), *at, *id, r.Slice)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(at, id); err != nil {
			return nil, err
		}
		ids = append(ids, *id)
	}
	return ids, rows.Err()
}

// Export implements Source.
func (r Rows) Export(ctx context.Context, _ time.Time, id string, to *Lines) error {
	err := to.Rows(ctx, r.Name, "id = $1", id)
	for _, p := range r.Parts {
		err = errors.Join(err, to.Rows(ctx, p.Table, p.Where, id))
	}
	return err
}

// Erase implements Source.
func (r Rows) Erase(ctx context.Context, tx sqldb.Querier, before time.Time, id string) (int64, error) {
	res, err := tx.ExecContext(ctx, `DELETE FROM `+r.Name+` WHERE `+r.due()+` AND id = $2`, r.cut(before), id)
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
