package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// makeRoom decides what the new run does to the live ones of its session, of which there
// are so many, and returns those that it ended. Refusals read none of them: whoever is
// refused asks again.
func (st *Store) makeRoom(ctx context.Context, tx sqldb.Querier, b run.Begin, many int,
	out *run.Begun,
) (ended []stored, err error) {
	if b.Multitask == oracle.Reject {
		return nil, run.ErrBusy
	}
	// A version does not wait behind what it takes the place of.
	if b.Multitask == oracle.Enqueue && b.Run.Request.Version != nil {
		b.Multitask = oracle.Interrupt
	}
	if b.Multitask == oracle.Enqueue && many > b.MaxQueue {
		return nil, run.ErrQueueFull
	}
	live, err := bareRuns(ctx, tx, `session_id = $1`, b.Run.SessionID)
	if err != nil {
		return nil, err
	}
	if b.Multitask == oracle.Enqueue {
		out.Run.Status = oracle.Queued
		// A run that rests would keep the message waiting for a person who has
		// just said something else.
		live = slices.DeleteFunc(live, func(l stored) bool { return !l.Paused })
	}
	for _, l := range live {
		if l.Status == oracle.Queued {
			if err := st.endQueued(ctx, tx, &l, b.Run.CreatedAt); err != nil {
				return nil, err
			}
			ended = append(ended, l)
			continue
		}
		out.Run.Status = oracle.Queued
		out.Interrupted = append(out.Interrupted, l.ID)
		if l.Paused {
			out.Woken = append(out.Woken, l.ID)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE oracle_runs SET abort_ms = $1 WHERE id = $2 AND abort_ms = 0`, sqldb.MS(b.Run.CreatedAt), l.ID); err != nil {
			return nil, fmt.Errorf("ask run to stop: %w", err)
		}
	}
	return ended, nil
}

// bareRuns returns live runs without their requests and checkpoints.
func bareRuns(ctx context.Context, tx sqldb.Querier, where string, args ...any) ([]stored, error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+bareColumns+` FROM oracle_runs WHERE `+where+` AND `+isLive, args...)
	if err != nil {
		return nil, fmt.Errorf("select live runs: %w", err)
	}
	return collect(rows, scanStored)
}

// endQueued ends a run that never began. Its request, for those who are told of the end,
// is read once: the run does not end again.
func (st *Store) endQueued(ctx context.Context, tx sqldb.Querier, r *stored, at time.Time) error {
	f, err := oracle.NewFrame(oracle.FrameDone, oracle.DoneFrame{RunID: r.ID, Status: oracle.Aborted, Aborted: true})
	if err != nil {
		return err
	}
	f.Seq = r.NextSeq
	r.request, err = scanString(tx.QueryRowContext(ctx, `UPDATE oracle_runs SET status = 'aborted', abort_ms = $1, ended_ms = $1, next_seq = $2
		WHERE id = $3 AND status = 'queued' RETURNING request`, sqldb.MS(at), r.NextSeq+1, r.ID))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("end queued run: %w", err)
	}
	if err := insertFrames(ctx, tx, r.ID, []oracle.Frame{f}); err != nil {
		return err
	}
	return st.reportRun(ctx, tx, r.Owner, at, runReport{
		SessionID: r.SessionID, RunID: r.ID, RequestID: r.RequestID, MessageID: r.MessageID, Status: oracle.Aborted,
	})
}
