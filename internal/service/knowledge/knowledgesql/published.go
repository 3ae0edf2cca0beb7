package knowledgesql

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// ForMany implements knowledge.Publishing.
func (s *Store) ForMany(ctx context.Context, after string, limit int) ([]knowledge.Collection, error) {
	q := new(query).add(collectionFields+` WHERE c.readers IN (?, ?) AND c.id > ? ORDER BY c.id LIMIT ?`, string(knowledge.Everybody), string(knowledge.Members), after, limit)
	return collect(ctx, s.db.Read(), q, scanCollection)
}

// Publish implements knowledge.Publishing.
func (s *Store) Publish(ctx context.Context, id string, readers knowledge.Readers,
	now time.Time,
) (c knowledge.Collection, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		q := new(query).add(collectionFields+` WHERE c.id = ?`+s.db.Dialect().ForUpdate(), id)
		if c, err = scanCollection(tx.QueryRowContext(ctx, q.b.String(), q.args...)); err != nil {
			return absent(err, "collection")
		}
		if c.Readers != readers {
			return fault.Newf(fault.Conflict, "The collection is for %s by now.", c.Readers).WithCode("readers_changed")
		}
		c.Consent = readers
		_, err := tx.ExecContext(ctx, `INSERT INTO knowledge_published (collection, readers, published_ms) VALUES ($1, $2, $3)
			ON CONFLICT (collection) DO UPDATE SET readers = excluded.readers, published_ms = excluded.published_ms`, id, string(readers), sqldb.MS(now))
		return err
	})
	return c, err
}

// Unpublish implements knowledge.Publishing.
func (s *Store) Unpublish(ctx context.Context, id string) error {
	n, err := s.db.WriteOne(ctx, `DELETE FROM knowledge_published WHERE collection = $1`, id)
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "no such published collection")
	}
	return err
}
