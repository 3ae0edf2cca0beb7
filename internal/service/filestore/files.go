package filestore

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// Stat returns the file at a path.
func (s *Service) Stat(ctx context.Context, a Access, path string) (File, error) {
	scope, err := a.Scope(List)
	if err != nil {
		return File{}, err
	}
	return s.At(ctx, scope, path)
}

// At returns the file at a path inside a scope.
func (s *Service) At(ctx context.Context, scope Scope, path string) (File, error) {
	path, err := filename.CleanPath(path)
	if err != nil {
		return File{}, err
	}
	return s.store.FileByPath(ctx, scope, path)
}

// StatID returns the file with an identifier.
func (s *Service) StatID(ctx context.Context, a Access, id string) (File, error) {
	scope, err := a.Scope(List)
	if err != nil {
		return File{}, err
	}
	return s.store.FileByID(ctx, scope, id)
}

// OpenPath opens the current version of the file at a path.
func (s *Service) OpenPath(ctx context.Context, a Access, path string) (File, *Opened, error) {
	r, o, err := s.read(ctx, a, Wanted{Path: path})
	return r.File, o, err
}

// OpenMarked is OpenPath that also returns what was said of the content.
func (s *Service) OpenMarked(ctx context.Context, a Access, path string) (File, Mark, *Opened, error) {
	r, o, err := s.read(ctx, a, Wanted{Path: path, Mark: true})
	return r.File, r.Mark, o, err
}

// OpenID opens the current version of a file.
func (s *Service) OpenID(ctx context.Context, a Access, id string) (File, *Opened, error) {
	r, o, err := s.read(ctx, a, Wanted{FileID: id})
	return r.File, o, err
}

// read opens the current version of a file. Reading from it counts as a use of a link.
func (s *Service) read(ctx context.Context, a Access, w Wanted) (Reading, *Opened, error) {
	scope, err := a.Scope(Read)
	if err != nil {
		return Reading{}, nil, err
	}
	if w.FileID == "" {
		if w.Path, err = filename.CleanPath(w.Path); err != nil {
			return Reading{}, nil, err
		}
	}
	r, err := s.store.Reading(ctx, scope, w)
	if err != nil {
		return Reading{}, nil, err
	}
	o, err := s.OpenReading(ctx, r)
	if err != nil {
		return Reading{}, nil, err
	}
	o.use = func() error { return s.CountUse(ctx, a) }
	return r, o, nil
}

// OpenCID opens a file by its content. A CID outside a token's set is Forbidden
// before anything is looked up; one inside it that no reachable file has is
// NotFound, as is anything that is not a CID.
func (s *Service) OpenCID(ctx context.Context, a Access, text string) (File, *Opened, error) {
	scope, err := a.ContentScope()
	if err != nil {
		return File{}, nil, err
	}
	c, parseErr := cid.Parse(text)
	if scope.Limited && (parseErr != nil || !slices.Contains(scope.CIDs, c.String())) {
		return File{}, nil, fault.New(fault.Forbidden, "the token does not reach this CID").WithCode("cid_not_granted")
	}
	if parseErr != nil {
		return File{}, nil, NotFound()
	}
	f, err := s.store.FileByCID(ctx, scope, c.String())
	return s.opened(ctx, a, f, err)
}

// OpenPublic opens a file that its owner has made public.
func (s *Service) OpenPublic(ctx context.Context, publicID string) (File, *Opened, error) {
	f, err := s.store.PublicFile(ctx, publicID)
	return s.opened(ctx, Access{}, f, err)
}

// opened opens a file that was found. Reading from it counts as a use of a link.
func (s *Service) opened(ctx context.Context, a Access, f File, err error) (File, *Opened, error) {
	if err != nil {
		return File{}, nil, err
	}
	o, err := s.Open(ctx, f.Content)
	if err != nil {
		return File{}, nil, err
	}
	o.use = func() error { return s.CountUse(ctx, a) }
	return f, o, nil
}

// CIDs lists the files that can be addressed by CID, in path order, and counts
// them all.
func (s *Service) CIDs(ctx context.Context, a Access, p Page) ([]File, int64, error) {
	scope, err := a.ContentScope()
	if err != nil {
		return nil, 0, err
	}
	files, err := s.store.Files(ctx, scope, ListQuery{After: p.After, Limit: p.Limit, Offset: p.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err := s.store.CountFiles(ctx, scope)
	return files, total, err
}

// canonical brings CIDs to the spelling that is stored.
func canonical(cids []string) []string {
	set := make([]string, 0, len(cids))
	for _, text := range cids {
		if c, err := cid.Parse(text); err == nil {
			set = append(set, c.String())
		}
	}
	return set
}

// Page selects a part of a listing.
type Page struct {
	Limit, Offset int
	// After leaves out what comes up to this path. Unlike Offset it costs the same
	// everywhere in a listing, and misses nothing that was there all the time.
	After string
}

// List returns the files whose path begins with a prefix.
func (s *Service) List(ctx context.Context, a Access, prefix string, p Page) ([]File, error) {
	scope, err := a.Scope(List)
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(prefix) {
		return nil, filename.Bad("path is not UTF-8")
	}
	return s.store.Files(ctx, scope, ListQuery{Prefix: prefix, After: p.After, Limit: p.Limit, Offset: p.Offset})
}

// ListAfter returns the files after a path, in path order.
func (s *Service) ListAfter(ctx context.Context, a Access, after string, limit int) ([]File, error) {
	scope, err := a.Scope(List)
	if err != nil {
		return nil, err
	}
	return s.store.Files(ctx, scope, ListQuery{After: after, Limit: limit})
}
