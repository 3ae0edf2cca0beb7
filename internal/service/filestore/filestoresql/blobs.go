package filestoresql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/diskroom"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

// errSwept says that the sweeper was faster than a very slow writer.
func errSwept() error {
	return fault.New(fault.Conflict, "the upload took too long and was given up; send it again")
}

// showBlob turns a commit's new content live: small content is inserted, pending
// content is flipped, which fails when the sweeper has been there.
func showBlob(ctx context.Context, tx sqldb.Querier, c filestore.Commit) error {
	b := c.Blob
	if b == nil {
		return mustLive(ctx, tx, c.Content.Blob)
	}
	if b.State == filestore.Live {
		if err := insertBlob(ctx, tx, *b, 0); err != nil {
			return err
		}
	} else {
		r, err := tx.ExecContext(ctx, `UPDATE filestore_blobs SET state = 1, size = $1, leaves = $2, at_ms = 0 WHERE id = $3 AND state = 0`,
			b.Size, b.Leaves, b.ID)
		if err := affectedOne(r, err, errSwept()); err != nil {
			return err
		}
	}
	return putExtents(ctx, tx, *b)
}

func mustLive(ctx context.Context, tx sqldb.Querier, id string) error {
	var state int
	err := tx.QueryRowContext(ctx, `SELECT state FROM filestore_blobs WHERE id = $1`, id).Scan(&state)
	if err != nil {
		return absent(err, "content")
	}
	if filestore.BlobState(state) != filestore.Live {
		return fault.New(fault.Gone, "the content was destroyed")
	}
	return nil
}

func insertBlob(ctx context.Context, tx sqldb.Querier, b filestore.Blob, atMS int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO filestore_blobs (id, ns, state, wrapped_key, size, leaves, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		b.ID, b.Namespace, int64(b.State), b.WrappedKey, b.Size, b.Leaves, atMS)
	if err != nil {
		return fmt.Errorf("insert content: %w", err)
	}
	return nil
}

