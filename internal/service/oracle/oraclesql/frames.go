package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql/framelines"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// insertFrames stores a batch. A batch that was written by a commit whose
// acknowledgement got lost is left as it is.
func insertFrames(ctx context.Context, tx sqldb.Querier, runID string, frames []oracle.Frame) error {
	if len(frames) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO oracle_frames (run_id, first_seq, last_seq, lines) VALUES ($1, $2, $3, $4)
		ON CONFLICT (run_id, first_seq) DO NOTHING`,
		runID, frames[0].Seq, frames[len(frames)-1].Seq, framelines.Encode(frames))
	if err != nil {
		return fmt.Errorf("insert frames: %w", err)
	}
	return nil
}

// Frames returns frames of a run after a number.
func (st *Store) Frames(ctx context.Context, id string, after int64,
	limit int,
) (out []oracle.Frame, head run.Head, err error) {
	err = st.warm.Run(ctx, "", id, func() error {
		out, head, err = st.frames(ctx, id, after, limit)
		return err
	})
	return out, head, err
}

func (st *Store) frames(ctx context.Context, id string, after int64, limit int) ([]oracle.Frame, run.Head, error) {
	var (
		out  []oracle.Frame
		head run.Head
	)
	err := st.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var opening string
		var err error
		if head, opening, err = scanHead(tx.QueryRowContext(ctx, `SELECT next_seq, status, pruned, opening FROM oracle_runs WHERE id = $1`, id)); err != nil {
			return err
		}
		if out, err = framelines.Decode(1, opening, after); err != nil {
			return err
		}
		// The batch that holds the frame after the cursor may begin before it.
		rows, err := tx.QueryContext(ctx, `SELECT first_seq, lines FROM oracle_frames
			WHERE run_id = $1 AND last_seq > $2 ORDER BY first_seq LIMIT $3`, id, after, limit)
		if err != nil {
			return fmt.Errorf("select frames: %w", err)
		}
		batches, err := collect(rows, func(row scanner) ([]oracle.Frame, error) {
			var (
				first int64
				lines string
			)
			if err := row.Scan(&first, &lines); err != nil {
				return nil, fmt.Errorf("read frames: %w", err)
			}
			return framelines.Decode(first, lines, after)
		})
		for _, b := range batches {
			out = append(out, b...)
		}
		return err
	})
	if err != nil {
		return nil, run.Head{}, err
	}
	if len(out) > limit {
		out = out[:limit]
	}
	return out, head, nil
}

func scanHead(row scanner) (head run.Head, opening string, err error) {
	var (
		next   int64
		status string
		pruned int
	)
	err = row.Scan(&next, &status, &pruned, &opening)
	if errors.Is(err, sql.ErrNoRows) {
		return head, "", oracle.ErrRunNotFound
	}
	if err != nil {
		return head, "", fmt.Errorf("read run: %w", err)
	}
	return run.Head{LastSeq: next - 1, Status: oracle.RunStatus(status), Pruned: pruned != 0}, opening, nil
}
