package filestore

import (
	"context"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// Target names a file to change, by identifier or path, with what must hold.
type Target struct {
	ID, Path string
	If       Condition
	Once     Once
}

// change resolves a target to a Change under an ability.
func (s *Service) change(ctx context.Context, a Access, need Ability, t Target) (Change, error) {
	scope, err := a.Scope(need)
	if err != nil {
		return Change{}, err
	}
	c := Change{Scope: scope, FileID: t.ID, If: t.If, By: a.By(), Once: t.Once, Now: s.now()}
	if c.FileID == "" {
		f, err := s.At(ctx, scope, t.Path)
		if err != nil {
			return Change{}, err
		}
		c.FileID = f.ID
	}
	return c, nil
}

// done announces a change that was made.
func (s *Service) done(a Access, r Receipt, err error) (Receipt, error) {
	if err == nil && !r.Replayed && r.Seq != 0 {
		s.Changed(a.Namespace)
	}
	return r, err
}

// Move gives a file another path. What is there already is a conflict, or goes to
// the trash when overwrite is set, which needs the ability to delete.
func (s *Service) Move(ctx context.Context, a Access, t Target, to string, overwrite bool) (Receipt, error) {
	return s.Once(ctx, a, t.Once, func() (Receipt, error) { return s.move(ctx, a, t, to, overwrite) })
}

func (s *Service) move(ctx context.Context, a Access, t Target, to string, overwrite bool) (Receipt, error) {
	to, err := filename.CleanPath(to)
	if err != nil {
		return Receipt{}, err
	}
	c, err := s.change(ctx, a, Write, t)
	if err != nil {
		return Receipt{}, err
	}
	if err := c.Scope.Writable(to); err != nil {
		return Receipt{}, err
	}
	if a.BlindWriter() {
		f, err := s.store.FileByID(ctx, c.Scope, c.FileID)
		if err != nil {
			return Receipt{}, err
		}
		if err := a.Carry(f.Path, to); err != nil {
			return Receipt{}, err
		}
	}
	m := Move{Change: c, To: to, Overwrite: overwrite}
	if overwrite {
		if m.Target, err = a.Scope(Delete); err != nil {
			return Receipt{}, err
		}
	}
	r, err := s.store.Move(ctx, m)
	return s.done(a, r, err)
}

// Trash puts a file into the trash.
func (s *Service) Trash(ctx context.Context, a Access, t Target) (Receipt, error) {
	return s.Once(ctx, a, t.Once, func() (Receipt, error) {
		c, err := s.change(ctx, a, Delete, t)
		if err != nil {
			return Receipt{}, err
		}
		r, err := s.store.ToTrash(ctx, c)
		return s.done(a, r, err)
	})
}

// Restore takes a file out of the trash, to its old path or another.
func (s *Service) Restore(ctx context.Context, a Access, t Target, path string) (Receipt, error) {
	return s.Once(ctx, a, t.Once, func() (Receipt, error) {
		c, err := s.trashed(ctx, a, Write, t)
		if err != nil {
			return Receipt{}, err
		}
		if path != "" {
			if path, err = filename.CleanPath(path); err != nil {
				return Receipt{}, err
			}
			if err := c.Scope.Writable(path); err != nil {
				return Receipt{}, err
			}
		}
		r, err := s.store.FromTrash(ctx, c, path)
		return s.done(a, r, err)
	})
}

// Purge destroys a file that is in the trash: its keys at once, its bytes later.
func (s *Service) Purge(ctx context.Context, a Access, t Target) (Receipt, error) {
	return s.Once(ctx, a, t.Once, func() (Receipt, error) {
		c, err := s.trashed(ctx, a, Delete, t)
		if err != nil {
			return Receipt{}, err
		}
		r, err := s.store.Purge(ctx, c)
		return s.done(a, r, err)
	})
}

// trashed is change for files in the trash, where a path can name several: the
// one that was deleted last is meant.
func (s *Service) trashed(ctx context.Context, a Access, need Ability, t Target) (Change, error) {
	if t.ID != "" {
		return s.change(ctx, a, need, t)
	}
	scope, err := a.Scope(need)
	if err != nil {
		return Change{}, err
	}
	path, err := filename.CleanPath(t.Path)
	if err != nil {
		return Change{}, err
	}
	for offset := 0; ; offset += MaxPage {
		files, err := s.store.Trash(ctx, scope, MaxPage, offset)
		if err != nil {
			return Change{}, err
		}
		for _, f := range files {
			if f.Path == path {
				t.ID = f.ID
				return s.change(ctx, a, need, t)
			}
		}
		if len(files) < MaxPage {
			return Change{}, fault.New(fault.NotFound, "no such file in the trash")
		}
	}
}

// Trashed lists the trash, newest first.
func (s *Service) Trashed(ctx context.Context, a Access, p Page) ([]File, error) {
	scope, err := a.Scope(List)
	if err != nil {
		return nil, err
	}
	return s.store.Trash(ctx, scope, p.Limit, p.Offset)
}

// SetPublic makes a file readable by anyone who has its public address, or ends
// that. To publish is to read for everybody: it needs both abilities.
func (s *Service) SetPublic(ctx context.Context, a Access, t Target, public bool) (Receipt, error) {
	return s.Once(ctx, a, t.Once, func() (Receipt, error) {
		c, err := s.change(ctx, a, Write, t)
		if err != nil {
			return Receipt{}, err
		}
		if public {
			readable, err := a.Scope(Read)
			if err != nil {
				return Receipt{}, err
			}
			if _, err := s.store.FileByID(ctx, readable, c.FileID); err != nil {
				return Receipt{}, err
			}
		}
		r, err := s.store.SetPublic(ctx, c, public)
		return s.done(a, r, err)
	})
}

// SetFolderPublic does SetPublic for every file below a folder, and returns how
// many there are. What is in dot-folders of the folder is not published along
// with it, and ends being public with it.
func (s *Service) SetFolderPublic(ctx context.Context, a Access, folder string, public bool) (int, error) {
	scope, err := a.Scope(Write)
	if err != nil {
		return 0, err
	}
	if folder, err = filename.CleanFolder(folder); err != nil {
		return 0, err
	}
	n, seen := 0, false
	for q := (ListQuery{Under: folder, Limit: MaxPage}); ; {
		files, err := s.store.Files(ctx, scope, q)
		if err != nil {
			return n, err
		}
		seen = seen || len(files) > 0
		for _, f := range files {
			if public && vfspath.IsHidden("/"+strings.TrimPrefix(f.Path, folder)) {
				continue
			}
			if _, err := s.SetPublic(ctx, a, Target{ID: f.ID}, public); err != nil && !fault.Is(err, fault.NotFound) {
				return n, err
			}
			n++
		}
		if len(files) < q.Limit {
			if !seen {
				return 0, fault.New(fault.NotFound, "no such folder")
			}
			return n, nil
		}
		q.After = files[len(files)-1].Path
	}
}
