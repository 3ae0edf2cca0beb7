// Package packed opens documents that are archives of XML: those of offices, and
// books.
//
// It promises that no more is unpacked than the limits allow, whatever sizes the
// archive claims, and that XML is read without entities of its own, without
// reaching out, and only so deep.
package packed

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// The problems that archives have.
const (
	ErrTooLarge  document.Problem = "the document unpacks to more than may be read"
	ErrTooMany   document.Problem = "the document is an archive of too many files"
	ErrTooDeep   document.Problem = "the document's elements stand too deep inside each other"
	ErrNoSuch    document.Problem = "the document lacks a part that it must have"
	maxFiles                      = 20_000
	maxPartNames                  = 1 << 10
)

// Archive is an open document.
type Archive struct {
	files map[string]*zip.File
	left  int64
}

// IsArchive reports whether bytes begin like a zip archive.
func IsArchive(data []byte) bool { return bytes.HasPrefix(data, []byte("PK\x03\x04")) }

// Open reads the directory of an archive.
func Open(data []byte, limits document.Limits) (*Archive, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		if bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")) { // what an office writes around a document that it encrypts
			return nil, document.ErrLocked
		}
		return nil, document.ErrDamaged
	}
	if len(r.File) > maxFiles {
		return nil, ErrTooMany
	}
	a := &Archive{files: make(map[string]*zip.File, len(r.File)), left: limits.WithDefaults().Unpacked}
	for _, f := range r.File {
		if name := clean(f.Name); len(name) <= maxPartNames && a.files[name] == nil {
			a.files[name] = f
		}
	}
	return a, nil
}

// clean brings the path of a part to one form.
func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

// Has reports whether there is such a part.
func (a *Archive) Has(name string) bool { return a.files[clean(name)] != nil }

// Read unpacks a part, whole.
func (a *Archive) Read(name string) ([]byte, error) {
	f := a.files[clean(name)]
	if f == nil {
		return nil, ErrNoSuch
	}
	if f.Flags&1 != 0 {
		return nil, document.ErrLocked
	}
	r, err := f.Open()
	if err != nil {
		return nil, document.ErrDamaged
	}
	defer func() { _ = r.Close() }()
	var b bytes.Buffer
	if size := f.UncompressedSize64; size < 1<<22 { // a claim, believed where it is harmless
		b.Grow(int(size) + bytes.MinRead)
	}
	n, err := io.Copy(&b, io.LimitReader(r, a.left+1))
	if a.left -= n; a.left < 0 {
		return nil, ErrTooLarge
	}
	if err != nil && b.Len() == 0 {
		return nil, document.ErrDamaged
	}
	return b.Bytes(), nil // what is missing at the end shows when it is read
}

// Resolve returns the path of a part that another one names.
func Resolve(from, target string) string {
	target, _, _ = strings.Cut(target, "#")
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	if strings.HasPrefix(target, "/") {
		return clean(target)
	}
	return clean(path.Join(path.Dir(clean(from)), target))
}

// Holds reports whether bytes are an archive with all of these parts.
func Holds(data []byte, names ...string) bool {
	if !IsArchive(data) {
		return false
	}
	for _, name := range names { // names stand in the directory in clear
		if !bytes.Contains(data, []byte(name)) {
			return false
		}
	}
	a, err := Open(data, document.Limits{})
	if err != nil {
		return false
	}
	for _, name := range names {
		if !a.Has(name) {
			return false
		}
	}
	return true
}

// Declares reports whether an archive's first part is a mimetype that begins so,
// as OpenDocument and EPUB have it.
func Declares(data []byte, mediaType string) bool {
	const at = 30 // after the header of the first part comes its name, then its content
	return IsArchive(data) && len(data) > at && bytes.HasPrefix(data[at:], []byte("mimetype"+mediaType))
}
