package ussdsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

// apply carries out one effect of a hop.
func (s *Store) apply(ctx context.Context, tx sqldb.Querier, e ussd.Effect, change ussd.Change) error {
	now := change.Now
	switch e := e.(type) {
	case ussd.CreateAccount:
		return s.createAccount(ctx, tx, e)
	case ussd.SettlePIN:
		return s.settle(ctx, tx, e, change.Session.ID, now)
	case ussd.SetPIN:
		res, err := tx.ExecContext(ctx, `UPDATE ussd_accounts SET pin = $1, updated_ms = $2 WHERE id = $3`, e.Sealed, sqldb.MS(now), e.Account)
		return changedOne(res, err, ussd.ErrNoAccount)
	case ussd.ResetPIN:
		return resetPIN(ctx, tx, e, now)
	case ussd.LinkAccount:
		return linkAccount(ctx, tx, e, now)
	case ussd.UnlinkAccount:
		return unlinkAccount(ctx, tx, e, now)
	case ussd.AskNewKey:
		return s.askNewKey(ctx, tx, e, now)
	case ussd.CancelKeyRequest:
		return cancelKeyRequest(ctx, tx, e.Account, ussdpeople.ActorCaller, now)
	case ussd.VoidCodes:
		_, err := tx.ExecContext(ctx, `DELETE FROM ussd_codes WHERE account = $1 AND purpose = $2`, e.Account, e.Purpose)
		return wrap("void codes", err)
	case ussd.ProvePIN:
		return provePIN(ctx, tx, e)
	case ussd.EndSessions:
		return endSessions(ctx, tx, e.Account, e.Except, now)
	case ussd.SetLanguage:
		return s.setLanguage(ctx, tx, e, now)
	case ussd.KeepQuestion:
		q := e.Question
		_, err := tx.ExecContext(ctx, `INSERT INTO ussd_questions (id, account, phone, language, question, answer, state, tries,
			taken_until_ms, created_ms, updated_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9)
			ON CONFLICT (id) DO UPDATE SET answer = excluded.answer, state = excluded.state, tries = 0, taken_until_ms = 0, updated_ms = excluded.updated_ms`,
			q.ID, q.Account, q.Phone, q.Language, q.Text, q.Answer, int64(q.State), sqldb.MS(q.Created), sqldb.MS(now))
		return wrap("store question", err)
	case ussd.AddSubmission:
		return s.addSubmission(ctx, tx, e.Submission)
	case ussd.KeepCall:
		if s.outbox == nil {
			return nil
		}
		return s.outbox.KeepCall(ctx, tx, e.Record, e.Again)
	case ussd.MarkRead:
		_, err := tx.ExecContext(ctx, `UPDATE ussd_questions SET state = $1, updated_ms = $2 WHERE id = $3`,
			int64(ussdquestion.ReadOut), sqldb.MS(now), e.Question)
		return wrap("mark answer", err)
	}
	return fmt.Errorf("unknown effect %T", e)
}

// endSessions ends the sessions of an account, but for one.
func endSessions(ctx context.Context, tx sqldb.Querier, account, except string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE ussd_sessions SET status = 1, account = '', hop = hop + 1, updated_ms = $1
		WHERE account = $2 AND id <> $3 AND status = 0`, sqldb.MS(now), account, except)
	return wrap("end sessions", err)
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// newPhone adds a telephone, by the database's clock: other nodes look for what
// changed since they looked last, and a node that is late must not be missed.
func (s *Store) newPhone() string {
	return `INSERT INTO ussd_phones (phone, language, updated_ms) VALUES ($1, $2, ` + s.db.Dialect().NowMS() + `)
		ON CONFLICT (phone) DO UPDATE SET updated_ms = excluded.updated_ms`
}

func (s *Store) createAccount(ctx context.Context, tx sqldb.Querier, e ussd.CreateAccount) error {
	a := e.Account
	// The telephone's row first: it makes two creations take turns.
	_, err := tx.ExecContext(ctx, s.newPhone(), a.Phone, a.Language)
	if err != nil {
		return fmt.Errorf("store telephone: %w", err)
	}
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM ussd_accounts WHERE phone = $1`, a.Phone).Scan(&n); err != nil {
		return fmt.Errorf("count accounts: %w", err)
	}
	if n >= e.Limit {
		return ussd.ErrTooMany
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO ussd_accounts (id, phone, name, email, language, pin, created_ms, updated_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`,
		a.ID, a.Phone, a.Name, a.Email, a.Language, a.PIN, sqldb.MS(a.Created), sqldb.MS(a.Updated))
	return changedOne(res, err, ussd.ErrTaken)
}

func provePIN(ctx context.Context, tx sqldb.Querier, e ussd.ProvePIN) error {
	if e.Renewed != nil {
		res, err := tx.ExecContext(ctx, `UPDATE ussd_accounts SET pin = $1 WHERE id = $2 AND pin = $3`, e.Renewed, e.Account, e.Sealed)
		return changedOne(res, err, ussd.ErrPINChanged)
	}
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM ussd_accounts WHERE id = $1 AND pin = $2`, e.Account, e.Sealed).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return ussd.ErrPINChanged
	}
	return wrap("read PIN", err)
}

func (s *Store) setLanguage(ctx context.Context, tx sqldb.Querier, e ussd.SetLanguage, now time.Time) error {
	if e.Account != "" {
		if _, err := tx.ExecContext(ctx, `UPDATE ussd_accounts SET language = $1, updated_ms = $2 WHERE id = $3`,
			e.Language, sqldb.MS(now), e.Account); err != nil {
			return fmt.Errorf("set language of account: %w", err)
		}
	}
	_, err := tx.ExecContext(ctx, s.newPhone()+`, language = excluded.language`, e.Phone, e.Language)
	return wrap("set language of telephone", err)
}
