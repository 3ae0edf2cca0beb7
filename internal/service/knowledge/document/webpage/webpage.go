// Package webpage reads HTML: pages, and the chapters of EPUBs.
//
// It follows the tokens of a page and keeps no tree, so that nothing depends on how
// deeply elements stand inside each other or whether they are closed. It leaves out
// what is not the page's text: scripts, styles, forms, navigation, and what is hidden.
package webpage

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// Page reads HTML.
type Page struct{}

// Format describes HTML.
func (p Page) Format() document.Format {
	return document.Format{
		Name: "html", MediaTypes: []string{"text/html", "application/xhtml+xml"}, Extensions: []string{".html", ".htm", ".xhtml"},
		Sniff: looksLikePage, Parser: p,
	}
}

// looksLikePage reports whether bytes begin as only HTML does.
func looksLikePage(data []byte) bool {
	head := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(data[:min(len(data), 1024)], []byte("\xef\xbb\xbf")), " \t\r\n"))
	for _, begin := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return true
		}
	}
	return bytes.HasPrefix(head, []byte("<?xml")) && bytes.Contains(head, []byte("<html"))
}

// Parse reads a page in the encoding that it names.
func (Page) Parse(src document.Source, to *document.Builder) error {
	if bytes.IndexByte(src.Data[:min(len(src.Data), 512)], 0) >= 0 && !bytes.HasPrefix(src.Data, []byte{0xff, 0xfe}) &&
		!bytes.HasPrefix(src.Data, []byte{0xfe, 0xff}) {
		return document.ErrUnknown
	}
	encoding, _, _ := charset.DetermineEncoding(src.Data[:min(len(src.Data), 1024)], src.MediaType)
	text, err := encoding.NewDecoder().Bytes(src.Data)
	if err != nil {
		return document.ErrDamaged
	}
	return Read(text, "", to)
}

// Read adds the blocks of a page in UTF-8; part names it where a document has many.
func Read(text []byte, part string, to *document.Builder) error {
	r := reader{to: to, place: document.Place{Part: part}}
	z := html.NewTokenizer(bytes.NewReader(text))
	z.SetMaxBuf(maxToken)
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return r.flush() // the end, or something too long to be text
		}
		if err := r.token(kind, z); err != nil {
			return err
		}
	}
}

// maxToken bounds one tag or one text.
const maxToken = 4 << 20

// reader is the work on one page.
type reader struct {
	to    *document.Builder
	place document.Place
	text  strings.Builder
	// skip is the element whose content is left out, and how many of its name are open.
	skip  atom.Atom
	inner int

	heading int    // the level of the heading that is open
	pre     bool   // inside code
	title   bool   // inside <title>
	anchor  string // the last id that was seen, for what follows
	items   []document.Item
	lists   int // how many are open
	inItem  bool
	tables  int // how many are open: those inside another are part of its cells
	rows    [][]string
	header  int
	row     []string
	inCell  bool
	heads   bool // all cells of the row are headers
}

func (r *reader) token(kind html.TokenType, z *html.Tokenizer) error {
	switch kind {
	case html.TextToken:
		if r.skip == 0 {
			r.text.Write(z.Text())
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		name, more := z.TagName()
		tag := atom.Lookup(name)
		if r.skip != 0 {
			if tag == r.skip && kind == html.StartTagToken {
				r.inner++
			}
			return nil
		}
		hidden := r.attributes(tag, z, more)
		if kind == html.StartTagToken && (hidden && !isVoid(tag) || isLeftOut(tag)) {
			r.skip, r.inner = tag, 1
			return nil
		}
		return r.open(tag)
	case html.EndTagToken:
		name, _ := z.TagName()
		tag := atom.Lookup(name)
		if r.skip != 0 {
			if tag == r.skip {
				if r.inner--; r.inner == 0 {
					r.skip = 0
				}
			}
			return nil
		}
		return r.end(tag)
	}
	return nil
}

// isLeftOut are elements whose content is not the page's text.
func isLeftOut(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Nav, atom.Form, atom.Select,
		atom.Button,
		atom.Iframe, atom.Object, atom.Textarea, atom.Rp, atom.Rt:
		return true
	}
	return false
}

func isVoid(tag atom.Atom) bool {
	switch tag {
	case atom.Br, atom.Hr, atom.Img, atom.Input, atom.Meta, atom.Link, atom.Col, atom.Wbr, atom.Source, atom.Area,
		atom.Base, atom.Embed, atom.Track:
		return true
	}
	return false
}

// attributes reads what counts of them, and whether the element is hidden.
func (r *reader) attributes(tag atom.Atom, z *html.Tokenizer, more bool) (hidden bool) {
	var alt string
	for n := 0; more && n < 200; n++ {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "id", "name":
			if tag != atom.Meta && tag != atom.Input && len(value) > 0 {
				r.anchor = string(value)
			}
		case "lang", "xml:lang":
			if tag == atom.Html || tag == atom.Body {
				r.to.Language(string(value))
			}
		case "hidden":
			hidden = true
		case "aria-hidden":
			hidden = hidden || string(value) == "true"
		case "style":
			style := strings.ReplaceAll(strings.ToLower(string(value)), " ", "")
			hidden = hidden || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
		case "alt":
			alt = string(value)
		}
	}
	if tag == atom.Img && alt != "" {
		r.text.WriteString(" " + alt + " ")
	}
	return hidden
}

