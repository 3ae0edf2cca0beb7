package filestoresql

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/blockstore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

var _ blockstore.Store = (*Store)(nil)

// placesAtOnce is how many places one statement writes.
const placesAtOnce = 200

// within adds the condition that a file is one of those in which blocks are looked for.
func within(q *scoped.Query, w blockstore.Where) *scoped.Query {
	if w.Public {
		q.Add("f.public_id <> ''")
	} else {
		q.Scope(w.Scope, fileColumns)
	}
	return q.Add(" AND f.trashed_ms = 0")
}

// FileOfContent implements blockstore.Store.
func (s *Store) FileOfContent(ctx context.Context, w blockstore.Where, content string) (filestore.File, error) {
	q := within(scoped.New(fileFields), w).Add(" AND f.cid = ? ORDER BY f.path LIMIT 1", content)
	return one(ctx, s.db.Read(), q, scanFile)
}

// FindBlock implements blockstore.Store.
func (s *Store) FindBlock(ctx context.Context, w blockstore.Where,
	hash string,
) (filestore.File, blockstore.Place, error) {
	const from = `SELECT b.blob_id, b.at, b.size, f.id FROM filestore_blocks b
		JOIN filestore_versions v ON v.blob_id = b.blob_id
		JOIN filestore_files f ON f.id = v.file_id AND f.version = v.version WHERE b.hash = ?`
	q := within(scoped.New("").Add(from+" AND ", []byte(hash)), w).Add(" LIMIT 1")
	p := blockstore.Place{Hash: hash}
	var blob, id string
	if err := s.db.Read().QueryRowContext(ctx, q.Text(), q.Args...).Scan(&blob, &p.At, &p.Size, &id); err != nil {
		return filestore.File{}, p, absent(err, "block")
	}
	// A newer version may be there by now: it has other blocks.
	f, err := one(ctx, s.db.Read(), within(scoped.New(fileFields), w).Add(" AND f.id = ? AND f.blob_id = ?", id, blob), scanFile)
	return f, p, err
}

// Unplaced implements blockstore.Store.
func (s *Store) Unplaced(ctx context.Context, w blockstore.Where, limit int) ([]filestore.File, error) {
	q := within(scoped.New(fileFields), w).Add(` AND f.size > ? AND NOT EXISTS
		(SELECT 1 FROM filestore_block_sets s WHERE s.blob_id = f.blob_id AND s.kind = ?) ORDER BY f.updated_ms DESC LIMIT ?`,
		cid.LeafSize, string(blockstore.AsFile), limit)
	return collect(ctx, s.db.Read(), q, scanFile)
}

// SavePlaces implements blockstore.Store.
func (s *Store) SavePlaces(ctx context.Context, blob string, kind blockstore.Kind, places []blockstore.Place,
	done bool,
) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for rest := places; len(rest) > 0; {
			n := min(len(rest), placesAtOnce)
			q := scoped.New("INSERT INTO filestore_blocks (blob_id, hash, at, size) VALUES ")
			for i, p := range rest[:n] {
				if i > 0 {
					q.Add(", ")
				}
				q.Add("(?, ?, ?, ?)", blob, []byte(p.Hash), p.At, p.Size)
			}
			q.Add(" ON CONFLICT (blob_id, hash) DO NOTHING")
			if _, err := tx.ExecContext(ctx, q.Text(), q.Args...); err != nil {
				return fmt.Errorf("note places: %w", err)
			}
			rest = rest[n:]
		}
		if !done {
			return nil
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO filestore_block_sets (blob_id, kind) VALUES ($1, $2) ON CONFLICT (blob_id, kind) DO NOTHING`, blob, string(kind))
		return err
	})
}
