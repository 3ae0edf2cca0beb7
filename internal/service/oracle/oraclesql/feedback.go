package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// errNoAnswer is the refusal of feedback on what the user said.
var errNoAnswer = fault.New(fault.Invalid, "Only answers take feedback")

// SetFeedback keeps, or forgets, what the owner thinks of an answer.
func (st *Store) SetFeedback(ctx context.Context, owner, sessionID string, f oracle.Feedback) error {
	return st.warm.In(ctx, owner, sessionID, func() (bool, error) {
		err := st.setFeedback(ctx, owner, sessionID, f)
		return errors.Is(err, oracle.ErrMessageNotFound), err
	})
}

func (st *Store) setFeedback(ctx context.Context, owner, sessionID string, f oracle.Feedback) error {
	return st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := scanSession(tx.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM oracle_sessions WHERE id = $1 AND owner = $2`, sessionID, owner)); err != nil {
			return err
		}
		var role, model string
		err := tx.QueryRowContext(ctx, `SELECT m.role, COALESCE((SELECT r.model FROM oracle_runs r WHERE r.id = m.run_id), '')`+ofOwner+` AND m.id = $3`,
			sessionID, owner, f.MessageID).Scan(&role, &model)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return oracle.ErrMessageNotFound
		case err != nil:
			return fmt.Errorf("find message: %w", err)
		case oracle.Role(role) != oracle.AI:
			return errNoAnswer
		}
		if f.Rating == "" {
			_, err = tx.ExecContext(ctx, `DELETE FROM oracle_feedback WHERE session_id = $1 AND message_id = $2`, sessionID, f.MessageID)
		} else {
			_, err = tx.ExecContext(ctx, `INSERT INTO oracle_feedback (session_id, message_id, rating, remark, model, day, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (session_id, message_id) DO UPDATE SET rating = excluded.rating, remark = excluded.remark, day = excluded.day, at_ms = excluded.at_ms`,
				sessionID, f.MessageID, string(f.Rating), f.Text, model, oracle.DayOf(f.At), sqldb.MS(f.At))
		}
		if err != nil {
			return fmt.Errorf("store feedback: %w", err)
		}
		return nil
	})
}

// Feedback is the owner's in a session, by message.
func (st *Store) Feedback(ctx context.Context, owner, sessionID string) (map[string]oracle.Feedback, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+feedbackColumns+`
		FROM oracle_feedback f JOIN oracle_sessions s ON s.id = f.session_id WHERE s.id = $1 AND s.owner = $2`, sessionID, owner)
	if err != nil {
		return nil, fmt.Errorf("select feedback: %w", err)
	}
	list, err := collect(rows, scanFeedback)
	out := make(map[string]oracle.Feedback, len(list))
	for _, f := range list {
		out[f.MessageID] = f
	}
	return out, err
}

const feedbackColumns = `f.message_id, f.rating, f.remark, f.at_ms`

func scanFeedback(row scanner) (f oracle.Feedback, err error) {
	var (
		rating string
		at     int64
	)
	err = row.Scan(&f.MessageID, &rating, &f.Text, &at)
	f.Rating, f.At = oracle.Rating(rating), sqldb.Time(at)
	return f, err
}

// maxFeedbackCounts bounds a list of counts.
const maxFeedbackCounts = 10_000

// FeedbackCounts counts everybody's feedback by day and model.
func (st *Store) FeedbackCounts(ctx context.Context, from, to int64) ([]oracle.FeedbackCount, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT day, model,
		SUM(CASE WHEN rating = 'up' THEN 1 ELSE 0 END), SUM(CASE WHEN rating = 'down' THEN 1 ELSE 0 END)
		FROM oracle_feedback WHERE day >= $1 AND day <= $2 GROUP BY day, model ORDER BY day, model LIMIT $3`, from, to, maxFeedbackCounts)
	if err != nil {
		return nil, fmt.Errorf("count feedback: %w", err)
	}
	return collect(rows, func(row scanner) (oracle.FeedbackCount, error) {
		var c oracle.FeedbackCount
		err := row.Scan(&c.Day, &c.Model, &c.Up, &c.Down)
		return c, err
	})
}
