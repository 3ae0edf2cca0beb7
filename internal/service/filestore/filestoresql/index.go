package filestoresql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelfsql"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/bulk"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

func textTables(db *sqldb.DB) shelfsql.Tables {
	return shelfsql.Tables{DB: db, Segments: "filestore_text_segments", Collections: "filestore_text_indexes", Inline: true}
}

// IndexBehind implements filestore.Index.
func (s *Store) IndexBehind(ctx context.Context, after string, limit int) ([]filestore.IndexCursor, error) {
	q := scoped.New(`SELECT u.ns, COALESCE(i.seq, 0) FROM filestore_unread u LEFT JOIN filestore_text_indexes i ON i.id = u.ns`)
	q.Add(" WHERE u.ns > ? ORDER BY u.ns", after).Add(" LIMIT ?", limit)
	return collect(ctx, s.db.Read(), q, func(r scanner) (filestore.IndexCursor, error) {
		var c filestore.IndexCursor
		return c, r.Scan(&c.Namespace, &c.Seq)
	})
}

// putUnread puts a namespace into the queue of the indexer, up to a change. In the
// transaction of that change, it is there if and only if the change is.
const putUnread = `INSERT INTO filestore_unread (ns, last) VALUES ($1, $2)
	ON CONFLICT (ns) DO UPDATE SET last = CASE WHEN filestore_unread.last < excluded.last THEN excluded.last ELSE filestore_unread.last END`

func tellIndexer(ctx context.Context, tx sqldb.Querier, ns string, last int64) error {
	return sqldb.Gather(ctx, tx, sqldb.Gathered{
		Table: "filestore_unread", Row: ns, Sum: []int64{last}, // the newest
		Write: func(ctx context.Context, tx sqldb.Querier, newest []int64) error {
			_, err := tx.ExecContext(ctx, putUnread, ns, newest[0])
			return err
		},
	})
}

// IndexRead implements filestore.Index. It compares what it deletes: a change that is
// being committed holds the row, and leaves a greater number in it.
func (s *Store) IndexRead(ctx context.Context, at filestore.IndexCursor) error {
	_, err := s.db.WriteOne(ctx, `DELETE FROM filestore_unread WHERE ns = $1 AND last <= $2`, at.Namespace, at.Seq)
	if err != nil {
		return fmt.Errorf("take namespace out of the queue: %w", err)
	}
	return nil
}

// IndexMissed implements filestore.Index.
func (s *Store) IndexMissed(ctx context.Context, after string, limit int) (next string, err error) {
	page, err := sqldb.Strings(ctx, s.db.Read(), `SELECT ns FROM filestore_namespaces WHERE ns > $1 ORDER BY ns LIMIT $2`, after, limit)
	if err != nil || len(page) == 0 {
		return "", err
	}
	through := page[len(page)-1]
	// Looked up one by one: joined, a page of a large table is read by scans of all three.
	q := scoped.New(`SELECT ns, last FROM (SELECT n.ns, (SELECT p.last FROM platform_feeds p WHERE p.name = 'filestore/' || n.ns) AS last,
		(SELECT i.seq FROM filestore_text_indexes i WHERE i.id = n.ns) AS seq FROM filestore_namespaces n`)
	q.Add(" WHERE n.ns > ? AND n.ns <= ?) page WHERE last > COALESCE(seq, 0)", after, through)
	q.Add(" AND NOT EXISTS (SELECT 1 FROM filestore_unread u WHERE u.ns = page.ns)")
	missed, err := collect(ctx, s.db.Read(), q, func(r scanner) (filestore.IndexCursor, error) {
		var c filestore.IndexCursor
		return c, r.Scan(&c.Namespace, &c.Seq)
	})
	if err != nil {
		return "", err
	}
	for _, m := range missed {
		if _, err := s.db.WriteOne(ctx, putUnread, m.Namespace, m.Seq); err != nil {
			return "", err
		}
	}
	if len(page) < limit {
		return "", nil
	}
	return through, nil
}

// SaveIndex implements filestore.Index. Two indexers cannot harm each other:
// the cursor moves only from where the work began.
func (s *Store) SaveIndex(ctx context.Context, at filestore.IndexCursor, to int64, files []filestore.Indexed,
	gone []string, segment *shelf.Record, now time.Time,
) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := tx.ExecContext(ctx, indexRow, at.Namespace); err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, `UPDATE filestore_text_indexes SET seq = $1 WHERE id = $2 AND seq = $3`, to, at.Namespace, at.Seq)
		if err := affectedOne(r, err, fault.New(fault.Conflict, "the index moved on")); err != nil {
			return err
		}
		lost, err := saveIndexed(ctx, tx, at.Namespace, files, gone)
		if err != nil {
			return err
		}
		if segment != nil {
			if err := textTables(s.db).Add(ctx, tx, *segment); err != nil {
				return fmt.Errorf("save segment: %w", err)
			}
		}
		when := time.Time{}
		if lost {
			when = now
		}
		return textTables(s.db).Touch(ctx, tx, at.Namespace, when)
	})
}

