package coldstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// slice is how many conversations are reserved at once.
const slice = 20

// kind is what conversations are sealed as.
const kind = "conversation"

// Moving is the conversations that may go: a retention.Mover.
type Moving struct {
	store *Store
	// runsAreErased says whether runs are kept for a while only.
	runsAreErased func() bool
}

var _ retention.Mover = Moving{}

// Moving returns what may go.
func (s *Store) Moving(runsAreErased func() bool) Moving {
	return Moving{store: s, runsAreErased: runsAreErased}
}

// rows are the sessions that may go. They wait for the search index to have read them, for
// the frames of their runs to be gone and, where runs are kept for a while only, for the
// runs: in an object nobody would find them.
func (m Moving) rows() retention.Rows {
	runs := ` AND r.pruned = 0`
	if m.runsAreErased() {
		runs = ``
	}
	return retention.Rows{
		DB: m.store.DB, Name: "oracle_sessions", At: "created_ms", Slice: slice, Of: `expires_ms = 0 AND cold = 0`,
		Where: m.store.Idle + fmt.Sprintf(` AND thawed_ms < $1 AND unread = 0 AND indexed_seq >= next_seq AND messages > 0 AND messages <= %d
			AND NOT EXISTS (SELECT 1 FROM oracle_runs r WHERE r.session_id = oracle_sessions.id%s)`, MaxMessages, runs),
	}
}

// Table implements retention.Source.
func (m Moving) Table() string { return m.rows().Name }

// Count implements retention.Source.
func (m Moving) Count(ctx context.Context, before time.Time, limit int) (n int, all bool, err error) {
	return m.rows().Count(ctx, before, limit)
}

// Walk implements retention.Source.
func (m Moving) Walk(ctx context.Context, before time.Time, each func(ids []string) error) error {
	return m.rows().Walk(ctx, before, each)
}

// errMoves refuses what is for records that are erased.
var errMoves = errors.New("conversations are moved to the archive, and not erased")

// Export implements retention.Source.
func (m Moving) Export(context.Context, time.Time, string, *retention.JSONLines) error {
	return errMoves
}

// Erase implements retention.Source.
func (m Moving) Erase(context.Context, sqldb.Querier, time.Time, string) (int64, error) {
	return 0, errMoves
}

// Move implements retention.Mover.
func (m Moving) Move(ctx context.Context, l lease.Lease, before time.Time, sessions []string) (moved int64, err error) {
	s := m.store
	if err := s.rightPlace(ctx); err != nil {
		return 0, err
	}
	vault, err := s.vaultToSeal(ctx)
	if err != nil {
		return 0, err
	}
	places, err := s.reserve(ctx, l, sessions)
	if err != nil {
		return 0, err
	}
	for _, p := range places {
		done, err := m.move(ctx, l, vault, before, p)
		switch {
		case errors.Is(err, errTooLarge) || errors.Is(err, errInexact):
			s.Log.Warn("a conversation stays in the tables", slog.String("event", "cold.stays"), slog.String("session", p.session), slog.Any("error", err))
		case err != nil:
			return moved, err
		case done:
			moved++
		}
	}
	return moved, nil
}

// place is an object that was reserved.
type place struct {
	id, session string
	at          int64
}

// reserve writes down which objects may be stored soon, so that those that never count are
// found.
func (s *Store) reserve(ctx context.Context, l lease.Lease, sessions []string) (places []place, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		places = nil
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		now, err := s.DB.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		for _, session := range sessions {
			p := place{id: newID(), session: session, at: sqldb.MS(now)}
			if _, err := tx.ExecContext(ctx, `INSERT INTO oracle_cold (id, session_id, wrapped_key, dead_ms) VALUES ($1, $2, $3, $4)`,
				p.id, p.session, []byte{}, p.at); err != nil {
				return fmt.Errorf("reserve an object: %w", err)
			}
			places = append(places, p)
		}
		return nil
	})
	return places, err
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// held is a conversation as it was read.
type held struct {
	tables []table
	// What says that nobody has touched it since.
	updated, next, branch, thawed int64
	oldestRun                     int64
}

// read reads a conversation; not ok when it is gone, or cold.
func (s *Store) read(ctx context.Context, session string) (h held, ok bool, err error) {
	err = s.DB.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		err := tx.QueryRowContext(ctx, `SELECT updated_ms, next_seq, branch, thawed_ms,
			(SELECT COALESCE(MIN(ended_ms), 0) FROM oracle_runs WHERE session_id = $1 AND ended_ms > 0)
			FROM oracle_sessions WHERE id = $1 AND cold = 0`, session).Scan(&h.updated, &h.next, &h.branch, &h.thawed, &h.oldestRun)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		ok = true
		h.tables, err = readRows(ctx, tx, session)
		return err
	})
	return h, ok, err
}

