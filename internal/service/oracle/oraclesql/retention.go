package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Idle is the condition on a session that nobody has used it since $1, and that nothing
// goes on in it.
const Idle = `updated_ms < $1
	AND NOT EXISTS (SELECT 1 FROM oracle_runs r WHERE r.session_id = oracle_sessions.id AND r.` + isLive + `)
	AND NOT EXISTS (SELECT 1 FROM oracle_calls c WHERE c.session_id = oracle_sessions.id AND (c.status <> 'ended' OR c.recording_state = 'on'))`

// Retained are the records that operators may choose to keep for a while only.
func (st *Store) Retained() map[string][]retention.Source {
	return map[string][]retention.Source{
		retention.Transcripts: {transcripts{st, retention.Rows{
			DB: st.db, Name: "oracle_sessions", At: "created_ms", Slice: 20, Parts: sessionParts(),
			Of: `expires_ms = 0`, Where: Idle,
		}}},
		retention.Runs: {retention.Rows{
			DB: st.db, Name: "oracle_runs", At: "ended_ms", Slice: 200,
			Of:    `pruned = 1 AND ended_ms > 0`, // with frames that somebody may resume it stays
			Parts: []retention.Part{{Table: "oracle_approvals", Where: "run_id = $1"}, {Table: "oracle_frames", Where: "run_id = $1"}},
		}},
		retention.Calls: {retention.Rows{
			DB: st.db, Name: "oracle_calls", At: "ended_ms", Slice: 200, Of: `status = 'ended'`,
			Where: `recording_state <> 'on'`,
		}},
	}
}

// sessionParts is what belongs to a session.
func sessionParts() []retention.Part {
	const ofRuns = `run_id IN (SELECT id FROM oracle_runs WHERE session_id = $1)`
	return []retention.Part{
		{Table: "oracle_approvals", Where: ofRuns},
		{Table: "oracle_frames", Where: ofRuns},
		{Table: "oracle_runs", Where: "session_id = $1"},
		{Table: "oracle_messages", Where: "session_id = $1"},
		{Table: "oracle_calls", Where: "session_id = $1"},
		{Table: "oracle_turns", Where: "session_id = $1"},
		{Table: "oracle_feedback", Where: "session_id = $1"},
	}
}

// transcripts are sessions: the index forgets them, and owners' programs hear of it.
type transcripts struct {
	st *Store
	retention.Rows
}

// Export implements retention.Source. What is archived is read as it is, and what the archive
// has lost is written down as lost: the rest of the record goes whatever became of that.
func (t transcripts) Export(ctx context.Context, before time.Time, id string, to *retention.JSONLines) error {
	return t.st.warm.AsItIs(ctx, id, func(cold bool) error {
		if err := t.Rows.Export(ctx, before, id, to); err != nil || !cold {
			return err
		}
		kept, _, err := t.st.warm.Read(ctx, id)
		if errors.Is(err, oracle.ErrLost) {
			return to.Lost(t.Name, id, err)
		}
		if err != nil {
			return err
		}
		return kept.All(to.Row)
	})
}

// Erase implements retention.Source.
func (t transcripts) Erase(ctx context.Context, tx sqldb.Querier, before time.Time, id string) (int64, error) {
	var owner string
	var indexed int64
	err := tx.QueryRowContext(ctx, `SELECT owner, indexed_seq + indexed_title FROM oracle_sessions WHERE id = $1`, id).Scan(&owner, &indexed)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read session: %w", err)
	}
	n, err := t.Rows.Erase(ctx, tx, before, id)
	if err != nil || n == 0 {
		return 0, err
	}
	return n, t.st.sessionGone(ctx, tx, owner, id, indexed)
}
