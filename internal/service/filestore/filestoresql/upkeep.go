package filestoresql

import (
	"context"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/diskroom"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

// ExpirePending implements filestore.Upkeep. SQLite takes a partial index only for
// a query that repeats its condition, here and in DeadBlobs.
func (s *Store) ExpirePending(ctx context.Context, now time.Time, limit int) (int, error) {
	return s.count(ctx, `UPDATE filestore_blobs SET state = 2, wrapped_key = NULL, at_ms = $1 WHERE id IN
		(SELECT id FROM filestore_blobs WHERE state = 0 AND state <> 1 AND at_ms < $2 ORDER BY at_ms LIMIT $3) AND state = 0`, sqldb.MS(now), sqldb.MS(now), limit)
}

// ExpireOnce implements filestore.Upkeep.
func (s *Store) ExpireOnce(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.count(ctx, `DELETE FROM filestore_once WHERE (ns, key) IN
		(SELECT ns, key FROM filestore_once WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)`, sqldb.MS(before), limit)
}

// count runs a statement that makes room.
func (s *Store) count(ctx context.Context, text string, args ...any) (int, error) {
	var n int64
	err := s.db.Write(diskroom.Freeing(ctx), func(ctx context.Context, tx sqldb.Querier) error {
		r, err := tx.ExecContext(ctx, text, args...)
		if err != nil {
			return err
		}
		n, err = r.RowsAffected()
		return err
	})
	return int(n), err
}

// ExpiredUploads implements filestore.Upkeep.
func (s *Store) ExpiredUploads(ctx context.Context, now time.Time, limit int) ([]filestore.Upload, error) {
	return collect(ctx, s.db.Read(), scoped.New(`SELECT id, blob_id FROM filestore_uploads WHERE `).Add("expires_ms < ? ORDER BY expires_ms LIMIT ?", sqldb.MS(now), limit),
		func(r scanner) (u filestore.Upload, err error) { return u, r.Scan(&u.ID, &u.Blob) })
}

// Uploading implements filestore.Upkeep.
func (s *Store) Uploading(ctx context.Context, blob string) (bool, error) {
	var n int
	err := s.db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM filestore_uploads WHERE blob_id = $1`, blob).Scan(&n)
	return n > 0, err
}

// DeadBlobs implements filestore.Upkeep.
func (s *Store) DeadBlobs(ctx context.Context, before time.Time, limit int) ([]filestore.Blob, error) {
	return s.blobs(ctx, scoped.New(blobFields).Add("b.state = 2 AND b.state <> 1 AND b.at_ms < ? ORDER BY b.at_ms LIMIT ?", sqldb.MS(before), limit))
}

// BlobsAfter implements filestore.Upkeep.
func (s *Store) BlobsAfter(ctx context.Context, id string, limit int) ([]filestore.Blob, error) {
	return s.blobs(ctx, scoped.New(blobFields).Add("b.id > ? ORDER BY b.id LIMIT ?", id, limit))
}

func (s *Store) blobs(ctx context.Context, q *scoped.Query) ([]filestore.Blob, error) {
	all, err := collect(ctx, s.db.Read(), q, scanBlob)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i], err = s.withExtents(ctx, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ForgetBlob implements filestore.Upkeep.
func (s *Store) ForgetBlob(ctx context.Context, id string) error {
	return s.db.Write(diskroom.Freeing(ctx), func(ctx context.Context, tx sqldb.Querier) error {
		for _, text := range []string{
			`DELETE FROM filestore_extents WHERE blob_id = $1 AND EXISTS (SELECT 1 FROM filestore_blobs b WHERE b.id = blob_id AND b.state = 2)`,
			`DELETE FROM filestore_blocks WHERE blob_id = $1 AND EXISTS (SELECT 1 FROM filestore_blobs b WHERE b.id = blob_id AND b.state = 2)`,
			`DELETE FROM filestore_block_sets WHERE blob_id = $1 AND EXISTS (SELECT 1 FROM filestore_blobs b WHERE b.id = blob_id AND b.state = 2)`,
			`DELETE FROM filestore_blobs WHERE id = $1 AND state = 2`,
		} {
			if _, err := tx.ExecContext(ctx, text, id); err != nil {
				return fmt.Errorf("forget content: %w", err)
			}
		}
		return nil
	})
}

// ExpiredTrash implements filestore.Upkeep.
func (s *Store) ExpiredTrash(ctx context.Context, before time.Time, limit int) ([]filestore.File, error) {
	q := scoped.New(fileFields).Add("f.trashed_ms <> 0 AND f.trashed_ms < ? ORDER BY f.trashed_ms LIMIT ?", sqldb.MS(before), limit)
	return collect(ctx, s.db.Read(), q, scanFile)
}

// VersionsOf implements filestore.Upkeep.
func (s *Store) VersionsOf(ctx context.Context, blob string) ([]filestore.Version, error) {
	return collect(ctx, s.db.Read(), scoped.New(versionFields+" WHERE ").Add("v.blob_id = ? ORDER BY v.file_id, v.version", blob), scanVersion)
}

// FilePath implements filestore.Upkeep.
func (s *Store) FilePath(ctx context.Context, id string) (ns, path string, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT ns, path FROM filestore_files WHERE id = $1`, id).Scan(&ns, &path)
	return ns, path, absent(err, "file")
}

// NamespacesAfter implements filestore.Upkeep.
func (s *Store) NamespacesAfter(ctx context.Context, name string, limit int) ([]filestore.Namespace, error) {
	return collect(ctx, s.db.Read(), scoped.New(namespaceFields).Add("n.ns > ? ORDER BY n.ns LIMIT ?", name, limit), scanNamespace)
}

// MasterKeys names the master keys that namespaces are under.
func (s *Store) MasterKeys(ctx context.Context) ([]string, error) {
	return sqldb.Strings(ctx, s.db.Read(), `SELECT DISTINCT master_id FROM filestore_namespaces`)
}

// Rewrap implements filestore.Upkeep.
func (s *Store) Rewrap(ctx context.Context, n filestore.Namespace, from string) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		r, err := tx.ExecContext(ctx, `UPDATE filestore_namespaces SET wrapped_key = $1, master_id = $2 WHERE ns = $3 AND master_id = $4`,
			n.WrappedKey, n.MasterID, n.Name, from)
		return affectedOne(r, err, fault.New(fault.Conflict, "the namespace was wrapped meanwhile"))
	})
}
