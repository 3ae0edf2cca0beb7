package ussdsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcode"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

var _ ussdpeople.Store = (*Store)(nil)

// containing is the pattern of what contains the text, whatever signs are in it.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(text)) + "%"
}

// Accounts implements ussdpeople.Store. A page is read along the ids of either table.
func (s *Store) Accounts(ctx context.Context, q ussdpeople.Search) (_ []ussdpeople.Account, err error) {
	where, args := `id > $1`, []any{q.After, q.Limit}
	if q.Phone != "" {
		args = append(args, q.Phone)
		where += fmt.Sprintf(` AND phone = $%d`, len(args))
	}
	if q.Text != "" {
		args = append(args, containing(q.Text))
		where += fmt.Sprintf(` AND (LOWER(name) LIKE $%d ESCAPE '\' OR LOWER(email) LIKE $%[1]d ESCAPE '\')`, len(args))
	}
	page := func(closed, table string) string {
		return `SELECT * FROM (SELECT id, phone, name, email, language, created_ms, ` + closed + ` AS closed_ms FROM ` + table + ` WHERE ` + where + ` ORDER BY id LIMIT $2) page_of_` + table
	}
	rows, err := s.db.Read().QueryContext(ctx, `SELECT a.id, a.phone, a.name, a.email, a.language, a.created_ms, a.closed_ms, COALESCE(l.did, '')
		FROM (`+page("0", "ussd_accounts")+` UNION ALL `+page("closed_ms", "ussd_closed_accounts")+`) a
		LEFT JOIN ussd_links l ON l.account = a.id ORDER BY a.id LIMIT $2`, args...)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []ussdpeople.Account
	for rows.Next() {
		var a ussdpeople.Account
		var created, closed int64
		if err := rows.Scan(&a.ID, &a.Phone, &a.Name, &a.Email, &a.Language, &created, &closed, &a.DID); err != nil {
			return nil, fmt.Errorf("list accounts: %w", err)
		}
		a.Created = sqldb.Time(created)
		if closed > 0 {
			a.Closed = sqldb.Time(closed)
		}
		out = append(out, a)
	}
	return out, wrap("list accounts", rows.Err())
}

// AccountsOf implements ussd.Store.
func (s *Store) AccountsOf(ctx context.Context, phone string, limit int) (_ []ussd.Account, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+accountColumns+` FROM ussd_accounts WHERE phone = $1 ORDER BY created_ms, id LIMIT $2`, phone, limit)
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

// lockAccount fails with ErrNoAccount unless the account is open; nobody else changes
// it before the transaction has ended.
func (s *Store) lockAccount(ctx context.Context, tx sqldb.Querier, account string) (phone string, err error) {
	err = tx.QueryRowContext(ctx, `SELECT phone FROM ussd_accounts WHERE id = $1`+s.db.Dialect().ForUpdate(), account).Scan(&phone)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ussd.ErrNoAccount
	}
	return phone, wrap("read account", err)
}

// maxCodes bounds the codes of an account for one purpose: anybody may ask to link it, and
// the oldest goes. It is so large that who wants a code to go that its owner is just
// typing needs many keys in that minute; a code more helps nobody who guesses. To refuse
// one instead would tell which accounts there are.
const maxCodes = 64

// PutCode implements ussdpeople.Store.
func (s *Store) PutCode(ctx context.Context, c ussdcode.Code, send string, by ussdpeople.Act) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := s.lockAccount(ctx, tx, c.Account); err != nil {
			return err
		}
		if c.Purpose == ussdpin.PurposeReset && c.Issuer != ussdcode.IssuerOperator {
			var one int
			err := tx.QueryRowContext(ctx, `SELECT 1 FROM ussd_links WHERE account = $1 AND did = $2`+s.db.Dialect().ForUpdate(), c.Account, c.Issuer).Scan(&one)
			if errors.Is(err, sql.ErrNoRows) {
				return ussd.ErrNoAccount
			}
			if err != nil {
				return fmt.Errorf("read link: %w", err)
			}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_codes WHERE account = $1 AND purpose = $2 AND (issuer = $3 OR expires_ms <= $4)`,
			c.Account, c.Purpose, c.Issuer, sqldb.MS(c.Created)); err != nil {
			return fmt.Errorf("replace code: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_codes WHERE account = $1 AND purpose = $2 AND issuer NOT IN (
			SELECT issuer FROM ussd_codes WHERE account = $1 AND purpose = $2 ORDER BY created_ms DESC, issuer LIMIT $3)`,
			c.Account, c.Purpose, maxCodes-1); err != nil {
			return fmt.Errorf("make room for code: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO ussd_codes (account, purpose, issuer, mac, created_ms, expires_ms) VALUES ($1, $2, $3, $4, $5, $6)`,
			c.Account, c.Purpose, c.Issuer, c.MAC, sqldb.MS(c.Created), sqldb.MS(c.Expires)); err != nil {
			return fmt.Errorf("store code: %w", err)
		}
		if c.Purpose == ussdpin.PurposeReset {
			// Whoever was asked for a code vouches for its owner. Codes for links are made for
			// anybody: they give nobody new guesses.
			if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_attempts WHERE subject = $1 AND origin = $2`, c.Account, c.Purpose); err != nil {
				return fmt.Errorf("forget wrong codes: %w", err)
			}
			if send != "" {
				if err := s.sendCode(ctx, tx, c, send); err != nil {
					return err
				}
			}
			return addAct(ctx, tx, by)
		}
		return nil // strangers could fill the list of acts
	})
}

// detach removes what must not outlive the telephone or the PIN of an account.
func detach(ctx context.Context, tx sqldb.Querier, by ussdpeople.Act) error {
	account := by.Account
	if err := cancelKeyRequest(ctx, tx, account, by.Actor, by.At); err != nil {
		return err
	}
	for _, table := range []string{"ussd_codes", "ussd_links"} {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE account = $1`, account); err != nil {
			return fmt.Errorf("detach account: %w", err)
		}
	}
	return endSessions(ctx, tx, account, "", by.At)
}

