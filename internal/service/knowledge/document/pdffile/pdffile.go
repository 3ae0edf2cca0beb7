// Package pdffile reads the text of PDFs, and makes lines, paragraphs, headings and
// tables of what stands where on their pages.
//
// A PDF has no structure that could be relied on: it says which letters are shown
// at which place. The package keeps the order in which a page shows its text,
// which nearly every program makes the order of reading, and takes sizes, gaps and
// the document's outline as signs. Headers, footers and page numbers are left out.
// Text that exists as a picture only is not read, and said.
//
// Objects are found with a library that is not made for hostile files: see package
// reading. Streams, fonts, page trees and outlines are read here, within limits.
package pdffile

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// File reads PDFs.
type File struct{}

// Format describes PDFs.
func (f File) Format() document.Format {
	return document.Format{
		Name: "pdf", MediaTypes: []string{"application/pdf", "application/x-pdf"}, Extensions: []string{".pdf"},
		Sniff: func(data []byte) bool { return bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) }, Parser: f,
	}
}

// maxOperators bounds what all pages may do together.
const maxOperators = 50_000_000

// Parse reads the pages.
func (File) Parse(src document.Source, to *document.Builder) error {
	r, err := open(src.Data)
	if err != nil {
		return err
	}
	d := reader{
		to: to, left: to.Limits().Unpacked, budget: maxOperators, fonts: map[string]*font{},
		tables: map[string]map[string]*font{},
	}
	root := r.Trailer().Key("Root")
	try(func() {
		to.Title(plausibleTitle(r.Trailer().Key("Info").Key("Title").Text()))
		to.Language(root.Key("Lang").Text())
	})
	titles := map[string]int{}
	try(func() { readOutline(root.Key("Outlines"), titles) })
	full := d.walk(root.Key("Pages"))
	if d.left <= 0 {
		to.Note("the document unpacks to more than may be read: the rest was left out")
	}
	if d.spoiled*2 > d.shown {
		to.Note("the document's fonts do not say which letters they show: some of its text could not be read")
	}
	if d.shown == 0 && d.pages > 0 {
		return document.Problem("the document holds no text, only pictures of it")
	}
	if err := layOut(d.lines, titles, to); err != nil {
		return err
	}
	return full
}

// open finds the objects of a document.
func open(data []byte) (r *pdf.Reader, err error) {
	defer func() {
		if recover() != nil {
			err = document.ErrDamaged
		}
	}()
	if at := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")); at > 0 {
		data = data[at:] // what mailers put in front
	}
	r, err = pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword), err != nil && strings.Contains(err.Error(), "encrypt"):
		return nil, document.ErrLocked
	case err != nil:
		return nil, document.ErrDamaged
	}
	return r, nil
}

// try does something with a library that panics where a file is damaged.
func try(do func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	do()
	return true
}

