package filetext

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// maxEdit is the largest file that can be edited in place.
const maxEdit = 8 << 20

// Edit is an exact replacement in a text file.
type Edit struct {
	Path, FileID string // one of them
	Old, New     string
	All          bool
	DryRun       bool
	If           filestore.Condition
	Once         filestore.Once
}

// Edited is what an edit did.
type Edited struct {
	filestore.Receipt
	Replacements int
	Diff         string // unified, of what changed
}

// Edit replaces text. It fails when the old text is absent, or occurs several
// times and All is not set. It is decided against the version that was read: a
// file that changed meanwhile is "modified concurrently".
//
// A repeated edit is told again how many places changed, without the diff: no
// text is kept with a receipt.
func (s *Service) Edit(ctx context.Context, a filestore.Access, e Edit) (Edited, error) {
	var out Edited
	r, err := s.files.Once(ctx, a, e.Once, func() (filestore.Receipt, error) {
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

func (s *Service) edit(ctx context.Context, a filestore.Access, e Edit) (Edited, error) {
	if e.Old == "" {
		return Edited{}, fault.New(fault.Invalid, "oldString must not be empty")
	}
	if !utf8.ValidString(e.New) || len(e.New) > maxEdit {
		return Edited{}, fault.New(fault.Invalid, "newString must be text of at most 8 MiB")
	}
	hold := ratelimit.HoldingOf(ctx)
	done, err := hold.Work(ctx)
	if err != nil {
		return Edited{}, err
	}
	out, text, err := s.replace(ctx, a, e)
	done()
	if err != nil || e.DryRun {
		hold.Keep(Written(out.Diff))
		return out, err
	}
	out.Receipt, err = s.rewrite(ctx, a, out.File, text, out.Replacements, e.Once)
	hold.Keep(Written(out.Diff))
	return out, err
}

// replace says what an edit makes of a file, which it leaves as it is.
func (s *Service) replace(ctx context.Context, a filestore.Access, e Edit) (_ Edited, text string, err error) {
	f, old, err := s.readForEdit(ctx, a, e)
	if err != nil {
		return Edited{}, "", err
	}
	n := strings.Count(old, e.Old)
	switch {
	case n == 0:
		return Edited{}, "", filestore.ConflictWith(f, "oldString not found"+nearMiss(old, e.Old))
	case n > 1 && !e.All:
		return Edited{}, "", fault.Newf(fault.Conflict, "oldString appears %d times: make it unique or set replaceAll", n).
			WithField("count", n).WithField("cid", f.CID).WithField("version", f.Version)
	}
	if int64(len(old))+int64(n)*int64(len(e.New)-len(e.Old)) > maxEdit {
		return Edited{}, "", fault.New(fault.TooLarge, "the edited file would have more than 8 MiB")
	}
	text = strings.ReplaceAll(old, e.Old, e.New)
	diff, err := unifiedDiff(ctx, f.Path, old, text)
	if errors.Is(err, errTooDifferent) {
		diff, err = "… ("+errTooDifferent.Message+")\n", nil // what is to be done does not depend on it
	}
	if err != nil {
		return Edited{}, "", err
	}
	return Edited{Replacements: n, Diff: diff, Receipt: filestore.Receipt{File: f}}, text, nil
}

// nearMiss helps whoever wrote the old text with other spaces.
func nearMiss(text, old string) string {
	// Word by word: a list of them would be many times as large as the text.
	squeeze := func(s string) string {
		var out strings.Builder
		out.Grow(len(s))
		for word := range strings.FieldsSeq(s) {
			if out.Len() > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(word)
		}
		return out.String()
	}
	if want := squeeze(old); want != "" && strings.Contains(squeeze(text), want) {
		return " (it is there with other white space: read the lines again and copy them exactly)"
	}
	return ""
}

// readForEdit returns the text of a file that the caller may write.
func (s *Service) readForEdit(ctx context.Context, a filestore.Access, e Edit) (filestore.File, string, error) {
	scope, err := a.Scope(filestore.Write)
	if err != nil {
		return filestore.File{}, "", err
	}
	var f filestore.File
	if e.FileID != "" {
		f, err = s.store.FileByID(ctx, scope, e.FileID)
	} else {
		f, err = s.files.At(ctx, scope, e.Path)
	}
	if err != nil {
		return filestore.File{}, "", err
	}
	if err := e.If.Check(f, true); err != nil {
		return filestore.File{}, "", err
	}
	if err := ratelimit.HoldingOf(ctx).Take(ctx, weigh(f.Size, f.Size+int64(len(e.New)))); err != nil {
		return filestore.File{}, "", err
	}
	o, err := s.files.Open(ctx, f.Content)
	if err != nil {
		return filestore.File{}, "", err
	}
	b, err := o.ReadAll(maxEdit)
	if err != nil {
		return filestore.File{}, "", err
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return filestore.File{}, "", notText(ErrBinary, f)
	}
	return f, string(b), nil
}

// rewrite stores text, in which n places changed, as the version after f.
func (s *Service) rewrite(ctx context.Context, a filestore.Access, f filestore.File, text string, n int,
	once filestore.Once,
) (filestore.Receipt, error) {
	r, err := s.files.Write(ctx, a, filestore.Put{
		FileID: f.ID, Mode: filestore.ReplaceOnly, MimeType: f.MimeType, Body: strings.NewReader(text),
		Size: int64(len(text)),
		If:   filestore.Condition{Version: f.Version}, Once: once, Count: n,
	})
	if fault.Is(err, fault.Precondition) {
		return filestore.Receipt{}, fault.Wrap(fault.Conflict, "the file was modified concurrently: read it again", err)
	}
	return r, err
}

// Append adds content to the end of a file, or creates it.
type Append struct {
	Path     string
	Text     string
	MimeType string
	If       filestore.Condition
	Once     filestore.Once
}

// Append stores a version that ends in the new text. The old bytes are read and
// sealed again: a version never shares bytes with another key.
func (s *Service) Append(ctx context.Context, a filestore.Access, p Append) (filestore.Receipt, error) {
	return s.files.Once(ctx, a, p.Once, func() (filestore.Receipt, error) { return s.append(ctx, a, p) })
}

func (s *Service) append(ctx context.Context, a filestore.Access, p Append) (filestore.Receipt, error) {
	scope, err := a.Scope(filestore.Write)
	if err != nil {
		return filestore.Receipt{}, err
	}
	f, err := s.files.At(ctx, scope, p.Path)
	if fault.Is(err, fault.NotFound) {
		r, err := s.files.Write(ctx, a, filestore.Put{
			Path: p.Path, Mode: filestore.CreateOnly, MimeType: p.MimeType, Body: strings.NewReader(p.Text),
			Size: int64(len(p.Text)), If: p.If, Once: p.Once,
		})
		return r, err
	}
	if err != nil {
		return filestore.Receipt{}, err
	}
	if err := p.If.Check(f, true); err != nil {
		return filestore.Receipt{}, err
	}
	o, err := s.files.Open(ctx, f.Content)
	if err != nil {
		return filestore.Receipt{}, err
	}
	old, err := o.Range(0, -1)
	if err != nil {
		return filestore.Receipt{}, err
	}
	defer func() { _ = old.Close() }()
	r, err := s.files.Write(ctx, a, filestore.Put{
		FileID: f.ID, Mode: filestore.ReplaceOnly, MimeType: f.MimeType, Body: io.MultiReader(old, strings.NewReader(p.Text)),
		Size: f.Size + int64(len(p.Text)), If: filestore.Condition{Version: f.Version}, Once: p.Once,
	})
	if fault.Is(err, fault.Precondition) {
		return filestore.Receipt{}, fault.Wrap(fault.Conflict, "the file was modified concurrently: try again", err)
	}
	return r, err
}