// move stores a conversation as an object, and then makes that the conversation.
func (m Moving) move(ctx context.Context, l lease.Lease, vault seal.Vault, before time.Time, p place) (bool, error) {
	s := m.store
	h, ok, err := s.read(ctx, p.session)
	if err != nil || !ok {
		return false, err
	}
	plain, err := encode(h.tables)
	if err == nil && len(plain) > maxPlain { // text of control characters is six times as long in JSON
		err = errTooLarge
	}
	if err != nil {
		return false, err
	}
	packed := s.pack.EncodeAll(plain, nil)
	sealed, wrapped, _, err := vault.SealBytes(kind, p.session, p.id, packed)
	if err != nil {
		return false, fmt.Errorf("seal conversation: %w", err)
	}
	sum := sha256.Sum256(sealed)
	o := object{
		id: p.id, session: p.session, wrapped: wrapped,
		size: int64(len(packed)), sealed: int64(len(sealed)), bytes: int64(len(plain)),
		digest: hex.EncodeToString(sum[:]), oldestRun: h.oldestRun,
	}
	opt := blob.Sized(o.sealed)
	opt.CreateOnly = true
	if _, err := s.Blobs.Put(ctx, name(o.id), bytes.NewReader(sealed), opt); err != nil {
		return false, fmt.Errorf("store conversation: %w", err)
	}
	return m.commit(ctx, l, before, p, h, o)
}

var errTouched = errors.New("the conversation was touched")

// commit makes an object the conversation, if that is as it was read.
func (m Moving) commit(ctx context.Context, l lease.Lease, before time.Time, p place, h held,
	o object,
) (bool, error) {
	idle := m.rows()
	err := m.store.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		err := changeOne(ctx, tx, `UPDATE oracle_sessions SET cold = 1 WHERE id = $2 AND updated_ms = $3 AND next_seq = $4 AND branch = $5
			AND thawed_ms = $6 AND `+idle.Of+` AND `+idle.Where, sqldb.MS(before), p.session, h.updated, h.next, h.branch, h.thawed)
		if err != nil {
			return err
		}
		if err := changeOne(ctx, tx, `UPDATE oracle_cold SET dead_ms = 0, wrapped_key = $1, size = $2, sealed = $3, bytes = $4, digest = $5, oldest_run_ms = $6
			WHERE id = $7 AND dead_ms = $8`, o.wrapped, o.size, o.sealed, o.bytes, o.digest, o.oldestRun, o.id, p.at); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO oracle_cold_runs (id, session_id) SELECT id, session_id FROM oracle_runs WHERE session_id = $1`, p.session); err != nil {
			return fmt.Errorf("note runs: %w", err)
		}
		for i, from := range sources() {
			r, err := tx.ExecContext(ctx, `DELETE FROM `+from.table+` WHERE `+from.where, p.session)
			if err != nil {
				return fmt.Errorf("move rows of %s: %w", from.table, err)
			}
			if n, err := r.RowsAffected(); err != nil || n != int64(len(h.tables[i].Rows)) {
				return errors.Join(err, errTouched)
			}
		}
		return count(ctx, tx, 1, o.bytes, o.sealed)
	})
	if errors.Is(err, errTouched) {
		return false, nil // its object stays reserved, and is swept
	}
	return err == nil, err
}

// changeOne fails with errTouched unless exactly one row was changed.
func changeOne(ctx context.Context, tx sqldb.Querier, text string, args ...any) error {
	r, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("move conversation: %w", err)
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errTouched)
	}
	return nil
}

// Drop destroys what is cold of a session that is deleted, in the transaction of that. The
// object is swept later: without its key it is nothing.
func Drop(ctx context.Context, tx sqldb.Querier, session string, now time.Time) error {
	var plain, sealed int64
	err := tx.QueryRowContext(ctx, `UPDATE oracle_cold SET dead_ms = $1, wrapped_key = $2 WHERE session_id = $3 AND dead_ms = 0 RETURNING bytes, sealed`,
		sqldb.MS(now), []byte{}, session).Scan(&plain, &sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("destroy archived conversation: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM oracle_cold_runs WHERE session_id = $1`, session); err != nil {
		return fmt.Errorf("forget archived runs: %w", err)
	}
	return count(ctx, tx, -1, -plain, -sealed)
}