// putExtents writes the extents; those that an upload has stored already stay.
func putExtents(ctx context.Context, tx sqldb.Querier, b filestore.Blob) error {
	for _, e := range b.Extents {
		_, err := tx.ExecContext(ctx, `INSERT INTO filestore_extents (blob_id, seq, object, inline, header, size, sealed)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (blob_id, seq) DO UPDATE SET object = excluded.object, inline = excluded.inline,
			header = excluded.header, size = excluded.size, sealed = excluded.sealed`,
			b.ID, e.Seq, e.Object, e.Inline, notNil(e.Header), e.Size, e.Sealed)
		if err != nil {
			return fmt.Errorf("store extent: %w", err)
		}
	}
	return nil
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// shred destroys a blob's key and small content when no version uses it any more.
// The object follows when nobody can be reading it.
func shred(ctx context.Context, tx sqldb.Querier, id string, c filestore.Change) error {
	r, err := tx.ExecContext(ctx, `UPDATE filestore_blobs SET state = 2, wrapped_key = NULL, leaves = NULL, at_ms = $1
		WHERE id = $2 AND NOT EXISTS (SELECT 1 FROM filestore_versions WHERE blob_id = $3)`, sqldb.MS(c.Now), id, id)
	if err != nil {
		return fmt.Errorf("shred content: %w", err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE filestore_extents SET inline = NULL WHERE blob_id = $1`, id)
	return err
}

// Reserve implements filestore.Blobs.
func (s *Store) Reserve(ctx context.Context, b filestore.Blob, until time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := insertBlob(ctx, tx, b, sqldb.MS(until)); err != nil {
			return err
		}
		return putExtents(ctx, tx, b)
	})
}

// RenewBlob implements filestore.Blobs.
func (s *Store) RenewBlob(ctx context.Context, id string, until time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `UPDATE filestore_blobs SET at_ms = $1 WHERE id = $2 AND state = 0`, sqldb.MS(until), id)
		return err
	})
}

// Abandon implements filestore.Blobs.
func (s *Store) Abandon(ctx context.Context, id string, now time.Time) error {
	return s.db.Write(diskroom.Freeing(ctx), func(ctx context.Context, tx sqldb.Querier) error {
		return abandon(ctx, tx, id, now)
	})
}

func abandon(ctx context.Context, tx sqldb.Querier, id string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE filestore_blobs SET state = 2, wrapped_key = NULL, at_ms = $1 WHERE id = $2 AND state = 0`, sqldb.MS(now), id)
	return err
}

const blobFields = `SELECT b.id, b.ns, b.state, b.wrapped_key, b.size, b.leaves FROM filestore_blobs b WHERE `

func scanBlob(r scanner) (filestore.Blob, error) {
	var b filestore.Blob
	var state int64
	err := r.Scan(&b.ID, &b.Namespace, &state, &b.WrappedKey, &b.Size, &b.Leaves)
	b.State = filestore.BlobState(state)
	return b, absent(err, "content")
}

func scanExtent(r scanner) (filestore.Extent, error) {
	var e filestore.Extent
	err := r.Scan(&e.Seq, &e.Object, &e.Inline, &e.Header, &e.Size, &e.Sealed)
	return e, err
}

// Blob implements filestore.Blobs: one statement, since every read of content
// begins with it.
func (s *Store) Blob(ctx context.Context, id string) (filestore.Blob, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT b.id, b.ns, b.state, b.wrapped_key, b.size, b.leaves,
		e.seq, e.object, e.inline, e.header, e.size, e.sealed
		FROM filestore_blobs b LEFT JOIN filestore_extents e ON e.blob_id = b.id WHERE b.id = $1 ORDER BY e.seq`, id)
	if err != nil {
		return filestore.Blob{}, err
	}
	defer func() { _ = rows.Close() }()
	var b filestore.Blob
	for rows.Next() {
		var state int64
		var seq, size, sealed sql.NullInt64
		var object sql.NullString
		var e filestore.Extent
		if err := rows.Scan(&b.ID, &b.Namespace, &state, &b.WrappedKey, &b.Size, &b.Leaves, &seq, &object, &e.Inline,
			&e.Header, &size, &sealed); err != nil {
			return filestore.Blob{}, err
		}
		b.State = filestore.BlobState(state)
		if seq.Valid {
			e.Seq, e.Object, e.Size, e.Sealed = int(seq.Int64), object.String, size.Int64, sealed.Int64
			b.Extents = append(b.Extents, e)
		}
	}
	if err := rows.Err(); err != nil {
		return filestore.Blob{}, err
	}
	if b.ID == "" {
		return filestore.Blob{}, fault.New(fault.NotFound, "no such content")
	}
	return b, nil
}

func (s *Store) withExtents(ctx context.Context, b filestore.Blob) (filestore.Blob, error) {
	var err error
	b.Extents, err = collect(ctx, s.db.Read(),
		scoped.New(`SELECT e.seq, e.object, e.inline, e.header, e.size, e.sealed FROM filestore_extents e WHERE `).Add("e.blob_id = ? ORDER BY e.seq", b.ID), scanExtent)
	return b, err
}

// Namespace implements filestore.Blobs.
func (s *Store) Namespace(ctx context.Context, name string) (filestore.Namespace, error) {
	return one(ctx, s.db.Read(), scoped.New(namespaceFields).Add("n.ns = ?", name), scanNamespace)
}

const namespaceFields = `SELECT n.ns, n.wrapped_key, n.master_id, n.index_key, n.keep_versions FROM filestore_namespaces n WHERE `

func scanNamespace(r scanner) (filestore.Namespace, error) {
	var n filestore.Namespace
	err := r.Scan(&n.Name, &n.WrappedKey, &n.MasterID, &n.IndexKey, &n.KeepVersions)
	return n, absent(err, "namespace")
}

// CreateNamespace implements filestore.Blobs.
func (s *Store) CreateNamespace(ctx context.Context, n filestore.Namespace,
	now time.Time,
) (filestore.Namespace, error) {
	var stored filestore.Namespace
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO filestore_namespaces (ns, wrapped_key, master_id, index_key, keep_versions, created_ms)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (ns) DO NOTHING`,
			n.Name, n.WrappedKey, n.MasterID, n.IndexKey, n.KeepVersions, sqldb.MS(now))
		if err != nil {
			return err
		}
		stored, err = one(ctx, tx, scoped.New(namespaceFields).Add("n.ns = ?", n.Name), scanNamespace)
		return err
	})
	return stored, err
}
