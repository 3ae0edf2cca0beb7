package oraclesql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

const messageColumns = `m.session_id, m.turn, m.seq, m.id, m.run_id, m.role, m.content, m.reasoning, m.tool_calls, m.attachments, m.created_ms, m.note, m.model_state, m.failure`

// ofOwner joins messages with the session that makes them the owner's.
const ofOwner = ` FROM oracle_messages m JOIN oracle_sessions s ON s.id = m.session_id WHERE s.id = $1 AND s.owner = $2`

// isShown leaves out the turns of branches that were not chosen. Most sessions
// have none, and are not asked.
const isShown = ` AND (s.branch = 0 OR NOT EXISTS (
	SELECT 1 FROM oracle_turns b WHERE b.session_id = m.session_id AND b.turn = m.turn AND b.hidden = 1))`

func scanMessage(row scanner) (oracle.Message, error) {
	var (
		m                  oracle.Message
		role, calls, files string
		state, failure     string
		created            int64
	)
	if err := row.Scan(&m.SessionID, &m.Turn, &m.Seq, &m.ID, &m.RunID, &role, &m.Content, &m.Reasoning, &calls, &files,
		&created, &m.Note, &state, &failure); err != nil {
		return m, fmt.Errorf("read message: %w", err)
	}
	m.Role, m.CreatedAt = oracle.Role(role), sqldb.Time(created)
	if err := decode(calls, &m.ToolCalls); err != nil {
		return m, err
	}
	if err := decode(state, &m.State); err != nil {
		return m, err
	}
	if err := decode(failure, &m.Failure); err != nil {
		return m, err
	}
	return m, decode(files, &m.Attachments)
}

func decode(text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("decode stored JSON: %w", err)
	}
	return nil
}

func encode[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode JSON: %w", err)
	}
	return string(data), nil
}

// insertMessage stores a message; the caller has numbered it.
func insertMessage(ctx context.Context, tx sqldb.Querier, m oracle.Message) error {
	calls, err := encode(m.ToolCalls)
	if err != nil {
		return err
	}
	files, err := encode(m.Attachments)
	if err != nil {
		return err
	}
	var state []byte
	if m.State != nil {
		if state, err = json.Marshal(m.State); err != nil {
			return fmt.Errorf("encode model state: %w", err)
		}
	}
	var failure []byte
	if m.Failure != nil {
		if failure, err = json.Marshal(m.Failure); err != nil {
			return fmt.Errorf("encode failure: %w", err)
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO oracle_messages
		(session_id, turn, seq, id, run_id, role, content, reasoning, tool_calls, attachments, created_ms, note, model_state, failure)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		m.SessionID, m.Turn, m.Seq, m.ID, m.RunID, string(m.Role), m.Content, m.Reasoning, calls, files,
		sqldb.MS(m.CreatedAt), m.Note, string(state), string(failure))
	if err != nil {
		return fmt.Errorf("insert message: %w", err)
	}
	return nil
}

// AddReply adds a message to the end of the owner's session that is no run's answer:
// a turn of its own. One that is there already stays as it is.
func (st *Store) AddReply(ctx context.Context, owner string, m oracle.Message) error {
	return st.warm.In(ctx, owner, m.SessionID, func() (bool, error) { return false, st.addReply(ctx, owner, m) })
}

func (st *Store) addReply(ctx context.Context, owner string, m oracle.Message) error {
	return st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		there, err := exists(ctx, tx, `SELECT 1`+ofOwner+` AND m.id = $3`, m.SessionID, owner, m.ID)
		if err != nil || there {
			return err
		}
		seq, err := nextMessage(ctx, tx, owner, m.SessionID, 1, 0, m.CreatedAt)
		if err != nil {
			return err
		}
		m.Seq, m.Turn = seq, seq
		return insertMessage(ctx, tx, m)
	})
}

