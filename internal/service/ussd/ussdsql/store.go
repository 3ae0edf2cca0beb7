// Package ussdsql keeps USSD sessions and accounts in SQLite or PostgreSQL.
//
// A hop is one transaction: the compare-and-set of the session row, and the
// hop's effects. Times come as arguments, but for what several nodes compare
// with their own: reservations and the changes of telephones go by the
// database's clock. Secrets never reach it: PINs arrive sealed, texts as keyed
// hashes.
package ussdsql

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the service's tables.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "ussd", FS: files} }

// Store implements ussd.Store.
type Store struct {
	db      *sqldb.DB
	session string // selects sessions
	outbox  Outbox // nil hears of nothing
	texts   Texts  // nil sends none
	keys    Keys   // nil binds none
	stand   func(tx sqldb.Querier) ussdkey.Witness
}

var _ ussd.Store = (*Store)(nil)

// New returns a store on a migrated database.
func New(db *sqldb.DB) *Store {
	return &Store{db: db, session: `SELECT id, rev, hop, phone, service_code, dialect, menu, status, account, text_len, text_mac, answer, body,
		CASE WHEN claim_until_ms = 0 THEN 0 ELSE claim_until_ms - ` + db.Dialect().NowMS() + ` END, created_ms, updated_ms, expires_ms
		FROM ussd_sessions `}
}

// body is what a session remembers, in one column: no query looks inside.
type body struct {
	State  ussdmenu.State `json:"s"`
	Memory ussd.Memory    `json:"m"`
}

type scanner interface{ Scan(dest ...any) error }

func scanSession(row scanner) (*ussd.Session, error) {
	s := &ussd.Session{}
	var packed []byte
	var claim, created, updated, expires int64
	err := row.Scan(&s.ID, &s.Rev, &s.Hop, &s.Phone, &s.ServiceCode, &s.Dialect, &s.Menu, &s.Status, &s.Account,
		&s.TextLen,
		&s.TextMAC, &s.Answer, &packed, &claim, &created, &updated, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ussd.ErrNoSession
	}
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	var b body
	if err := json.Unmarshal(packed, &b); err != nil {
		return nil, fmt.Errorf("read session body: %w", err)
	}
	s.State, s.Memory = b.State, b.Memory
	s.Claimed = time.Duration(claim) * time.Millisecond
	s.Created, s.Updated, s.Expires = sqldb.Time(created), sqldb.Time(updated), sqldb.Time(expires)
	return s, nil
}

// Session implements ussd.Store.
func (s *Store) Session(ctx context.Context, id string) (*ussd.Session, error) {
	return scanSession(s.db.Read().QueryRowContext(ctx, s.session+`WHERE id = $1`, id))
}

// LastOfPhone implements ussd.Store.
func (s *Store) LastOfPhone(ctx context.Context, phone, code string, since time.Time) (*ussd.Session, error) {
	return scanSession(s.db.Read().QueryRowContext(ctx, s.session+`WHERE resumable = 1 AND phone = $1 AND service_code = $2 AND status = 0 AND updated_ms >= $3 ORDER BY updated_ms DESC LIMIT 1`,
		phone, code, sqldb.MS(since)))
}

const insertSession = `INSERT INTO ussd_sessions (id, rev, hop, phone, service_code, dialect, menu, screen, status, account,
	text_len, text_mac, answer, body, claim_until_ms, created_ms, updated_ms, expires_ms, due_ms, resumable)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, $15, $16, $17, $17, $18) ON CONFLICT (id) DO NOTHING`

// due_ms is when the sweep looks at the session next. It may be too early, and is then put
// off: so a hop changes nothing that an index has.
const updateSession = `UPDATE ussd_sessions SET rev = $1, hop = $2, menu = $3, screen = $4, status = $5, account = $6,
	text_len = $7, text_mac = $8, answer = $9, body = $10, claim_until_ms = 0, updated_ms = $11, expires_ms = $12
	WHERE id = $13 AND rev = $14 AND hop = $15`

