package filestorehttp

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

// maxFormPath bounds the field path: more bytes than any path has.
const maxFormPath = 8 << 10

// uploadForm reads a form, and says where its files go.
type uploadForm struct {
	parts *contenthttp.Form
	path  string // of the query or the field path; a folder when it ends in a slash
	named bool   // whether the field path was there
	files int
	// byID is set when the request names the file by its identifier.
	byID bool
}

func openForm(r *http.Request, p filestore.Put) (*uploadForm, error) {
	parts, err := contenthttp.OpenForm(r)
	if err != nil {
		return nil, err
	}
	return &uploadForm{parts: parts, path: p.Path, byID: p.FileID != ""}, nil
}

// next returns the next file of the form; fields before it say where it goes. At
// the end of the form it fails with io.EOF. A field that means nothing here is
// refused: its sender counts on it.
func (f *uploadForm) next() (*multipart.Part, error) {
	for {
		part, isFile, err := f.parts.Next()
		if err != nil {
			return nil, err
		}
		if isFile {
			f.files++
			return part, nil
		}
		if err := f.field(part); err != nil {
			return nil, err
		}
	}
}

// field takes the field path, once, before the files that it places.
func (f *uploadForm) field(part *multipart.Part) error {
	name := part.FormName()
	switch {
	case name != "path" || f.byID:
		return fault.Newf(fault.Invalid, "the form has a field %q, which means nothing here: files are parts with a filename, and a field path may say where they go", name)
	case f.files > 0:
		return fault.New(fault.Invalid, "the field path must come before the file")
	case f.named || f.path != "":
		return fault.New(fault.Invalid, "the path is given more than once")
	}
	text, err := io.ReadAll(io.LimitReader(part, maxFormPath+1))
	if err != nil {
		return contenthttp.FormBroken(err)
	}
	if len(text) > maxFormPath {
		return fault.New(fault.Invalid, "the field path is too long").WithCode("bad_path")
	}
	f.path, f.named = string(text), true
	return nil
}

// at returns where the file of a part goes. One path is the place of one file.
func (f *uploadForm) at(part *multipart.Part) (string, error) {
	if f.byID || f.path != "" && !strings.HasSuffix(f.path, "/") {
		if f.files > 1 {
			return "", fault.New(fault.Invalid, "the form has more than one file for one place: end the path with / to name a folder")
		}
		return f.path, nil
	}
	return place(f.path, part.FileName())
}

// storeForm stores the files of a form, one after the other. The first that can
// not be stored ends it; the answer tells what was stored before.
func (a *api) storeForm(w http.ResponseWriter, r *http.Request, access filestore.Access, p filestore.Put) error {
	form, err := openForm(r, p)
	if err != nil {
		return err
	}
	var stored []FileMetadata
	var last filestore.Receipt
	status := http.StatusOK
	for {
		part, err := form.next()
		if err == io.EOF { //nolint:errorlint // a form that was cut fails with an error that wraps this one
			break
		}
		if err == nil {
			last, err = a.storePart(r, access, p, form, part)
		}
		if err != nil {
			return formError(err, part, stored)
		}
		stored = append(stored, a.metadata(r, last.File))
		if last.Created {
			status = http.StatusCreated
		}
	}
	switch len(stored) {
	case 0:
		return fault.New(fault.Invalid, "the form has no file: a file is a part with a filename")
	case 1:
		return a.stored(w, r, last)
	}
	return httpserver.WriteJSON(w, status, FileList{Files: stored})
}

func (a *api) storePart(r *http.Request, access filestore.Access, p filestore.Put, form *uploadForm,
	part *multipart.Part,
) (filestore.Receipt, error) {
	var err error
	if p.Path, err = form.at(part); err != nil {
		return filestore.Receipt{}, err
	}
	if p.Body, err = contenthttp.Digested(part.Header, part); err != nil {
		return filestore.Receipt{}, err
	}
	p.MimeType = part.Header.Get("Content-Type")
	if p.Once.Key != "" {
		p.Once = each(p.Once, "part "+strconv.Itoa(form.files))
		p.Once.Fingerprint = digest(p.Once.Fingerprint, p.Path)
	}
	return a.svc.Put(r.Context(), access, p)
}

// formError says which file failed, and what was stored before it.
func formError(err error, part *multipart.Part, stored []FileMetadata) error {
	e := fault.From(err)
	if e.Kind == fault.Canceled || part == nil && len(stored) == 0 {
		return err
	}
	message := e.Message
	if part != nil {
		message = fmt.Sprintf("%s: %s", part.FileName(), e.Message)
	}
	out := fault.Wrap(e.Kind, message, err).WithCode(e.Code).WithRetryAfter(e.RetryAfter)
	for name, value := range e.Fields {
		out = out.WithField(name, value)
	}
	if len(stored) > 0 {
		out = out.WithField("stored", stored)
	}
	return out
}