// CutReply leaves of a run's answer what was heard of it, and reports whether that was
// less. Messages of which nothing is left go, but those that called tools. The session
// takes a number for the change, so that no node goes on from what it remembers. An index
// that has read more than was heard is made anew.
func (st *Store) CutReply(ctx context.Context, owner, sessionID, runID, heard string) (changed bool, err error) {
	err = st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		changed = false
		rows, err := tx.QueryContext(ctx, `SELECT `+messageColumns+ofOwner+` AND m.run_id = $3 AND m.role = 'ai' AND m.failure = ''
			ORDER BY m.turn, m.seq`, sessionID, owner, runID)
		if err != nil {
			return fmt.Errorf("select answer: %w", err)
		}
		list, err := collect(rows, scanMessage)
		if err != nil {
			return err
		}
		parts := make([]string, len(list))
		for i, m := range list {
			parts[i] = m.Content
		}
		gone, first := 0, int64(0)
		for i, left := range oracle.CutTo(parts, heard) {
			m := list[i]
			if left == m.Content {
				continue
			}
			if !changed {
				changed, first = true, m.Seq
			}
			text, args := `UPDATE oracle_messages SET content = $4, model_state = '' WHERE session_id = $1 AND turn = $2 AND seq = $3`,
				[]any{sessionID, m.Turn, m.Seq, left}
			if left == "" && len(m.ToolCalls) == 0 {
				text, args = `DELETE FROM oracle_messages WHERE session_id = $1 AND turn = $2 AND seq = $3`, args[:3]
				gone++
			}
			if _, err := tx.ExecContext(ctx, text, args...); err != nil {
				return fmt.Errorf("cut message: %w", err)
			}
		}
		if !changed {
			return nil
		}
		_, err = tx.ExecContext(ctx, `UPDATE oracle_sessions SET next_seq = next_seq + 1, messages = messages - $1, unread = 1
			WHERE id = $2 AND owner = $3`, gone, sessionID, owner)
		if err != nil {
			return fmt.Errorf("number the cut: %w", err)
		}
		read, err := exists(ctx, tx, `SELECT 1 FROM oracle_sessions WHERE id = $1 AND owner = $2 AND indexed_seq > $3`, sessionID, owner, first)
		if err != nil || !read {
			return err
		}
		return forgetIndex(ctx, tx, owner, time.Now())
	})
	return changed, err
}

// Messages returns the transcript after a turn. It is read from its end, so that the
// newest turns are there of one that is too long.
func (st *Store) Messages(ctx context.Context, owner, sessionID string, afterTurn int64) ([]oracle.Message, error) {
	list, err := st.listMessages(ctx, `SELECT `+messageColumns+ofOwner+isShown+` AND m.turn > $3 ORDER BY m.turn DESC, m.seq DESC`,
		owner, sessionID, afterTurn)
	if errors.Is(err, oracle.ErrTooLong) { // its oldest turn is not whole
		first := list[len(list)-1].Turn
		list = slices.DeleteFunc(list, func(m oracle.Message) bool { return m.Turn == first })
	}
	slices.Reverse(list)
	return list, err
}

// listMessages lists those of a session, which is brought back if it is cold.
func (st *Store) listMessages(ctx context.Context, text, owner, sessionID string,
	turn int64,
) (list []oracle.Message, err error) {
	err = st.warm.In(ctx, owner, sessionID, func() (bool, error) {
		rows, err := st.db.Read().QueryContext(ctx, text, sessionID, owner, turn)
		if err != nil {
			return false, fmt.Errorf("select messages: %w", err)
		}
		list, err = readMessages(rows)
		return err == nil && len(list) == 0, err
	})
	return list, err
}

// readMessages reads rows until they are too much, and returns what was read.
func readMessages(rows *sql.Rows) (list []oracle.Message, err error) {
	left := oracle.MaxRead
	_, err = collect(rows, func(row scanner) (struct{}, error) {
		m, err := scanMessage(weighed{row, &left})
		if err != nil {
			return struct{}{}, err
		}
		if list = append(list, m); left < 0 {
			err = oracle.ErrTooLong
		}
		return struct{}{}, err
	})
	return list, err
}

// weighed takes the texts of a row off what is left.
type weighed struct {
	scanner

	left *int
}

// Scan implements scanner.
func (w weighed) Scan(into ...any) error {
	err := w.scanner.Scan(into...)
	for _, v := range into {
		if text, ok := v.(*string); ok {
			*w.left -= len(*text)
		}
	}
	return err
}

