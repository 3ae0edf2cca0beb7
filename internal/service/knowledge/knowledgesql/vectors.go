package knowledgesql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

const vectorFields = `SELECT v.segment, v.model, v.collection, v.id, v.wrapped_key, v.header, v.size, v.sealed, v.vectors, v.complete, v.created_ms FROM knowledge_vectors v`

func scanVectors(r scanner) (knowledge.VectorSet, error) {
	var v knowledge.VectorSet
	var complete int
	var created int64
	err := r.Scan(&v.Of, &v.Model, &v.Collection, &v.ID, &v.WrappedKey, &v.Header, &v.Size, &v.Sealed, &v.Passages,
		&complete, &created)
	v.Complete, v.Created = complete != 0, sqldb.Time(created)
	return v, err
}

// VectorSets implements knowledge.Vectors.
func (s *Store) VectorSets(ctx context.Context, collection, model string) ([]knowledge.VectorSet, error) {
	return collect(ctx, s.db.Read(), new(query).add(vectorFields+` JOIN knowledge_segments s ON s.id = v.segment
		WHERE v.collection = ? AND v.model = ? AND v.id <> '' AND s.dead_ms = 0 ORDER BY v.segment`, collection, model), scanVectors)
}

// unembedded are the living segments of which a model is to embed something.
const unembedded = ` FROM knowledge_segments s JOIN knowledge_collections c ON c.id = s.collection
	LEFT JOIN knowledge_vectors v ON v.segment = s.id AND v.model = $1 LEFT JOIN knowledge_vector_turns t ON t.ns = c.ns
	WHERE s.dead_ms = 0 AND COALESCE(v.complete, 0) = 0`

// TakeSegment implements knowledge.Vectors. The namespace that waited longest for
// its turn comes first.
func (s *Store) TakeSegment(ctx context.Context, model, holder string,
	lease time.Duration,
) (w knowledge.EmbedWork, ok bool, err error) {
	now := s.db.Dialect().NowMS()
	next := `SELECT c.ns, s.collection, s.id` + unembedded + ` AND COALESCE(v.due_ms, 0) <= ` + now + ` ORDER BY COALESCE(t.served, 0), s.created_ms, s.id LIMIT 1`
	look := func(ctx context.Context, db sqldb.Querier) error {
		w = knowledge.EmbedWork{Model: model, Holder: holder}
		return db.QueryRowContext(ctx, next, model).Scan(&w.Namespace, &w.Collection, &w.Segment)
	}
	// Nearly always there is nothing, which needs no transaction.
	if err := look(ctx, s.db.Read()); errors.Is(err, sql.ErrNoRows) {
		return w, false, nil
	} else if err != nil {
		return w, false, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		ok = false
		if err := look(ctx, tx); errors.Is(err, sql.ErrNoRows) {
			return nil
		} else if err != nil {
			return err
		}
		turn, err := sqldb.NextFeed(ctx, tx, "knowledge/vectors")
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO knowledge_vector_turns (ns, served) VALUES ($1, $2)
			ON CONFLICT (ns) DO UPDATE SET served = excluded.served`, w.Namespace, turn); err != nil {
			return err
		}
		ok = true
		_, err = tx.ExecContext(ctx, `INSERT INTO knowledge_vectors
			(segment, model, collection, id, wrapped_key, header, size, sealed, vectors, complete, holder, due_ms, created_ms)
			VALUES ($1, $2, $3, '', $4, $4, 0, 0, 0, 0, $5, `+now+` + $6, `+now+`)
			ON CONFLICT (segment, model) DO UPDATE SET holder = excluded.holder, due_ms = excluded.due_ms`,
			w.Segment, model, w.Collection, []byte{}, holder, lease.Milliseconds())
		return err
	})
	return w, ok && err == nil, err
}

// KeepSegment implements knowledge.Vectors.
func (s *Store) KeepSegment(ctx context.Context, w knowledge.EmbedWork, lease time.Duration) error {
	n, err := s.db.WriteOne(ctx, `UPDATE knowledge_vectors SET due_ms = `+s.db.Dialect().NowMS()+` + $4 WHERE segment = $1 AND model = $2 AND holder = $3`,
		w.Segment, w.Model, w.Holder, lease.Milliseconds())
	if err == nil && n != 1 {
		return moved("the segment")
	}
	return err
}

// SaveVectors implements knowledge.Vectors.
func (s *Store) SaveVectors(ctx context.Context, w knowledge.EmbedWork, set *knowledge.VectorSet,
	pause time.Duration,
) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var alive int
		err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM knowledge_segments WHERE id = $1 AND dead_ms = 0`, w.Segment).Scan(&alive)
		if err != nil {
			return err
		}
		if alive == 0 {
			return moved("the segment")
		}
		due := s.db.Dialect().NowMS() + ` + $4`
		if set == nil {
			r, err := tx.ExecContext(ctx, `UPDATE knowledge_vectors SET holder = '', due_ms = `+due+` WHERE segment = $1 AND model = $2 AND holder = $3`,
				w.Segment, w.Model, w.Holder, pause.Milliseconds())
			return one(r, err, moved("the segment"))
		}
		r, err := tx.ExecContext(ctx, `UPDATE knowledge_vectors SET holder = '', due_ms = `+due+`, id = $5, wrapped_key = $6, header = $7, size = $8, sealed = $9,
			vectors = $10, complete = $11, created_ms = $12 WHERE segment = $1 AND model = $2 AND holder = $3`,
			w.Segment, w.Model, w.Holder, pause.Milliseconds(), set.ID, set.WrappedKey, set.Header,
			set.Size, set.Sealed, set.Passages, flag(set.Complete), sqldb.MS(set.Created))
		if err := one(r, err, moved("the segment")); err != nil {
			return err
		}
		return touch(ctx, tx, w.Collection, time.Time{})
	})
}

// addVectors stores the set of a segment that is new itself.
func addVectors(ctx context.Context, tx sqldb.Querier, v knowledge.VectorSet) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO knowledge_vectors
		(segment, model, collection, id, wrapped_key, header, size, sealed, vectors, complete, holder, due_ms, created_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', 0, $11)`,
		v.Of, v.Model, v.Collection, v.ID, v.WrappedKey, v.Header, v.Size, v.Sealed, v.Passages, flag(v.Complete),
		sqldb.MS(v.Created))
	return err
}

// ForgetVectors implements knowledge.Vectors.
func (s *Store) ForgetVectors(ctx context.Context, model string, before time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM knowledge_vectors WHERE NOT EXISTS
			(SELECT 1 FROM knowledge_segments s WHERE s.id = knowledge_vectors.segment AND s.dead_ms = 0)`); err != nil {
			return err
		}
		if model == "" {
			return nil
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM knowledge_vectors WHERE model <> $1 AND created_ms < $2 AND EXISTS
			(SELECT 1 FROM knowledge_vectors n WHERE n.segment = knowledge_vectors.segment AND n.model = $1 AND n.complete = 1)`, model, sqldb.MS(before))
		return err
	})
}

// KnowsVectors implements knowledge.Vectors.
func (s *Store) KnowsVectors(ctx context.Context, id string) (bool, error) {
	var n int
	err := s.db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM knowledge_vectors WHERE id = $1`, id).Scan(&n)
	return n > 0, err
}

// Unembedded implements knowledge.Vectors.
func (s *Store) Unembedded(ctx context.Context, model string) (segments, passages int64, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(s.passages - COALESCE(v.vectors, 0)), 0)`+unembedded, model).Scan(&segments, &passages)
	return segments, passages, err
}
