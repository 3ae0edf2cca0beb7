// Package office reads what offices write: texts (DOCX, ODT) and sheets (XLSX, ODS).
//
// It reads what people see and leaves out what they deleted, hid or commented.
// Formulas are not computed: a cell shows the value that was stored with it. Pages
// are those that the program which wrote a text saw; a text without such marks has
// none.
package office

import (
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// flow collects paragraphs, lists and tables as they come, one inside the other.
type flow struct {
	to *document.Builder
	// pages: whether the text has marks of pages, and which one this is.
	pages bool
	page  int

	texts []*paragraph // those that are open: a text box stands inside a paragraph
	items []document.Item
	from  document.Place // where the items begin
	cells []*grid        // tables that are open, one inside the other
	notes []string       // that belong below the paragraph
}

// paragraph is one that is open.
type paragraph struct {
	text    strings.Builder
	heading int
	item    bool
	depth   int
	at      document.Place
}

// grid is a table that is open.
type grid struct {
	rows   [][]string
	row    []string
	cell   []string
	header int
	at     document.Place
	bytes  int
}

func newFlow(to *document.Builder, pages bool) (*flow, error) {
	f := &flow{to: to, pages: pages}
	return f, f.nextPage()
}

// nextPage is called where a page ends.
func (f *flow) nextPage() error {
	if !f.pages {
		return nil
	}
	page, err := f.to.Page()
	if err != nil {
		return err
	}
	f.page = page
	return nil
}

func (f *flow) here() document.Place { return document.Place{Page: f.page} }

// begin opens a paragraph.
func (f *flow) begin() *paragraph {
	p := &paragraph{at: f.here()}
	f.texts = append(f.texts, p)
	return p
}

// open is the paragraph that text goes to; nil between paragraphs.
func (f *flow) open() *paragraph {
	if len(f.texts) == 0 {
		return nil
	}
	return f.texts[len(f.texts)-1]
}

// write adds text.
func (f *flow) write(text string) {
	if p := f.open(); p != nil {
		p.text.WriteString(text)
	}
}

// end closes a paragraph: into the cell that is open, the list, or the document.
func (f *flow) end() error {
	p := f.open()
	if p == nil {
		return nil
	}
	f.texts = f.texts[:len(f.texts)-1]
	text := document.Clean(p.text.String())
	if n := len(f.cells); n > 0 {
		if text != "" {
			f.cells[n-1].cell = append(f.cells[n-1].cell, text)
		}
		return nil
	}
	if p.item {
		if len(f.items) == 0 {
			f.from = p.at
		}
		f.items = append(f.items, document.Item{Depth: p.depth, Text: text})
		return nil
	}
	if text == "" {
		return nil
	}
	if err := f.endList(); err != nil {
		return err
	}
	var err error
	if p.heading > 0 {
		err = f.to.Heading(p.heading, text, p.at)
	} else {
		err = f.to.Paragraph(text, p.at)
	}
	if err != nil {
		return err
	}
	return f.endNotes()
}

// endList adds the list that was collected.
func (f *flow) endList() error {
	items := f.items
	f.items = nil
	return f.to.List(items, f.from)
}

// endNotes adds the notes below what they belong to.
func (f *flow) endNotes() error {
	notes := f.notes
	f.notes = nil
	for _, note := range notes {
		if err := f.to.Paragraph(note, f.here()); err != nil {
			return err
		}
	}
	return nil
}

// beginTable opens a table.
func (f *flow) beginTable() error {
	if len(f.cells) == 0 {
		if err := f.endList(); err != nil {
			return err
		}
	}
	f.cells = append(f.cells, &grid{at: f.here()})
	return nil
}

func (f *flow) table() *grid {
	if len(f.cells) == 0 {
		return nil
	}
	return f.cells[len(f.cells)-1]
}

// endCell adds a cell, and as many copies of it as the table says; a row does not
// grow beyond the limit, however often an empty one is repeated.
func (f *flow) endCell(times int) {
	g := f.table()
	if g == nil {
		return
	}
	text := strings.Join(g.cell, " ")
	g.cell = nil
	for range min(times, f.to.Limits().Columns+1-len(g.row)) {
		g.row = append(g.row, text)
	}
}

// endRow adds a row; those beyond the limit are not kept.
func (f *flow) endRow(header bool) {
	g := f.table()
	if g == nil {
		return
	}
	row := g.row
	g.row = nil
	if len(g.rows) > f.to.Limits().Rows || g.bytes > f.to.Limits().Text {
		return
	}
	for _, cell := range row {
		g.bytes += len(cell)
	}
	if header && g.header == len(g.rows) {
		g.header++
	}
	g.rows = append(g.rows, row)
}

// endTable adds a table to the document, or as text to the cell that it stands in.
func (f *flow) endTable() error {
	g := f.table()
	if g == nil {
		return nil
	}
	f.cells = f.cells[:len(f.cells)-1]
	if outer := f.table(); outer != nil {
		for _, row := range g.rows {
			outer.cell = append(outer.cell, strings.Join(row, " "))
		}
		return nil
	}
	if g.header == 0 && len(g.rows) > 1 {
		g.header = 1 // most tables have one, and few say so
	}
	if err := f.to.Table(g.header, g.rows, g.at); err != nil {
		return err
	}
	return f.endNotes()
}

// close ends what the text left open.
func (f *flow) close() error {
	for len(f.texts) > 0 {
		if err := f.end(); err != nil {
			return err
		}
	}
	for len(f.cells) > 0 {
		f.endCell(1)
		f.endRow(false)
		if err := f.endTable(); err != nil {
			return err
		}
	}
	if err := f.endList(); err != nil {
		return err
	}
	return f.endNotes()
}
