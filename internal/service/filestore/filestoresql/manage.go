package filestoresql

import (
	"context"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/diskroom"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/marks"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

// current locks a file inside the scope and checks the condition.
func (s *Store) current(ctx context.Context, tx sqldb.Querier, c filestore.Change,
	trashed bool,
) (filestore.File, error) {
	f, exists, err := s.lockFile(ctx, tx, byID(c.Scope, c.FileID, trashed))
	if err != nil {
		return filestore.File{}, err
	}
	if !exists {
		return filestore.File{}, fault.New(fault.NotFound, "no such file")
	}
	return f, c.If.Check(f, true)
}

// finish applies the counters and records the event.
func (s *Store) finish(ctx context.Context, tx sqldb.Querier, c filestore.Change, f filestore.File, op filestore.Op,
	from string, d delta,
) (filestore.Receipt, error) {
	if err := d.apply(ctx, tx, f.Namespace, 0); err != nil {
		return filestore.Receipt{}, err
	}
	seq, err := s.record(ctx, tx, f.Namespace, eventOf(c, f, op, from))
	return filestore.Receipt{File: f, Seq: seq}, err
}

// Move implements filestore.Changer.
func (s *Store) Move(ctx context.Context, m filestore.Move) (filestore.Receipt, error) {
	return s.change(ctx, m.Change, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		f, err := s.current(ctx, tx, m.Change, false)
		if err != nil {
			return filestore.Receipt{}, err
		}
		if f.Path == m.To {
			return filestore.Receipt{File: f}, nil
		}
		there, occupied, err := s.lockFile(ctx, tx, scoped.New(fileFields).Add("f.ns = ? AND f.path = ? AND f.trashed_ms = 0", f.Namespace, m.To))
		if err != nil {
			return filestore.Receipt{}, err
		}
		if occupied {
			if !m.Overwrite {
				return filestore.Receipt{}, fault.New(fault.Conflict, "Destination occupied: "+m.To).WithField("cid",
					there.CID).WithField("version", there.Version)
			}
			if !m.Target.Allows(m.To) {
				return filestore.Receipt{}, fault.New(fault.Forbidden, "the token does not reach the destination")
			}
			c := m.Change
			if _, err := s.trash(ctx, tx, c, there); err != nil {
				return filestore.Receipt{}, err
			}
		}
		if err := nameIsFree(ctx, tx, f.Namespace, m.To, f.ID); err != nil {
			return filestore.Receipt{}, err
		}
		return s.rename(ctx, tx, m.Change, f, m.To)
	})
}

// rename gives a file another path, which must be free.
func (s *Store) rename(ctx context.Context, tx sqldb.Querier, c filestore.Change, f filestore.File,
	to string,
) (filestore.Receipt, error) {
	from := f.Path
	f.Path, f.Name, f.Hidden, f.Updated = to, vfspath.BaseName(to), vfspath.IsHidden(to), c.Now
	_, err := tx.ExecContext(ctx, `UPDATE filestore_files SET path = $1, hidden = $2, updated_ms = $3 WHERE id = $4`, f.Path, flag(f.Hidden), sqldb.MS(c.Now), f.ID)
	if err != nil {
		return filestore.Receipt{}, err
	}
	return s.finish(ctx, tx, c, f, filestore.OpMove, from, delta{})
}

// ToTrash implements filestore.Changer.
func (s *Store) ToTrash(ctx context.Context, c filestore.Change) (filestore.Receipt, error) {
	return s.change(diskroom.Freeing(ctx), c, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		f, err := s.current(ctx, tx, c, false)
		if err != nil {
			return filestore.Receipt{}, err
		}
		return s.trash(ctx, tx, c, f)
	})
}

func (s *Store) trash(ctx context.Context, tx sqldb.Querier, c filestore.Change,
	f filestore.File,
) (filestore.Receipt, error) {
	_, err := tx.ExecContext(ctx, `UPDATE filestore_files SET trashed_ms = $1, public_id = '' WHERE id = $2`, sqldb.MS(c.Now), f.ID)
	if err != nil {
		return filestore.Receipt{}, fmt.Errorf("trash file: %w", err)
	}
	f.Trashed, f.PublicID = c.Now, ""
	return s.finish(ctx, tx, c, f, filestore.OpTrash, "",
		delta{files: -1, bytes: -f.Size, trashFiles: 1, trashBytes: f.Size})
}

