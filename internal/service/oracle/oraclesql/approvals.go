package oraclesql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// rests is the condition on a run that nobody works on because it waits for a
// person, and nobody has asked it to stop.
const rests = `pause_epoch = epoch AND pauses > 0 AND abort_ms = 0 AND ` + isAtWork

const approvalColumns = `id, run_id, session_id, owner, call_id, tool, args, reason, created_ms, expires_ms, decision, answered_ms, answered_by, via, round, question, content`

func scanApproval(row scanner) (oracle.Approval, error) {
	var (
		a                          oracle.Approval
		args, decision             string
		question, content          string
		created, expires, answered int64
	)
	err := row.Scan(&a.ID, &a.RunID, &a.SessionID, &a.Owner, &a.CallID, &a.Tool, &args, &a.Reason, &created, &expires,
		&decision, &answered, &a.AnsweredBy, &a.Via, &a.Round, &question, &content)
	if errors.Is(err, sql.ErrNoRows) {
		return a, oracle.ErrApprovalNotFound
	}
	if err != nil {
		return a, fmt.Errorf("read approval: %w", err)
	}
	a.Args, a.Decision = json.RawMessage(args), oracle.Decision(decision)
	a.CreatedAt, a.ExpiresAt = sqldb.Time(created), sqldb.Time(expires)
	if answered > 0 {
		a.AnsweredAt = sqldb.Time(answered)
	}
	if content != "" {
		a.Content = json.RawMessage(content)
	}
	if question != "" {
		if err := json.Unmarshal([]byte(question), &a.Question); err != nil {
			return a, fmt.Errorf("decode question: %w", err)
		}
	}
	return a, nil
}

