package filestoresql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/bulk"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/marks"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// landing is what is about to come to a destination, and what meets it there.
type landing struct {
	filestore.Change
	to      string
	onto    folder.Onto
	discard filestore.Scope
	files   map[string]bool // the paths that files will have
	folders []folder.Folder // that will be made, unless they are there
	leaving map[string]bool // ids of files and folders that are about to leave their place
}

func newLanding(c filestore.Change, to string, onto folder.Onto, discard filestore.Scope) *landing {
	return &landing{Change: c, to: to, onto: onto, discard: discard, files: map[string]bool{}, leaving: map[string]bool{}}
}

// add tells what comes from a folder. Everything has to be within the scope there too.
func (l *landing) add(t subtree, from string) error {
	for _, f := range t.files {
		path := l.to + f.Path[len(from):]
		if err := l.reach(path); err != nil {
			return err
		}
		l.files[path] = true
	}
	for _, f := range t.folders {
		path := l.to + f.Path[len(from):]
		if err := l.reach(path); err != nil {
			return err
		}
		l.folders = append(l.folders, folder.Folder{Path: path, ID: f.ID, Created: f.Created})
	}
	return nil
}

func (l *landing) reach(path string) error {
	if utf8.RuneCountInString(path) > vfspath.MaxLength {
		return fault.New(fault.Invalid, "a path would be too long: "+path).WithCode("bad_path")
	}
	return l.Scope.Writable(path)
}

// reachAll is a scope for looking at what a caller does not see, but could meet.
func reachAll(ns string) filestore.Scope {
	return filestore.Scope{Namespace: ns, Areas: []vfspath.Area{vfspath.Whole()}}
}

// clear makes room: what has to go is put into the trash, and what cannot stay
// beside what comes is refused. It drops the folders that are there already from
// those to be made.
func (s *Store) clear(ctx context.Context, tx sqldb.Querier, l *landing) (int64, error) {
	ns := l.Scope.Namespace
	there, err := s.readSubtree(ctx, tx, reachAll(ns), l.to)
	if err != nil {
		return 0, err
	}
	file, occupied, err := s.lockFile(ctx, tx, scoped.New(fileFields).Add("f.ns = ? AND f.path = ? AND f.trashed_ms = 0", ns, l.to))
	if err != nil {
		return 0, err
	}
	if occupied {
		there.files = append(there.files, file)
	}
	there.files = slices.DeleteFunc(there.files, func(f filestore.File) bool { return l.leaving[f.ID] })
	there.folders = slices.DeleteFunc(there.folders, func(f folder.Folder) bool { return l.leaving[f.ID] })
	if l.onto == folder.Nothing && there.count() > 0 {
		return 0, fault.New(fault.Conflict, "Destination occupied: "+l.to)
	}
	stay, gone, err := l.sort(there)
	if err != nil {
		return 0, err
	}
	if err := l.fits(stay); err != nil {
		return 0, err
	}
	if err := noFileAbove(ctx, tx, ns, l.to); err != nil {
		return 0, err
	}
	here := map[string]bool{}
	for _, f := range stay.folders {
		here[f.Path] = true
	}
	l.folders = slices.DeleteFunc(l.folders, func(f folder.Folder) bool { return here[f.Path] })
	return s.trashSubtree(ctx, tx, l.Change, gone)
}

// sort says what of the destination stays and what goes.
func (l *landing) sort(there subtree) (stay, gone subtree, err error) {
	for _, f := range there.files {
		meets := l.files[f.Path] || f.Path == l.to
		switch {
		case l.onto == folder.Replace && l.discard.Allows(f.Path), meets && l.onto == folder.Overwrite &&
			l.discard.Allows(f.Path):
			gone.files = append(gone.files, f)
		case meets && l.onto == folder.Overwrite:
			return stay, gone, fault.New(fault.Forbidden, "the token does not reach the destination")
		case meets:
			return stay, gone, fault.New(fault.Conflict, "Destination occupied: "+f.Path).WithField("cid", f.CID).WithField("version", f.Version)
		default:
			stay.files = append(stay.files, f)
		}
	}
	for _, f := range there.folders {
		if l.onto == folder.Replace && l.discard.Allows(f.Path) {
			gone.folders = append(gone.folders, f)
			continue
		}
		stay.folders = append(stay.folders, f)
	}
	return stay, gone, nil
}

