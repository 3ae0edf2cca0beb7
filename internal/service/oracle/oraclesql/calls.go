package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
)

var _ call.Store = (*Store)(nil)

const callColumns = `id, session_id, owner, node, kind, status, reason, voice, language, framed, fingerprint, agreement,
	created_ms, started_ms, ended_ms, expires_ms, recording_state, recording_path, recording_ref`

func scanCall(row scanner) (call.Record, error) {
	var (
		r                               call.Record
		framed                          int64
		created, started, ended, expiry int64
	)
	err := row.Scan(&r.ID, &r.SessionID, &r.Owner, &r.Node, &r.Type, &r.Status, &r.Reason, &r.Voice, &r.Language, &framed,
		&r.Fingerprint, &r.Agreement,
		&created, &started, &ended, &expiry, &r.Recording.State, &r.Recording.Path, &r.Recording.Ref)
	if errors.Is(err, sql.ErrNoRows) {
		return r, call.ErrNotFound
	}
	if err != nil {
		return r, fmt.Errorf("read call: %w", err)
	}
	r.Framed = framed != 0
	r.CreatedAt, r.ExpiresAt = sqldb.Time(created), sqldb.Time(expiry)
	if started > 0 {
		r.StartedAt = sqldb.Time(started)
	}
	if ended > 0 {
		r.EndedAt = sqldb.Time(ended)
	}
	return r, nil
}

// CreateCall stores a pending call of the owner's session.
func (st *Store) CreateCall(ctx context.Context, r call.Record, c call.Claim) error {
	framed := 0
	if r.Framed {
		framed = 1
	}
	return st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var open int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM oracle_calls WHERE owner = $1 AND status <> 'ended'`, r.Owner).Scan(&open); err != nil {
			return fmt.Errorf("count calls: %w", err)
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO oracle_calls
			(id, session_id, owner, node, kind, status, voice, language, framed, fingerprint, agreement, created_ms, expires_ms, lease_ms,
			 recording_state, recording_path, recording_ref)
			SELECT $1, s.id, s.owner, $2, $3, 'pending', $4, $5, $6, $7, $8, $9, $10, `+st.db.Dialect().NowMS()+` + $11, $12, $13, $14
			FROM oracle_sessions s WHERE s.id = $15 AND s.owner = $16`,
			r.ID, r.Node, string(r.Type), r.Voice, r.Language, framed, r.Fingerprint, r.Agreement, sqldb.MS(r.CreatedAt),
			sqldb.MS(r.ExpiresAt),
			c.TTL.Milliseconds(), string(r.Recording.State), r.Recording.Path, r.Recording.Ref, r.SessionID, r.Owner)
		if err != nil {
			return fmt.Errorf("insert call: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, oracle.ErrSessionNotFound)
		}
		if open >= c.PerUser {
			return call.ErrTooMany
		}
		return nil
	})
}

// Call returns one of the owner's calls.
func (st *Store) Call(ctx context.Context, owner, id string) (call.Record, error) {
	return scanCall(st.db.Read().QueryRowContext(ctx, `SELECT `+callColumns+` FROM oracle_calls WHERE id = $1 AND owner = $2`, id, owner))
}

// Calls lists the calls of the owner's session, newest first.
func (st *Store) Calls(ctx context.Context, owner, sessionID string, limit int) ([]call.Record, error) {
	var list []call.Record
	err := st.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := scanSession(tx.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM oracle_sessions WHERE id = $1 AND owner = $2`, sessionID, owner)); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT `+callColumns+` FROM oracle_calls
			WHERE session_id = $1 AND owner = $2 ORDER BY created_ms DESC, id LIMIT $3`, sessionID, owner, limit)
		if err != nil {
			return fmt.Errorf("select calls: %w", err)
		}
		list, err = collect(rows, scanCall)
		return err
	})
	return list, err
}

// OpenCalls lists the owner's calls that have not ended, newest first.
func (st *Store) OpenCalls(ctx context.Context, owner string, limit int) ([]call.Record, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+callColumns+` FROM oracle_calls
		WHERE owner = $1 AND status <> 'ended' ORDER BY created_ms DESC, id LIMIT $2`, owner, limit)
	if err != nil {
		return nil, fmt.Errorf("select open calls: %w", err)
	}
	return collect(rows, scanCall)
}

