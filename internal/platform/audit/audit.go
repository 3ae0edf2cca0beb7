// Package audit keeps what operators asked a deployment to change: who, what, when and
// how it ended.
//
// An act is written before it is done, so that none is done unseen; how it ended is
// written after it. One whose end is unknown has status 0: its node died, or lost the database, in between. A page
// of the trail reads as many rows as it shows, whatever else is there.
//
// Decision: ADR 0247.
package audit

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the schema.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "audit", FS: files} }

// MaxPage bounds one page.
const MaxPage = 500

// maxTarget bounds what is kept of a path.
const maxTarget = 500

// Act is one thing that an operator asked for.
type Act struct {
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	Actor string    `json:"actor"`
	Role  string    `json:"role"`
	// Act is a method and the pattern of a route, Target the path itself.
	Act    string `json:"act"`
	Target string `json:"target"`
	// Status is what was answered; 0 is not known.
	Status int `json:"status"`
}

// Filter chooses acts. Actor and Act are not given both: a page must not read rows that
// it does not show.
type Filter struct {
	Actor, Act   string
	Since, Until time.Time
	// Before is the id of the last act of the page before.
	Before string
	Limit  int
}

// Trail is the acts of a deployment, in a database whose migrations were applied.
type Trail struct {
	db    *sqldb.DB
	count atomic.Uint32 // of this node: acts of one millisecond stay in their order
}

// New returns the trail.
func New(db *sqldb.DB) *Trail { return &Trail{db: db} }

// place is the beginning of the ids of a time.
func place(at time.Time) string { return fmt.Sprintf("%014d", max(at.UnixMilli(), 0)) }

// Begin writes an act that is about to be done and returns its id.
func (t *Trail) Begin(ctx context.Context, a Act) (string, error) {
	var nonce [6]byte
	_, _ = rand.Read(nonce[:]) // never fails
	end := fmt.Sprintf("-%08x%x", t.count.Add(1), nonce)
	if len(a.Target) > maxTarget {
		a.Target = strings.ToValidUTF8(a.Target[:maxTarget], "") // not half a letter
	}
	err := t.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now, err := t.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		a.ID = place(now) + end
		_, err = tx.ExecContext(ctx, `INSERT INTO audit_acts (id, actor, role, act, target, status) VALUES ($1, $2, $3, $4, $5, 0)`,
			a.ID, a.Actor, a.Role, a.Act, a.Target)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("write act: %w", err)
	}
	return a.ID, nil
}

// End writes how an act ended.
func (t *Trail) End(ctx context.Context, id string, status int) error {
	err := t.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `UPDATE audit_acts SET status = $1 WHERE id = $2`, status, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("write end of act: %w", err)
	}
	return nil
}

// List returns acts, the newest first.
func (t *Trail) List(ctx context.Context, f Filter) (_ []Act, err error) {
	if f.Actor != "" && f.Act != "" {
		return nil, fault.New(fault.Invalid, "Give actor or act, not both.")
	}
	since, before := place(f.Since), "~" // behind every id
	if f.Since.IsZero() {
		since = ""
	}
	if !f.Until.IsZero() {
		before = place(f.Until)
	}
	if f.Before != "" && f.Before < before {
		before = f.Before
	}
	where, args := `id >= $1 AND id < $2`, []any{since, before, min(max(f.Limit, 1), MaxPage)}
	switch {
	case f.Actor != "":
		where, args = where+` AND actor = $4`, append(args, f.Actor)
	case f.Act != "":
		where, args = where+` AND act = $4`, append(args, f.Act)
	}
	rows, err := t.db.Read().QueryContext(ctx, `SELECT id, actor, role, act, target, status FROM audit_acts WHERE `+where+` ORDER BY id DESC LIMIT $3`, args...)
	if err != nil {
		return nil, fmt.Errorf("list acts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []Act{}
	for rows.Next() {
		var a Act
		if err := rows.Scan(&a.ID, &a.Actor, &a.Role, &a.Act, &a.Target, &a.Status); err != nil {
			return nil, fmt.Errorf("list acts: %w", err)
		}
		var ms int64
		if _, err := fmt.Sscanf(a.ID, "%14d-", &ms); err != nil {
			return nil, fmt.Errorf("read time of act: %w", err)
		}
		a.At = sqldb.Time(ms)
		out = append(out, a)
	}
	return out, rows.Err()
}

// Retained are the acts, which operators may choose to keep for a while only.
func (t *Trail) Retained() map[string][]retention.Source {
	return map[string][]retention.Source{
		retention.Audit: {retention.Rows{DB: t.db, Name: "audit_acts", Place: place, Slice: 200}},
	}
}