// fits fails when a file would get the name of a folder, or would be above or below
// another file.
func (l *landing) fits(stay subtree) error {
	if len(stay.files) == 0 && len(stay.folders) == 0 {
		return nil
	}
	for _, f := range stay.folders {
		if taken := covering(l.files, f.Path); taken != "" {
			return nameTaken(taken, f.Path)
		}
	}
	held := map[string]bool{}
	for _, f := range stay.files {
		held[f.Path] = true
		if taken := covering(l.files, f.Path); taken != "" {
			return nameTaken(taken, f.Path)
		}
	}
	for path := range l.files {
		if taken := covering(held, path); taken != "" {
			return nameTaken(path, taken)
		}
	}
	for _, f := range l.folders {
		if taken := covering(held, f.Path); taken != "" {
			return nameTaken(f.Path, taken)
		}
	}
	return nil
}

// covering returns the path among many that is this one or above it.
func covering(paths map[string]bool, path string) string {
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '/') {
		if paths[path[:at]] {
			return path[:at]
		}
	}
	return ""
}

// MoveTo implements folder.Store.
func (s *Store) MoveTo(ctx context.Context, m folder.Moving) (filestore.Receipt, error) {
	return s.change(ctx, m.Change, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		q := scoped.New(fileFields).Scope(m.Scope, fileColumns).Add(" AND f.trashed_ms = 0 AND f.path = ?", m.From)
		f, exists, err := s.lockFile(ctx, tx, q)
		if err != nil {
			return filestore.Receipt{}, err
		}
		if exists {
			return s.moveFile(ctx, tx, m, f)
		}
		t, err := s.mustSubtree(ctx, tx, m.Scope, m.From)
		if err != nil {
			return filestore.Receipt{}, err
		}
		l := newLanding(m.Change, m.To, m.Onto, m.Discard)
		if err := l.add(t, m.From); err != nil {
			return filestore.Receipt{}, err
		}
		for _, f := range t.files {
			l.leaving[f.ID] = true
		}
		for _, f := range t.folders {
			l.leaving[f.ID] = true
		}
		seq, err := s.clear(ctx, tx, l)
		if err != nil {
			return filestore.Receipt{}, err
		}
		if err := dropFolders(ctx, tx, m.Scope.Namespace, t.folders); err != nil {
			return filestore.Receipt{}, err
		}
		if err := insertFolders(ctx, tx, m.Scope.Namespace, l.folders); err != nil {
			return filestore.Receipt{}, err
		}
		last, err := s.moveFiles(ctx, tx, m, t.files)
		return filestore.Receipt{Seq: max(seq, last), Count: t.count(), Noted: t.noted(m.From, m.To)}, err
	})
}

// moveFile moves one file to where a file or a folder may be.
func (s *Store) moveFile(ctx context.Context, tx sqldb.Querier, m folder.Moving,
	f filestore.File,
) (filestore.Receipt, error) {
	if err := m.Scope.Writable(m.To); err != nil {
		return filestore.Receipt{}, err
	}
	l := newLanding(m.Change, m.To, m.Onto, m.Discard)
	l.files[m.To], l.leaving[f.ID] = true, true
	if _, err := s.clear(ctx, tx, l); err != nil {
		return filestore.Receipt{}, err
	}
	return s.rename(ctx, tx, m.Change, f, m.To)
}

