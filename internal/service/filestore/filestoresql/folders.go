package filestoresql

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/diskroom"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/bulk"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/marks"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

var _ folder.Store = (*Store)(nil)

const folderFields = `SELECT d.path, d.id, d.created_ms FROM filestore_folders d WHERE `

var folderColumns = scoped.Columns{NS: "d.ns", Path: "d.path", Hidden: "d.hidden", CID: ""}

func scanFolder(r scanner) (folder.Folder, error) {
	var f folder.Folder
	var created int64
	err := r.Scan(&f.Path, &f.ID, &created)
	f.Created = sqldb.Time(created)
	return f, absent(err, "folder")
}

// The columns of both are alike, so that one query lists them in one order.
const (
	entryFiles = `SELECT f.path, f.id, f.ns, f.hidden, f.version, f.blob_id, f.cid, f.hash, f.size, f.mime, f.public_id, f.created_ms, f.updated_ms,
 COALESCE(m.modified_ms, 0) AS modified_ms, COALESCE(m.sha1, '') AS sha1, COALESCE(m.md5, '') AS md5
 FROM filestore_files f LEFT JOIN filestore_marks m ON m.file_id = f.id AND m.version = f.version WHERE `
	entryFolders = `SELECT d.path || '/' AS path, d.id, d.ns, d.hidden, 0, '', '', '', 0, '', '', d.created_ms, 0, 0, '', '' FROM filestore_folders d WHERE `
)

// Entries implements folder.Store.
func (s *Store) Entries(ctx context.Context, scope filestore.Scope, l folder.EntryQuery) ([]folder.Entry, error) {
	end := beyond(l.Prefix)
	q := scoped.New("SELECT * FROM ("+entryFiles).Scope(scope, fileColumns).
		Add(" AND f.trashed_ms = 0 AND f.path >= ? AND f.path < ? ORDER BY f.path LIMIT ?) AS files UNION ALL SELECT * FROM ("+entryFolders, l.From, end, l.Limit).
		Scope(scope, folderColumns).
		Add(" AND d.path >= ? AND d.path < ? AND d.path || '/' >= ? ORDER BY d.path || '/' LIMIT ?) AS folders ORDER BY 1 LIMIT ?", l.Prefix, end, l.From, l.Limit, l.Limit)
	room := l.Room
	return collectSome(ctx, s.db.Read(), q, scanEntry, func(e folder.Entry) bool {
		room -= len(e.Path)
		return room > 0
	})
}

func scanEntry(r scanner) (folder.Entry, error) {
	var e folder.Entry
	var id, ns string
	var hidden, created, updated, modified int64
	f := &e.File
	err := r.Scan(&e.Path, &id, &ns, &hidden, &f.Version, &f.Blob, &f.CID, &f.Hash, &f.Size, &f.MimeType, &f.PublicID,
		&created, &updated,
		&modified, &e.Mark.SHA1, &e.Mark.MD5)
	if err != nil {
		return e, err
	}
	if path := e.Path[:len(e.Path)-1]; path+"/" == e.Path {
		e.Folder = folder.Folder{Path: path, ID: id, Created: sqldb.Time(created)}
		return e, nil
	}
	f.ID, f.Namespace, f.Path, f.Name, f.Hidden = id, ns, e.Path, vfspath.BaseName(e.Path), hidden != 0
	f.Created, f.Updated = sqldb.Time(created), sqldb.Time(updated)
	if modified != 0 {
		e.Mark.Modified = sqldb.Time(modified)
	}
	return e, nil
}

