package filestore

import (
	"bytes"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// maxEdit is the largest file that can be edited in place.
const maxEdit = 8 << 20

// Edit is an exact replacement in a text file.
type Edit struct {
	Path, FileID string // one of them
	Old, New     string
	All          bool
	DryRun       bool
	If           Condition
	Once         Once
}

// Edited is what an edit did.
type Edited struct {
	Receipt
	Replacements int
	Diff         string // unified, of what changed
}

// Edit replaces text. It fails when the old text is absent, or occurs several
// times and All is not set. It is decided against the version that was read: a
// file that changed meanwhile is "modified concurrently".
//
// A repeated edit is told again how many places changed, without the diff: no
// text is kept with a receipt.
func (s *Service) Edit(ctx context.Context, a Access, e Edit) (Edited, error) {
	var out Edited
	r, err := s.once(ctx, a, e.Once, func() (Receipt, error) {
		var err error
		out, err = s.edit(ctx, a, e)
		return out.Receipt, err
	})
	if err != nil {
		return Edited{}, err
	}
	if r.Replayed {
		return Edited{Receipt: r, Replacements: r.Count}, nil
	}
	return out, nil
}

func (s *Service) edit(ctx context.Context, a Access, e Edit) (Edited, error) {
	if e.Old == "" {
		return Edited{}, fault.New(fault.Invalid, "oldString must not be empty")
	}
	if !utf8.ValidString(e.New) || len(e.New) > maxEdit {
		return Edited{}, fault.New(fault.Invalid, "newString must be text of at most 8 MiB")
	}
	f, old, err := s.readForEdit(ctx, a, e.Path, e.FileID, e.If)
	if err != nil {
		return Edited{}, err
	}
	n := strings.Count(old, e.Old)
	switch {
	case n == 0:
		return Edited{}, conflict(f, "oldString not found"+nearMiss(old, e.Old))
	case n > 1 && !e.All:
		return Edited{}, fault.Newf(fault.Conflict, "oldString appears %d times: make it unique or set replaceAll", n).
			WithField("count", n).WithField("cid", f.CID).WithField("version", f.Version)
	}
	if int64(len(old))+int64(n)*int64(len(e.New)-len(e.Old)) > maxEdit {
		return Edited{}, fault.New(fault.TooLarge, "the edited file would have more than 8 MiB")
	}
	text := strings.ReplaceAll(old, e.Old, e.New)
	diff, err := unifiedDiff(ctx, f.Path, old, text)
	if err != nil {
		return Edited{}, err
	}
	out := Edited{Replacements: n, Diff: diff, Receipt: Receipt{File: f}}
	if e.DryRun {
		return out, nil
	}
	out.Receipt, err = s.rewrite(ctx, a, f, text, n, e.Once)
	return out, err
}

// nearMiss helps whoever wrote the old text with other spaces.
func nearMiss(text, old string) string {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if want := squeeze(old); want != "" && strings.Contains(squeeze(text), want) {
		return " (it is there with other white space: read the lines again and copy them exactly)"
	}
	return ""
}

// readForEdit returns the text of a file that the caller may write.
func (s *Service) readForEdit(ctx context.Context, a Access, path, id string, c Condition) (File, string, error) {
	scope, err := a.scope(Write)
	if err != nil {
		return File{}, "", err
	}
	var f File
	if id != "" {
		f, err = s.store.FileByID(ctx, scope, id)
	} else {
		f, err = s.at(ctx, scope, path)
	}
	if err != nil {
		return File{}, "", err
	}
	if err := c.Check(f, true); err != nil {
		return File{}, "", err
	}
	o, err := s.open(ctx, f.Content)
	if err != nil {
		return File{}, "", err
	}
	b, err := o.readAll(maxEdit)
	if err != nil {
		return File{}, "", err
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return File{}, "", notText(errBinary, f)
	}
	return f, string(b), nil
}

// rewrite stores text, in which n places changed, as the version after f.
func (s *Service) rewrite(ctx context.Context, a Access, f File, text string, n int, once Once) (Receipt, error) {
	r, _, err := s.put(ctx, a, Put{
		FileID: f.ID, Mode: ReplaceOnly, MimeType: f.MimeType, Body: strings.NewReader(text), Size: int64(len(text)),
		If: Condition{Version: f.Version}, Once: once, count: n,
	})
	if fault.Is(err, fault.Precondition) {
		return Receipt{}, fault.Wrap(fault.Conflict, "the file was modified concurrently: read it again", err)
	}
	return r, err
}

// Append adds content to the end of a file, or creates it.
type Append struct {
	Path     string
	Text     string
	MimeType string
	If       Condition
	Once     Once
}

// Append stores a version that ends in the new text. The old bytes are read and
// sealed again: a version never shares bytes with another key.
func (s *Service) Append(ctx context.Context, a Access, p Append) (Receipt, error) {
	return s.once(ctx, a, p.Once, func() (Receipt, error) { return s.append(ctx, a, p) })
}

func (s *Service) append(ctx context.Context, a Access, p Append) (Receipt, error) {
	scope, err := a.scope(Write)
	if err != nil {
		return Receipt{}, err
	}
	f, err := s.at(ctx, scope, p.Path)
	if fault.Is(err, fault.NotFound) {
		r, _, err := s.put(ctx, a, Put{
			Path: p.Path, Mode: CreateOnly, MimeType: p.MimeType, Body: strings.NewReader(p.Text), Size: int64(len(p.Text)), If: p.If, Once: p.Once,
		})
		return r, err
	}
	if err != nil {
		return Receipt{}, err
	}
	if err := p.If.Check(f, true); err != nil {
		return Receipt{}, err
	}
	o, err := s.open(ctx, f.Content)
	if err != nil {
		return Receipt{}, err
	}
	old, err := o.Range(0, -1)
	if err != nil {
		return Receipt{}, err
	}
	defer func() { _ = old.Close() }()
	r, _, err := s.put(ctx, a, Put{
		FileID: f.ID, Mode: ReplaceOnly, MimeType: f.MimeType, Body: io.MultiReader(old, strings.NewReader(p.Text)),
		Size: f.Size + int64(len(p.Text)), If: Condition{Version: f.Version}, Once: p.Once,
	})
	if fault.Is(err, fault.Precondition) {
		return Receipt{}, fault.Wrap(fault.Conflict, "the file was modified concurrently: try again", err)
	}
	return r, err
}
