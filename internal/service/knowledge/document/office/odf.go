package office

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/packed"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/sheet"
)

// OpenText reads ODT.
type OpenText struct{}

// Format describes ODT.
func (o OpenText) Format() document.Format {
	return document.Format{
		Name: "odt", MediaTypes: []string{"application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text-template"},
		Extensions: []string{".odt", ".ott"}, Parser: o,
		Sniff: func(data []byte) bool { return packed.Declares(data, "application/vnd.oasis.opendocument.text") },
	}
}

// Parse reads the text.
func (OpenText) Parse(src document.Source, to *document.Builder) error {
	text, err := openContent(src, to)
	if err != nil {
		return err
	}
	f, err := newFlow(to, bytes.Contains(text, []byte("<text:soft-page-break")))
	if err != nil {
		return err
	}
	o := open{flow: f, parents: map[string]string{}, scan: packed.Scan(text, to.Limits().Depth)}
	return o.read()
}

// OpenSheet reads ODS.
type OpenSheet struct{}

// Format describes ODS.
func (o OpenSheet) Format() document.Format {
	return document.Format{
		Name: "ods", MediaTypes: []string{"application/vnd.oasis.opendocument.spreadsheet"}, Extensions: []string{".ods", ".ots"}, Parser: o,
		Sniff: func(data []byte) bool { return packed.Declares(data, "application/vnd.oasis.opendocument.spreadsheet") },
	}
}

// openContent opens the archive and reads what the document says of itself.
func openContent(src document.Source, to *document.Builder) ([]byte, error) {
	a, err := packed.Open(src.Data, to.Limits())
	if err != nil {
		return nil, err
	}
	if manifest, err := a.Read("META-INF/manifest.xml"); err == nil && bytes.Contains(manifest, []byte("encryption-data")) {
		return nil, document.ErrLocked
	}
	about := a.Property("meta.xml", to.Limits().Depth, "title", "language")
	to.Title(about["title"])
	to.Language(about["language"])
	return a.Read("content.xml")
}

// open is the work on one text.
type open struct {
	flow    *flow
	scan    *packed.Scanner
	parents map[string]string // of styles
	lists   int
	header  int // table-header-rows that are open
	repeat  int // of the cell that is open
	note    *strings.Builder
}

func (o *open) read() error {
	for {
		more, err := o.scan.Next()
		if err != nil {
			return errors.Join(o.flow.close(), err)
		}
		if !more {
			return o.flow.close()
		}
		switch {
		case o.scan.Start() != "":
			err = o.start(o.scan.Start())
		case o.scan.End() != "":
			err = o.end(o.scan.End())
		case o.note != nil:
			o.note.WriteString(o.scan.Text())
		default:
			o.flow.write(o.scan.Text())
		}
		if err != nil {
			return err
		}
	}
}

// start begins an element.
func (o *open) start(name string) error {
	s := o.scan
	switch name {
	case "tracked-changes", "annotation", "annotation-end", "forms", "sequence-decls", "note-citation", "bookmark", "scripts", "font-face-decls",
		"table-of-content", "title", "desc", "ruby-text", "alphabetical-index":
		return s.Skip()
	case "style":
		o.parents[s.Attr("name")] = s.Attr("parent-style-name")
	case "h":
		p := o.flow.begin()
		p.heading, _ = strconv.Atoi(s.Attr("outline-level"))
		p.heading = max(1, p.heading)
	case "p":
		if o.note != nil {
			o.note.WriteByte(' ')
			return nil
		}
		p := o.flow.begin()
		p.item, p.depth = o.lists > 0, o.lists-1
		if style := s.Attr("style-name"); style == "Title" || o.parents[style] == "Title" {
			p.heading = 1
		}
	case "s":
		n, _ := strconv.Atoi(s.Attr("c"))
		o.write(strings.Repeat(" ", max(1, min(n, 8))))
	case "tab", "line-break":
		o.write(" ")
	case "soft-page-break":
		return o.flow.nextPage()
	case "list":
		o.lists++
	case "note-body":
		o.note = &strings.Builder{}
	case "table":
		return o.flow.beginTable()
	case "table-header-rows":
		o.header++
	case "table-cell", "covered-table-cell":
		n, _ := strconv.Atoi(s.Attr("number-columns-repeated"))
		o.repeat = max(1, n)
	}
	return nil
}

