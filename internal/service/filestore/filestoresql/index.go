package filestoresql

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// IndexBehind implements filestore.Index.
func (s *Store) IndexBehind(ctx context.Context, limit int) ([]filestore.IndexCursor, error) {
	q := newQuery(`SELECT n.ns, COALESCE(i.seq, 0) FROM filestore_namespaces n
		JOIN platform_feeds p ON p.name = 'filestore/' || n.ns
		LEFT JOIN filestore_index i ON i.ns = n.ns WHERE p.last > COALESCE(i.seq, 0)`).add(" LIMIT ?", limit)
	return collect(ctx, s.db.Read(), q, func(r scanner) (filestore.IndexCursor, error) {
		var c filestore.IndexCursor
		return c, r.Scan(&c.Namespace, &c.Seq)
	})
}

// SaveIndex implements filestore.Index. Two indexers can not harm each other:
// the cursor moves only from where the work began.
func (s *Store) SaveIndex(ctx context.Context, at filestore.IndexCursor, to int64, files []filestore.Indexed, gone []string) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO filestore_index (ns, seq) VALUES ($1, 0) ON CONFLICT (ns) DO NOTHING`, at.Namespace); err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, `UPDATE filestore_index SET seq = $1 WHERE ns = $2 AND seq = $3`, to, at.Namespace, at.Seq)
		if err := affectedOne(r, err, fault.New(fault.Conflict, "the index moved on")); err != nil {
			return err
		}
		for _, id := range gone {
			if err := dropPostings(ctx, tx, id); err != nil {
				return err
			}
		}
		for _, f := range files {
			if err := savePostings(ctx, tx, at.Namespace, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func dropPostings(ctx context.Context, tx sqldb.Querier, fileID string) error {
	for _, text := range []string{`DELETE FROM filestore_postings WHERE file_id = $1`, `DELETE FROM filestore_indexed WHERE file_id = $1`} {
		if _, err := tx.ExecContext(ctx, text, fileID); err != nil {
			return fmt.Errorf("drop postings: %w", err)
		}
	}
	return nil
}

// savePostings replaces a file's postings, unless the file was purged or trashed
// meanwhile: a purge must not be undone by a slow indexer.
func savePostings(ctx context.Context, tx sqldb.Querier, ns string, f filestore.Indexed) error {
	if err := dropPostings(ctx, tx, f.FileID); err != nil {
		return err
	}
	var there int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM filestore_files WHERE id = $1 AND trashed_ms = 0`, f.FileID).Scan(&there)
	if err != nil || there == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO filestore_indexed (file_id, ns, version, words) VALUES ($1, $2, $3, $4)`, f.FileID, ns, f.Version, f.Words)
	if err != nil {
		return fmt.Errorf("save index: %w", err)
	}
	for start := 0; start < len(f.Postings); start += 100 {
		q := newQuery(`INSERT INTO filestore_postings (ns, term, file_id, count, lines) VALUES `)
		for i, p := range f.Postings[start:min(start+100, len(f.Postings))] {
			if i > 0 {
				q.add(", ")
			}
			q.add("(?, ?, ?, ?, ?)", ns, p.Term, f.FileID, p.Count, p.Lines)
		}
		if _, err := tx.ExecContext(ctx, q.text(), q.args...); err != nil {
			return fmt.Errorf("save postings: %w", err)
		}
	}
	return nil
}

// Lookup implements filestore.Index: files that have all the terms.
func (s *Store) Lookup(ctx context.Context, scope filestore.Scope, under string, terms [][]byte, limit int) ([]filestore.Found, error) {
	var found []filestore.Found
	err := s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		q := newQuery(fileFields)
		for i, t := range terms {
			if i > 0 {
				q.add(" AND ")
			}
			q.add("f.id IN (SELECT p.file_id FROM filestore_postings p WHERE p.ns = ? AND p.term = ?)", scope.Namespace, t)
		}
		q.add(" AND ").scope(scope, fileColumns).add(" AND f.trashed_ms = 0")
		if under != "" && under != "/" {
			q.add(" AND ")
			q.under("f.path", vfspath.Root(under))
		}
		files, err := collect(ctx, tx, q.add(" ORDER BY f.updated_ms DESC LIMIT ?", limit), scanFile)
		if err != nil {
			return err
		}
		found = found[:0]
		for _, f := range files {
			one, err := s.foundIn(ctx, tx, f, terms)
			if err != nil {
				return err
			}
			found = append(found, one)
		}
		return nil
	})
	return found, err
}

func (s *Store) foundIn(ctx context.Context, tx sqldb.Querier, f filestore.File, terms [][]byte) (filestore.Found, error) {
	out := filestore.Found{File: f}
	err := tx.QueryRowContext(ctx, `SELECT words FROM filestore_indexed WHERE file_id = $1`, f.ID).Scan(&out.Words)
	if err != nil {
		return out, absent(err, "index")
	}
	for _, t := range terms {
		var p filestore.Posting
		err := tx.QueryRowContext(ctx, `SELECT term, count, lines FROM filestore_postings WHERE ns = $1 AND term = $2 AND file_id = $3`, f.Namespace, t, f.ID).
			Scan(&p.Term, &p.Count, &p.Lines)
		if err != nil {
			return out, absent(err, "posting")
		}
		out.Terms = append(out.Terms, p)
	}
	return out, nil
}

// TermFiles implements filestore.Index. Counting stops at a thousand: beyond, a
// word says little. Whoever sees the whole namespace needs no look at the files.
func (s *Store) TermFiles(ctx context.Context, scope filestore.Scope, terms [][]byte) ([]int64, error) {
	counts := make([]int64, len(terms))
	for i, t := range terms {
		q := newQuery(`SELECT COUNT(*) FROM (SELECT 1 FROM filestore_postings p`)
		if whole(scope) {
			q.add(" WHERE p.ns = ? AND p.term = ?", scope.Namespace, t)
		} else {
			q.add(" JOIN filestore_files f ON f.id = p.file_id WHERE p.ns = ? AND p.term = ? AND f.trashed_ms = 0 AND ", scope.Namespace, t).scope(scope, fileColumns)
		}
		if err := s.db.Read().QueryRowContext(ctx, q.add(" LIMIT 1000) AS found").text(), q.args...).Scan(&counts[i]); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// IndexedThrough implements filestore.Index.
func (s *Store) IndexedThrough(ctx context.Context, ns string) (int64, error) {
	var n int64
	err := s.db.Read().QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) FROM filestore_index WHERE ns = $1`, ns).Scan(&n)
	return n, err
}
