// Package document is what a file says: its text in reading order, as headings,
// paragraphs, lists, tables and code, each with the place where it stands.
//
// A Parser makes a Document of one kind of file, a Registry knows which parser
// that is, by what the bytes look like and only then by what the file is called.
// Files are hostile: a parser adds what it finds to a Builder, which ends it when
// the limits are reached, so that a file costs its budget and no more. What was
// left out is said in the document's notes, and what could be read is kept.
//
// The package promises that a document's text is valid UTF-8 without control
// characters, and that the same bytes under the same limits always give the same
// document. It refuses to guess: a file of no known kind is a Problem. Parsers use
// libraries that are not made for hostile files, so servers call them apart from
// themselves: see package docreader.
//
// Decision: ADR 0163.
package document

import (
	"strings"
)

// Document is what a parser read.
type Document struct {
	// Format is the name of the format that it was read as.
	Format string `json:"format"`
	// Title is what the document calls itself; empty when it does not.
	Title string `json:"title,omitempty"`
	// Language is what the document says of its language, such as "sw" or
	// "pt-BR": a hint, often wrong; empty when it says nothing.
	Language string `json:"language,omitempty"`
	// Pages is the number of pages that were read; 0 when the format has none.
	Pages  int     `json:"pages,omitempty"`
	Blocks []Block `json:"blocks"`
	// Notes say what was left out and why, in words for people.
	Notes []string `json:"notes,omitempty"`
}

// Kind is what a block is.
type Kind string

// The closed set of kinds.
const (
	Heading   Kind = "heading"
	Paragraph Kind = "paragraph"
	List      Kind = "list"
	Table     Kind = "table"
	Code      Kind = "code"
)

// Block is one piece of a document. Which of its members count goes by its kind.
type Block struct {
	Kind Kind `json:"kind"`
	// Level of a heading, from 1 (the outermost) to 6.
	Level int `json:"level,omitempty"`
	// Text of a heading, a paragraph (one line) or code (its lines).
	Text string `json:"text,omitempty"`
	// Items of a list.
	Items []Item `json:"items,omitempty"`
	// Rows of a table; the first Header of them are its header.
	Rows   [][]string `json:"rows,omitempty"`
	Header int        `json:"header,omitempty"`
	Place  Place      `json:"place"`
}

// Item is one entry of a list.
type Item struct {
	// Depth is 0 for the list itself, 1 for a list inside it, and so on.
	Depth int    `json:"depth,omitempty"`
	Text  string `json:"text"`
}

// Place is where something stands in its document, as far as its format knows.
type Place struct {
	// Page counts from 1; 0 when the format has no pages.
	Page int `json:"page,omitempty"`
	// Part is the name of a sheet, or the path of a chapter inside an EPUB.
	Part string `json:"part,omitempty"`
	// Anchor is the fragment that opens the document here, without the "#".
	Anchor string `json:"anchor,omitempty"`
	// Line counts from 1: of a text, or the row of a sheet.
	Line int `json:"line,omitempty"`
}

// Text is the whole document as plain text: its blocks in order, with an empty
// line between each two. Offsets of passages count its bytes.
func (d *Document) Text() string {
	text, _ := d.Layout()
	return text
}

// Span is a range of bytes of a document's text.
type Span struct{ Start, End int }

// Layout returns the whole text, and where each block stands in it.
func (d *Document) Layout() (string, []Span) {
	var b strings.Builder
	spans := make([]Span, len(d.Blocks))
	for i := range d.Blocks {
		if i > 0 {
			b.WriteString("\n\n")
		}
		start := b.Len()
		d.Blocks[i].writeText(&b)
		spans[i] = Span{start, b.Len()}
	}
	return b.String(), spans
}

// Lines are the pieces of a block that belong on lines of their own, as its text
// shows them: the items of a list, the rows of a table, the lines of code. A
// heading and a paragraph are one line.
func (b *Block) Lines() []string {
	switch b.Kind {
	case List:
		lines := make([]string, len(b.Items))
		for i, item := range b.Items {
			lines[i] = strings.Repeat("  ", item.Depth) + "- " + item.Text
		}
		return lines
	case Table:
		lines := make([]string, len(b.Rows))
		for i, row := range b.Rows {
			lines[i] = strings.Join(row, " | ")
		}
		return lines
	case Code:
		return strings.Split(b.Text, "\n")
	}
	return []string{b.Text}
}

func (b *Block) writeText(to *strings.Builder) {
	for i, line := range b.Lines() {
		if i > 0 {
			to.WriteByte('\n')
		}
		to.WriteString(line)
	}
}

// Problem is a failure that whoever gave the document may read: what is wrong
// with it, not with the server.
type Problem string //nolint:errname // a text, to be shown

// Error is the text.
func (p Problem) Error() string { return string(p) }

// The problems that every parser has.
const (
	ErrUnknown Problem = "files of this kind cannot be read as text"
	ErrDamaged Problem = "the document is damaged"
	ErrLocked  Problem = "the document is locked with a password"
	ErrNoText  Problem = "the document holds no text"
	ErrSecret  Problem = "the document holds a private key: it is not read, and should not be here"
)