// plausibleTitle leaves out what programs write where nobody gave a title.
func plausibleTitle(title string) string {
	lower := strings.ToLower(strings.TrimSpace(title))
	for _, made := range []string{"untitled", "microsoft word -", "document1", "powerpoint presentation", "print", "scan"} {
		if strings.HasPrefix(lower, made) {
			return ""
		}
	}
	for _, extension := range []string{".doc", ".docx", ".pdf", ".tex", ".dvi", ".odt", ".indd", ".qxd"} {
		if strings.HasSuffix(lower, extension) {
			return ""
		}
	}
	if strings.Contains(title, `:\`) || strings.Contains(title, "://") {
		return "" // where a file once was
	}
	return title
}

// reader is the work on one document.
type reader struct {
	to     *document.Builder
	left   int64 // bytes that may still be unpacked
	budget int
	fonts  map[string]*font
	tables map[string]map[string]*font
	lines  []line
	bytes  int
	pages  int
	// shown and spoiled count the pieces of text with and without a way to letters.
	shown, spoiled int
}

// The page tree may not be deeper, nor have more nodes for each page.
const (
	maxTree = 50
	maxNode = 50_000
)

// walk goes over the page tree. Trees that contain themselves end by the counts.
func (d *reader) walk(root pdf.Value) error {
	nodes := 0
	var visit func(v pdf.Value, depth int) error
	visit = func(v pdf.Value, depth int) error {
		if nodes++; depth > maxTree || nodes > maxNode {
			d.to.Note("the document's list of pages does not end: what could be read before is here")
			return document.ErrFull
		}
		var kids pdf.Value
		if !try(func() { kids = v.Key("Kids") }) {
			return nil
		}
		if kids.Kind() != pdf.Array {
			return d.page(v)
		}
		for i := range kids.Len() {
			var kid pdf.Value
			if try(func() { kid = kids.Index(i) }) && kid.Kind() == pdf.Dict {
				if err := visit(kid, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if root.Kind() != pdf.Dict {
		return document.ErrDamaged
	}
	return visit(root, 0)
}

// page reads one page. What it shows before damage is kept.
func (d *reader) page(v pdf.Value) error {
	number, err := d.to.Page()
	if err != nil {
		return err
	}
	d.pages++
	p := page{fonts: d.font, tables: d.table, read: d.stream, budget: &d.budget}
	whole := try(func() {
		p.interpret(d.contents(v.Key("Contents")), pdf.Page{V: v}.Resources(), state{ctm: identity, scale: 1})
	})
	if !whole {
		d.to.Note("page %d is damaged", number)
	}
	for _, r := range p.runs {
		if r.spoiled {
			d.spoiled++
		} else {
			d.shown++
		}
	}
	for _, l := range makeLines(p.runs) {
		l.page = number
		d.lines = append(d.lines, l)
		d.bytes += len(l.text())
	}
	if d.bytes > 2*d.to.Limits().Text || d.budget <= 0 || d.left <= 0 {
		return document.ErrFull // the builder says so, or the notes
	}
	return nil
}

// contents reads the streams of a page as one.
func (d *reader) contents(v pdf.Value) []byte {
	if v.Kind() != pdf.Array {
		return d.stream(v)
	}
	var all []byte
	for i := range min(v.Len(), 10_000) {
		try(func() { all = append(append(all, d.stream(v.Index(i))...), '\n') })
	}
	return all
}

// stream unpacks a stream, as far as the budget goes.
func (d *reader) stream(v pdf.Value) []byte {
	if v.Kind() != pdf.Stream || d.left <= 0 {
		return nil
	}
	r := v.Reader()
	defer func() { _ = r.Close() }()
	data, _ := io.ReadAll(io.LimitReader(r, d.left)) // a stream that breaks off shows what it has
	d.left -= int64(len(data)) + 64
	return data
}

// font reads a font once: how it is written names the parts that it refers to.
func (d *reader) font(v pdf.Value) *font {
	if v.Kind() != pdf.Dict {
		return nil
	}
	key := v.String()
	if f := d.fonts[key]; f != nil {
		return f
	}
	f := &font{}
	if !try(func() { f = loadFont(v, d.stream) }) {
		f = &font{}
	}
	if len(d.fonts) < 10_000 {
		d.fonts[key] = f
	}
	return f
}

// table is what was read of a table of fonts, which most pages share.
func (d *reader) table(v pdf.Value) map[string]*font {
	key := v.String()
	known := d.tables[key]
	if known == nil {
		known = map[string]*font{}
		if len(d.tables) < 10_000 {
			d.tables[key] = known
		}
	}
	return known
}

// readOutline collects the titles of the outline and how deep they stand.
func readOutline(root pdf.Value, titles map[string]int) {
	left := 5000
	var visit func(v pdf.Value, depth int)
	visit = func(v pdf.Value, depth int) {
		for child := v.Key("First"); child.Kind() == pdf.Dict && left > 0; child = child.Key("Next") {
			left--
			if title := outlineKey(child.Key("Title").Text()); title != "" && titles[title] == 0 {
				titles[title] = depth
			}
			if depth < 6 {
				visit(child, depth+1)
			}
		}
	}
	visit(root, 1)
}

// outlineKey is a title without what differs between an outline and its page:
// numbers in front, spaces and case.
func outlineKey(title string) string {
	title = strings.ToLower(document.Clean(title))
	if number, rest, ok := strings.Cut(title, " "); ok && strings.Trim(number, "0123456789.") == "" {
		title = rest
	}
	return strings.ReplaceAll(title, " ", "")
}
