// Package docreader reads documents and pictures apart from the server: each in a
// process of its own, with limits of time, processor, memory and output, because no
// parser is safe from every file. A file that is too much for its reader is a
// Problem, and nothing more.
package docreader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/castalia-org/castalia/internal/platform/apart"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/picture"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// MaxDocument is the size of the largest document that is read.
const MaxDocument = 64 << 20

// textTime is how long the text of an attachment may take, textWait how long it waits
// for its turn: somebody waits for both.
const (
	textTime = 10 * time.Second
	textWait = 30 * time.Second
)

// limits of the process that reads one document.
func limits() apart.Limits {
	return apart.Limits{
		Time: time.Minute, CPU: 30 * time.Second,
		Memory: 512 << 20, Stack: 64 << 20,
		Input: MaxDocument + 64<<10, Output: 48 << 20,
	}
}

// Reader reads documents in processes. Documents that nobody waits for and those that
// somebody waits for do not take each other's places.
type Reader struct{ queued, waited *apart.Runner }

// New makes a Reader for a command of this program that calls Serve.
func New(command ...string) *Reader {
	return &Reader{queued: apart.New(limits(), command...), waited: apart.New(limits(), command...)}
}

// Places is how many documents Read reads at once.
func (a *Reader) Places() int { return a.queued.Places() }

// request goes before the document, on a line of its own.
type request struct {
	Source document.Source `json:"source"`
	Limits document.Limits `json:"limits"`
	// Edge asks for a small picture, so long at its longer side, instead of the text.
	Edge int `json:"edge,omitempty"`
}

// Read reads a document within the standard limits. It fails with a
// document.Problem when that is the document's fault.
func (a *Reader) Read(ctx context.Context, src document.Source) (*document.Document, error) {
	return a.ReadWithin(ctx, src, document.Limits{})
}

// ReadWithin reads a document within other limits.
func (a *Reader) ReadWithin(ctx context.Context, src document.Source,
	within document.Limits,
) (*document.Document, error) {
	return read(ctx, a.queued, apart.Job{}, src, within)
}

func read(ctx context.Context, runner *apart.Runner, j apart.Job, src document.Source,
	within document.Limits,
) (*document.Document, error) {
	if len(src.Data) > MaxDocument {
		return nil, errTooLarge
	}
	head, err := json.Marshal(request{Source: src, Limits: within})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	j.Input = [][]byte{append(head, '\n'), src.Data}
	out, err := runner.Run(ctx, j)
	if err != nil {
		return nil, explain(err)
	}
	doc := &document.Document{}
	if err := json.Unmarshal(out, doc); err != nil {
		return nil, fmt.Errorf("decode document: %w", err)
	}
	return doc, nil
}

// What is wrong with documents that end their reader.
const (
	errTooLarge document.Problem = "the document is larger than 64 MB"
	errTooSlow  document.Problem = "the document takes too long to read"
	errTooMuch  document.Problem = "the document takes too much memory to read"
	// errBusy is no fault of the document: nobody but Text ends with it.
	errBusy document.Problem = "other documents are being read, try it again in a minute"
)

// explain says what the end of a process means for the document.
func explain(err error) error {
	refusal, refused := errors.AsType[apart.Refusal](err)
	switch {
	case refused:
		return document.Problem(refusal)
	case errors.Is(err, apart.ErrTooLarge):
		return errTooLarge
	case errors.Is(err, apart.ErrTooSlow):
		return errTooSlow
	case errors.Is(err, apart.ErrTooMuch), errors.Is(err, apart.ErrTooMany):
		return errTooMuch
	case errors.Is(err, apart.ErrDestroyed):
		return document.ErrDamaged
	case errors.Is(err, apart.ErrBusy):
		return errBusy
	}
	return fmt.Errorf("read document apart: %w", err)
}

// Text reads the text of a document for somebody who waits: more than limit bytes
// of it when there are more, so that whoever cuts it can say so. What is wrong with
// the document is a fault of kind Invalid. Owners take turns. A nil Reader reads none.
func (a *Reader) Text(ctx context.Context, owner string, data []byte, limit int) (string, error) {
	if a == nil {
		return "", fault.New(fault.Invalid, "this server reads no documents")
	}
	j := apart.Job{Lane: owner, Wait: textWait, Time: textTime}
	doc, err := read(ctx, a.waited, j, document.Source{Data: data}, document.Limits{Text: 2 * limit, Pages: 200})
	if problem, ok := errors.AsType[document.Problem](err); ok {
		return "", fault.New(fault.Invalid, string(problem))
	}
	if err != nil {
		return "", err
	}
	return doc.Text(), nil
}

// glance is what somebody sees of a document at once.
func glance() document.Limits {
	return document.Limits{Text: 256 << 10, Blocks: 2000, Rows: 500, Columns: 40, Pages: 50}
}

// Look reads the beginning of a document for somebody who waits, as the JSON of a
// document.Document. The document is opened when its owner's turn has come. What is
// wrong with it is a fault of kind Invalid.
func (a *Reader) Look(ctx context.Context, owner, name, mediaType string,
	open func() ([]byte, error),
) (json.RawMessage, error) {
	src := document.Source{Name: name, MediaType: mediaType}
	return a.look(ctx, owner, request{Source: src, Limits: glance()}, open)
}

// Thumbnail makes a small picture of a picture, in the same way: see package picture.
func (a *Reader) Thumbnail(ctx context.Context, owner string, edge int, open func() ([]byte, error)) ([]byte, error) {
	return a.look(ctx, owner, request{Edge: edge}, open)
}

func (a *Reader) look(ctx context.Context, owner string, q request, open func() ([]byte, error)) ([]byte, error) {
	if a == nil {
		return nil, fault.New(fault.Invalid, "this server reads no documents")
	}
	head, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	out, err := a.waited.Run(ctx, apart.Job{
		Lane: owner, Wait: textWait, Time: textTime, Input: [][]byte{append(head, '\n')}, Open: open,
	})
	if err == nil {
		return out, nil
	}
	if problem, ok := errors.AsType[document.Problem](explain(err)); ok {
		return nil, fault.New(fault.Invalid, string(problem))
	}
	return nil, err
}

// Serve is the other end of Reader: it reads one document and returns the exit code
// of the process, which it has for itself.
func Serve(formats *document.Registry, in io.Reader, out io.Writer) int {
	return apart.Serve(limits(), in, out, func(input []byte) ([]byte, error) {
		head, data, ok := bytes.Cut(input, []byte("\n"))
		var q request
		if err := json.Unmarshal(head, &q); err != nil || !ok {
			return nil, fmt.Errorf("decode request: %w", err)
		}
		if q.Edge > 0 {
			return shrink(data, q.Edge)
		}
		q.Source.Data = data
		doc, err := formats.Parse(q.Source, q.Limits)
		if problem, ok := errors.AsType[document.Problem](err); ok {
			return nil, apart.Refusal(problem)
		}
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(doc)
		return b.Bytes(), err
	})
}

func shrink(data []byte, edge int) ([]byte, error) {
	small, err := picture.Shrink(data, edge)
	if err != nil {
		return nil, apart.Refusal(err.Error())
	}
	return small, nil
}

// Here reads documents in this process, for tests and tools.
type Here struct{ Formats *document.Registry }

// Read reads a document: see Reader.Read.
func (h Here) Read(_ context.Context, src document.Source) (*document.Document, error) {
	return h.Formats.Parse(src, document.Limits{})
}
