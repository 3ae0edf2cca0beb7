package ussdsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

// Phone implements ussd.Store.
func (s *Store) Phone(ctx context.Context, phone string) (ussd.PhoneInfo, error) {
	var info ussd.PhoneInfo
	err := s.db.Read().QueryRowContext(ctx, `SELECT p.language, COUNT(a.id), COALESCE(MIN(a.id), '')
		FROM ussd_phones p LEFT JOIN ussd_accounts a ON a.phone = p.phone WHERE p.phone = $1 GROUP BY p.phone, p.language`,
		phone).Scan(&info.Language, &info.Accounts, &info.Account)
	if errors.Is(err, sql.ErrNoRows) {
		return ussd.PhoneInfo{}, nil
	}
	if err != nil {
		return ussd.PhoneInfo{}, fmt.Errorf("read telephone: %w", err)
	}
	if info.Accounts != 1 {
		info.Account = ""
	}
	return info, nil
}

// LanguageOf is what to write to a telephone in: what it chose, else what the accounts of
// its number speak if that is one language, as after an account was moved to it; or "".
func (s *Store) LanguageOf(ctx context.Context, phone string) (string, error) {
	var chosen, first, last string
	err := s.db.Read().QueryRowContext(ctx, `SELECT p.language, COALESCE(MIN(a.language), ''), COALESCE(MAX(a.language), '')
		FROM ussd_phones p LEFT JOIN ussd_accounts a ON a.phone = p.phone WHERE p.phone = $1 GROUP BY p.phone, p.language`,
		phone).Scan(&chosen, &first, &last)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read language of telephone: %w", err)
	case chosen == "" && first == last:
		return first, nil
	}
	return chosen, nil
}

// KnownPhones implements ussd.Store.
func (s *Store) KnownPhones(ctx context.Context, since time.Time, fn func(phone string)) (newest time.Time, err error) {
	from := int64(0)
	if !since.IsZero() {
		from = sqldb.MS(since)
	}
	rows, err := s.db.Read().QueryContext(ctx, `SELECT phone, updated_ms FROM ussd_phones WHERE updated_ms >= $1`, from)
	if err != nil {
		return since, fmt.Errorf("read telephones: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	newest = since
	for rows.Next() {
		var phone string
		var ms int64
		if err := rows.Scan(&phone, &ms); err != nil {
			return since, fmt.Errorf("read telephones: %w", err)
		}
		fn(phone)
		newest = later(newest, sqldb.Time(ms))
	}
	if err := rows.Err(); err != nil {
		return since, fmt.Errorf("read telephones: %w", err)
	}
	return newest, nil
}

const accountColumns = `id, phone, name, email, language, pin, created_ms, updated_ms`

func scanAccount(row scanner) (ussd.Account, error) {
	var a ussd.Account
	var created, updated int64
	err := row.Scan(&a.ID, &a.Phone, &a.Name, &a.Email, &a.Language, &a.PIN, &created, &updated)
	if errors.Is(err, sql.ErrNoRows) {
		return a, ussd.ErrNoAccount
	}
	if err != nil {
		return a, fmt.Errorf("read account: %w", err)
	}
	a.Created, a.Updated = sqldb.Time(created), sqldb.Time(updated)
	return a, nil
}

// Account implements ussd.Store.
func (s *Store) Account(ctx context.Context, id string) (ussd.Account, error) {
	return scanAccount(s.db.Read().QueryRowContext(ctx, `SELECT `+accountColumns+` FROM ussd_accounts WHERE id = $1`, id))
}

// SealedPINs implements ussd.Store.
func (s *Store) SealedPINs(ctx context.Context, after string, limit int) (_ []ussd.Account, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+accountColumns+` FROM ussd_accounts WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []ussd.Account
	for rows.Next() {
		a, err := scanAccount(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, wrap("list accounts", rows.Err())
}

// PINKeys names the keys that PINs are under, as ussdpin.Keys knows them.
func (s *Store) PINKeys(ctx context.Context) ([]string, error) {
	return sqldb.Strings(ctx, s.db.Read(), `SELECT DISTINCT substr(pin, 1, $1) FROM ussd_accounts`, ussdpin.KeyIDSize)
}

// ReplacePIN implements ussd.Store.
func (s *Store) ReplacePIN(ctx context.Context, account string, old, sealed []byte) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `UPDATE ussd_accounts SET pin = $1 WHERE id = $2 AND pin = $3`, sealed, account, old)
		return wrap("replace PIN", err) // another PIN by now is a fresh one
	})
}

// Unlock implements ussd.Store.
func (s *Store) Unlock(ctx context.Context, subject string) (bool, error) {
	var n int64
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM ussd_attempts WHERE subject = $1`, subject)
		if err != nil {
			return fmt.Errorf("forget attempts: %w", err)
		}
		n, err = res.RowsAffected()
		return wrap("count rows", err)
	})
	return n > 0, err
}

