// Package oraclesql keeps the oracle's sessions, transcripts, runs and plugin
// records in SQLite or PostgreSQL.
//
// It promises what oracle.Store, run.Store and plugin.Store promise. Whose a
// row is, and which epoch may write it, is part of the statements themselves:
// no method reads first and checks afterwards.
//
// Decision: ADR 0170.
package oraclesql

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql/usagesql"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the oracle's tables.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "oracle", FS: migrations} }

// Store is the oracle's storage on a database.
type Store struct {
	usagesql.Sums

	db     *sqldb.DB
	outbox Outbox
	warm   coldstore.Warm
}

var (
	_ oracle.Store = (*Store)(nil)
	_ run.Store    = (*Store)(nil)
)

// New makes a Store. The database must have been migrated.
func New(db *sqldb.DB) *Store {
	return &Store{Sums: usagesql.New(db), db: db, warm: coldstore.Warm{DB: db}}
}

// WithCold returns the store with somebody who brings back sessions that are cold; nil
// brings none.
func (st *Store) WithCold(t coldstore.Thawer) *Store {
	return &Store{Sums: st.Sums, db: st.db, outbox: st.outbox, warm: coldstore.Warm{DB: st.db, Thawer: t}}
}

// scanner is a *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

const sessionColumns = `id, owner, title, thread, room_id, created_ms, updated_ms, messages, summary, summary_through, loaded, expires_ms, branch`

// scanSession reads sessionColumns, and what the statement returns behind them.
func scanSession(row scanner, more ...any) (oracle.Session, error) {
	var (
		s                oracle.Session
		created, updated int64
		expires          int64
		loaded           string
	)
	err := row.Scan(append([]any{
		&s.ID, &s.Owner, &s.Title, &s.Key, &s.RoomID, &created, &updated, &s.Messages, &s.Summary, &s.SummaryThrough, &loaded,
		&expires, &s.Branch,
	}, more...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return s, oracle.ErrSessionNotFound
	}
	if err != nil {
		return s, fmt.Errorf("read session: %w", err)
	}
	s.CreatedAt, s.UpdatedAt = sqldb.Time(created), sqldb.Time(updated)
	if expires > 0 {
		s.Expires = sqldb.Time(expires)
	}
	if loaded == "[]" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(loaded), &s.Loaded); err != nil {
		return s, fmt.Errorf("decode loaded capabilities: %w", err)
	}
	return s, nil
}

// CreateSession stores a new session.
func (st *Store) CreateSession(ctx context.Context, s oracle.Session) error {
	return st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		return st.insertSession(ctx, tx, s)
	})
}

func (st *Store) insertSession(ctx context.Context, tx sqldb.Querier, s oracle.Session) error {
	var expires int64
	if s.Hidden() {
		expires = sqldb.MS(s.Expires)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO oracle_sessions (id, owner, title, thread, room_id, created_ms, updated_ms, expires_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		s.ID, s.Owner, s.Title, s.Key, s.RoomID, sqldb.MS(s.CreatedAt), sqldb.MS(s.UpdatedAt), expires)
	if err != nil {
		return fmt.Errorf("insert session: %w", err)
	}
	if s.Hidden() { // as in lists: nobody opened it
		return nil
	}
	return st.report(ctx, tx, s.Owner, eventSessionCreated, s.CreatedAt, sessionReport{SessionID: s.ID})
}

// OpenSession returns the owner's session of a thread, or stores s. All messages of a
// thread but the first find it, and take no turn of the writer.
func (st *Store) OpenSession(ctx context.Context, s oracle.Session) (oracle.Session, error) {
	out, err := sessionOfThread(ctx, st.db.Read(), s)
	if !errors.Is(err, oracle.ErrSessionNotFound) {
		return out, err
	}
	err = st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		found, err := sessionOfThread(ctx, tx, s)
		if !errors.Is(err, oracle.ErrSessionNotFound) {
			out = found
			return err
		}
		out = s
		return st.insertSession(ctx, tx, s)
	})
	return out, err
}

func sessionOfThread(ctx context.Context, q sqldb.Querier, s oracle.Session) (oracle.Session, error) {
	return scanSession(q.QueryRowContext(ctx,
		`SELECT `+sessionColumns+` FROM oracle_sessions WHERE owner = $1 AND thread = $2`, s.Owner, s.Key))
}

// Session returns one of the owner's sessions.
func (st *Store) Session(ctx context.Context, owner, id string) (oracle.Session, error) {
	return scanSession(st.db.Read().QueryRowContext(ctx,
		`SELECT `+sessionColumns+` FROM oracle_sessions WHERE id = $1 AND owner = $2`, id, owner))
}

// HasSessions reports whether somebody has conversations, as q sees it.
func HasSessions(ctx context.Context, q sqldb.Querier, owner string) (has bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM oracle_sessions WHERE owner = $1 AND expires_ms = 0)`, owner).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for sessions: %w", err)
	}
	return has, nil
}

// Sessions lists the owner's sessions, last changed first.
func (st *Store) Sessions(ctx context.Context, owner string, limit, offset int) ([]oracle.Session, int64, error) {
	var (
		list  []oracle.Session
		total int64
	)
	err := st.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM oracle_sessions WHERE owner = $1 AND expires_ms = 0`, owner).Scan(&total); err != nil {
			return fmt.Errorf("count sessions: %w", err)
		}
		rows, err := tx.QueryContext(ctx, `SELECT `+sessionColumns+` FROM oracle_sessions
			WHERE owner = $1 AND expires_ms = 0 ORDER BY updated_ms DESC, id LIMIT $2 OFFSET $3`, owner, limit, offset)
		if err != nil {
			return fmt.Errorf("select sessions: %w", err)
		}
		list, err = collect(rows, func(row scanner) (oracle.Session, error) { return scanSession(row) })
		return err
	})
	return list, total, err
}

