package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelfsql"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/talksearch"
)

var _ talksearch.Store = (*Store)(nil)

func textTables(db *sqldb.DB) shelfsql.Tables {
	return shelfsql.Tables{DB: db, Segments: "oracle_text_segments", Collections: "oracle_text_indexes", Inline: true}
}

// Stand implements talksearch.Store.
func (st *Store) Stand(ctx context.Context, owner string, l talksearch.Look) (at talksearch.Stand, err error) {
	err = st.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		at = talksearch.Stand{}
		err := tx.QueryRowContext(ctx, `SELECT wrapped_key, revision FROM oracle_text_indexes WHERE id = $1`, owner).Scan(&at.Index.WrappedKey, &at.Index.Revision)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("select index: %w", err)
		}
		branched, waiting := false, int64(0)
		if branched, waiting, err = readTalks(ctx, tx, owner, &at); err != nil {
			return err
		}
		if branched {
			if at.Hidden, err = hiddenTurns(ctx, tx, owner); err != nil {
				return err
			}
		}
		if waiting > 0 && l.Messages > 0 {
			all := false
			if at.Unread, all, err = unreadMessages(ctx, tx, owner, l); err != nil {
				return err
			}
			if !all {
				at.Behind = max(1, waiting-int64(len(at.Unread)))
			}
		}
		if l.Segments && at.Index.WrappedKey != nil && at.Index.Revision != l.Known {
			if at.Segments, err = textTables(st.db).Of(ctx, tx, owner); err != nil {
				return fmt.Errorf("select segments: %w", err)
			}
		}
		return nil
	})
	return at, err
}

// readTalks reads the sessions that people see, whether some have branches, and how many
// messages the index has not read.
func readTalks(ctx context.Context, tx sqldb.Querier, owner string,
	at *talksearch.Stand,
) (branched bool, waiting int64, err error) {
	// What is cold is not read before it is back: see coldstore.Tidy.
	rows, err := tx.QueryContext(ctx, `SELECT id, title, next_seq, CASE WHEN cold = 1 THEN next_seq ELSE indexed_seq END,
		CASE WHEN cold = 1 THEN 1 ELSE indexed_title END, CASE WHEN cold = 1 THEN 0 ELSE unread END, branch FROM oracle_sessions
		WHERE owner = $1 AND expires_ms = 0 ORDER BY updated_ms DESC, id`, owner)
	if err != nil {
		return false, 0, fmt.Errorf("select sessions: %w", err)
	}
	at.Talks, err = collect(rows, func(row scanner) (t talksearch.Talk, err error) {
		var branch int64
		if err := row.Scan(&t.ID, &t.Title, &t.Next, &t.Indexed, &t.TitleIndexed, &t.Unread, &branch); err != nil {
			return t, fmt.Errorf("read session: %w", err)
		}
		branched = branched || branch > 0
		waiting += max(0, t.Next-t.Indexed)
		return t, nil
	})
	return branched, waiting, err
}

func hiddenTurns(ctx context.Context, tx sqldb.Querier, owner string) (map[talksearch.Turn]bool, error) {
	rows, err := tx.QueryContext(ctx, `SELECT b.session_id, b.turn FROM oracle_sessions s JOIN oracle_turns b ON b.session_id = s.id
		WHERE s.owner = $1 AND s.expires_ms = 0 AND s.branch > 0 AND b.hidden = 1`, owner)
	if err != nil {
		return nil, fmt.Errorf("select hidden turns: %w", err)
	}
	turns, err := collect(rows, func(row scanner) (t talksearch.Turn, err error) {
		return t, row.Scan(&t.Session, &t.Turn)
	})
	hidden := make(map[talksearch.Turn]bool, len(turns))
	for _, t := range turns {
		hidden[t] = true
	}
	return hidden, err
}

