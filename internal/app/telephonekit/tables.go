package telephonekit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

// Tables are the spreadsheets among the documents that everybody may read, for the
// lists of menus. Callers are nobody in particular, whoever wrote the menu.
type Tables struct {
	svc *knowledge.Service

	mu     sync.Mutex
	before map[string]string // the path before a document in its collection's order, to find it at once
}

var _ ussdlist.Source = (*Tables)(nil)

// NewTables returns the tables of a service.
func NewTables(svc *knowledge.Service) *Tables {
	return &Tables{svc: svc, before: map[string]string{}}
}

// maxTable bounds the file of a table.
const maxTable = 4 << 20

// Table implements ussdlist.Source.
func (t *Tables) Table(ctx context.Context, l ussdlist.List, known string) (*ussdlist.Table, string, error) {
	all, err := t.svc.Readable(ctx, knowledge.Caller{})
	if err != nil {
		return nil, "", err
	}
	i := slices.IndexFunc(all, func(c knowledge.Collection) bool { return c.ID == l.Collection })
	if i < 0 {
		return nil, "", fault.New(fault.NotFound, "no collection of that id is for everybody")
	}
	doc, err := t.find(ctx, all[i], all[i].Folder+"/"+l.Document)
	if err != nil {
		return nil, "", err
	}
	version := doc.FileID + "/" + strconv.FormatInt(doc.Version, 10)
	switch {
	case version == known:
		return nil, known, nil
	case doc.Size > maxTable:
		return nil, version, errors.New("the document is larger than 4 MiB")
	}
	body, err := t.svc.Files.Open(ctx, doc.Namespace, doc.FileID, doc.Version)
	if err != nil { // a newer version may be about to be known: that is no end of the list
		return nil, "", fault.Wrap(fault.Unavailable, "the document cannot be opened", err)
	}
	data, err := io.ReadAll(io.LimitReader(body, maxTable))
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, "", fmt.Errorf("read document: %w", err)
	}
	read, err := t.svc.Reader.Read(ctx, document.Source{Name: doc.Name(), MediaType: doc.MimeType, Data: data})
	if _, ok := errors.AsType[document.Problem](err); ok { // it will not be better until it is another
		return nil, version, err
	}
	if err != nil {
		return nil, "", err
	}
	table, err := tableOf(read, l.Sheet)
	return table, version, err
}

// aheadEvery is how often it is looked whether the menus have other lists.
const aheadEvery = time.Second

// ReadAhead reads the lists of the menus that are documents, at the start and when the menus
// are others, until ctx ends: the first caller after a restart is shown them too.
func ReadAhead(ctx context.Context, lists ussdlist.Reader, menus func() *ussdbook.Book) error {
	var read *ussdbook.Book
	look := func() bool {
		now := menus()
		if read != nil && now.Same(read) {
			return true
		}
		read = now
		for _, m := range now.Menus() {
			for _, l := range m.Lists() {
				if l.Document == "" {
					continue
				}
				// Other errors are for the log of whoever asks for the list.
				if _, err := lists.Table(ctx, l); fault.Is(err, fault.Unavailable) {
					read = nil // it is being read
				}
			}
		}
		return true
	}
	look()
	pace.Every(ctx, aheadEvery, look)
	return nil
}

// find looks for the document at a path: where it was before, and else everywhere.
func (t *Tables) find(ctx context.Context, c knowledge.Collection, path string) (knowledge.Document, error) {
	const page = 500
	name := c.ID + path
	t.mu.Lock()
	before, known := t.before[name]
	t.mu.Unlock()
	if known {
		docs, err := t.svc.Store.Documents(ctx, c.Namespace, c.ID, before, 1)
		if err != nil || len(docs) == 1 && docs[0].Path == path {
			return firstOf(docs), err
		}
	}
	before = ""
	for {
		docs, err := t.svc.Store.Documents(ctx, c.Namespace, c.ID, before, page)
		if err != nil {
			return knowledge.Document{}, err
		}
		for _, d := range docs {
			if d.Path == path {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.before[name] = before // names are those of menus: there are few
				return d, nil
			}
			before = d.Path
		}
		if len(docs) < page {
			return knowledge.Document{}, fault.New(fault.NotFound, "the collection has no such document")
		}
	}
}

func firstOf(docs []knowledge.Document) knowledge.Document {
	if len(docs) == 0 {
		return knowledge.Document{}
	}
	return docs[0]
}

// tableOf returns the first table with names of columns, of a sheet or of all.
func tableOf(doc *document.Document, sheet string) (*ussdlist.Table, error) {
	for _, b := range doc.Blocks {
		if b.Kind == document.Table && b.Header > 0 && (sheet == "" || b.Place.Part == sheet) {
			return ussdlist.NewTable(b.Rows[b.Header-1], b.Rows[b.Header:])
		}
	}
	if sheet != "" {
		return nil, fmt.Errorf("the sheet %q has no table with names of columns", sheet)
	}
	return nil, errors.New("the document has no table with names of columns")
}
