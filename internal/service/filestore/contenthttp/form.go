package contenthttp

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// FormMedia is the media type of forms with files.
const FormMedia = "multipart/form-data"

// Bounds of a form. Its files are bounded as those of plain bodies are.
const (
	maxFormParts  = 100
	maxFormBorder = 70 // of a boundary, by RFC 2046
)

// IsForm reports whether the body is a form, as browsers and curl -F send it.
func IsForm(r *http.Request) bool {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return media == FormMedia
}

// Form reads the body of a request part by part: nothing of it is held in memory.
type Form struct {
	parts *multipart.Reader
	seen  int
}

// OpenForm begins to read a form.
func OpenForm(r *http.Request) (*Form, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	border := params["boundary"]
	if err != nil || border == "" || len(border) > maxFormBorder {
		return nil, fault.Newf(fault.Invalid, "the form has no boundary of 1 to %d characters in its Content-Type", maxFormBorder)
	}
	for _, name := range DigestHeaders {
		if len(r.Header.Values(name)) > 0 {
			return nil, fault.Newf(fault.Invalid, "%s of a form would be known after its files are stored: put it into the header of each part", name).WithCode("bad_digest")
		}
	}
	return &Form{parts: multipart.NewReader(r.Body, border)}, nil
}

// Next returns the next part, and whether it is a file: whether it has a filename. At
// the end of the form it fails with io.EOF itself.
func (f *Form) Next() (part *multipart.Part, isFile bool, err error) {
	part, err = f.parts.NextRawPart()
	if err == io.EOF { // a form that was cut fails with an error that wraps this one
		return nil, false, io.EOF
	}
	if err != nil {
		return nil, false, FormBroken(err)
	}
	if f.seen++; f.seen > maxFormParts {
		return nil, false, fault.Newf(fault.Invalid, "a form has at most %d parts", maxFormParts)
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "7bit", "8bit", "binary":
	default:
		return nil, false, fault.New(fault.Invalid, "the parts of a form come as they are: leave Content-Transfer-Encoding out")
	}
	_, params, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, isFile = params["filename"]
	return part, isFile, nil
}

// FormBroken gives what is wrong with a form its kind.
func FormBroken(err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return fault.Wrap(fault.Invalid, "the form is malformed or ended early", err)
}
