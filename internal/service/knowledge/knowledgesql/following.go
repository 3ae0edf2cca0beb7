package knowledgesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// Owners implements knowledge.Following.
func (s *Store) Owners(ctx context.Context) ([]knowledge.Owner, error) {
	return collect(ctx, s.db.Read(), new(query).add(`SELECT ns, seq FROM knowledge_owners`), func(r scanner) (knowledge.Owner, error) {
		var o knowledge.Owner
		return o, r.Scan(&o.Namespace, &o.Seq)
	})
}

// Unscanned implements knowledge.Following.
func (s *Store) Unscanned(ctx context.Context, limit int) ([]knowledge.Scan, error) {
	q := new(query).add(`SELECT c.id, c.ns, c.name, c.folder, c.scan_after, o.seq FROM knowledge_collections c
		JOIN knowledge_owners o ON o.ns = c.ns WHERE c.scanned = 0 LIMIT ?`, limit)
	return collect(ctx, s.db.Read(), q, func(r scanner) (knowledge.Scan, error) {
		var a knowledge.Scan
		return a, r.Scan(&a.Collection.ID, &a.Collection.Namespace, &a.Collection.Name, &a.Collection.Folder, &a.Through,
			&a.Seq)
	})
}

// SaveScan implements knowledge.Following.
func (s *Store) SaveScan(ctx context.Context, at knowledge.Scan, files []knowledge.File, through string,
	done bool,
) error {
	return s.db.Write(sqldb.Later(ctx), func(ctx context.Context, tx sqldb.Querier) error {
		var seq int64
		err := tx.QueryRowContext(ctx, `SELECT seq FROM knowledge_owners WHERE ns = $1`+s.db.Dialect().ForShare(), at.Collection.Namespace).Scan(&seq)
		if err != nil || seq != at.Seq {
			return firstError(absent(err, "owner"), moved("the feed"))
		}
		r, err := tx.ExecContext(ctx, `UPDATE knowledge_collections SET scan_after = $1, scanned = $2 WHERE id = $3 AND scanned = 0 AND scan_after = $4`,
			through, flag(done), at.Collection.ID, at.Through)
		if err := one(r, err, moved("the scan")); err != nil {
			return err
		}
		for _, f := range files {
			if err := s.want(ctx, tx, at.Collection.ID, at.Collection.Namespace, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// want puts a file's version into the queue, unless it was read or is there already.
// A version that is being read is not wanted any more when there is a newer one.
func (s *Store) want(ctx context.Context, tx sqldb.Querier, collection, ns string, f knowledge.File) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO knowledge_documents
		(collection, file_id, ns, path, mime, size, version, changed_ms, state, why, due_ms, holder, attempts, generation, read_version, read_ms, pages, language, passages)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', `+s.db.Dialect().NowMS()+`, '', 0, '', 0, 0, 0, '', 0)
		ON CONFLICT (collection, file_id) DO NOTHING`,
		collection, f.ID, ns, f.Path, f.MimeType, f.Size, f.Version, sqldb.MS(f.Updated))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE knowledge_documents SET path = $3, mime = $4, size = $5, version = $6, changed_ms = $7, state = 0, why = '',
		due_ms = `+s.db.Dialect().NowMS()+`, holder = '', attempts = 0
		WHERE collection = $1 AND file_id = $2 AND (version <> $6 OR path <> $3 OR mime <> $4)`,
		collection, f.ID, f.Path, f.MimeType, f.Size, f.Version, sqldb.MS(f.Updated))
	return err
}

// SaveChanges implements knowledge.Following.
func (s *Store) SaveChanges(ctx context.Context, at knowledge.Owner, to int64, changes []knowledge.FileChange,
	now time.Time,
) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		r, err := tx.ExecContext(ctx, `UPDATE knowledge_owners SET seq = $1 WHERE ns = $2 AND seq = $3`, to, at.Namespace, at.Seq)
		if err := one(r, err, moved("the feed")); err != nil {
			return err
		}
		for _, c := range changes {
			is := map[string]bool{}
			for _, id := range c.In {
				is[id] = true
				if err := s.want(ctx, tx, id, at.Namespace, c.File); err != nil {
					return err
				}
			}
			was, err := sqldb.Strings(ctx, tx, `SELECT collection FROM knowledge_documents WHERE ns = $1 AND file_id = $2`, at.Namespace, c.File.ID)
			if err != nil {
				return err
			}
			for _, id := range was {
				if is[id] {
					continue
				}
				if err := s.forgetDocument(ctx, tx, at.Namespace, removedReport{id, c.File.ID}, now); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// forgetDocument takes a document out; its passages are not found from now on.
func (s *Store) forgetDocument(ctx context.Context, tx sqldb.Querier, ns string, gone removedReport,
	now time.Time,
) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM knowledge_documents WHERE collection = $1 AND file_id = $2`, gone.CollectionID, gone.FileID); err != nil {
		return err
	}
	if err := s.tell(ctx, tx, ns, eventRemoved, now, gone); err != nil {
		return err
	}
	return touch(ctx, tx, gone.CollectionID, now)
}

// touch says that what can be found in a collection is something else now, and
// when passages that nobody may find any more wait to be destroyed.
func touch(ctx context.Context, tx sqldb.Querier, collection string, lost time.Time) error {
	return segmentTables(nil).Touch(ctx, tx, collection, lost)
}

// ReadThrough returns how far the changes of a namespace were followed; false: nobody
// follows them.
func (s *Store) ReadThrough(ctx context.Context, ns string) (seq int64, follows bool, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT seq FROM knowledge_owners WHERE ns = $1`, ns).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read how far changes were followed: %w", err)
	}
	return seq, true, nil
}