// FileAt implements folder.Store.
func (s *Store) FileAt(ctx context.Context, scope filestore.Scope, path string) (folder.Entry, error) {
	e, err := one(ctx, s.db.Read(), scoped.New(entryFiles).Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0 AND f.path = ?", path), scanEntry)
	return e, absent(err, "file")
}

// FolderAt implements folder.Store.
func (s *Store) FolderAt(ctx context.Context, scope filestore.Scope, path string) (folder.Folder, error) {
	f, err := one(ctx, s.db.Read(), scoped.New(folderFields).Scope(scope, folderColumns).Add(" AND d.path = ?", path), scanFolder)
	if !fault.Is(err, fault.NotFound) {
		return f, err
	}
	below := vfspath.Below(path)
	q := scoped.New("SELECT 1 FROM (SELECT 1 FROM filestore_files f WHERE ").Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0 AND ").Under("f.path", below).
		Add(" LIMIT 1) AS a UNION ALL SELECT 1 FROM (SELECT 1 FROM filestore_folders d WHERE ").Scope(scope, folderColumns).Add(" AND ").Under("d.path", below).
		Add(" LIMIT 1) AS b LIMIT 1")
	var any int
	if err := s.db.Read().QueryRowContext(ctx, q.Text(), q.Args...).Scan(&any); err != nil {
		return folder.Folder{}, absent(err, "folder")
	}
	return folder.Folder{Path: path}, nil
}

// MadeFolders implements folder.Store.
func (s *Store) MadeFolders(ctx context.Context, scope filestore.Scope, l folder.MadeQuery) ([]folder.Folder, error) {
	q := scoped.New(folderFields).Scope(scope, folderColumns)
	if l.Under != "/" {
		q.Add(" AND d.path >= ? AND d.path < ? AND ", l.Under, l.Under+"0").Under("d.path", vfspath.Root(l.Under))
	}
	q.Add(" AND d.path > ? ORDER BY d.path LIMIT ?", l.After, l.Limit)
	return collect(ctx, s.db.Read(), q, scanFolder)
}

// MakeFolder implements folder.Store.
func (s *Store) MakeFolder(ctx context.Context, m folder.Making) (f folder.Folder, created bool, err error) {
	ns := m.Scope.Namespace
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := s.heedLocks(ctx, tx, m.Change); err != nil {
			return err
		}
		f, err = one(ctx, tx, scoped.New(folderFields).Add("d.ns = ? AND d.path = ?", ns, m.Path), scanFolder)
		if created = fault.Is(err, fault.NotFound); !created {
			return err
		}
		if err := folderNameIsFree(ctx, tx, ns, m.Path); err != nil {
			return err
		}
		f = folder.Folder{Path: m.Path, ID: m.ID, Created: m.Now}
		return makeFolders(ctx, tx, ns, []folder.Folder{f})
	})
	return f, created, err
}

