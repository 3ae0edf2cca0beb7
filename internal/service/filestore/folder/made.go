package folder

import (
	"context"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// Made lists the folders at and below a path that stay when they are empty, in path
// order, from behind after on. Folders that files imply are not among them: with a
// listing of the files, these are all that there is to know of a tree.
func (s *Service) Made(ctx context.Context, a filestore.Access, path, after string, limit int) ([]Folder, error) {
	scope, err := a.Scope(filestore.List)
	if err != nil {
		return nil, err
	}
	if path, err = filename.CleanFolder(path); err != nil {
		return nil, err
	}
	if !utf8.ValidString(after) {
		return nil, fault.New(fault.Invalid, "after is not UTF-8: give the path of the last folder of the page before")
	}
	return s.store.MadeFolders(ctx, scope, MadeQuery{Under: path, After: after, Limit: min(max(limit, 1), MaxListed)})
}

// EachMade calls each with all that Made lists of what a scope reaches, a page at a time.
func (s *Service) EachMade(ctx context.Context, scope filestore.Scope, path string, each func([]Folder) error) error {
	for q := (MadeQuery{Under: path, Limit: MaxListed}); ; {
		page, err := s.store.MadeFolders(ctx, scope, q)
		if err != nil {
			return err
		}
		if err := each(page); err != nil || len(page) < q.Limit {
			return err
		}
		q.After = page[len(page)-1].Path
	}
}
