package filestoresql

import (
	"context"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

const fileFields = `SELECT f.id, f.ns, f.path, f.hidden, f.version, f.blob_id, f.cid, f.hash, f.size, f.mime, f.public_id,
 f.created_ms, f.updated_ms, f.trashed_ms FROM filestore_files f WHERE `

func scanFile(r scanner) (filestore.File, error) {
	var f filestore.File
	var hidden, created, updated, trashed int64
	err := r.Scan(&f.ID, &f.Namespace, &f.Path, &hidden, &f.Version, &f.Blob, &f.CID, &f.Hash, &f.Size, &f.MimeType,
		&f.PublicID,
		&created, &updated, &trashed)
	f.Name = vfspath.BaseName(f.Path)
	f.Hidden = hidden != 0
	f.Created, f.Updated = sqldb.Time(created), sqldb.Time(updated)
	if trashed != 0 {
		f.Trashed = sqldb.Time(trashed)
	}
	return f, absent(err, "file")
}

// FileByPath implements filestore.Records.
func (s *Store) FileByPath(ctx context.Context, scope filestore.Scope, path string) (filestore.File, error) {
	q := newQuery(fileFields).scope(scope, fileColumns).add(" AND f.trashed_ms = 0 AND f.path = ?", path)
	return one(ctx, s.db.Read(), q, scanFile)
}

// FileByID implements filestore.Records.
func (s *Store) FileByID(ctx context.Context, scope filestore.Scope, id string) (filestore.File, error) {
	return one(ctx, s.db.Read(), byID(scope, id, false), scanFile)
}

// TrashedByID implements filestore.Records.
func (s *Store) TrashedByID(ctx context.Context, scope filestore.Scope, id string) (filestore.File, error) {
	return one(ctx, s.db.Read(), byID(scope, id, true), scanFile)
}

func byID(scope filestore.Scope, id string, trashed bool) *query {
	q := newQuery(fileFields).add("f.id = ? AND ", id).scope(scope, fileColumns)
	if trashed {
		return q.add(" AND f.trashed_ms <> 0")
	}
	return q.add(" AND f.trashed_ms = 0")
}

// FileByCID implements filestore.Records.
func (s *Store) FileByCID(ctx context.Context, scope filestore.Scope, cid string) (filestore.File, error) {
	scope.Limited = false // the caller has checked membership; the look-up is by this CID alone
	q := newQuery(fileFields).scope(scope, fileColumns).add(" AND f.trashed_ms = 0 AND f.cid = ? ORDER BY f.path LIMIT 1", cid)
	return one(ctx, s.db.Read(), q, scanFile)
}

// PublicFile implements filestore.Records.
func (s *Store) PublicFile(ctx context.Context, publicID string) (filestore.File, error) {
	q := newQuery(fileFields).add("f.public_id = ? AND f.public_id <> '' AND f.trashed_ms = 0", publicID)
	return one(ctx, s.db.Read(), q, scanFile)
}

// Files implements filestore.Records.
func (s *Store) Files(ctx context.Context, scope filestore.Scope, l filestore.ListQuery) ([]filestore.File, error) {
	q := newQuery(fileFields).scope(scope, fileColumns).add(" AND f.trashed_ms = 0")
	if l.Under != "" && l.Under != "/" {
		q.add(" AND ")
		q.under("f.path", vfspath.Root(l.Under))
	}
	if l.Prefix != "" {
		q.add(" AND f.path >= ?", max(l.Prefix, l.From))
		if end := beyond(l.Prefix); end != "" {
			q.add(" AND f.path < ?", end)
		}
	} else if l.From != "" {
		q.add(" AND f.path >= ?", l.From)
	}
	if l.After != "" {
		q.add(" AND f.path > ?", l.After)
	}
	q.add(" ORDER BY f.path LIMIT ? OFFSET ?", l.Limit, l.Offset)
	return collect(ctx, s.db.Read(), q, scanFile)
}

// CountFiles implements filestore.Records. Counting everything reads the
// counter, so that it does not depend on how much there is.
func (s *Store) CountFiles(ctx context.Context, scope filestore.Scope) (int64, error) {
	var n int64
	if whole(scope) {
		err := s.db.Read().QueryRowContext(ctx, `SELECT COALESCE(SUM(files), 0) FROM filestore_usage WHERE ns = $1`, scope.Namespace).Scan(&n)
		return n, err
	}
	q := newQuery("SELECT COUNT(*) FROM filestore_files f WHERE ").scope(scope, fileColumns).add(" AND f.trashed_ms = 0")
	err := s.db.Read().QueryRowContext(ctx, q.text(), q.args...).Scan(&n)
	return n, err
}

func whole(s filestore.Scope) bool {
	return !s.Limited && slices.ContainsFunc(s.Areas, vfspath.Area.IsWhole)
}

// Trash implements filestore.Records.
func (s *Store) Trash(ctx context.Context, scope filestore.Scope, limit, offset int) ([]filestore.File, error) {
	q := newQuery(fileFields).scope(scope, fileColumns).
		add(" AND f.trashed_ms <> 0 ORDER BY f.trashed_ms DESC, f.id LIMIT ? OFFSET ?", limit, offset)
	return collect(ctx, s.db.Read(), q, scanFile)
}

const versionFields = `SELECT v.file_id, v.version, v.blob_id, v.cid, v.hash, v.size, v.mime, v.created_ms, v.invoker, v.actor FROM filestore_versions v`

func scanVersion(r scanner) (filestore.Version, error) {
	var v filestore.Version
	var created int64
	err := r.Scan(&v.FileID, &v.Number, &v.Blob, &v.CID, &v.Hash, &v.Size, &v.MimeType, &created, &v.Invoker, &v.Actor)
	v.Created = sqldb.Time(created)
	return v, absent(err, "version")
}

// Versions implements filestore.Records.
func (s *Store) Versions(ctx context.Context, scope filestore.Scope, fileID string) ([]filestore.Version, error) {
	var all []filestore.Version
	err := s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := one(ctx, tx, byID(scope, fileID, false), scanFile); err != nil {
			return err
		}
		var err error
		all, err = collect(ctx, tx, newQuery(versionFields+" WHERE ").add("v.file_id = ? ORDER BY v.version DESC", fileID), scanVersion)
		return err
	})
	return all, err
}

// Version implements filestore.Records.
func (s *Store) Version(ctx context.Context, scope filestore.Scope, fileID string,
	number int64,
) (filestore.Version, error) {
	q := newQuery(versionFields+" JOIN filestore_files f ON f.id = v.file_id WHERE ").
		add("v.file_id = ? AND v.version = ? AND f.trashed_ms = 0 AND ", fileID, number).scope(scope, fileColumns)
	return one(ctx, s.db.Read(), q, scanVersion)
}