// saveIndexed notes the documents of files, unless they were purged or trashed meanwhile: a
// purge must not be undone by a slow indexer. It reports whether there are documents that
// nobody may find any more.
func saveIndexed(ctx context.Context, tx sqldb.Querier, ns string, files []filestore.Indexed,
	gone []string,
) (lost bool, err error) {
	for part := range bulk.Pieces(gone) {
		n, err := dropIndexed(ctx, tx, part...)
		if err != nil {
			return false, err
		}
		lost = lost || n > 0
	}
	for part := range bulk.Pieces(files) {
		ids := make([]string, len(part))
		for i, f := range part {
			ids[i] = f.FileID
		}
		n, err := dropIndexed(ctx, tx, ids...)
		if err != nil {
			return false, err
		}
		lost = lost || n > 0
		q := scoped.New("SELECT id FROM filestore_files WHERE trashed_ms = 0")
		q.In("id", ids)
		there, err := sqldb.Strings(ctx, tx, q.Text(), q.Args...)
		if err != nil {
			return false, fmt.Errorf("look for indexed files: %w", err)
		}
		if len(there) < len(part) {
			lost = true // their documents are in the segment
			part = slices.DeleteFunc(slices.Clone(part), func(f filestore.Indexed) bool {
				return !slices.Contains(there, f.FileID)
			})
		}
		for part := range bulk.Pieces(part) {
			err := bulk.Insert(ctx, tx, "filestore_text_live (file_id, ns, seq, path, version)", len(part), func(i int) []any {
				return []any{part[i].FileID, ns, part[i].Seq, part[i].Path, part[i].Version}
			})
			if err != nil {
				return false, fmt.Errorf("save index: %w", err)
			}
		}
	}
	return lost, nil
}

// dropIndexed takes files out of the index, and returns how many documents nobody may find
// any more.
func dropIndexed(ctx context.Context, tx sqldb.Querier, ids ...string) (int64, error) {
	q := scoped.New("DELETE FROM filestore_text_live WHERE 1 = 1")
	q.In("file_id", ids)
	r, err := tx.ExecContext(ctx, q.Text(), q.Args...)
	if err != nil {
		return 0, fmt.Errorf("drop files from index: %w", err)
	}
	return r.RowsAffected()
}

// indexRow makes the row of an index, unless it is there.
const indexRow = `INSERT INTO filestore_text_indexes (id, seq, revision, dirty_ms) VALUES ($1, 0, 0, 0) ON CONFLICT (id) DO NOTHING`

// DestroyIndex destroys the keys of the index of a namespace that has no files any more, not
// in the trash either, and reports whether it had something. Otherwise what was purged lies
// in its segments until they are written anew. An indexer that is at work begins behind what
// there was.
func (s *Store) DestroyIndex(ctx context.Context, ns string, now time.Time) (had bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		had = false
		files, err := sqldb.Strings(ctx, tx, `SELECT id FROM filestore_files WHERE ns = $1 LIMIT 1`, ns)
		if err != nil || len(files) > 0 {
			return err
		}
		// An indexer that is at work for the first time has no row yet, and is to find one.
		if _, err := tx.ExecContext(ctx, indexRow, ns); err != nil {
			return fmt.Errorf("begin an index: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE filestore_text_indexes SET revision = revision + 1, dirty_ms = 0, crowded = 0,
			seq = COALESCE((SELECT last FROM platform_feeds WHERE name = $1), seq) WHERE id = $2`, feedName(ns), ns); err != nil {
			return fmt.Errorf("move the index on: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM filestore_text_live WHERE ns = $1`, ns); err != nil {
			return fmt.Errorf("empty the index: %w", err)
		}
		r, err := tx.ExecContext(ctx, `UPDATE filestore_text_segments SET dead_ms = $1, wrapped_key = $2, inline = NULL WHERE collection = $3 AND dead_ms = 0`,
			sqldb.MS(now), []byte{}, ns)
		if err != nil {
			return fmt.Errorf("destroy segments: %w", err)
		}
		n, err := r.RowsAffected()
		had = n > 0
		return err
	})
	return had, err
}

const indexStand = `SELECT COALESCE(MAX(p.last), 0), COALESCE(MAX(i.seq), 0), COALESCE(MAX(i.revision), 0)
	FROM platform_feeds p LEFT JOIN filestore_text_indexes i ON i.id = $1 WHERE p.name = $2`

// IndexStand implements filestore.Index.
func (s *Store) IndexStand(ctx context.Context, ns string) (at filestore.IndexStand, err error) {
	return standOf(ctx, s.db.Read(), ns)
}

func standOf(ctx context.Context, tx sqldb.Querier, ns string) (at filestore.IndexStand, err error) {
	return at, tx.QueryRowContext(ctx, indexStand, ns, feedName(ns)).Scan(&at.Newest, &at.Through, &at.Revision)
}

// IndexedFiles implements filestore.Index.
func (s *Store) IndexedFiles(ctx context.Context, scope filestore.Scope,
	under string,
) (at filestore.IndexStand, files []filestore.Indexed, segments []shelf.Record, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if at, err = standOf(ctx, tx, scope.Namespace); err != nil {
			return err
		}
		q := scoped.New(`SELECT l.file_id, l.seq, l.path, l.version FROM filestore_text_live l JOIN filestore_files f ON f.id = l.file_id WHERE `)
		q.Add("l.ns = ? AND f.path = l.path AND f.version = l.version AND f.trashed_ms = 0 AND ", scope.Namespace).Scope(scope, fileColumns)
		if under != "" && under != "/" {
			q.Add(" AND ")
			q.Under("f.path", vfspath.Root(under))
		}
		files, err = collect(ctx, tx, q, func(r scanner) (filestore.Indexed, error) {
			var f filestore.Indexed
			return f, r.Scan(&f.FileID, &f.Seq, &f.Path, &f.Version)
		})
		if err != nil {
			return err
		}
		segments, err = textTables(s.db).Of(ctx, tx, scope.Namespace)
		return err
	})
	return at, files, segments, err
}

// IndexShelf implements filestore.Index.
func (s *Store) IndexShelf() shelf.Records { return textTables(s.db) }