// CloseAccount implements ussdpeople.Store.
func (s *Store) CloseAccount(ctx context.Context, by ussdpeople.Act) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := s.lockAccount(ctx, tx, by.Account); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO ussd_closed_accounts (id, phone, name, email, language, created_ms, closed_ms)
			SELECT id, phone, name, email, language, created_ms, $1 FROM ussd_accounts WHERE id = $2`, sqldb.MS(by.At), by.Account); err != nil {
			return fmt.Errorf("put account aside: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_accounts WHERE id = $1`, by.Account); err != nil {
			return fmt.Errorf("close account: %w", err)
		}
		if err := detach(ctx, tx, by); err != nil {
			return err
		}
		return addAct(ctx, tx, by)
	})
}

// EraseAccount implements ussdpeople.Store.
func (s *Store) EraseAccount(ctx context.Context, by ussdpeople.Act) (ussdpeople.Receipt, error) {
	var r ussdpeople.Receipt
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		r = ussdpeople.Receipt{}
		phone, err := s.lockAccount(ctx, tx, by.Account)
		if errors.Is(err, ussd.ErrNoAccount) {
			err = tx.QueryRowContext(ctx, `SELECT phone FROM ussd_closed_accounts WHERE id = $1`+s.db.Dialect().ForUpdate(), by.Account).Scan(&phone)
			if errors.Is(err, sql.ErrNoRows) {
				return ussd.ErrNoAccount
			}
		}
		if err != nil {
			return fmt.Errorf("read account: %w", err)
		}
		var gone int64
		for _, d := range []struct {
			n     *int64
			query string
		}{
			{&gone, `DELETE FROM ussd_accounts WHERE id = $1`},
			{&gone, `DELETE FROM ussd_closed_accounts WHERE id = $1`},
			{&r.Sessions, `DELETE FROM ussd_sessions WHERE account = $1`},
			{&r.Questions, `DELETE FROM ussd_questions WHERE account = $1`},
			{&r.Attempts, `DELETE FROM ussd_attempts WHERE subject = $1 OR origin = $1`},
			{&gone, `DELETE FROM ussd_pin_checks WHERE subject = $1`},
			{&r.Codes, `DELETE FROM ussd_codes WHERE account = $1`},
			{&r.Links, `DELETE FROM ussd_links WHERE account = $1`},
			{&gone, `DELETE FROM ussd_key_requests WHERE account = $1 AND state <> 'approved'`},
			{&gone, `DELETE FROM ussd_submission_values WHERE submission IN (SELECT id FROM ussd_submissions WHERE account = $1)`},
			{&r.Forms, `DELETE FROM ussd_submissions WHERE account = $1`},
		} {
			if err := remove(ctx, tx, d.n, d.query, by.Account); err != nil {
				return err
			}
		}
		if r.Telephone, err = erasePhone(ctx, tx, &r, phone); err != nil {
			return err
		}
		by.Detail = fmt.Sprintf("%d sessions, %d questions", r.Sessions, r.Questions)
		return addAct(ctx, tx, by)
	})
	return r, err
}

