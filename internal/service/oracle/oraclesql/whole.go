package oraclesql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
)

// SessionsAfter implements oracle.Store.
func (st *Store) SessionsAfter(ctx context.Context, owner, after string, limit int) ([]oracle.Session, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+sessionColumns+` FROM oracle_sessions
		WHERE owner = $1 AND expires_ms = 0 AND id > $2 ORDER BY id LIMIT $3`, owner, after, limit)
	if err != nil {
		return nil, fmt.Errorf("select sessions: %w", err)
	}
	return collect(rows, func(row scanner) (oracle.Session, error) { return scanSession(row) })
}

// CallsAfter lists all calls of an owner in the order of their ids, behind one.
func (st *Store) CallsAfter(ctx context.Context, owner, after string, limit int) ([]call.Record, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+callColumns+` FROM oracle_calls
		WHERE owner = $1 AND id > $2 ORDER BY id LIMIT $3`, owner, after, limit)
	if err != nil {
		return nil, fmt.Errorf("select calls: %w", err)
	}
	return collect(rows, scanCall)
}

// Branches implements oracle.Store.
func (st *Store) Branches(ctx context.Context, owner, sessionID string) (oracle.Branches, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+branchColumns+` FROM oracle_turns b JOIN oracle_sessions s ON s.id = b.session_id
		WHERE s.id = $1 AND s.owner = $2 ORDER BY b.turn`, sessionID, owner)
	if err != nil {
		return nil, fmt.Errorf("select branches: %w", err)
	}
	return collect(rows, scanBranch)
}

// Whole implements oracle.Store. Of what is archived it returns all that is left: that is
// bounded, and was read whole.
func (st *Store) Whole(ctx context.Context, owner, sessionID string, after oracle.Place,
	limit int,
) (list []oracle.Message, more bool, err error) {
	found := false
	err = st.warm.AsItIs(ctx, sessionID, func(cold bool) error {
		if _, err := st.Session(ctx, owner, sessionID); err != nil {
			return err
		}
		found = true
		if cold {
			more = false
			kept, _, err := st.warm.Read(ctx, sessionID)
			if err != nil {
				return err
			}
			list, err = keptMessages(kept, after)
			return err
		}
		rows, err := st.db.Read().QueryContext(ctx, `SELECT `+messageColumns+ofOwner+` AND (m.turn, m.seq) > ($3, $4)
			ORDER BY m.turn, m.seq LIMIT $5`, sessionID, owner, after.Turn, after.Seq, limit)
		if err != nil {
			return fmt.Errorf("select messages: %w", err)
		}
		list, err = collect(rows, scanMessage)
		more = len(list) == limit
		return err
	})
	if err == nil && !found {
		err = oracle.ErrSessionNotFound
	}
	if err != nil {
		return nil, false, err
	}
	return list, more, st.rate(ctx, sessionID, list)
}

// keptMessages are those that the archive has behind a place.
func keptMessages(kept coldstore.Kept, after oracle.Place) (list []oracle.Message, err error) {
	columns := strings.Split(strings.ReplaceAll(messageColumns, "m.", ""), ", ")
	err = kept.Each("oracle_messages", columns, func(values []any) error {
		m, err := scanMessage(keptRow(values))
		if err == nil && inOrder(oracle.Message{Turn: after.Turn, Seq: after.Seq}, m) < 0 {
			list = append(list, m)
		}
		return err
	})
	slices.SortFunc(list, inOrder)
	return list, err
}

func inOrder(a, b oracle.Message) int {
	if a.Turn != b.Turn {
		return int(a.Turn - b.Turn)
	}
	return int(a.Seq - b.Seq)
}

// keptRow is a row of the archive, whose values are texts and whole numbers.
type keptRow []any

var errKept = errors.New("an archived row has a value of another kind")

// Scan implements scanner.
func (r keptRow) Scan(dest ...any) error {
	for i, to := range dest {
		var ok bool
		switch to := to.(type) {
		case *string:
			*to, ok = r[i].(string)
		case *int64:
			*to, ok = r[i].(int64)
		}
		if !ok && r[i] != nil {
			return errKept
		}
	}
	return nil
}

// ratedAtOnce is of how many messages feedback is read by one statement.
const ratedAtOnce = 200

// rate adds what the owner of a session thinks of messages.
func (st *Store) rate(ctx context.Context, sessionID string, list []oracle.Message) error {
	for some := range slices.Chunk(list, ratedAtOnce) {
		args, marks := []any{sessionID}, make([]string, len(some))
		at := make(map[string]*oracle.Message, len(some))
		for i := range some {
			args = append(args, some[i].ID)
			marks[i] = fmt.Sprintf("$%d", len(args))
			at[some[i].ID] = &some[i]
		}
		rows, err := st.db.Read().QueryContext(ctx, `SELECT `+feedbackColumns+` FROM oracle_feedback f
			WHERE f.session_id = $1 AND f.message_id IN (`+strings.Join(marks, ",")+`)`, args...)
		if err != nil {
			return fmt.Errorf("select feedback: %w", err)
		}
		rated, err := collect(rows, scanFeedback)
		if err != nil {
			return err
		}
		for _, f := range rated {
			at[f.MessageID].Feedback = &f
		}
	}
	return nil
}
