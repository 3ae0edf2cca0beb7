package knowledgesql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// waiting are the namespaces that have something in the queue: neither all owners, nor
// all that is in the queue, is read for it.
const waiting = `WITH RECURSIVE waiting (ns) AS (SELECT MIN(ns) FROM knowledge_documents WHERE state < 2
	UNION ALL SELECT (SELECT MIN(d.ns) FROM knowledge_documents d WHERE d.state < 2 AND d.ns > w.ns) FROM waiting w WHERE w.ns IS NOT NULL) `

// Take implements knowledge.Queue. The namespace that waited longest for its turn
// comes first, so that a large upload of one holds up nobody else.
func (s *Store) Take(ctx context.Context, holder string, lease time.Duration) (w knowledge.Work, ok bool, err error) {
	now := s.db.Dialect().NowMS()
	// Nearly always there is nothing, which needs no transaction.
	var any int
	err = s.db.Read().QueryRowContext(ctx, `SELECT 1 FROM knowledge_documents WHERE state < 2 AND due_ms <= `+now+` LIMIT 1`).Scan(&any)
	if errors.Is(err, sql.ErrNoRows) {
		return w, false, nil
	}
	if err != nil {
		return w, false, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		w, ok = knowledge.Work{}, false
		var ns string
		err := tx.QueryRowContext(ctx, waiting+`SELECT o.ns FROM waiting w JOIN knowledge_owners o ON o.ns = w.ns WHERE EXISTS
			(SELECT 1 FROM knowledge_documents d WHERE d.ns = w.ns AND d.state < 2 AND d.due_ms <= `+now+`) ORDER BY o.served, o.ns LIMIT 1`).Scan(&ns)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		w.Document, err = scanDocument(tx.QueryRowContext(ctx, documentFields+` WHERE d.ns = $1 AND d.state < 2 AND d.due_ms <= `+now+`
			ORDER BY d.due_ms, d.path LIMIT 1`, ns))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		turn, err := sqldb.NextFeed(ctx, tx, "knowledge/turns")
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE knowledge_owners SET served = $1 WHERE ns = $2`, turn, ns); err != nil {
			return err
		}
		const same = ` d.ns = ? AND d.file_id = ? AND d.version = ? AND d.state < 2 AND d.due_ms <= `
		all, err := collect(ctx, tx, new(query).add(documentFields+` WHERE`+same+now+` ORDER BY d.collection`, ns, w.FileID, w.Version), scanDocument)
		if err != nil {
			return err
		}
		for _, d := range all {
			d.Attempts++
			if d.Collection == w.Collection {
				w.Document, w.Holder = d, holder
			} else {
				w.Also = append(w.Also, knowledge.Work{Document: d, Holder: holder})
			}
			if _, err := tx.ExecContext(ctx, `UPDATE knowledge_documents SET state = 1, holder = $1, attempts = attempts + 1, due_ms = `+now+` + $2
				WHERE collection = $3 AND file_id = $4`, holder, lease.Milliseconds(), d.Collection, d.FileID); err != nil {
				return err
			}
		}
		ok = w.Holder != ""
		return nil
	})
	return w, ok && err == nil, err
}

// Waits implements knowledge.Queue.
func (s *Store) Waits(ctx context.Context) (bool, error) {
	some, err := sqldb.Strings(ctx, s.db.Read(), `SELECT ns FROM knowledge_documents WHERE state < 2 LIMIT 1`)
	return len(some) > 0, err
}

// Charge implements knowledge.Queue. Turns are numbered, and whose last one has the
// least number comes next.
func (s *Store) Charge(ctx context.Context, namespace string, turns int64) error {
	_, err := s.db.WriteOne(ctx, `UPDATE knowledge_owners SET served = served + $1 WHERE ns = $2`, turns, namespace)
	return err
}

// Orphans implements knowledge.Queue. On PostgreSQL the other holders are alive, for
// all one knows.
func (s *Store) Orphans(ctx context.Context) error {
	if s.db.Dialect() != sqldb.SQLite {
		return nil
	}
	_, err := s.db.WriteOne(ctx, `UPDATE knowledge_documents SET due_ms = `+s.db.Dialect().NowMS()+` WHERE state = 1`)
	return err
}

// held is the condition that a reservation still counts.
const held = ` collection = $1 AND file_id = $2 AND holder = $3 AND version = $4 AND state = 1`

func heldArgs(w knowledge.Work, more ...any) []any {
	return append([]any{w.Collection, w.FileID, w.Holder, w.Version}, more...)
}

// Renew implements knowledge.Queue.
func (s *Store) Renew(ctx context.Context, w knowledge.Work, lease time.Duration) error {
	n, err := s.db.WriteOne(ctx, `UPDATE knowledge_documents SET due_ms = `+s.db.Dialect().NowMS()+` + $5 WHERE`+held, heldArgs(w, lease.Milliseconds())...)
	if err == nil && n != 1 {
		return moved("the document")
	}
	return err
}

// Finish implements knowledge.Queue.
func (s *Store) Finish(ctx context.Context, w knowledge.Work, segment *knowledge.Segment) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var before string
		err := tx.QueryRowContext(ctx, `SELECT generation FROM knowledge_documents WHERE`+held, heldArgs(w)...).Scan(&before)
		if errors.Is(err, sql.ErrNoRows) {
			return moved("the document")
		}
		if err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, `UPDATE knowledge_documents SET state = 2, why = $11, holder = '', attempts = 0, generation = $5, read_version = $6,
			read_ms = $7, pages = $8, language = $9, passages = $10 WHERE`+held,
			heldArgs(w, w.Generation, w.Version, sqldb.MS(w.Read), w.Pages, w.Language, w.Passages, w.Why)...)
		if err := one(r, err, moved("the document")); err != nil {
			return err
		}
		if segment != nil {
			if err := s.shelf.Add(ctx, tx, *segment); err != nil {
				return err
			}
		}
		lost := time.Time{}
		if before != "" {
			lost = w.Read
		}
		if err := s.reportRead(ctx, tx, eventIngested, w); err != nil {
			return err
		}
		return touch(ctx, tx, w.Collection, lost)
	})
}

// GiveUp implements knowledge.Queue. What was known of an earlier version is
// forgotten: it is not what the file says.
func (s *Store) GiveUp(ctx context.Context, w knowledge.Work) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		r, err := tx.ExecContext(ctx, `UPDATE knowledge_documents SET state = 3, why = $5, holder = '', generation = '', read_version = 0,
			read_ms = $6, pages = 0, language = '', passages = 0 WHERE`+held, heldArgs(w, w.Why, sqldb.MS(w.Read))...)
		if err := one(r, err, moved("the document")); err != nil {
			return err
		}
		if err := s.reportRead(ctx, tx, eventFailed, w); err != nil {
			return err
		}
		return touch(ctx, tx, w.Collection, w.Read)
	})
}

// Postpone implements knowledge.Queue.
func (s *Store) Postpone(ctx context.Context, w knowledge.Work, pause time.Duration) error {
	n, err := s.db.WriteOne(ctx, `UPDATE knowledge_documents SET state = 0, holder = '', why = $5, due_ms = `+s.db.Dialect().NowMS()+` + $6 WHERE`+held,
		heldArgs(w, w.Why, pause.Milliseconds())...)
	if err == nil && n != 1 {
		return moved("the document")
	}
	return err
}