// collect reads all rows and closes them.
func collect[T any](rows *sql.Rows, scan func(scanner) (T, error)) ([]T, error) {
	defer func() { _ = rows.Close() }()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return out, nil
}

// DeleteSession removes a session and all that belongs to it.
func (st *Store) DeleteSession(ctx context.Context, owner, id string) ([]oracle.Run, error) {
	var live []stored
	err := st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		live = nil
		var indexed int64
		err := tx.QueryRowContext(ctx, `DELETE FROM oracle_sessions WHERE id = $1 AND owner = $2 RETURNING indexed_seq + indexed_title`, id, owner).Scan(&indexed)
		if errors.Is(err, sql.ErrNoRows) {
			return oracle.ErrSessionNotFound
		}
		if err != nil {
			return fmt.Errorf("delete session: %w", err)
		}
		rows, err := tx.QueryContext(ctx, `SELECT `+runColumns+` FROM oracle_runs WHERE session_id = $1 AND `+isLive, id)
		if err != nil {
			return fmt.Errorf("select live runs: %w", err)
		}
		if live, err = collect(rows, scanStored); err != nil {
			return err
		}
		if err := (retention.Rows{Parts: sessionParts()}).EraseParts(ctx, tx, id); err != nil {
			return err
		}
		return st.sessionGone(ctx, tx, owner, id, indexed)
	})
	if err != nil {
		return nil, err
	}
	return wholeRuns(live)
}

// sessionGone takes a deleted session out of the index and reports its end. Indexed is
// how far the index had read it.
func (st *Store) sessionGone(ctx context.Context, tx sqldb.Querier, owner, id string, indexed int64) error {
	if err := coldstore.Drop(ctx, tx, id, time.Now()); err != nil {
		return err
	}
	if err := st.dropIndexed(ctx, tx, owner, indexed > 1, time.Now()); err != nil {
		return err
	}
	return st.report(ctx, tx, owner, eventSessionEnded, time.Now(), sessionReport{SessionID: id})
}

// Expired names hidden sessions whose time was over at a time, with their owners.
func (st *Store) Expired(ctx context.Context, at time.Time, limit int) ([]oracle.Session, error) {
	rows, err := st.db.Read().QueryContext(ctx, `SELECT `+sessionColumns+` FROM oracle_sessions
		WHERE expires_ms > 0 AND expires_ms <= $1 ORDER BY expires_ms LIMIT $2`, sqldb.MS(at), limit)
	if err != nil {
		return nil, fmt.Errorf("select expired sessions: %w", err)
	}
	return collect(rows, func(row scanner) (oracle.Session, error) { return scanSession(row) })
}

func scanString(row scanner) (string, error) {
	var s string
	err := row.Scan(&s)
	return s, err
}

// SetTitle gives an untitled session a title.
func (st *Store) SetTitle(ctx context.Context, id, title string, at time.Time) (titled bool, err error) {
	err = st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		owner, err := scanString(tx.QueryRowContext(ctx, `UPDATE oracle_sessions SET title = $1, updated_ms = $2, unread = 1 WHERE id = $3 AND title = $4 RETURNING owner`,
			title, sqldb.MS(at), id, oracle.Untitled))
		titled = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("set title: %w", err)
		}
		return st.report(ctx, tx, owner, eventSessionTitled, at, sessionReport{SessionID: id})
	})
	return titled, err
}

// SetSummary remembers what stands for older messages, unless another branch has
// taken their place meanwhile.
func (st *Store) SetSummary(ctx context.Context, id, summary string, through int64) error {
	_, err := st.change(ctx, `UPDATE oracle_sessions SET summary = $1, summary_through = $2 WHERE id = $3 AND summary_through < $2
		AND NOT EXISTS (SELECT 1 FROM oracle_turns b WHERE b.session_id = $3 AND b.turn = $2 AND b.hidden = 1)`,
		summary, through, id)
	return err
}

// SetLoaded remembers the loaded capabilities.
func (st *Store) SetLoaded(ctx context.Context, id string, names []string) error {
	data, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("encode loaded capabilities: %w", err)
	}
	_, err = st.change(ctx, `UPDATE oracle_sessions SET loaded = $1 WHERE id = $2`, string(data), id)
	return err
}

// SetAttachments remembers what was read from a message's files.
func (st *Store) SetAttachments(ctx context.Context, sessionID, messageID string, files []oracle.Attachment) error {
	data, err := encode(files)
	if err != nil {
		return err
	}
	_, err = st.change(ctx, `UPDATE oracle_messages SET attachments = $1 WHERE session_id = $2 AND id = $3`, data, sessionID, messageID)
	return err
}

func (st *Store) change(ctx context.Context, text string, args ...any) (bool, error) {
	changed := false
	err := st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		res, err := tx.ExecContext(ctx, text, args...)
		if err != nil {
			return fmt.Errorf("update session: %w", err)
		}
		n, err := res.RowsAffected()
		changed = n > 0
		return err
	})
	return changed, err
}

// Owners lists who has sessions, in order, after one.
func (st *Store) Owners(ctx context.Context, after string, limit int) ([]string, error) {
	return sqldb.Strings(ctx, st.db.Read(), `SELECT DISTINCT owner FROM oracle_sessions WHERE owner > $1 ORDER BY owner LIMIT $2`, after, limit)
}
