package knowledgesql

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// State implements knowledge.Segments.
func (s *Store) State(ctx context.Context,
	collection string,
) (revision int64, docs []knowledge.Live, segments []knowledge.Segment, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := tx.QueryRowContext(ctx, `SELECT revision FROM knowledge_collections WHERE id = $1`, collection).Scan(&revision); err != nil {
			return absent(err, "collection")
		}
		docs, err = collect(ctx, tx, new(query).add(`SELECT generation, file_id, path FROM knowledge_documents WHERE collection = ? AND generation <> ''`, collection),
			func(r scanner) (knowledge.Live, error) {
				var l knowledge.Live
				return l, r.Scan(&l.Generation, &l.FileID, &l.Path)
			})
		if err != nil {
			return err
		}
		segments, err = s.shelf.Of(ctx, tx, collection)
		return err
	})
	return revision, docs, segments, err
}

// Dirty implements knowledge.Segments.
func (s *Store) Dirty(ctx context.Context, many int, tiers []int64, lostBefore time.Time, after string,
	limit int,
) ([]knowledge.Collection, error) {
	dirty, args := s.shelf.DirtyIDs(many, tiers, lostBefore, after, limit)
	q := &query{args: args}
	return collect(ctx, s.db.Read(), q.add(collectionFields+` WHERE id IN (`+dirty+`) ORDER BY id`), scanCollection)
}

// DestroyLater implements knowledge.Segments.
func (s *Store) DestroyLater(ctx context.Context, collection string, revision int64, until time.Time) error {
	return s.shelf.DestroyLater(ctx, collection, revision, until)
}

// Replace implements knowledge.Segments.
func (s *Store) Replace(ctx context.Context, collection string, old []shelf.Held, by *knowledge.Segment,
	vectors *knowledge.VectorSet, revision int64, settled bool, now time.Time,
) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if vectors != nil {
			if err := addVectors(ctx, tx, *vectors); err != nil {
				return err
			}
		}
		return s.shelf.ReplaceIn(ctx, tx, collection, old, by, revision, settled, now)
	})
}

// DeadSegments implements knowledge.Segments.
func (s *Store) DeadSegments(ctx context.Context, before time.Time, limit int) ([]knowledge.Segment, error) {
	return s.shelf.DeadSegments(ctx, before, limit)
}

// Forget implements knowledge.Segments.
func (s *Store) Forget(ctx context.Context, ids []string) error { return s.shelf.Forget(ctx, ids) }

// Knows implements knowledge.Segments.
func (s *Store) Knows(ctx context.Context, id string) (bool, error) { return s.shelf.Knows(ctx, id) }
