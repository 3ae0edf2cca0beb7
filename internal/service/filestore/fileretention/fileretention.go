// Package fileretention says which records of the file store operators may choose to keep
// for a while only: changes, and links that are over.
//
// It promises that of each namespace changes go from the oldest on, so that what is left
// is whole from its first number; that the newest stays, so that there is a first number;
// and that none goes which the search index or a Follower has not read.
package fileretention

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const (
	namespaces = 200 // looked at in one query
	slice      = 500 // changes that go at once
)

// Follower is somebody else who reads changes, and must have read them before they go.
type Follower interface {
	// ReadThrough returns the last change of a namespace that was read; false: nobody
	// reads it.
	ReadThrough(ctx context.Context, ns string) (seq int64, follows bool, err error)
}

// Sources returns the records of the file store.
func Sources(db *sqldb.DB, followers ...Follower) map[string][]retention.Source {
	return map[string][]retention.Source{
		retention.Events: {events{db, followers}},
		retention.Shares: {retention.Rows{
			DB: db, Name: "filestore_shares", At: "expires_ms", Slice: slice, Of: "expires_ms > 0",
			Parts: []retention.Part{{Table: "filestore_drops", Where: "share_id = $1"}},
		}},
	}
}

// events are the changes of all namespaces. The id of a record is the number of a change
// and its namespace: it stands for all changes up to that one.
type events struct {
	db        *sqldb.DB
	followers []Follower
}

// Table implements retention.Source.
func (e events) Table() string { return "filestore_events" }

// Count implements retention.Source. It looks at so many namespaces as it would count changes.
func (e events) Count(ctx context.Context, before time.Time, limit int) (n int, all bool, err error) {
	looked := 0
	err = e.each(ctx, before, func(page int, due []string) error {
		looked += page
		for _, ns := range due {
			of, _, err := e.due(ctx, ns, before, 0, limit-n)
			if n += of; err != nil {
				return err
			}
			if n >= limit {
				return errEnough
			}
		}
		if looked >= limit {
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

// Walk implements retention.Source.
func (e events) Walk(ctx context.Context, before time.Time, each func(ids []string) error) error {
	return e.each(ctx, before, func(_ int, due []string) error {
		for _, ns := range due {
			for after := int64(0); ; {
				n, through, err := e.due(ctx, ns, before, after, slice)
				if err != nil {
					return err
				}
				if n > 0 {
					if err := each([]string{strconv.FormatInt(through, 10) + " " + ns}); err != nil {
						return err
					}
				}
				if n < slice {
					break
				}
				after = through
			}
		}
		return nil
	})
}

// each calls do with namespaces whose oldest change is due, and how many were looked at.
func (e events) each(ctx context.Context, before time.Time, do func(page int, due []string) error) error {
	for after := ""; ; {
		page, err := sqldb.Strings(ctx, e.db.Read(), `SELECT ns FROM filestore_namespaces WHERE ns > $1 ORDER BY ns LIMIT $2`, after, namespaces)
		if err != nil || len(page) == 0 {
			return err
		}
		through := page[len(page)-1]
		due, err := sqldb.Strings(ctx, e.db.Read(), `SELECT n.ns FROM filestore_namespaces n WHERE n.ns > $1 AND n.ns <= $2
			AND (SELECT v.at_ms FROM filestore_events v WHERE v.ns = n.ns ORDER BY v.seq LIMIT 1) < $3 ORDER BY n.ns`, after, through, sqldb.MS(before))
		if err != nil {
			return fmt.Errorf("find old changes: %w", err)
		}
		if err := do(len(page), due); err != nil {
			return err
		}
		after = through
	}
}

// due returns how many of the next changes of a namespace are due, up to a limit, and the
// last of them.
func (e events) due(ctx context.Context, ns string, before time.Time, after int64,
	limit int,
) (n int, through int64, err error) {
	var most int64
	err = e.db.Read().QueryRowContext(ctx, `SELECT CASE WHEN i.seq < p.last - 1 THEN i.seq ELSE p.last - 1 END
		FROM platform_feeds p JOIN filestore_text_indexes i ON i.id = $1 WHERE p.name = $2`, ns, "filestore/"+ns).Scan(&most)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil // the index has not read it
	}
	if err != nil {
		return 0, 0, fmt.Errorf("find how far changes were read: %w", err)
	}
	for _, f := range e.followers {
		read, follows, err := f.ReadThrough(ctx, ns)
		if err != nil {
			return 0, 0, err
		}
		if follows {
			most = min(most, read)
		}
	}
	rows, err := e.db.Read().QueryContext(ctx, `SELECT seq, at_ms FROM filestore_events WHERE ns = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`,
		ns, after, most, limit)
	if err != nil {
		return 0, 0, fmt.Errorf("find old changes: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var seq, at int64
		if err := rows.Scan(&seq, &at); err != nil {
			return 0, 0, fmt.Errorf("find old changes: %w", err)
		}
		if at >= sqldb.MS(before) {
			break // what follows may be older by another clock, and stays with it
		}
		n, through = n+1, seq
	}
	return n, through, rows.Err()
}

func parse(id string) (ns string, through int64, err error) {
	number, ns, _ := strings.Cut(id, " ")
	through, err = strconv.ParseInt(number, 10, 64)
	return ns, through, err
}

// Export implements retention.Source.
func (e events) Export(ctx context.Context, before time.Time, id string, to *retention.JSONLines) error {
	ns, through, err := parse(id)
	if err != nil {
		return err
	}
	return to.Rows(ctx, e.Table(), `ns = $1 AND seq <= $2 AND at_ms < $3 ORDER BY seq`, ns, through, sqldb.MS(before))
}

// Erase implements retention.Source.
func (e events) Erase(ctx context.Context, tx sqldb.Querier, before time.Time, id string) (int64, error) {
	ns, through, err := parse(id)
	if err != nil {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, `DELETE FROM filestore_events WHERE ns = $1 AND seq <= $2 AND at_ms < $3`, ns, through, sqldb.MS(before))
	if err != nil {
		return 0, fmt.Errorf("erase changes: %w", err)
	}
	return res.RowsAffected()
}