// Locks implements ussd.Store.
func (s *Store) Locks(ctx context.Context, now time.Time, limit int) (_ []ussdpin.Lock, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT subject, origin, failures, locked_until_ms FROM ussd_attempts
		WHERE locked_until_ms > $1 ORDER BY locked_until_ms DESC LIMIT $2`, sqldb.MS(now), limit)
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []ussdpin.Lock{}
	for rows.Next() {
		var l ussdpin.Lock
		var until int64
		if err := rows.Scan(&l.Account, &l.Origin, &l.Failures, &until); err != nil {
			return nil, fmt.Errorf("list locks: %w", err)
		}
		l.Until = sqldb.Time(until)
		out = append(out, l)
	}
	return out, wrap("list locks", rows.Err())
}

const questionColumns = `id, account, phone, language, question, answer, state, tries, created_ms`

func scanQuestion(row scanner) (ussdquestion.Question, error) {
	var q ussdquestion.Question
	var created int64
	err := row.Scan(&q.ID, &q.Account, &q.Phone, &q.Language, &q.Text, &q.Answer, &q.State, &q.Tries, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return q, ussd.ErrNoSession
	}
	if err != nil {
		return q, fmt.Errorf("read question: %w", err)
	}
	q.Created = sqldb.Time(created)
	return q, nil
}

// Waiting implements ussd.Store.
func (s *Store) Waiting(ctx context.Context, account string) (ussdquestion.Question, error) {
	return scanQuestion(s.db.Read().QueryRowContext(ctx, `SELECT `+questionColumns+` FROM ussd_questions
		WHERE account = $1 AND state <> $2 ORDER BY created_ms DESC LIMIT 1`, account, int64(ussdquestion.ReadOut)))
}

// TakeQuestions implements ussd.Store.
func (s *Store) TakeQuestions(ctx context.Context, d time.Duration, limit int) ([]ussdquestion.Question, error) {
	now := s.db.Dialect().NowMS()
	// Nearly always there is nothing, which needs no transaction.
	var one int
	err := s.db.Read().QueryRowContext(ctx, `SELECT 1 FROM ussd_questions WHERE state = 0 AND taken_until_ms <= `+now+` LIMIT 1`).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for questions: %w", err)
	}
	var out []ussdquestion.Question
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) (err error) {
		out = nil
		rows, err := tx.QueryContext(ctx, `UPDATE ussd_questions SET taken_until_ms = `+now+` + $1, tries = tries + 1
			WHERE state = 0 AND taken_until_ms <= `+now+` AND id IN (
				SELECT id FROM ussd_questions WHERE state = 0 AND taken_until_ms <= `+now+` ORDER BY created_ms LIMIT $2)
			RETURNING `+questionColumns, d.Milliseconds(), limit)
		if err != nil {
			return fmt.Errorf("take questions: %w", err)
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			q, err := scanQuestion(rows)
			if err != nil {
				return err
			}
			out = append(out, q)
		}
		return wrap("take questions", rows.Err())
	})
	return out, err
}

// SettleQuestion implements ussd.Store.
func (s *Store) SettleQuestion(ctx context.Context, id, answer string, state ussdquestion.State, now time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		res, err := tx.ExecContext(ctx, `UPDATE ussd_questions SET answer = $1, state = $2, updated_ms = $3 WHERE id = $4 AND state = 0`,
			answer, int64(state), sqldb.MS(now), id)
		if err != nil {
			return fmt.Errorf("settle question: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return s.tellAnswer(ctx, tx, id, state, now)
	})
}

// LeaveAnswer leaves an answer for an account that did not come from the oracle; one
// that is there already stays as it is. ErrNoAccount when nobody could read it.
func (s *Store) LeaveAnswer(ctx context.Context, q ussdquestion.Question) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO ussd_questions (id, account, phone, language, question, answer, state, tries,
			taken_until_ms, created_ms, updated_ms) SELECT $1, a.id, '', $3, $4, $5, $6, 0, 0, $7, $7 FROM ussd_accounts a WHERE a.id = $2
			ON CONFLICT (id) DO UPDATE SET updated_ms = ussd_questions.updated_ms`,
			q.ID, q.Account, q.Language, q.Text, q.Answer, int64(ussdquestion.Answered), sqldb.MS(q.Created))
		return changedOne(res, err, ussd.ErrNoAccount)
	})
}

// AccountIDs lists accounts, in order, after one.
func (s *Store) AccountIDs(ctx context.Context, after string, limit int) ([]string, error) {
	return sqldb.Strings(ctx, s.db.Read(), `SELECT id FROM ussd_accounts WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
}
