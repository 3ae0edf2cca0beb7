package filestoresql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

var fileColumns = scoped.Columns{NS: "f.ns", Path: "f.path", Hidden: "f.hidden", CID: "f.cid"}

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
	q := scoped.New(fileFields).Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0 AND f.path = ?", path)
	return one(ctx, s.db.Read(), q, scanFile)
}

// FileByID implements filestore.Records.
func (s *Store) FileByID(ctx context.Context, scope filestore.Scope, id string) (filestore.File, error) {
	return one(ctx, s.db.Read(), byID(scope, id, false), scanFile)
}

// A file with its content: what the file and its blob both have is read once.
const (
	readingFields = `SELECT f.id, f.path, f.hidden, f.version, f.blob_id, f.cid, f.hash, f.size, f.mime, f.public_id, f.created_ms, f.updated_ms,
 b.ns, b.state, b.wrapped_key, COALESCE(e.seq, -1), COALESCE(e.object, ''), e.inline, e.header, COALESCE(e.size, 0), COALESCE(e.sealed, 0)`
	readingMark  = `, COALESCE(m.modified_ms, 0), COALESCE(m.sha1, ''), COALESCE(m.md5, '')`
	readingFrom  = ` FROM filestore_files f JOIN filestore_blobs b ON b.id = f.blob_id LEFT JOIN filestore_extents e ON e.blob_id = b.id`
	readingMarks = ` LEFT JOIN filestore_marks m ON m.file_id = f.id AND m.version = f.version`
)

// Reading implements filestore.Records: a row for each extent.
func (s *Store) Reading(ctx context.Context, scope filestore.Scope, w filestore.Wanted) (filestore.Reading, error) {
	q := scoped.New(readingFields)
	if w.Mark {
		q.Add(readingMark + readingFrom + readingMarks)
	} else {
		q.Add(readingFrom)
	}
	if w.FileID != "" {
		q.Add(" WHERE f.id = ? AND ", w.FileID).Scope(scope, fileColumns)
	} else {
		q.Add(" WHERE f.path = ? AND ", w.Path).Scope(scope, fileColumns)
	}
	rows, err := s.db.Read().QueryContext(s.db.Brief(ctx), q.Add(" AND f.trashed_ms = 0 ORDER BY e.seq").Text(), q.Args...)
	if err != nil {
		return filestore.Reading{}, err
	}
	defer func() { _ = rows.Close() }()
	r := filestore.Reading{File: filestore.File{Namespace: scope.Namespace}}
	for rows.Next() {
		if err := scanReading(rows, &r, w.Mark); err != nil {
			return filestore.Reading{}, err
		}
	}
	if err := rows.Err(); err != nil {
		return filestore.Reading{}, err
	}
	if r.File.ID == "" {
		return filestore.Reading{}, absent(sql.ErrNoRows, "file")
	}
	return r, nil
}

// scanReading adds a row to what is known. Each column costs as much as the row does: what is
// known is not asked for.
func scanReading(row scanner, r *filestore.Reading, mark bool) error {
	f, b := &r.File, &r.Blob
	var e filestore.Extent
	var hidden, created, updated, state, modified int64
	to := append(make([]any, 0, 24), &f.ID, &f.Path, &hidden, &f.Version, &f.Blob, &f.CID, &f.Hash, &f.Size,
		&f.MimeType, &f.PublicID, &created, &updated,
		&b.Namespace, &state, &b.WrappedKey, &e.Seq, &e.Object, (*kept)(&e.Inline), &e.Header, &e.Size, &e.Sealed)
	if mark {
		to = append(to, &modified, &r.Mark.SHA1, &r.Mark.MD5)
	}
	if err := row.Scan(to...); err != nil {
		return err
	}
	f.Name, f.Hidden = vfspath.BaseName(f.Path), hidden != 0
	f.Created, f.Updated = sqldb.Time(created), sqldb.Time(updated)
	b.ID, b.State = f.Blob, filestore.BlobState(state)
	if modified != 0 {
		r.Mark.Modified = sqldb.Time(modified)
	}
	if e.Seq >= 0 {
		b.Extents = append(b.Extents, e)
	}
	return nil
}