func (s *Store) moveFiles(ctx context.Context, tx sqldb.Querier, m folder.Moving,
	files []filestore.File,
) (int64, error) {
	if len(files) == 0 {
		return 0, nil
	}
	from := m.From
	if vfspath.Root(m.To).Contains(m.From) {
		// Files of the folder can go where others of it are still: they step aside first.
		// No clean path has a control character.
		aside := "/\x02" + filename.New()
		if err := renameFiles(ctx, tx, m, m.Scope, from, aside); err != nil {
			return 0, err
		}
		from = aside
	}
	if err := renameFiles(ctx, tx, m, m.Scope, from, m.To); err != nil {
		return 0, err
	}
	events := make([]filestore.Event, len(files))
	for i, f := range files {
		old := f.Path
		f.Path = m.To + old[len(m.From):]
		events[i] = eventOf(m.Change, f, filestore.OpMove, old)
	}
	return s.recordAll(ctx, tx, m.Scope.Namespace, events)
}

// renameFiles gives the files below a folder another beginning of their path, in one
// statement.
func renameFiles(ctx context.Context, tx sqldb.Querier, m folder.Moving, scope filestore.Scope, from, to string) error {
	rest := utf8.RuneCountInString(from) + 1 // both engines count characters, from 1
	q := scoped.New("UPDATE filestore_files AS f SET ").
		Add("path = ? || substr(path, ?), hidden = CASE WHEN (? || substr(path, ?)) LIKE '%/.%' THEN 1 ELSE 0 END, updated_ms = ? WHERE ",
			to, rest, to, rest, sqldb.MS(m.Now))
	if strings.HasPrefix(from, "/\x02") {
		scope = reachAll(scope.Namespace) // the scope was asked when they stepped aside
	}
	q.Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0 AND ").Under("f.path", vfspath.Below(from))
	if _, err := tx.ExecContext(ctx, q.Text(), q.Args...); err != nil {
		return fmt.Errorf("move files: %w", err)
	}
	return nil
}

// Copy implements folder.Store.
func (s *Store) Copy(ctx context.Context, c folder.Copying) (filestore.Receipt, error) {
	return s.change(ctx, c.Change, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		q := scoped.New(fileFields).Scope(c.Source, fileColumns).Add(" AND f.trashed_ms = 0 AND f.path = ?", c.From)
		f, exists, err := s.lockFile(ctx, tx, q)
		switch {
		case err != nil:
			return filestore.Receipt{}, err
		case exists:
			return s.copyFile(ctx, tx, c, f)
		}
		return s.copyFolder(ctx, tx, c)
	})
}

// copyFile makes the content of a file the newest version of the one at the
// destination, or a new file.
func (s *Store) copyFile(ctx context.Context, tx sqldb.Querier, c folder.Copying,
	f filestore.File,
) (filestore.Receipt, error) {
	ns := c.Scope.Namespace
	if err := c.Scope.Writable(c.To); err != nil {
		return filestore.Receipt{}, err
	}
	there, occupied, err := s.lockFile(ctx, tx, scoped.New(fileFields).Add("f.ns = ? AND f.path = ? AND f.trashed_ms = 0", ns, c.To))
	if err != nil {
		return filestore.Receipt{}, err
	}
	if occupied && (c.Onto == folder.Merge || c.Onto == folder.Nothing) {
		return filestore.Receipt{}, fault.New(fault.Conflict, "Destination occupied: "+c.To).WithField("cid",
			there.CID).WithField("version", there.Version)
	}
	if !occupied && c.Onto == folder.Replace {
		old, err := s.readSubtree(ctx, tx, c.Discard, c.To)
		if err != nil {
			return filestore.Receipt{}, err
		}
		if _, err := s.trashSubtree(ctx, tx, c.Change, old); err != nil {
			return filestore.Receipt{}, err
		}
	}
	if !occupied {
		if err := nameIsFree(ctx, tx, ns, c.To, ""); err != nil {
			return filestore.Receipt{}, err
		}
	}
	r, err := s.showVersion(ctx, tx, filestore.Commit{
		Change: c.Change, Path: c.To, Content: f.Content, Op: filestore.OpUpdate, NewID: filename.NewFile(),
		Quota: c.Quota,
	}, there, occupied)
	if err != nil {
		return r, err
	}
	if err := marks.Drop(ctx, tx, ns, r.File.ID); err != nil {
		return r, err
	}
	return r, marks.Copy(ctx, tx, ns, []filestore.File{f}, []filestore.File{r.File})
}