// AdvanceCall moves a call on.
func (st *Store) AdvanceCall(ctx context.Context, owner, id string, to call.Status, why call.Reason,
	at time.Time,
) (call.Record, bool, error) {
	var (
		out     call.Record
		changed bool
	)
	err := st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		changed = false
		var text string
		args := []any{sqldb.MS(at), id, owner}
		switch to {
		case call.Active:
			text = `UPDATE oracle_calls SET status = 'active', started_ms = $1
				WHERE id = $2 AND owner = $3 AND status = 'pending' RETURNING ` + callColumns
		case call.Ended:
			text = `UPDATE oracle_calls SET status = 'ended', ended_ms = $1, lease_ms = 0, reason = $4
				WHERE id = $2 AND owner = $3 AND status <> 'ended' RETURNING ` + callColumns
			args = append(args, string(why))
		case call.Pending:
			return call.ErrBackwards
		}
		r, err := scanCall(tx.QueryRowContext(ctx, text, args...))
		if err == nil {
			out, changed = r, true
			return nil
		}
		if !errors.Is(err, call.ErrNotFound) {
			return err
		}
		if out, err = scanCall(tx.QueryRowContext(ctx, `SELECT `+callColumns+` FROM oracle_calls WHERE id = $1 AND owner = $2`, id, owner)); err != nil {
			return err
		}
		if out.Status != to {
			return call.ErrBackwards
		}
		return nil
	})
	return out, changed, err
}

// ExtendCall moves the end of a call of the node.
func (st *Store) ExtendCall(ctx context.Context, node, id string, until time.Time) error {
	changed, err := st.change(ctx, `UPDATE oracle_calls SET expires_ms = $1 WHERE id = $2 AND node = $3 AND status <> 'ended'`, sqldb.MS(until), id, node)
	if err == nil && !changed {
		return call.ErrEnded
	}
	return err
}

// HeldCalls names the calls of the node that have not ended.
func (st *Store) HeldCalls(ctx context.Context, node string) ([]string, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT id FROM oracle_calls WHERE node = $1 AND status <> 'ended'`, node)
	if err != nil {
		return nil, fmt.Errorf("select calls of node: %w", err)
	}
	return collect(rows, scanString)
}

// RenewCalls lengthens the lease of the node's calls.
func (st *Store) RenewCalls(ctx context.Context, node string, ttl time.Duration) error {
	_, err := st.change(ctx, `UPDATE oracle_calls SET lease_ms = `+st.db.Dialect().NowMS()+` + $1 WHERE node = $2 AND status <> 'ended'`, ttl.Milliseconds(), node)
	return err
}

// SweepCalls ends calls whose lease has ended.
func (st *Store) SweepCalls(ctx context.Context, at time.Time, limit int) ([]call.Record, error) {
	now := st.db.Dialect().NowMS()
	rows, err := st.db.Read().QueryContext(ctx, `SELECT id FROM oracle_calls WHERE status <> 'ended' AND lease_ms <= `+now+` LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("look for lost calls: %w", err)
	}
	ids, err := collect(rows, scanString)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var gone []call.Record
	err = st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		gone = gone[:0]
		for _, id := range ids {
			r, err := scanCall(tx.QueryRowContext(ctx, `UPDATE oracle_calls SET status = 'ended', ended_ms = $1, reason = $2, lease_ms = 0
				WHERE id = $3 AND status <> 'ended' AND lease_ms <= `+now+` RETURNING `+callColumns, sqldb.MS(at), string(call.Interrupted), id))
			if errors.Is(err, call.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			gone = append(gone, r)
		}
		return nil
	})
	return gone, err
}

// SetRecording says what became of a recording.
func (st *Store) SetRecording(ctx context.Context, id string, to call.RecordingState) error {
	_, err := st.change(ctx, `UPDATE oracle_calls SET recording_state = $1 WHERE id = $2 AND recording_state = 'on'`, string(to), id)
	return err
}

// ClaimRecordings finds recordings that nobody has finished.
func (st *Store) ClaimRecordings(ctx context.Context, due call.Due, while time.Duration,
	limit int,
) ([]call.Record, error) {
	const open = `status = 'ended' AND recording_state = 'on' AND (ended_ms <= $1 OR reason = $2 AND ended_ms <= $3) AND recording_due_ms <= `
	now := st.db.Dialect().NowMS()
	ended, lost := sqldb.MS(due.Ended), sqldb.MS(due.Lost)
	rows, err := st.db.Read().QueryContext(ctx, `SELECT id FROM oracle_calls WHERE `+open+now+` ORDER BY recording_due_ms LIMIT $4`,
		ended, string(call.Interrupted), lost, limit)
	if err != nil {
		return nil, fmt.Errorf("look for unfinished recordings: %w", err)
	}
	ids, err := collect(rows, scanString)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var mine []call.Record
	err = st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		mine = mine[:0]
		for _, id := range ids {
			r, err := scanCall(tx.QueryRowContext(ctx, `UPDATE oracle_calls SET recording_due_ms = `+now+` + $4
				WHERE id = $5 AND `+open+now+` RETURNING `+callColumns, ended, string(call.Interrupted), lost, while.Milliseconds(), id))
			if errors.Is(err, call.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			mine = append(mine, r)
		}
		return nil
	})
	return mine, err
}