// kept is a blob as the driver made it. database/sql copies blobs, since a driver may use its
// memory again; ours make new ones for each row.
type kept []byte

// Scan implements sql.Scanner.
func (k *kept) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*k = nil
	case []byte:
		*k = v
	default:
		return fmt.Errorf("a blob is a %T", src)
	}
	return nil
}

// TrashedByID implements filestore.Records.
func (s *Store) TrashedByID(ctx context.Context, scope filestore.Scope, id string) (filestore.File, error) {
	return one(ctx, s.db.Read(), byID(scope, id, true), scanFile)
}

func byID(scope filestore.Scope, id string, trashed bool) *scoped.Query {
	q := scoped.New(fileFields).Add("f.id = ? AND ", id).Scope(scope, fileColumns)
	if trashed {
		return q.Add(" AND f.trashed_ms <> 0")
	}
	return q.Add(" AND f.trashed_ms = 0")
}

// FileByCID implements filestore.Records.
func (s *Store) FileByCID(ctx context.Context, scope filestore.Scope, cid string) (filestore.File, error) {
	scope.Limited = false // the caller has checked membership; the look-up is by this CID alone
	q := scoped.New(fileFields).Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0 AND f.cid = ? ORDER BY f.path LIMIT 1", cid)
	return one(ctx, s.db.Read(), q, scanFile)
}

// PublicFile implements filestore.Records.
func (s *Store) PublicFile(ctx context.Context, publicID string) (filestore.File, error) {
	q := scoped.New(fileFields).Add("f.public_id = ? AND f.public_id <> '' AND f.trashed_ms = 0", publicID)
	return one(ctx, s.db.Read(), q, scanFile)
}

// Files implements filestore.Records.
func (s *Store) Files(ctx context.Context, scope filestore.Scope, l filestore.ListQuery) ([]filestore.File, error) {
	q := scoped.New(fileFields).Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0")
	if l.Under != "" && l.Under != "/" {
		q.Add(" AND ")
		q.Under("f.path", vfspath.Root(l.Under))
	}
	if l.Prefix != "" {
		q.Add(" AND f.path >= ?", max(l.Prefix, l.From))
		if end := beyond(l.Prefix); end != "" {
			q.Add(" AND f.path < ?", end)
		}
	} else if l.From != "" {
		q.Add(" AND f.path >= ?", l.From)
	}
	if l.After != "" {
		q.Add(" AND f.path > ?", l.After)
	}
	q.Add(" ORDER BY f.path LIMIT ? OFFSET ?", l.Limit, l.Offset)
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
	q := scoped.New("SELECT COUNT(*) FROM filestore_files f WHERE ").Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0")
	err := s.db.Read().QueryRowContext(ctx, q.Text(), q.Args...).Scan(&n)
	return n, err
}

func whole(s filestore.Scope) bool {
	return !s.Limited && slices.ContainsFunc(s.Areas, vfspath.Area.IsWhole)
}

// Trash implements filestore.Records.
func (s *Store) Trash(ctx context.Context, scope filestore.Scope, limit, offset int) ([]filestore.File, error) {
	q := scoped.New(fileFields).Scope(scope, fileColumns).
		Add(" AND f.trashed_ms <> 0 ORDER BY f.trashed_ms DESC, f.id LIMIT ? OFFSET ?", limit, offset)
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
		all, err = collect(ctx, tx, scoped.New(versionFields+" WHERE ").Add("v.file_id = ? ORDER BY v.version DESC", fileID), scanVersion)
		return err
	})
	return all, err
}

// Version implements filestore.Records.
func (s *Store) Version(ctx context.Context, scope filestore.Scope, fileID string,
	number int64,
) (filestore.Version, error) {
	q := scoped.New(versionFields+" JOIN filestore_files f ON f.id = v.file_id WHERE ").
		Add("v.file_id = ? AND v.version = ? AND f.trashed_ms = 0 AND ", fileID, number).Scope(scope, fileColumns)
	return one(ctx, s.db.Read(), q, scanVersion)
}
