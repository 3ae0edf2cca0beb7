package filestore

import "context"

// Versions lists the retained versions of a file, newest first.
func (s *Service) Versions(ctx context.Context, a Access, id string) ([]Version, error) {
	scope, err := a.Scope(Read)
	if err != nil {
		return nil, err
	}
	return s.store.Versions(ctx, scope, id)
}

// OpenVersion opens an old version of a file.
func (s *Service) OpenVersion(ctx context.Context, a Access, id string, number int64) (File, *Opened, error) {
	scope, err := a.Scope(Read)
	if err != nil {
		return File{}, nil, err
	}
	f, err := s.store.FileByID(ctx, scope, id)
	if err != nil {
		return File{}, nil, err
	}
	v, err := s.store.Version(ctx, scope, id, number)
	if err != nil {
		return File{}, nil, err
	}
	f.Version, f.Content, f.Updated = v.Number, v.Content, v.Created
	return s.opened(ctx, a, f, nil)
}

// RestoreVersion makes an old version's content the newest version. No bytes
// move.
func (s *Service) RestoreVersion(ctx context.Context, a Access, t Target, number int64) (Receipt, error) {
	return s.Once(ctx, a, t.Once, func() (Receipt, error) {
		c, err := s.change(ctx, a, Write, t)
		if err != nil {
			return Receipt{}, err
		}
		v, err := s.store.Version(ctx, c.Scope, c.FileID, number)
		if err != nil {
			return Receipt{}, err
		}
		r, err := s.store.Commit(ctx, Commit{
			Change: c, Mode: ReplaceOnly, Content: v.Content, Op: OpRestore, Quota: s.Quota(a.Namespace),
		})
		return s.done(a, r, err)
	})
}