// FromTrash implements filestore.Changer.
func (s *Store) FromTrash(ctx context.Context, c filestore.Change, path string) (filestore.Receipt, error) {
	return s.change(ctx, c, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		f, err := s.current(ctx, tx, c, true)
		if err != nil {
			return filestore.Receipt{}, err
		}
		if path == "" {
			path = f.Path
		}
		_, occupied, err := s.lockFile(ctx, tx, scoped.New(fileFields).Add("f.ns = ? AND f.path = ? AND f.trashed_ms = 0", f.Namespace, path))
		if err != nil {
			return filestore.Receipt{}, err
		}
		if occupied {
			return filestore.Receipt{}, fault.New(fault.Conflict, "Destination occupied: "+path)
		}
		if err := nameIsFree(ctx, tx, f.Namespace, path, f.ID); err != nil {
			return filestore.Receipt{}, err
		}
		from := f.Path
		f.Path, f.Name, f.Hidden, f.Updated = path, vfspath.BaseName(path), vfspath.IsHidden(path), c.Now
		_, err = tx.ExecContext(ctx, `UPDATE filestore_files SET trashed_ms = 0, path = $1, hidden = $2, updated_ms = $3 WHERE id = $4`,
			f.Path, flag(f.Hidden), sqldb.MS(c.Now), f.ID)
		if err != nil {
			return filestore.Receipt{}, err
		}
		f.Trashed = time.Time{}
		return s.finish(ctx, tx, c, f, filestore.OpUntrash, from,
			delta{files: 1, bytes: f.Size, trashFiles: -1, trashBytes: -f.Size})
	})
}

// Purge implements filestore.Changer. Keys and small content go in this transaction,
// and search does not find the file from now on; its text leaves the sealed segment
// when that is written anew.
func (s *Store) Purge(ctx context.Context, c filestore.Change) (filestore.Receipt, error) {
	return s.change(diskroom.Freeing(ctx), c, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		f, err := s.current(ctx, tx, c, true)
		if err != nil {
			return filestore.Receipt{}, err
		}
		d := delta{trashFiles: -1, trashBytes: -f.Size}
		if err := dropVersions(ctx, tx, f.ID, f.Version, c, &d); err != nil {
			return filestore.Receipt{}, err
		}
		for _, text := range []string{
			`DELETE FROM filestore_files WHERE id = $1`,
			`DELETE FROM filestore_postings WHERE file_id = $1`,
			`DELETE FROM filestore_indexed WHERE file_id = $1`,
			`DELETE FROM filestore_marks WHERE file_id = $1`,
		} {
			if _, err := tx.ExecContext(ctx, text, f.ID); err != nil {
				return filestore.Receipt{}, fmt.Errorf("purge file: %w", err)
			}
		}
		if err := marks.Drop(ctx, tx, f.Namespace, f.ID); err != nil {
			return filestore.Receipt{}, err
		}
		lost, err := dropIndexed(ctx, tx, f.ID)
		if err == nil && lost > 0 {
			err = textTables(s.db).Touch(ctx, tx, f.Namespace, c.Now)
		}
		if err != nil {
			return filestore.Receipt{}, err
		}
		return s.finish(ctx, tx, c, f, filestore.OpPurge, "", d)
	})
}

// SetPublic implements filestore.Changer. A file that becomes public again gets a
// new address.
func (s *Store) SetPublic(ctx context.Context, c filestore.Change, public bool) (filestore.Receipt, error) {
	fresh := filename.New()
	return s.change(ctx, c, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		f, err := s.current(ctx, tx, c, false)
		if err != nil {
			return filestore.Receipt{}, err
		}
		if public == (f.PublicID != "") {
			return filestore.Receipt{File: f}, nil
		}
		op := filestore.OpHide
		f.PublicID = ""
		if public {
			op, f.PublicID = filestore.OpPublish, fresh
		}
		if _, err := tx.ExecContext(ctx, `UPDATE filestore_files SET public_id = $1 WHERE id = $2`, f.PublicID, f.ID); err != nil {
			return filestore.Receipt{}, fmt.Errorf("publish file: %w", err)
		}
		return s.finish(ctx, tx, c, f, op, "", delta{})
	})
}