// erasePhone removes what is left of a telephone when no account has it.
func erasePhone(ctx context.Context, tx sqldb.Querier, r *ussdpeople.Receipt, phone string) (bool, error) {
	var others int
	if err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM ussd_accounts WHERE phone = $1) +
		(SELECT COUNT(*) FROM ussd_closed_accounts WHERE phone = $1)`, phone).Scan(&others); err != nil {
		return false, fmt.Errorf("count accounts: %w", err)
	}
	if others > 0 {
		return false, nil
	}
	var gone int64
	// Forms that were sent without an account are the number's own.
	for _, d := range []struct {
		n     *int64
		query string
	}{
		{&r.Sessions, `DELETE FROM ussd_sessions WHERE phone = $1`},
		{&gone, `DELETE FROM ussd_submission_values WHERE submission IN (SELECT id FROM ussd_submissions WHERE phone = $1 AND account = '')`},
		{&r.Forms, `DELETE FROM ussd_submissions WHERE phone = $1 AND account = ''`},
	} {
		if err := remove(ctx, tx, d.n, d.query, phone); err != nil {
			return false, err
		}
	}
	// What a number stopped stays stopped: that is a wish of whoever has it.
	for _, table := range []string{"ussd_phones", "ussd_sms", "ussd_sms_received", "ussd_sms_days"} {
		if err := remove(ctx, tx, &gone, `DELETE FROM `+table+` WHERE phone = $1`, phone); err != nil {
			return false, err
		}
	}
	return true, nil
}

// remove adds how many rows a statement removes.
func remove(ctx context.Context, tx sqldb.Querier, n *int64, query, arg string) error {
	res, err := tx.ExecContext(ctx, query, arg)
	if err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	gone, err := res.RowsAffected()
	*n += gone
	return wrap("erase", err)
}

// MoveAccount implements ussdpeople.Store.
func (s *Store) MoveAccount(ctx context.Context, phone string, limit int, by ussdpeople.Act) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		// The telephone's row first, as when an account is made: it makes both take turns.
		if _, err := tx.ExecContext(ctx, s.newPhone(), phone, ""); err != nil {
			return fmt.Errorf("store telephone: %w", err)
		}
		if _, err := s.lockAccount(ctx, tx, by.Account); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM ussd_accounts WHERE phone = $1 AND id <> $2`, phone, by.Account).Scan(&n); err != nil {
			return fmt.Errorf("count accounts: %w", err)
		}
		if n >= limit {
			return ussd.ErrTooMany
		}
		if _, err := tx.ExecContext(ctx, `UPDATE ussd_accounts SET phone = $1, updated_ms = $2 WHERE id = $3`, phone, sqldb.MS(by.At), by.Account); err != nil {
			return fmt.Errorf("move account: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE ussd_questions SET phone = $1 WHERE account = $2 AND phone <> ''`, phone, by.Account); err != nil {
			return fmt.Errorf("move questions: %w", err)
		}
		if err := detach(ctx, tx, by); err != nil {
			return err
		}
		return addAct(ctx, tx, by)
	})
}

// Link implements ussdpeople.Store.
func (s *Store) Link(ctx context.Context, account string) (did string, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT did FROM ussd_links WHERE account = $1`, account).Scan(&did)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return did, wrap("read link", err)
}

// Links implements ussdpeople.Store.
func (s *Store) Links(ctx context.Context, did string) (_ []ussdpeople.Link, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT account, created_ms FROM ussd_links WHERE did = $1 ORDER BY account`, did)
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []ussdpeople.Link
	for rows.Next() {
		l := ussdpeople.Link{DID: did}
		var created int64
		if err := rows.Scan(&l.Account, &created); err != nil {
			return nil, fmt.Errorf("list links: %w", err)
		}
		l.Created = sqldb.Time(created)
		out = append(out, l)
	}
	return out, wrap("list links", rows.Err())
}

// Unlink implements ussdpeople.Store.
func (s *Store) Unlink(ctx context.Context, did string, by ussdpeople.Act) (was bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var n int64
		res, err := tx.ExecContext(ctx, `DELETE FROM ussd_links WHERE account = $1 AND did = $2`, by.Account, did)
		if err == nil {
			n, err = res.RowsAffected()
		}
		if was = n > 0; err != nil || !was {
			return wrap("unlink", err)
		}
		// A code that the person made for the account goes with the right to make it.
		if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_codes WHERE account = $1 AND issuer = $2`, by.Account, did); err != nil {
			return fmt.Errorf("forget codes: %w", err)
		}
		if err := cancelKeyRequest(ctx, tx, by.Account, by.Actor, by.At); err != nil {
			return err
		}
		return addAct(ctx, tx, by)
	})
	return was, err
}

// Acts implements ussdpeople.Store.
func (s *Store) Acts(ctx context.Context, account string, limit int) (_ []ussdpeople.Act, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT at_ms, actor, act, account, detail FROM ussd_acts
		WHERE $1 = '' OR account = $1 ORDER BY at_ms DESC, id LIMIT $2`, account, limit)
	if err != nil {
		return nil, fmt.Errorf("list acts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []ussdpeople.Act{}
	for rows.Next() {
		var a ussdpeople.Act
		var at int64
		if err := rows.Scan(&at, &a.Actor, &a.Act, &a.Account, &a.Detail); err != nil {
			return nil, fmt.Errorf("list acts: %w", err)
		}
		a.At = sqldb.Time(at)
		out = append(out, a)
	}
	return out, wrap("list acts", rows.Err())
}
