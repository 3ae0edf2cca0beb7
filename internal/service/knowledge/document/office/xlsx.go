package office

import (
	"errors"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/packed"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/sheet"
)

// Excel reads XLSX.
type Excel struct{}

// Format describes XLSX.
func (e Excel) Format() document.Format {
	return document.Format{
		Name:       "xlsx",
		MediaTypes: []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "application/vnd.ms-excel.sheet.macroenabled.12"},
		Extensions: []string{".xlsx", ".xlsm", ".xltx"},
		Sniff:      func(data []byte) bool { return packed.Holds(data, "[Content_Types].xml", "xl/workbook.xml") },
		Parser:     e,
	}
}

// Parse reads the sheets in their order.
func (Excel) Parse(src document.Source, to *document.Builder) error {
	a, err := packed.Open(src.Data, to.Limits())
	if err != nil {
		return err
	}
	depth := to.Limits().Depth
	to.Title(a.Property("docProps/core.xml", depth, "title")["title"])
	book, err := readBook(a, to)
	if err != nil {
		return err
	}
	b := excel{to: to, formats: readFormats(a, book.styles, depth)}
	b.formats.from1904 = book.from1904
	if b.shared, err = readShared(a, book.shared, to.Limits()); err != nil {
		to.Note("the texts that the sheets share could not all be read: %s", err)
	}
	for _, s := range book.sheets {
		text, err := a.Read(s.part)
		if err == nil {
			err = b.read(s.name, text)
		}
		if errors.Is(err, document.ErrFull) || errors.Is(err, packed.ErrTooLarge) {
			return err
		}
		if err != nil {
			to.Note("the sheet %q is damaged: what could be read before is here", s.name)
		}
	}
	return nil
}

// book is what a workbook says of its parts.
type book struct {
	sheets         []struct{ name, part string }
	shared, styles string
	from1904       bool
}

// maxSheets bounds the sheets of a workbook.
const maxSheets = 500

func readBook(a *packed.Archive, to *document.Builder) (book, error) {
	const main = "xl/workbook.xml"
	depth := to.Limits().Depth
	b := book{shared: "xl/sharedStrings.xml", styles: "xl/styles.xml"}
	targets := map[string]string{}
	for _, r := range relations(a, "xl/_rels/workbook.xml.rels", depth) {
		part := packed.Resolve(main, r.target)
		targets[r.id] = part
		switch {
		case strings.HasSuffix(r.kind, "/sharedStrings"):
			b.shared = part
		case strings.HasSuffix(r.kind, "/styles"):
			b.styles = part
		}
	}
	data, err := a.Read(main)
	if err != nil {
		return b, err
	}
	for s := packed.Scan(data, depth); ; {
		more, err := s.Next()
		if err != nil {
			return b, err
		}
		if !more {
			return b, nil
		}
		switch s.Start() {
		case "workbookPr":
			b.from1904 = s.Attr("date1904") == "1" || s.Attr("date1904") == "true"
		case "sheet":
			name, part := document.Clean(s.Attr("name")), targets[s.Attr("id")]
			switch {
			case s.Attr("state") == "hidden", s.Attr("state") == "veryHidden":
				to.Note("the sheet %q is hidden: it was not read", name)
			case len(b.sheets) >= maxSheets:
				to.Note("the document has more than %d sheets: the first %d were read", maxSheets, maxSheets)
				return b, nil
			case part != "" && a.Has(part):
				b.sheets = append(b.sheets, struct{ name, part string }{name, part})
			}
		}
	}
}

// readShared reads the texts that cells refer to by number, as many as the text of
// a document may have bytes: no sheet can show more.
func readShared(a *packed.Archive, part string, limits document.Limits) ([]string, error) {
	if !a.Has(part) {
		return nil, nil
	}
	data, err := a.Read(part)
	if err != nil {
		return nil, err
	}
	var (
		out   []string
		text  strings.Builder
		total int
	)
	for s := packed.Scan(data, limits.Depth); total <= 2*limits.Text; {
		more, err := s.Next()
		if err != nil || !more {
			return out, err
		}
		switch s.Start() {
		case "t":
			inner, err := s.Inner()
			if err != nil {
				return out, err
			}
			text.WriteString(inner)
		case "rPh": // how a text is pronounced
			if err := s.Skip(); err != nil {
				return out, err
			}
		}
		if s.End() == "si" {
			total += text.Len() + 16
			out = append(out, text.String())
			text.Reset()
		}
	}
	return out, packed.ErrTooLarge
}

// excel is the work on a workbook.
type excel struct {
	to      *document.Builder
	shared  []string
	formats formats
}

// cell is one that is open.
type cell struct {
	column      int
	kind, style string
	value, text strings.Builder
}

// read adds one sheet.
func (e *excel) read(name string, data []byte) error {
	table := sheet.New(e.to, name)
	var (
		row    []string
		number int
		c      cell
		most   = e.to.Limits().Columns
	)
	for s := packed.Scan(data, e.to.Limits().Depth); ; {
		more, err := s.Next()
		if err != nil {
			return errors.Join(table.Close(), err)
		}
		if !more {
			return table.Close()
		}
		switch s.Start() {
		case "row":
			row = row[:0]
			if n, err := strconv.Atoi(s.Attr("r")); err == nil && n > number {
				number = n
			} else {
				number++
			}
		case "c":
			c = cell{kind: s.Attr("t"), style: s.Attr("s"), column: columnOf(s.Attr("r"), len(row))}
		case "v":
			text, err := s.Inner()
			if err != nil {
				return errors.Join(table.Close(), err)
			}
			c.value.WriteString(text)
		case "t":
			text, err := s.Inner()
			if err != nil {
				return errors.Join(table.Close(), err)
			}
			c.text.WriteString(text)
		case "f", "rPh", "extLst":
			if err := s.Skip(); err != nil {
				return errors.Join(table.Close(), err)
			}
		}
		switch s.End() {
		case "c":
			for len(row) < c.column && len(row) <= most {
				row = append(row, "")
			}
			if len(row) <= most {
				row = append(row, e.show(&c))
			}
		case "row":
			err := table.Row(number, row)
			if errors.Is(err, sheet.ErrRows) {
				return table.Close()
			}
			if err != nil {
				return err
			}
		}
	}
}

// columnOf reads the column of a cell's name, from 0: B7 is 1.
func columnOf(name string, next int) int {
	column := 0
	for _, r := range name {
		if r < 'A' || r > 'Z' || column > 1<<16 {
			break
		}
		column = column*26 + int(r-'A') + 1
	}
	if column == 0 {
		return next
	}
	return column - 1
}

// show is what a cell shows.
func (e *excel) show(c *cell) string {
	value := c.value.String()
	switch c.kind {
	case "s":
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n >= 0 && n < len(e.shared) {
			return e.shared[n]
		}
		return ""
	case "inlineStr":
		return c.text.String()
	case "str", "d":
		return value
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[value]
	case "e":
		return ""
	}
	return e.formats.show(value, c.style)
}
