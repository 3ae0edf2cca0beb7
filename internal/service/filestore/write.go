package filestore

import (
	"context"
	"io"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// Put is a request to store content.
type Put struct {
	// Path or FileID says where.
	Path, FileID string
	Mode         Mode
	// MimeType "" keeps the file's; a new file's is MediaTypeOf its name.
	MimeType string
	Body     io.Reader
	// Size is the body's length when it is known, else 0.
	Size int64
	If   Condition
	Once Once
	// Keep overrides how many versions stay; 0 is the namespace's setting.
	Keep int64
	// Mark, when it is set, is kept with the version. It is read when the body has been.
	Mark *Mark
	// Count is kept with the receipt.
	Count int
	// Drop is the upload link that the write counts for; it must not be over. Otherwise are
	// paths to take when Path is taken.
	Drop      string
	Otherwise []string
}

// Put stores a new version of a file. Under a key that stored something already,
// the body must be what it stored.
func (s *Service) Put(ctx context.Context, a Access, p Put) (Receipt, error) {
	if _, err := a.Scope(Write); err != nil {
		return Receipt{}, err
	}
	if p.Once.Key == "" {
		r, _, err := s.put(ctx, a, p)
		return r, err
	}
	body := &fresh{Reader: p.Body}
	p.Body = body
	var got Content
	r, err := s.Once(ctx, a, p.Once, func() (r Receipt, err error) {
		r, got, err = s.put(ctx, a, p)
		return r, err
	})
	switch {
	case err != nil || !r.Replayed:
	case !body.begun:
		err = s.sameBody(body, p.Size, r.File.Content)
	case got.Hash != "" && got.Hash != r.File.Hash:
		err = KeyReused()
	}
	if err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// Write is Put for those who look for an earlier receipt themselves.
func (s *Service) Write(ctx context.Context, a Access, p Put) (Receipt, error) {
	r, _, err := s.put(ctx, a, p)
	return r, err
}

// put is Put without the look for an earlier receipt, which the commit takes too.
// It also returns the content that it read, if it came so far.
func (s *Service) put(ctx context.Context, a Access, p Put) (Receipt, Content, error) {
	scope, err := a.Scope(Write)
	if err != nil {
		return Receipt{}, Content{}, err
	}
	if p.MimeType, err = cleanMime(p.MimeType); err != nil {
		return Receipt{}, Content{}, err
	}
	if err := s.expect(ctx, scope, &p); err != nil {
		return Receipt{}, Content{}, err
	}
	if err := s.roomFor(ctx, a.Namespace, p.Size); err != nil {
		return Receipt{}, Content{}, err
	}
	b, content, err := s.ingest(ctx, a.Namespace, p.Body, p.Size)
	if err != nil {
		return Receipt{}, Content{}, err
	}
	content.MimeType = p.MimeType
	c := Commit{
		Change: Change{Scope: scope, FileID: p.FileID, If: p.If, By: a.By(), Once: p.Once, Count: p.Count, Now: s.now()},
		Path:   p.Path, Mode: p.Mode, Content: content, Blob: b, Op: OpUpdate, NewID: filename.NewFile(), Keep: p.Keep,
		Mark:  p.Mark,
		Quota: s.Quota(a.Namespace), Drop: p.Drop,
	}
	r, err := s.store.Commit(ctx, c)
	for i := 0; fault.Is(err, fault.Conflict) && i < len(p.Otherwise); i++ {
		c.Path = p.Otherwise[i]
		r, err = s.store.Commit(ctx, c)
	}
	if err != nil || r.Replayed {
		if b.State == Pending {
			s.abandon(ctx, b.ID, time.Time{})
		}
		return r, content, err
	}
	s.Changed(a.Namespace)
	return r, content, nil
}

// expect refuses early what the commit would refuse after the body was read.
// The commit decides; this only saves the bytes, so it is not asked for few.
func (s *Service) expect(ctx context.Context, scope Scope, p *Put) error {
	small := p.Size > 0 && p.Size <= InlineLimit
	if p.FileID != "" && small {
		return nil
	}
	if p.FileID != "" {
		f, err := s.store.FileByID(ctx, scope, p.FileID)
		if err != nil {
			return err
		}
		return p.If.Check(f, true)
	}
	var err error
	if p.Path, err = filename.CleanPath(p.Path); err != nil {
		return err
	}
	if err := scope.Writable(p.Path); err != nil {
		return err
	}
	if small || len(p.Otherwise) > 0 {
		return nil
	}
	f, err := s.store.FileByPath(ctx, scope, p.Path)
	exists := err == nil
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return p.Mode.Check(f, exists, p.If)
}

// Check reports whether the mode and the condition allow a write at a path
// where f is, if exists.
func (m Mode) Check(f File, exists bool, c Condition) error {
	if m == CreateOnly && exists {
		if c.None {
			return preconditionFailed(f, exists)
		}
		return ConflictWith(f, "a file already exists at this path")
	}
	if m == ReplaceOnly && !exists {
		return NotFound()
	}
	return c.Check(f, exists)
}

// Check reports whether the condition holds of f, if exists.
func (c Condition) Check(f File, exists bool) error {
	switch {
	case c.None && exists,
		(c.Exists || len(c.Match) > 0 || c.Version != 0) && !exists,
		len(c.Match) > 0 && !matches(c.Match, f),
		exists && len(c.NoMatch) > 0 && matches(c.NoMatch, f),
		c.Version != 0 && c.Version != f.Version,
		!c.Trashed.IsZero() && !c.Trashed.Equal(f.Trashed):
		return preconditionFailed(f, exists)
	}
	return nil
}

func matches(tags []string, f File) bool {
	for _, t := range tags {
		if t == f.CID || t == f.Hash {
			return true
		}
	}
	return false
}

func preconditionFailed(f File, exists bool) error {
	e := fault.New(fault.Precondition, "the file is not in the expected state").WithCode("precondition_failed")
	if !exists {
		return e
	}
	return e.WithField("cid", f.CID).WithField("version", f.Version)
}

// ConflictWith says why a file that is there is in the way, and which version it is.
func ConflictWith(f File, message string) error {
	return fault.New(fault.Conflict, message).WithField("cid", f.CID).WithField("version", f.Version)
}

// NotFound says that there is no such file, or none in reach.
func NotFound() error { return fault.New(fault.NotFound, "no such file") }

// cleanMime keeps header injection and absurd lengths out of stored media types.
func cleanMime(m string) (string, error) {
	m = strings.TrimSpace(m)
	if len(m) > 255 || strings.ContainsFunc(m, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", fault.New(fault.Invalid, "the media type is malformed")
	}
	return m, nil
}

// MediaTypeOf guesses a media type from a file's name; it is
// application/octet-stream when the name tells nothing.
func MediaTypeOf(name string) string {
	if m := mime.TypeByExtension(path.Ext(name)); m != "" {
		return m
	}
	return "application/octet-stream"
}