func (s *Store) copyFolder(ctx context.Context, tx sqldb.Querier, c folder.Copying) (filestore.Receipt, error) {
	t, err := s.mustSubtree(ctx, tx, c.Source, c.From)
	if err != nil {
		return filestore.Receipt{}, err
	}
	var originals, copies []string // of folders that were made
	for i := range t.folders {
		originals = append(originals, t.folders[i].ID)
		t.folders[i].ID, t.folders[i].Created = filename.NewFile(), c.Now
		copies = append(copies, t.folders[i].ID)
	}
	l := newLanding(c.Change, c.To, c.Onto, c.Discard)
	if err := l.add(t, c.From); err != nil {
		return filestore.Receipt{}, err
	}
	seq, err := s.clear(ctx, tx, l)
	if err != nil {
		return filestore.Receipt{}, err
	}
	if err := makeFolders(ctx, tx, c.Scope.Namespace, l.folders); err != nil {
		return filestore.Receipt{}, err
	}
	if err := marks.CopyProps(ctx, tx, c.Scope.Namespace, originals, copies); err != nil {
		return filestore.Receipt{}, err
	}
	last, err := s.copyFiles(ctx, tx, c, t.files)
	return filestore.Receipt{Seq: max(seq, last), Count: t.count(), Noted: t.noted(c.From, c.To)}, err
}

// copyFiles makes new files of old ones, with the same contents.
func (s *Store) copyFiles(ctx context.Context, tx sqldb.Querier, c folder.Copying,
	old []filestore.File,
) (int64, error) {
	ns := c.Scope.Namespace
	files := make([]filestore.File, len(old))
	events := make([]filestore.Event, len(old))
	var d delta
	for i, f := range old {
		f.ID, f.Path, f.Version, f.PublicID, f.Created, f.Updated = filename.NewFile(), c.To+f.Path[len(c.From):], 1, "",
			c.Now, c.Now
		files[i], events[i] = f, eventOf(c.Change, f, filestore.OpCreate, "")
		events[i].Before = ""
		d.files, d.bytes, d.versions, d.versionBytes = d.files+1, d.bytes+f.Size, d.versions+1, d.versionBytes+f.Size
	}
	err := bulk.Insert(ctx, tx, `filestore_files (id, ns, path, hidden, version, blob_id, cid, hash, size, mime, public_id, created_ms, updated_ms, trashed_ms)`,
		len(files), func(i int) []any {
			f := files[i]
			return []any{
				f.ID, ns, f.Path, flag(vfspath.IsHidden(f.Path)), f.Version, f.Blob, f.CID, f.Hash, f.Size, f.MimeType,
				"", sqldb.MS(f.Created), sqldb.MS(f.Updated), 0,
			}
		})
	if err != nil {
		return 0, fmt.Errorf("copy files: %w", err)
	}
	err = bulk.Insert(ctx, tx, `filestore_versions (file_id, version, blob_id, cid, hash, size, mime, created_ms, invoker, actor)`, len(files), func(i int) []any {
		f := files[i]
		return []any{f.ID, f.Version, f.Blob, f.CID, f.Hash, f.Size, f.MimeType, sqldb.MS(c.Now), c.By.Invoker, c.By.Actor}
	})
	if err != nil {
		return 0, fmt.Errorf("copy versions: %w", err)
	}
	if err := marks.Copy(ctx, tx, ns, old, files); err != nil {
		return 0, err
	}
	if err := d.apply(ctx, tx, ns, c.Quota); err != nil {
		return 0, err
	}
	return s.recordAll(ctx, tx, ns, events)
}