// Turn returns the messages of one turn.
func (st *Store) Turn(ctx context.Context, owner, sessionID string, turn int64) ([]oracle.Message, error) {
	return st.listMessages(ctx, `SELECT `+messageColumns+ofOwner+` AND m.turn = $3 ORDER BY m.seq`, owner, sessionID, turn)
}

// Page returns some turns of the transcript.
func (st *Store) Page(ctx context.Context, owner, sessionID string, q oracle.PageQuery) (page oracle.Page, err error) {
	err = st.warm.In(ctx, owner, sessionID, func() (bool, error) {
		page, err = st.page(ctx, owner, sessionID, q)
		return errors.Is(err, oracle.ErrUnknownCursor) || err == nil && len(page.Messages) == 0, err
	})
	return page, err
}

func (st *Store) page(ctx context.Context, owner, sessionID string, q oracle.PageQuery) (oracle.Page, error) {
	var page oracle.Page
	err := st.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		low, high, err := turnRange(ctx, tx, owner, sessionID, q)
		if err != nil || high == 0 {
			return err
		}
		rows, err := tx.QueryContext(ctx,
			`SELECT `+messageColumns+ofOwner+isShown+` AND m.turn >= $3 AND m.turn <= $4 ORDER BY m.turn, m.seq`, sessionID, owner, low, high)
		if err != nil {
			return fmt.Errorf("select page: %w", err)
		}
		if page.Messages, err = readMessages(rows); err != nil {
			return err
		}
		if page.HasOlder, err = exists(ctx, tx, `SELECT 1`+ofOwner+isShown+` AND m.turn < $3 LIMIT 1`, sessionID, owner, low); err != nil {
			return err
		}
		page.HasNewer, err = exists(ctx, tx, `SELECT 1`+ofOwner+isShown+` AND m.turn > $3 LIMIT 1`, sessionID, owner, high)
		return err
	})
	return page, err
}

func exists(ctx context.Context, tx sqldb.Querier, text string, args ...any) (bool, error) {
	var one int
	err := tx.QueryRowContext(ctx, text, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a row: %w", err)
	}
	return true, nil
}

// turnRange finds the first and last turn of a page; (0, 0) when it is empty.
func turnRange(ctx context.Context, tx sqldb.Querier, owner, sessionID string,
	q oracle.PageQuery,
) (low, high int64, err error) {
	const turns = `SELECT DISTINCT m.turn` + ofOwner + isShown
	text, bound, order := turns+` AND m.turn > $3`, int64(0), ` DESC`
	cursor := q.Before + q.After
	if cursor != "" {
		turn, split, err := findCursor(ctx, tx, owner, sessionID, cursor)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case q.Before != "":
			text, bound = turns+` AND m.turn < $3`, turn
		case split: // what follows begins inside the cursor's own turn
			bound, order = turn-1, ` ASC`
		default:
			bound, order = turn, ` ASC`
		}
	}
	rows, err := tx.QueryContext(ctx, text+` ORDER BY m.turn`+order+` LIMIT $4`, sessionID, owner, bound, q.Limit)
	if err != nil {
		return 0, 0, fmt.Errorf("select turns: %w", err)
	}
	list, err := collect(rows, func(row scanner) (int64, error) {
		var n int64
		return n, row.Scan(&n)
	})
	if err != nil || len(list) == 0 {
		return 0, 0, err
	}
	first, last := list[0], list[len(list)-1]
	return min(first, last), max(first, last), nil
}

// findCursor returns the turn of a message, and whether the turn goes on after it.
func findCursor(ctx context.Context, tx sqldb.Querier, owner, sessionID,
	id string,
) (turn int64, split bool, err error) {
	var seq int64
	err = tx.QueryRowContext(ctx, `SELECT m.turn, m.seq`+ofOwner+` AND m.id = $3`, sessionID, owner, id).Scan(&turn, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, oracle.ErrUnknownCursor
	}
	if err != nil {
		return 0, false, fmt.Errorf("find cursor: %w", err)
	}
	split, err = exists(ctx, tx, `SELECT 1 FROM oracle_messages WHERE session_id = $1 AND turn = $2 AND seq > $3 LIMIT 1`, sessionID, turn, seq)
	return turn, split, err
}