// open begins an element.
func (r *reader) open(tag atom.Atom) error {
	switch tag {
	case atom.Br:
		r.text.WriteByte('\n')
		return nil
	case atom.Title:
		r.text.Reset()
		r.title = true
		return nil
	case atom.Td, atom.Th:
		if r.tables == 1 {
			r.endCell()
			r.inCell = true
			r.heads = r.heads && tag == atom.Th
			return nil
		}
	}
	if r.tables > 0 {
		return r.openInTable(tag)
	}
	switch tag {
	case atom.Table:
		if err := r.flush(); err != nil {
			return err
		}
		r.tables, r.rows, r.row, r.header = 1, nil, nil, 0
		r.placeHere()
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if err := r.flush(); err != nil {
			return err
		}
		r.heading = level(tag)
		r.placeHere()
	case atom.Pre:
		if err := r.flush(); err != nil {
			return err
		}
		r.pre = true
		r.placeHere()
	case atom.Ul, atom.Ol, atom.Dl, atom.Menu:
		if r.lists == 0 {
			if err := r.flush(); err != nil {
				return err
			}
			r.placeHere()
		} else {
			r.endItem()
		}
		r.lists = min(r.lists+1, 50)
	case atom.Li, atom.Dt:
		if r.lists == 0 {
			return r.block()
		}
		r.endItem()
		r.inItem = true
	case atom.Dd:
		r.text.WriteString(": ")
	default:
		if isBlock(tag) {
			return r.block()
		}
	}
	return nil
}

// openInTable begins an element inside a table.
func (r *reader) openInTable(tag atom.Atom) error {
	switch tag {
	case atom.Table:
		r.tables++
	case atom.Tr:
		if r.tables == 1 {
			return r.endRow()
		}
		r.text.WriteByte(' ')
	case atom.Caption:
		r.text.Reset()
	default:
		r.text.WriteByte(' ')
	}
	return nil
}

// end ends an element.
func (r *reader) end(tag atom.Atom) error {
	if r.title && tag == atom.Title {
		r.title = false
		r.to.Title(r.text.String())
		r.text.Reset()
		return nil
	}
	if r.tables > 0 {
		return r.endInTable(tag)
	}
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre:
		return r.flush()
	case atom.Ul, atom.Ol, atom.Dl, atom.Menu:
		r.endItem()
		if r.lists = max(0, r.lists-1); r.lists == 0 {
			return r.flush()
		}
	case atom.Li:
		r.endItem()
	default:
		if isBlock(tag) {
			return r.block()
		}
	}
	return nil
}

func (r *reader) endInTable(tag atom.Atom) error {
	switch tag {
	case atom.Caption:
		text := r.text.String()
		r.text.Reset()
		return r.to.Paragraph(text, r.place)
	case atom.Td, atom.Th:
		if r.tables == 1 {
			r.endCell()
		}
		r.text.WriteByte(' ')
	case atom.Tr:
		if r.tables == 1 {
			return r.endRow()
		}
	case atom.Table:
		if r.tables--; r.tables == 0 {
			return r.endTable()
		}
	default:
		if isBlock(tag) {
			r.text.WriteByte(' ')
		}
	}
	return nil
}

// block ends a paragraph where an element begins or ends.
func (r *reader) block() error {
	if r.pre || r.inItem || r.lists > 0 || r.heading > 0 {
		r.text.WriteByte(' ')
		return nil
	}
	return r.flush()
}

// placeHere remembers the last id as the place of what begins.
func (r *reader) placeHere() { r.place.Anchor = r.anchor }

func (r *reader) endCell() {
	if r.inCell {
		r.row = append(r.row, r.text.String())
	}
	r.inCell = false
	r.text.Reset()
}

func (r *reader) endRow() error {
	r.endCell()
	if len(r.row) > 0 {
		if r.heads && r.header == len(r.rows) {
			r.header++
		}
		if len(r.rows) <= r.to.Limits().Rows {
			r.rows = append(r.rows, r.row)
		}
	}
	r.row, r.heads = nil, true
	return nil
}

func (r *reader) endTable() error {
	if err := r.endRow(); err != nil {
		return err
	}
	rows, header := r.rows, min(r.header, 3)
	r.rows = nil
	return r.to.Table(header, rows, r.place)
}

func (r *reader) endItem() {
	if text := r.text.String(); r.inItem || strings.TrimSpace(text) != "" {
		r.items = append(r.items, document.Item{Depth: r.lists - 1, Text: text})
	}
	r.inItem = false
	r.text.Reset()
}

// flush adds what is open.
func (r *reader) flush() error {
	if r.tables > 0 {
		r.tables = 0
		return r.endTable()
	}
	if r.lists > 0 || r.inItem {
		r.endItem()
	}
	items := r.items
	r.items, r.inItem = nil, false
	if err := r.to.List(items, r.place); err != nil {
		return err
	}
	text, heading, pre := r.text.String(), r.heading, r.pre
	r.text.Reset()
	r.heading, r.pre = 0, false
	defer r.placeHere()
	switch {
	case heading > 0:
		return r.to.Heading(heading, text, r.place)
	case pre:
		return r.to.Code(text, r.place)
	}
	return r.to.Paragraph(text, r.place)
}

func level(tag atom.Atom) int { return int(tag.String()[1] - '0') }

// isBlock are elements that stand on lines of their own.
func isBlock(tag atom.Atom) bool {
	switch tag {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Blockquote,
		atom.Figure,
		atom.Figcaption, atom.Address, atom.Details, atom.Summary, atom.Hr, atom.Body, atom.Html, atom.Head, atom.Fieldset,
		atom.Dd, atom.Dt,
		atom.Center, atom.Hgroup, atom.Legend, atom.Option:
		return true
	}
	return false
}