// Pause puts a run to rest.
func (st *Store) Pause(ctx context.Context, p run.Pausing) error {
	usage, err := json.Marshal(p.Usage)
	if err != nil {
		return fmt.Errorf("encode usage: %w", err)
	}
	now := st.db.Dialect().NowMS()
	return st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		next := p.Frames[len(p.Frames)-1].Seq + 1
		res, err := tx.ExecContext(ctx, `UPDATE oracle_runs SET epoch = epoch + 1, pause_epoch = epoch + 1, pauses = pauses + 1,
			next_seq = $1, checkpoint = $2, model = $3, usage = $4, steps = $5, lease_ms = `+now+` + $6
			WHERE id = $7 AND epoch = $8 AND `+isAtWork,
			next, string(p.Checkpoint), p.Model, string(usage), p.Steps, p.For.Milliseconds(), p.RunID, p.Epoch)
		if err != nil {
			return fmt.Errorf("pause run: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, alreadyPaused(ctx, tx, p))
		}
		for _, a := range p.Approvals {
			question := ""
			if a.Question != nil {
				raw, err := json.Marshal(a.Question)
				if err != nil {
					return fmt.Errorf("encode question: %w", err)
				}
				question = string(raw)
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO oracle_approvals
				(id, run_id, session_id, owner, call_id, tool, args, reason, created_ms, expires_ms, round, question)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, `+now+` + $10, $11, $12)`,
				a.ID, a.RunID, a.SessionID, a.Owner, a.CallID, a.Tool, string(a.Args), a.Reason,
				sqldb.MS(a.CreatedAt), p.For.Milliseconds(), a.Round, question)
			if err != nil {
				return fmt.Errorf("insert approval: %w", err)
			}
		}
		return insertFrames(ctx, tx, p.RunID, p.Frames)
	})
}

// alreadyPaused tells a repeated pause, whose first acknowledgement got lost, from
// a run that belongs to somebody else.
func alreadyPaused(ctx context.Context, tx sqldb.Querier, p run.Pausing) error {
	same, err := exists(ctx, tx, `SELECT 1 FROM oracle_approvals WHERE id = $1`, p.Approvals[0].ID)
	if err != nil || same {
		return err
	}
	return run.ErrLost
}

// Approvals are all that a run asked for.
func (st *Store) Approvals(ctx context.Context, runID string) ([]oracle.Approval, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+approvalColumns+` FROM oracle_approvals WHERE run_id = $1 ORDER BY created_ms, id`, runID)
	if err != nil {
		return nil, fmt.Errorf("select approvals: %w", err)
	}
	return collect(rows, scanApproval)
}

// Pending are the owner's calls that wait now.
func (st *Store) Pending(ctx context.Context, owner, sessionID string, limit int) ([]oracle.Approval, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+approvalColumns+` FROM oracle_approvals a
		WHERE owner = $1 AND decision = '' AND ($2 = '' OR session_id = $2) AND expires_ms > `+st.db.Dialect().NowMS()+`
		AND EXISTS (SELECT 1 FROM oracle_runs r WHERE r.id = a.run_id AND `+rests+`)
		ORDER BY created_ms, id LIMIT $3`, owner, sessionID, limit)
	if err != nil {
		return nil, fmt.Errorf("select pending approvals: %w", err)
	}
	return collect(rows, scanApproval)
}

// Answer stores what a person decided.
func (st *Store) Answer(ctx context.Context, a oracle.Answer) (oracle.Approval, bool, error) {
	var (
		out   oracle.Approval
		ready bool
	)
	err := st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		ready = false
		var err error
		out, err = scanApproval(tx.QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM oracle_approvals WHERE id = $1 AND owner = $2 AND ($3 = '' OR session_id = $3)`,
			a.ApprovalID, a.Owner, a.SessionID))
		if err != nil {
			return err
		}
		if a.Decision == oracle.Approve && out.Decision == "" && !a.InPerson {
			return oracle.ErrNotInPerson
		}
		if out.Decision == "" {
			if err := a.Fits(out); err != nil {
				return err
			}
		}
		// The run is locked first: of two answers at once one is the last.
		if _, err := tx.ExecContext(ctx, `UPDATE oracle_runs SET pauses = pauses WHERE id = $1`, out.RunID); err != nil {
			return fmt.Errorf("lock run: %w", err)
		}
		answered, err := scanApproval(tx.QueryRowContext(ctx, `UPDATE oracle_approvals SET decision = $1, answered_ms = $2, answered_by = $3, via = $4, content = $5
			WHERE id = $6 AND owner = $7 AND decision = '' AND expires_ms > `+st.db.Dialect().NowMS()+`
			AND EXISTS (SELECT 1 FROM oracle_runs r WHERE r.id = oracle_approvals.run_id AND `+rests+`)
			RETURNING `+approvalColumns,
			string(a.Decision), sqldb.MS(time.Now()), a.By, a.Via, kept(a), a.ApprovalID, a.Owner))
		if errors.Is(err, oracle.ErrApprovalNotFound) {
			out, err = answeredBefore(ctx, tx, a)
			return err
		}
		if err != nil {
			return err
		}
		out = answered
		more, err := exists(ctx, tx, `SELECT 1 FROM oracle_approvals WHERE run_id = $1 AND decision = '' LIMIT 1`, out.RunID)
		if err != nil || more {
			return err
		}
		ready = true
		if _, err := tx.ExecContext(ctx, `UPDATE oracle_runs SET lease_ms = 0 WHERE id = $1 AND `+rests, out.RunID); err != nil {
			return fmt.Errorf("wake run: %w", err)
		}
		return nil
	})
	if err != nil {
		return oracle.Approval{}, false, err
	}
	return out, ready, nil
}

// kept is what of an answer's content is stored: who denies has said nothing.
func kept(a oracle.Answer) string {
	if a.Decision != oracle.Approve {
		return ""
	}
	return string(a.Content)
}

// answeredBefore says why an approval could not be answered, or that it was
// answered the same.
func answeredBefore(ctx context.Context, tx sqldb.Querier, a oracle.Answer) (oracle.Approval, error) {
	found, err := scanApproval(tx.QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM oracle_approvals WHERE id = $1 AND owner = $2`, a.ApprovalID, a.Owner))
	switch {
	case err != nil:
		return found, err
	case found.Decision == a.Decision:
		return found, nil
	case found.Decision == oracle.Approve || found.Decision == oracle.Deny:
		return found, oracle.ErrAnswered
	}
	return found, oracle.ErrApprovalOver
}

// closeApprovals says of what nobody answered why nobody can any more.
func closeApprovals(ctx context.Context, tx sqldb.Querier, runID string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE oracle_approvals SET decision = CASE WHEN expires_ms <= $1 THEN 'expired' ELSE 'withdrawn' END
		WHERE run_id = $2 AND decision = ''`, sqldb.MS(at), runID)
	if err != nil {
		return fmt.Errorf("close approvals: %w", err)
	}
	return nil
}
