package ussdsql

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcode"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

// Texts sends text messages about what is stored in a transaction, once that is
// committed. Each is named by what it is about: the same again is no second message.
type Texts interface {
	// CodeIn tells the beginning of a code, or says why the number gets none.
	CodeIn(ctx context.Context, tx sqldb.Querier, id, phone, begin, language string,
		at time.Time) (refused string, err error)
	// AnswerIn says that the answer to a question is there.
	AnswerIn(ctx context.Context, tx sqldb.Querier, question, phone, language string, at time.Time) error
	// ReceiptIn says that a form arrived.
	ReceiptIn(ctx context.Context, tx sqldb.Querier, submission, form, phone, language string, at time.Time) error
}

// WithTexts returns the store with somebody who sends messages; nil sends none.
func (s *Store) WithTexts(t Texts) *Store {
	with := *s
	with.texts = t
	return &with
}

// sendCode tells the beginning of a code to the account's own telephone.
func (s *Store) sendCode(ctx context.Context, tx sqldb.Querier, c ussdcode.Code, begin string) error {
	if s.texts == nil {
		return fault.New(fault.Conflict, "No gateway for text messages is set up (SMS_GATEWAY).")
	}
	var phone, language string
	if err := tx.QueryRowContext(ctx, `SELECT a.phone, COALESCE(NULLIF(p.language, ''), a.language) FROM ussd_accounts a
		LEFT JOIN ussd_phones p ON p.phone = a.phone WHERE a.id = $1`, c.Account).Scan(&phone, &language); err != nil {
		return fmt.Errorf("read telephone: %w", err)
	}
	refused, err := s.texts.CodeIn(ctx, tx, hex.EncodeToString(c.MAC), phone, begin, language, c.Created)
	if err == nil && refused != "" {
		err = fault.Newf(fault.Conflict, "No message was sent: %s.", refused)
	}
	return err
}

// tellAnswer says that a promised answer is there, to the telephone that asked.
func (s *Store) tellAnswer(ctx context.Context, tx sqldb.Querier, id string, state ussdquestion.State,
	now time.Time,
) error {
	if s.texts == nil || state != ussdquestion.Answered && state != ussdquestion.Undecided {
		return nil
	}
	var phone, language string
	if err := tx.QueryRowContext(ctx, `SELECT phone, language FROM ussd_questions WHERE id = $1`, id).Scan(&phone, &language); err != nil {
		return fmt.Errorf("read question: %w", err)
	}
	if phone == "" {
		return nil
	}
	return s.texts.AnswerIn(ctx, tx, id, phone, language, now)
}

// leftFor is for how long after it was left an answer is told of.
const leftFor = 7 * 24 * time.Hour

// TellLeft tells the telephones of accounts that an answer was left for them which nobody told
// them of yet, and returns of how many, at most limit. Whoever left it may be a node that sends
// no messages.
func (s *Store) TellLeft(ctx context.Context, limit int, now time.Time) (told int, err error) {
	left, err := sqldb.Strings(ctx, s.db.Read(), `SELECT q.id FROM ussd_questions q JOIN ussd_accounts a ON a.id = q.account
		WHERE q.state = 1 AND q.phone = '' AND q.updated_ms > $1 ORDER BY q.id LIMIT $2`, sqldb.MS(now.Add(-leftFor)), limit)
	if err != nil {
		return 0, fmt.Errorf("look for answers that were left: %w", err)
	}
	for _, id := range left {
		var did int
		err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
			did = 0
			res, err := tx.ExecContext(ctx, `UPDATE ussd_questions SET phone = (SELECT a.phone FROM ussd_accounts a WHERE a.id = ussd_questions.account)
				WHERE id = $1 AND state = 1 AND phone = '' AND EXISTS (SELECT 1 FROM ussd_accounts a WHERE a.id = ussd_questions.account)`, id)
			if err != nil {
				return fmt.Errorf("note the telephone of an answer: %w", err)
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return err // read, or told of, a moment ago
			}
			did = 1
			return s.tellAnswer(ctx, tx, id, ussdquestion.Answered, now)
		})
		if err != nil {
			return told, err
		}
		told += did
	}
	return told, nil
}