func (o *open) write(text string) {
	if o.note != nil {
		o.note.WriteString(text)
		return
	}
	o.flow.write(text)
}

// end ends an element.
func (o *open) end(name string) error {
	switch name {
	case "h":
		return o.flow.end()
	case "p":
		if o.note == nil {
			return o.flow.end()
		}
	case "list":
		if o.lists = max(0, o.lists-1); o.lists == 0 && len(o.flow.cells) == 0 {
			return o.flow.endList()
		}
	case "note-body":
		if o.note != nil {
			o.flow.notes = append(o.flow.notes, o.note.String())
		}
		o.note = nil
	case "table-cell", "covered-table-cell":
		o.flow.endCell(o.repeat)
		o.repeat = 1
	case "table-row":
		o.flow.endRow(o.header > 0)
	case "table-header-rows":
		o.header = max(0, o.header-1)
	case "table":
		return o.flow.endTable()
	}
	return nil
}

// Parse reads the sheets.
func (OpenSheet) Parse(src document.Source, to *document.Builder) error {
	text, err := openContent(src, to)
	if err != nil {
		return err
	}
	o := openSheets{to: to, scan: packed.Scan(text, to.Limits().Depth), hidden: map[string]bool{}}
	for {
		more, err := o.scan.Next()
		if err != nil {
			if o.sheet != nil {
				err = errors.Join(o.sheet.Close(), err)
			}
			return err
		}
		if !more {
			return nil
		}
		if err := o.event(); err != nil {
			return err
		}
	}
}

// openSheets is the work on the sheets of a document.
type openSheets struct {
	to     *document.Builder
	scan   *packed.Scanner
	sheet  *sheet.Sheet // nil outside
	done   bool         // enough rows of it were read
	number int          // of the row
	rows   int          // how often it is repeated
	cells  []string
	text   strings.Builder
	inText bool
	repeat int
	style  string
	hidden map[string]bool // styles of sheets that nobody sees
}

func (o *openSheets) event() error {
	s := o.scan
	if text := s.Text(); text != "" && o.inText {
		o.text.WriteString(text)
		return nil
	}
	switch s.Start() {
	case "annotation", "forms", "shapes", "tracked-changes", "content-validations":
		return s.Skip()
	case "style":
		o.style = s.Attr("name")
	case "table-properties":
		if s.Attr("display") == "false" {
			o.hidden[o.style] = true
		}
	case "table":
		return o.begin()
	case "table-row":
		n, _ := strconv.Atoi(s.Attr("number-rows-repeated"))
		o.rows, o.cells = max(1, n), nil
	case "table-cell", "covered-table-cell":
		n, _ := strconv.Atoi(s.Attr("number-columns-repeated"))
		o.repeat = max(1, n)
		o.text.Reset()
	case "p":
		if o.text.Len() > 0 {
			o.text.WriteByte(' ')
		}
		o.inText = true
	case "s", "tab", "line-break":
		o.text.WriteByte(' ')
	}
	switch s.End() {
	case "p":
		o.inText = false
	case "table-cell", "covered-table-cell":
		for range min(o.repeat, o.to.Limits().Columns+1-len(o.cells)) {
			o.cells = append(o.cells, o.text.String())
		}
		o.text.Reset()
	case "table-row":
		return o.endRow()
	case "table":
		if o.sheet == nil {
			return nil
		}
		closing := o.sheet
		o.sheet = nil
		return closing.Close()
	}
	return nil
}

// begin opens a sheet, unless nobody sees it.
func (o *openSheets) begin() error {
	name := document.Clean(o.scan.Attr("name"))
	if o.hidden[o.scan.Attr("style-name")] {
		o.to.Note("the sheet %q is hidden: it was not read", name)
		return o.scan.Skip()
	}
	o.sheet, o.done, o.number = sheet.New(o.to, name), false, 0
	return nil
}

// endRow adds a row as often as it is repeated; empty ones are repeated millions
// of times at the end of a sheet, and are counted only.
func (o *openSheets) endRow() error {
	first := o.number + 1
	o.number += o.rows
	if o.sheet == nil || o.done {
		return nil
	}
	empty := strings.TrimSpace(strings.Join(o.cells, "")) == ""
	for i := range o.rows {
		err := o.sheet.Row(first+i, o.cells)
		if errors.Is(err, sheet.ErrRows) {
			o.done = true
			return nil
		}
		if err != nil || empty {
			return err
		}
	}
	return nil
}