// One that ends may have been put off for as long as it could have been offered again.
const endSession = `UPDATE ussd_sessions SET rev = $1, hop = $2, menu = $3, screen = $4, status = $5, account = $6,
	text_len = $7, text_mac = $8, answer = $9, body = $10, claim_until_ms = 0, updated_ms = $11, expires_ms = $12, due_ms = $12
	WHERE id = $13 AND rev = $14 AND hop = $15`

// A new session may take the place of one that is over: then everything changes.
const replaceSession = `UPDATE ussd_sessions SET rev = $1, hop = $2, menu = $3, screen = $4, status = $5, account = $6,
	text_len = $7, text_mac = $8, answer = $9, body = $10, claim_until_ms = 0, updated_ms = $11, expires_ms = $12, due_ms = $12,
	phone = $13, service_code = $14, dialect = $15, created_ms = $16, resumable = $17
	WHERE id = $18 AND rev = $19 AND hop = $20`

// Commit implements ussd.Store.
func (s *Store) Commit(ctx context.Context, c ussd.Change) error {
	n := c.Session
	packed, err := json.Marshal(body{State: n.State, Memory: n.Memory})
	if err != nil {
		return fmt.Errorf("pack session: %w", err)
	}
	query, args := compareAndSet(c, packed)
	if len(c.Effects) == 0 {
		// Right alone, since it compares what it changes: most hops are this.
		n, err := s.db.WriteOne(ctx, query, args...)
		if err != nil {
			return fmt.Errorf("write session: %w", err)
		}
		if n == 0 {
			return ussd.ErrStale
		}
		return nil
	}
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		res, err := tx.ExecContext(ctx, query, args...)
		if err := changedOne(res, err, ussd.ErrStale); err != nil {
			return err
		}
		for _, e := range c.Effects {
			if err := s.apply(ctx, tx, e, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// compareAndSet is the statement that stores the session if it is as expected.
func compareAndSet(c ussd.Change, packed []byte) (string, []any) {
	n, resumable := c.Session, int64(0)
	if c.Resumable {
		resumable = 1
	}
	switch {
	case c.Prior == nil:
		return insertSession, []any{
			n.ID, n.Rev, n.Hop, n.Phone, n.ServiceCode, n.Dialect, n.Menu,
			n.State.Screen, int64(n.Status), n.Account, n.TextLen, n.TextMAC, n.Answer, packed,
			sqldb.MS(n.Created), sqldb.MS(n.Updated), sqldb.MS(n.Expires), resumable,
		}
	case c.Prior.Rev == n.Rev:
		query := updateSession
		if n.Status == ussd.Done {
			query = endSession
		}
		return query, []any{
			n.Rev, n.Hop, n.Menu, n.State.Screen, int64(n.Status), n.Account,
			n.TextLen, n.TextMAC, n.Answer, packed, sqldb.MS(n.Updated), sqldb.MS(n.Expires), n.ID, c.Prior.Rev, c.Prior.Hop,
		}
	}
	return replaceSession, []any{
		n.Rev, n.Hop, n.Menu, n.State.Screen, int64(n.Status), n.Account,
		n.TextLen, n.TextMAC, n.Answer, packed, sqldb.MS(n.Updated), sqldb.MS(n.Expires),
		n.Phone, n.ServiceCode, n.Dialect, sqldb.MS(n.Created), resumable, n.ID, c.Prior.Rev, c.Prior.Hop,
	}
}

// changedOne turns "no row changed" into the given error.
func changedOne(res sql.Result, err, none error) error {
	if err != nil {
		return fmt.Errorf("write row: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	if n == 0 {
		return none
	}
	return nil
}

// Claim implements ussd.Store.
func (s *Store) Claim(ctx context.Context, c ussd.Claim) (ussdpin.Attempt, error) {
	var attempt ussdpin.Attempt
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now := s.db.Dialect().NowMS()
		res, err := tx.ExecContext(ctx, `UPDATE ussd_sessions SET claim_until_ms = `+now+` + $1
			WHERE id = $2 AND rev = $3 AND hop = $4 AND claim_until_ms <= `+now,
			c.For.Milliseconds(), c.ID, c.Prior.Rev, c.Prior.Hop)
		if err := changedOne(res, err, ussd.ErrStale); err != nil {
			return err
		}
		attempt, err = s.beginCheck(ctx, tx, c)
		return err
	})
	return attempt, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