// makeFolders adds folders, if the namespace may have so many.
func makeFolders(ctx context.Context, tx sqldb.Querier, ns string, fresh []folder.Folder) error {
	if len(fresh) == 0 {
		return nil
	}
	var made int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM filestore_folders WHERE ns = $1`, ns).Scan(&made); err != nil {
		return fmt.Errorf("count folders: %w", err)
	}
	if made+len(fresh) > folder.MaxMade {
		return fault.Newf(fault.Conflict, "a namespace has at most %d folders that were made", folder.MaxMade).WithCode("too_many_folders")
	}
	return insertFolders(ctx, tx, ns, fresh)
}

func insertFolders(ctx context.Context, tx sqldb.Querier, ns string, made []folder.Folder) error {
	err := bulk.Insert(ctx, tx, "filestore_folders (ns, path, hidden, id, created_ms)", len(made), func(i int) []any {
		f := made[i]
		return []any{ns, f.Path, flag(vfspath.IsHidden(f.Path)), f.ID, sqldb.MS(f.Created)}
	})
	if err != nil {
		return fmt.Errorf("make folders: %w", err)
	}
	return nil
}

// subtree is what a scope reaches of a folder: the files below it, and the folders
// that were made, with itself.
type subtree struct {
	files   []filestore.File
	folders []folder.Folder
}

func (t subtree) count() int { return len(t.files) + len(t.folders) }

// noted is about what the feed takes when the files come from one folder to another.
func (t subtree) noted(from, to string) (bytes int64) {
	for _, f := range t.files {
		bytes += folder.NoteOf(f.Path, to) + int64(len(f.Path)-len(from))
	}
	return bytes
}

func (s *Store) readSubtree(ctx context.Context, tx sqldb.Querier, scope filestore.Scope,
	root string,
) (t subtree, err error) {
	q := scoped.New(fileFields).Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0 AND ").Under("f.path", vfspath.Below(root)).
		Add(" ORDER BY f.path LIMIT ?", folder.MaxEntries+1)
	if t.files, err = collect(ctx, tx, q, scanFile); err != nil {
		return t, err
	}
	q = scoped.New(folderFields).Scope(scope, folderColumns).Add(" AND ").Under("d.path",
		vfspath.Root(root)).Add(" ORDER BY d.path LIMIT ?", folder.MaxEntries+1)
	if t.folders, err = collect(ctx, tx, q, scanFolder); err != nil {
		return t, err
	}
	if max(len(t.files), len(t.folders)) > folder.MaxEntries {
		return t, fault.Newf(fault.Conflict, "a folder with more than %d files is too large for one act: do it for the folders in it", folder.MaxEntries).WithCode("folder_too_large")
	}
	return t, nil
}

// mustSubtree is readSubtree of a folder that has to be there.
func (s *Store) mustSubtree(ctx context.Context, tx sqldb.Querier, scope filestore.Scope,
	root string,
) (subtree, error) {
	t, err := s.readSubtree(ctx, tx, scope, root)
	if err == nil && t.count() == 0 {
		err = fault.New(fault.NotFound, "no such folder")
	}
	return t, err
}

// dropFolders forgets folders that were made.
func dropFolders(ctx context.Context, tx sqldb.Querier, ns string, made []folder.Folder) error {
	for from := 0; from < len(made); from += bulk.Step {
		var ids []string
		for _, f := range made[from:min(from+bulk.Step, len(made))] {
			ids = append(ids, f.ID)
		}
		q := scoped.New("DELETE FROM filestore_folders WHERE ").Add("ns = ?", ns)
		q.In("id", ids)
		if _, err := tx.ExecContext(ctx, q.Text(), q.Args...); err != nil {
			return fmt.Errorf("forget folders: %w", err)
		}
	}
	return nil
}

// TrashFolder implements folder.Store.
func (s *Store) TrashFolder(ctx context.Context, c filestore.Change, path string) (filestore.Receipt, error) {
	return s.change(diskroom.Freeing(ctx), c, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		t, err := s.mustSubtree(ctx, tx, c.Scope, path)
		if err != nil {
			return filestore.Receipt{}, err
		}
		seq, err := s.trashSubtree(ctx, tx, c, t)
		return filestore.Receipt{Seq: seq, Count: t.count(), Noted: t.noted("", "")}, err
	})
}

// DropFolder implements folder.Store.
func (s *Store) DropFolder(ctx context.Context, c filestore.Change, path string) (filestore.Receipt, error) {
	return s.change(diskroom.Freeing(ctx), c, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		t, err := s.mustSubtree(ctx, tx, c.Scope, path)
		if err != nil {
			return filestore.Receipt{}, err
		}
		if t.count() > 1 || len(t.folders) == 0 || t.folders[0].Path != path {
			return filestore.Receipt{}, fault.New(fault.Conflict, "the folder is not empty").WithCode("folder_not_empty")
		}
		seq, err := s.trashSubtree(ctx, tx, c, t)
		return filestore.Receipt{Seq: seq, Count: 1}, err
	})
}

// trashSubtree puts files into the trash and forgets folders.
func (s *Store) trashSubtree(ctx context.Context, tx sqldb.Querier, c filestore.Change, t subtree) (int64, error) {
	ns := c.Scope.Namespace
	if err := dropFolders(ctx, tx, ns, t.folders); err != nil {
		return 0, err
	}
	made := make([]string, len(t.folders)) // files have theirs in the trash still
	for i, f := range t.folders {
		made[i] = f.ID
	}
	if err := marks.Drop(ctx, tx, ns, made...); err != nil {
		return 0, err
	}
	var d delta
	events := make([]filestore.Event, 0, len(t.files))
	for from := 0; from < len(t.files); from += bulk.Step {
		var ids []string
		for _, f := range t.files[from:min(from+bulk.Step, len(t.files))] {
			ids = append(ids, f.ID)
			d.files, d.bytes, d.trashFiles, d.trashBytes = d.files-1, d.bytes-f.Size, d.trashFiles+1, d.trashBytes+f.Size
			events = append(events, eventOf(c, f, filestore.OpTrash, ""))
		}
		q := scoped.New("UPDATE filestore_files SET ").Add("trashed_ms = ?, public_id = '' WHERE ns = ?", sqldb.MS(c.Now), ns)
		q.In("id", ids)
		if _, err := tx.ExecContext(ctx, q.Text(), q.Args...); err != nil {
			return 0, fmt.Errorf("trash files: %w", err)
		}
	}
	if err := d.apply(ctx, tx, ns, 0); err != nil {
		return 0, err
	}
	return s.recordAll(ctx, tx, ns, events)
}

// eventOf is the event of a change that leaves a file's content as it is.
func eventOf(c filestore.Change, f filestore.File, op filestore.Op, from string) filestore.Event {
	return filestore.Event{
		At: c.Now, Op: op, FileID: f.ID, Path: f.Path, From: from, Version: f.Version, CID: f.CID, Before: f.CID,
		Size: f.Size, MimeType: f.MimeType, By: c.By,
	}
}
