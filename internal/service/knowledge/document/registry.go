package document

import (
	"errors"
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/did"
)

// Source is a file to be read.
type Source struct {
	// Name is the file's name or path, MediaType what somebody said it is; both
	// may be empty, and neither is believed against what the bytes say.
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"-"`
}

// Parser reads one kind of file. It adds blocks to the builder until the file or
// the builder's patience ends. An error of the builder it returns as it is; when
// the file is damaged it fails with ErrDamaged, and what it added until then is
// kept. It may panic: that is damage too.
type Parser interface {
	Parse(src Source, to *Builder) error
}

// Format is a kind of file and who reads it.
type Format struct {
	// Name is one word, such as "pdf".
	Name string
	// MediaTypes and Extensions (with their dot) claim files whose bytes say nothing.
	MediaTypes, Extensions []string
	// Sniff reports whether the bytes can only be of this format; nil never knows.
	Sniff func(data []byte) bool
	// Guess reports whether they may be, when no name says anything; nil never does.
	Guess func(data []byte) bool
	// Parser reads it.
	Parser Parser
}

// Registry knows formats. It does not change once it is made.
type Registry struct{ formats []Format }

// NewRegistry makes a registry. Formats that come first are asked first.
func NewRegistry(formats ...Format) *Registry {
	return &Registry{formats: slices.Clone(formats)}
}

// With returns a registry that asks the given formats before its own.
func (r *Registry) With(formats ...Format) *Registry {
	return &Registry{formats: slices.Concat(formats, r.formats)}
}

// Formats lists what can be read, for people and for file pickers.
func (r *Registry) Formats() []Format { return slices.Clone(r.formats) }

// Detect returns the format of a file: by its bytes, else by its extension, else by
// its media type (which browsers make up), else by a guess.
func (r *Registry) Detect(src Source) (Format, error) {
	media, _, err := mime.ParseMediaType(src.MediaType)
	if err != nil {
		media = ""
	}
	extension := strings.ToLower(path.Ext(src.Name))
	for _, claims := range []func(Format) bool{
		func(f Format) bool { return f.Sniff != nil && f.Sniff(src.Data) },
		func(f Format) bool { return extension != "" && slices.Contains(f.Extensions, extension) },
		func(f Format) bool { return media != "" && slices.Contains(f.MediaTypes, media) },
		func(f Format) bool { return f.Guess != nil && f.Guess(src.Data) },
	} {
		if i := slices.IndexFunc(r.formats, claims); i >= 0 {
			return r.formats[i], nil
		}
	}
	return Format{}, ErrUnknown
}

// Parse reads a file in this process: see package docreader for doing it apart. It
// fails with a Problem when there is nothing to show; a file of which a part
// could be read is a document with a note.
func (r *Registry) Parse(src Source, limits Limits) (*Document, error) {
	format, err := r.Detect(src)
	if err != nil {
		return nil, err
	}
	to := NewBuilder(limits)
	to.doc.Format = format.Name
	err = parse(format.Parser, src, to)
	problem, isProblem := errors.AsType[Problem](err)
	switch {
	case err == nil, errors.Is(err, ErrFull):
	case to.Empty():
		return nil, err
	case isProblem:
		to.Note("%s: what could be read before is here", problem)
	default:
		return nil, fmt.Errorf("parse %s: %w", format.Name, err)
	}
	if to.Empty() {
		return nil, ErrNoText
	}
	doc := to.Document()
	if did.HoldsSecret(doc.Text()) { // whatever it is written in: people may be shown it
		return nil, ErrSecret
	}
	return doc, nil
}

// parse lets a parser fail in any way that can be caught.
func parse(p Parser, src Source, to *Builder) (err error) {
	defer func() {
		if recover() != nil {
			err = ErrDamaged
		}
	}()
	return p.Parse(src, to)
}