// unreadMessages reads what the index has not read, and whether that is all.
func unreadMessages(ctx context.Context, tx sqldb.Querier, owner string,
	l talksearch.Look,
) (list []talksearch.Message, all bool, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT m.session_id, m.turn, m.seq, m.content FROM oracle_sessions s JOIN oracle_messages m ON m.session_id = s.id
		WHERE s.owner = $1 AND s.expires_ms = 0 AND s.next_seq > s.indexed_seq AND m.seq >= s.indexed_seq
		ORDER BY s.updated_ms DESC, s.id, m.seq LIMIT $2`, owner, l.Messages+1)
	if err != nil {
		return nil, false, fmt.Errorf("select unread messages: %w", err)
	}
	defer func() { _ = rows.Close() }()
	size := 0
	for rows.Next() {
		var m talksearch.Message
		if err := rows.Scan(&m.Session, &m.Turn.Turn, &m.Seq, &m.Text); err != nil {
			return nil, false, fmt.Errorf("read message: %w", err)
		}
		if size += len(m.Text); len(list) > 0 && (len(list) == l.Messages || size > l.Bytes) {
			return list, false, nil
		}
		list = append(list, m)
	}
	return list, true, rows.Err()
}

// SessionsByID implements talksearch.Store.
func (st *Store) SessionsByID(ctx context.Context, owner string, ids []string) (map[string]oracle.Session, error) {
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	args, marks := []any{owner}, make([]string, len(ids))
	for i, id := range ids {
		args = append(args, id)
		marks[i] = fmt.Sprintf("$%d", i+2)
	}
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+sessionColumns+` FROM oracle_sessions
		WHERE owner = $1 AND expires_ms = 0 AND id IN (`+strings.Join(marks, ",")+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("select sessions: %w", err)
	}
	list, err := collect(rows, func(row scanner) (oracle.Session, error) { return scanSession(row) })
	out := make(map[string]oracle.Session, len(list))
	for _, s := range list {
		out[s.ID] = s
	}
	return out, err
}

// Unread implements talksearch.Store.
func (st *Store) Unread(ctx context.Context, before time.Time, many int, after string, limit int) ([]string, error) {
	return sqldb.Strings(ctx, st.db.Read(), `SELECT DISTINCT owner FROM oracle_sessions WHERE unread = 1 AND expires_ms = 0 AND cold = 0
		AND (updated_ms < $1 OR next_seq - indexed_seq >= $2) AND owner > $3 ORDER BY owner LIMIT $4`, sqldb.MS(before), many, after, limit)
}

// SaveIndex implements talksearch.Store. Two indexers cannot harm each other: a session
// moves only from where the work began. What was deleted meanwhile does not come back.
func (st *Store) SaveIndex(ctx context.Context, owner string, key []byte, read []talksearch.Advance,
	segment *shelf.Record, now time.Time,
) error {
	return st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if segment != nil {
			// Revisions of an index that was destroyed do not come again.
			if _, err := tx.ExecContext(ctx, `INSERT INTO oracle_text_indexes (id, wrapped_key, revision) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`,
				owner, key, sqldb.MS(now)); err != nil {
				return fmt.Errorf("insert index: %w", err)
			}
			if err := changeOne(ctx, tx, `UPDATE oracle_text_indexes SET revision = revision + 1 WHERE id = $1 AND wrapped_key = $2`, owner, key); err != nil {
				return err
			}
			if err := textTables(st.db).Add(ctx, tx, *segment); err != nil {
				return fmt.Errorf("save segment: %w", err)
			}
		}
		for _, a := range read {
			more := `next_seq > $1`
			if !a.Title { // it may have got one
				more += ` OR title NOT IN ('', '` + oracle.Untitled + `')`
			}
			if err := changeOne(ctx, tx, `UPDATE oracle_sessions SET indexed_seq = $1, indexed_title = $2, unread = CASE WHEN `+more+` THEN 1 ELSE 0 END
				WHERE id = $3 AND owner = $4 AND indexed_seq = $5 AND indexed_title = $6`,
				a.To, flag(a.Title), a.ID, owner, a.Indexed, flag(a.TitleIndexed)); err != nil {
				return err
			}
		}
		return nil
	})
}

func changeOne(ctx context.Context, tx sqldb.Querier, text string, args ...any) error {
	r, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("save index: %w", err)
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, fault.New(fault.Conflict, "the index moved on"))
	}
	return nil
}

// ForgetIndex implements talksearch.Store.
func (st *Store) ForgetIndex(ctx context.Context, owner string, now time.Time) error {
	return st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error { return forgetIndex(ctx, tx, owner, now) })
}

func forgetIndex(ctx context.Context, tx sqldb.Querier, owner string, now time.Time) error {
	if err := destroyIndex(ctx, tx, owner, now); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE oracle_sessions SET indexed_seq = 1, indexed_title = 0, unread = 1 WHERE owner = $1 AND expires_ms = 0`, owner)
	if err != nil {
		return fmt.Errorf("unread sessions: %w", err)
	}
	return nil
}

// destroyIndex destroys the keys of an index. Its objects are swept later.
func destroyIndex(ctx context.Context, tx sqldb.Querier, owner string, now time.Time) error {
	if _, err := tx.ExecContext(ctx, `UPDATE oracle_text_segments SET dead_ms = $1, wrapped_key = $2, inline = NULL WHERE collection = $3 AND dead_ms = 0`,
		sqldb.MS(now), []byte{}, owner); err != nil {
		return fmt.Errorf("destroy segments: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM oracle_text_indexes WHERE id = $1`, owner); err != nil {
		return fmt.Errorf("destroy index: %w", err)
	}
	return nil
}

// dropIndexed says that a session of an owner was deleted. An index goes with the last
// one, whether it had read that or not; before that, what was said in one that it had read
// goes when its segment is written anew.
func (st *Store) dropIndexed(ctx context.Context, tx sqldb.Querier, owner string, read bool, now time.Time) error {
	more, err := exists(ctx, tx, `SELECT 1 FROM oracle_sessions WHERE owner = $1 AND expires_ms = 0 LIMIT 1`, owner)
	if err != nil {
		return err
	}
	if !more {
		return destroyIndex(ctx, tx, owner, now)
	}
	if !read {
		return nil
	}
	return textTables(st.db).Touch(ctx, tx, owner, now)
}

// IndexShelf implements talksearch.Store.
func (st *Store) IndexShelf() shelf.Records { return textTables(st.db) }
