package filestoresql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/diskroom"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

// CreateUpload implements filestore.Uploads.
func (s *Store) CreateUpload(ctx context.Context, u filestore.Upload, b filestore.Blob) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := insertBlob(ctx, tx, b, sqldb.MS(u.Expires)); err != nil {
			return err
		}
		return insertUpload(ctx, tx, u)
	})
}

// KeepJoined implements filestore.Uploads.
func (s *Store) KeepJoined(ctx context.Context, u filestore.Upload) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error { return insertUpload(ctx, tx, u) })
}

func insertUpload(ctx context.Context, tx sqldb.Querier, u filestore.Upload) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO filestore_uploads
		(id, ns, path, hidden, mime, mode, length, offset_bytes, blob_id, state, extents, holder, held_until_ms, expires_ms, concat)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, '', 0, $11, $12) ON CONFLICT (id) DO NOTHING`,
		u.ID, u.Namespace, u.Path, flag(vfspath.IsHidden(u.Path)), u.MimeType, int64(u.Mode), u.Length, u.Offset, u.Blob,
		notNil(u.State), sqldb.MS(u.Expires), concat(u))
	if err != nil {
		return fmt.Errorf("insert upload: %w", err)
	}
	return nil
}

const concatPartial = "partial"

// concat writes what an upload has to do with others.
func concat(u filestore.Upload) string {
	switch {
	case u.Partial:
		return concatPartial
	case len(u.Joined) > 0:
		return "final " + strings.Join(u.Joined, " ")
	}
	return ""
}

// unconcat reads what concat wrote.
func unconcat(u *filestore.Upload, text string) {
	if parts, ok := strings.CutPrefix(text, "final "); ok {
		u.Joined = strings.Fields(parts)
	}
	u.Partial = text == concatPartial
}

// Upload implements filestore.Uploads.
func (s *Store) Upload(ctx context.Context, scope filestore.Scope, id string) (filestore.Upload, error) {
	q := scoped.New(`SELECT u.id, u.ns, u.path, u.mime, u.mode, u.length, u.offset_bytes, u.blob_id, u.state, u.extents, u.expires_ms, u.concat
		FROM filestore_uploads u WHERE `).Add("u.id = ? AND ", id).Scope(scope, scoped.Columns{NS: "u.ns", Path: "u.path", Hidden: "u.hidden", CID: "''"})
	return one(ctx, s.db.Read(), q, func(r scanner) (filestore.Upload, error) {
		var u filestore.Upload
		var mode, expires int64
		var related string
		err := r.Scan(&u.ID, &u.Namespace, &u.Path, &u.MimeType, &mode, &u.Length, &u.Offset, &u.Blob, &u.State, &u.Extents,
			&expires, &related)
		unconcat(&u, related)
		u.Mode, u.Expires = filestore.Mode(mode), sqldb.Time(expires)
		return u, absent(err, "upload")
	})
}

// LockUpload implements filestore.Uploads.
func (s *Store) LockUpload(ctx context.Context, id, holder string, d time.Duration) (bool, error) {
	var won bool
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now, err := s.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, `UPDATE filestore_uploads SET holder = $1, held_until_ms = $2
			WHERE id = $3 AND (holder = $4 OR held_until_ms <= $5)`, holder, sqldb.MS(now.Add(d)), id, holder, sqldb.MS(now))
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		won = n == 1
		return err
	})
	return won, err
}

// UnlockUpload implements filestore.Uploads.
func (s *Store) UnlockUpload(ctx context.Context, id, holder string) error {
	_, err := s.db.WriteOne(ctx, `UPDATE filestore_uploads SET holder = '', held_until_ms = 0
		WHERE id = $1 AND holder = $2`, id, holder)
	return err
}

// AdvanceUpload implements filestore.Uploads. Of those who count a namespace at once, all but one begin again.
func (s *Store) AdvanceUpload(ctx context.Context, u filestore.Upload, holder string, from int64,
	e filestore.Extent, quota int64,
) error {
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if quota > 0 {
			if held, err := uploadBytes(ctx, tx, u.Namespace); err != nil || held+e.Size > quota {
				return cmp.Or(err, error(quotaError(quota)))
			}
		}
		r, err := tx.ExecContext(ctx, `UPDATE filestore_uploads SET offset_bytes = $1, state = $2, extents = $3, expires_ms = $4
			WHERE id = $5 AND holder = $6 AND offset_bytes = $7`,
			u.Offset, u.State, u.Extents, sqldb.MS(u.Expires), u.ID, holder, from)
		if err := affectedOne(r, err, fault.New(fault.Conflict, "the upload went on elsewhere")); err != nil {
			return err
		}
		r, err = tx.ExecContext(ctx, `UPDATE filestore_blobs SET at_ms = $1 WHERE id = $2 AND state = 0`, sqldb.MS(u.Expires), u.Blob)
		if err := affectedOne(r, err, errSwept()); err != nil {
			return err
		}
		return putExtents(ctx, tx, filestore.Blob{ID: u.Blob, Extents: []filestore.Extent{e}})
	})
	if over, ok := errors.AsType[quotaError](err); ok {
		return filestore.PartsOverQuota(int64(over))
	}
	return err
}

// UploadBytes implements filestore.Uploads. Content that became a version is not pending any more.
func (s *Store) UploadBytes(ctx context.Context, ns string) (int64, error) {
	return uploadBytes(ctx, s.db.Read(), ns)
}

func uploadBytes(ctx context.Context, q sqldb.Querier, ns string) (n int64, err error) {
	err = q.QueryRowContext(ctx, `SELECT COALESCE(SUM(u.offset_bytes), 0) FROM filestore_uploads u
		JOIN filestore_blobs b ON b.id = u.blob_id WHERE u.ns = $1 AND b.state = 0`, ns).Scan(&n)
	return n, err
}

// SetUploadLength implements filestore.Uploads.
func (s *Store) SetUploadLength(ctx context.Context, id string, length int64) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `UPDATE filestore_uploads SET length = $1 WHERE id = $2 AND length < 0`, length, id)
		return err
	})
}

// DeleteUpload implements filestore.Uploads. Content that became a version stays.
func (s *Store) DeleteUpload(ctx context.Context, id string, now time.Time) error {
	return s.db.Write(diskroom.Freeing(ctx), func(ctx context.Context, tx sqldb.Querier) error {
		return deleteUpload(ctx, tx, id, now)
	})
}

func deleteUpload(ctx context.Context, tx sqldb.Querier, id string, now time.Time) error {
	var blob string
	row := tx.QueryRowContext(ctx, `DELETE FROM filestore_uploads WHERE id = $1 RETURNING blob_id`, id)
	if err := absent(row.Scan(&blob), "upload"); err != nil {
		return err
	}
	return abandon(ctx, tx, blob, now)
}
