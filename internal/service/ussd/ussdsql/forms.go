package ussdsql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdform"
)

// Outbox hears of what happened in its transaction, so that it can pass on what
// was committed and nothing else.
type Outbox interface {
	EmitIn(ctx context.Context, tx sqldb.Querier, owner, kind string, at time.Time, data any) error
	// KeepCall keeps the record of a call that a hop made, and makes the call again
	// later if again says so.
	KeepCall(ctx context.Context, tx sqldb.Querier, record any, again bool) error
}

// WithOutbox returns the store with somebody who hears of forms.
func (s *Store) WithOutbox(o Outbox) *Store {
	with := *s
	with.outbox = o
	return &with
}

// eventSubmitted is a contract with those who listen.
const eventSubmitted = "form.submitted"

// submitted tells of a form: what was sent, and not from which telephone.
type submitted struct {
	Form       string           `json:"form"`
	Submission string           `json:"submissionId"`
	Account    string           `json:"account,omitempty"`
	Language   string           `json:"language"`
	Values     []ussdform.Value `json:"values"`
}

var _ ussdform.Store = (*Store)(nil)

func (s *Store) addSubmission(ctx context.Context, tx sqldb.Querier, f ussdform.Submission) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO ussd_submissions (id, form, menu, account, phone, language, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		f.ID, f.Form, f.Menu, f.Account, f.Phone, f.Language, sqldb.MS(f.At)); err != nil {
		return fmt.Errorf("store form: %w", err)
	}
	for i, v := range f.Values {
		if _, err := tx.ExecContext(ctx, `INSERT INTO ussd_submission_values (submission, position, field, kind, value, number) VALUES ($1, $2, $3, $4, $5, $6)`,
			f.ID, i, v.Field, v.Kind, v.Text, v.Number); err != nil {
			return fmt.Errorf("store value: %w", err)
		}
	}
	if s.texts != nil && f.Receipt {
		if err := s.texts.ReceiptIn(ctx, tx, f.ID, f.Form, f.Phone, f.Language, f.At); err != nil {
			return err
		}
	}
	if s.outbox == nil || f.Notify == "" {
		return nil
	}
	return s.outbox.EmitIn(ctx, tx, f.Notify, eventSubmitted, f.At,
		submitted{Form: f.Form, Submission: f.ID, Account: f.Account, Language: f.Language, Values: f.Values})
}

// Forms implements ussdform.Store.
func (s *Store) Forms(ctx context.Context) (_ []ussdform.Count, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT form, COUNT(*), MIN(at_ms), MAX(at_ms) FROM ussd_submissions GROUP BY form ORDER BY form`)
	if err != nil {
		return nil, fmt.Errorf("count forms: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	all := []ussdform.Count{}
	for rows.Next() {
		var c ussdform.Count
		var first, last int64
		if err := rows.Scan(&c.Form, &c.Submissions, &first, &last); err != nil {
			return nil, fmt.Errorf("read counts: %w", err)
		}
		c.First, c.Last = sqldb.Time(first), sqldb.Time(last)
		all = append(all, c)
	}
	return all, rows.Err()
}

// Submissions implements ussdform.Store.
func (s *Store) Submissions(ctx context.Context, form, after string, limit int) (_ []ussdform.Submission, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT p.id, p.form, p.menu, p.account, p.phone, p.language, p.at_ms,
		COALESCE(v.field, ''), COALESCE(v.kind, ''), COALESCE(v.value, '')
		FROM (SELECT * FROM ussd_submissions WHERE form = $1 AND id > $2 ORDER BY id LIMIT $3) p
		LEFT JOIN ussd_submission_values v ON v.submission = p.id ORDER BY p.id, v.position`, form, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list submissions: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []ussdform.Submission
	for rows.Next() {
		var one ussdform.Submission
		var v ussdform.Value
		var at int64
		if err := rows.Scan(&one.ID, &one.Form, &one.Menu, &one.Account, &one.Phone, &one.Language, &at, &v.Field, &v.Kind,
			&v.Text); err != nil {
			return nil, fmt.Errorf("read submission: %w", err)
		}
		if n := len(all); n == 0 || all[n-1].ID != one.ID {
			one.At, one.Values = sqldb.Time(at), []ussdform.Value{}
			all = append(all, one)
		}
		if last := &all[len(all)-1]; v.Field != "" {
			last.Values = append(last.Values, v)
		}
	}
	return all, rows.Err()
}

// Fields implements ussdform.Store.
func (s *Store) Fields(ctx context.Context, form string) (_ []string, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT v.field FROM ussd_submission_values v JOIN ussd_submissions p ON p.id = v.submission
		WHERE p.form = $1 GROUP BY v.field ORDER BY MIN(v.position), v.field`, form)
	if err != nil {
		return nil, fmt.Errorf("list fields: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("read field: %w", err)
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

// DeleteSubmission implements ussdform.Store.
func (s *Store) DeleteSubmission(ctx context.Context, form, id string) (bool, error) {
	var gone, values int64
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		gone = 0
		res, err := tx.ExecContext(ctx, `DELETE FROM ussd_submissions WHERE id = $1 AND form = $2`, id, form)
		if err != nil {
			return fmt.Errorf("delete submission: %w", err)
		}
		if gone, err = res.RowsAffected(); err != nil || gone == 0 {
			return err
		}
		return remove(ctx, tx, &values, `DELETE FROM ussd_submission_values WHERE submission = $1`, id)
	})
	return gone > 0, err
}
