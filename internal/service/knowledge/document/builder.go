package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits bound what a document may cost. Zero members take the default.
type Limits struct {
	// Text is the most bytes of text that are kept.
	Text int `json:"text,omitempty"`
	// Blocks, Rows (of one table) and Columns are counts; Pages too.
	Blocks  int `json:"blocks,omitempty"`
	Rows    int `json:"rows,omitempty"`
	Columns int `json:"columns,omitempty"`
	Pages   int `json:"pages,omitempty"`
	// Unpacked is the most bytes that are unpacked of a compressed file.
	Unpacked int64 `json:"unpacked,omitempty"`
	// Depth is the most elements that may stand inside each other.
	Depth int `json:"depth,omitempty"`
}

// WithDefaults fills in what was left zero.
func (l Limits) WithDefaults() Limits {
	fill := func(n *int, standard int) {
		if *n <= 0 {
			*n = standard
		}
	}
	fill(&l.Text, 8<<20)
	fill(&l.Blocks, 100_000)
	fill(&l.Rows, 20_000)
	fill(&l.Columns, 100)
	fill(&l.Pages, 2_000)
	fill(&l.Depth, 256)
	if l.Unpacked <= 0 {
		l.Unpacked = 128 << 20
	}
	return l
}

// ErrFull tells a parser to stop: the limits are reached, and the note is written.
var ErrFull = errors.New("the document is full")

// These bound what a file can say beside its text.
const (
	maxNotes  = 20
	maxTitle  = 300
	maxAnchor = 200
)

// Builder collects a document and keeps it within its limits.
type Builder struct {
	limits Limits
	doc    Document
	bytes  int
}

// NewBuilder makes a Builder.
func NewBuilder(limits Limits) *Builder { return &Builder{limits: limits.WithDefaults()} }

// Limits are those that the parser must keep by itself.
func (b *Builder) Limits() Limits { return b.limits }

// Document is what was collected.
func (b *Builder) Document() *Document { return &b.doc }

// Empty reports whether nothing was.
func (b *Builder) Empty() bool { return len(b.doc.Blocks) == 0 }

// Note says once what was left out.
func (b *Builder) Note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); len(b.doc.Notes) < maxNotes && !slices.Contains(b.doc.Notes, note) {
		b.doc.Notes = append(b.doc.Notes, note)
	}
}

// Title names the document, if it is not named yet.
func (b *Builder) Title(title string) {
	if b.doc.Title == "" {
		b.doc.Title = cut(Clean(title), maxTitle)
	}
}

// Language notes the document's language, if it is a plausible tag and the first.
func (b *Builder) Language(tag string) {
	tag = strings.ReplaceAll(strings.TrimSpace(tag), "_", "-")
	plausible := func(r rune) bool { return r == '-' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	if b.doc.Language == "" && len(tag) >= 2 && len(tag) <= 35 && strings.IndexFunc(tag, func(r rune) bool {
		return !plausible(r)
	}) < 0 {
		b.doc.Language = tag
	}
}

// Page begins the next page; it fails with ErrFull when there are too many.
func (b *Builder) Page() (int, error) {
	if b.doc.Pages >= b.limits.Pages {
		b.Note("the document has more than %d pages: the first %d were read", b.limits.Pages, b.limits.Pages)
		return 0, ErrFull
	}
	b.doc.Pages++
	return b.doc.Pages, nil
}

// Heading adds a heading; levels are brought between 1 and 6.
func (b *Builder) Heading(level int, text string, at Place) error {
	return b.add(Block{Kind: Heading, Level: max(1, min(6, level)), Text: Clean(text), Place: at})
}

// Paragraph adds a paragraph.
func (b *Builder) Paragraph(text string, at Place) error {
	return b.add(Block{Kind: Paragraph, Text: Clean(text), Place: at})
}

// Code adds lines that are kept as they are.
func (b *Builder) Code(text string, at Place) error {
	return b.add(Block{Kind: Code, Text: cleanLines(text), Place: at})
}

// List adds a list; items without text are left out.
func (b *Builder) List(items []Item, at Place) error {
	kept := make([]Item, 0, len(items))
	for _, item := range items {
		if item.Text = Clean(item.Text); item.Text != "" {
			item.Depth = max(0, min(item.Depth, 8))
			kept = append(kept, item)
		}
	}
	return b.add(Block{Kind: List, Items: kept, Place: at})
}

// Table adds a table: rows and columns that hold nothing are left out, so are
// those beyond the limits.
func (b *Builder) Table(header int, rows [][]string, at Place) error {
	if len(rows) > b.limits.Rows {
		b.TooManyRows(at)
		rows = rows[:b.limits.Rows]
	}
	kept := make([][]string, 0, len(rows))
	wide := 0
	for i, row := range rows {
		row = b.Columns(row)
		cells := make([]string, len(row))
		last := 0
		for j, cell := range row {
			if cells[j] = Clean(cell); cells[j] != "" {
				last = j + 1
			}
		}
		if last == 0 {
			if i < header {
				header--
			}
			continue
		}
		wide = max(wide, last)
		kept = append(kept, cells[:last])
	}
	if wide == 1 { // a table of one column is a way to lay text out
		for _, row := range kept {
			if err := b.Paragraph(row[0], at); err != nil {
				return err
			}
		}
		return nil
	}
	return b.add(Block{Kind: Table, Rows: kept, Header: max(0, min(header, len(kept))), Place: at})
}

// Columns leaves out the cells of a row that are too many, and notes it if they hold
// something.
func (b *Builder) Columns(row []string) []string {
	if len(row) <= b.limits.Columns {
		return row
	}
	if slices.ContainsFunc(row[b.limits.Columns:], func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
		b.Note("a table has more than %d columns: the first %d were read", b.limits.Columns, b.limits.Columns)
	}
	return row[:b.limits.Columns]
}

// TooManyRows notes that a table goes on beyond the limit.
func (b *Builder) TooManyRows(at Place) {
	what := "a table"
	if at.Part != "" {
		what = fmt.Sprintf("the sheet %q", at.Part)
	}
	b.Note("%s has more than %d rows: the first %d were read", what, b.limits.Rows, b.limits.Rows)
}

// add keeps a block that says something, as far as there is room.
func (b *Builder) add(block Block) error {
	size := 0
	for _, line := range block.Lines() {
		size += len(line) + 1
	}
	if block.Text == "" && len(block.Items) == 0 && len(block.Rows) == 0 {
		return nil
	}
	if len(b.doc.Blocks) >= b.limits.Blocks {
		b.Note("the document has more than %d paragraphs: the first %d were read", b.limits.Blocks, b.limits.Blocks)
		return ErrFull
	}
	full := false
	if left := b.limits.Text - b.bytes; size > left {
		b.Note("the document has more than %d bytes of text: the rest was left out", b.limits.Text)
		block, full = cutBlock(block, left), true
		if block.Text == "" && len(block.Items) == 0 && len(block.Rows) == 0 {
			return ErrFull
		}
	}
	b.bytes += size
	block.Place.Anchor = cut(block.Place.Anchor, maxAnchor)
	block.Place.Part = cut(Clean(block.Place.Part), maxAnchor)
	b.doc.Blocks = append(b.doc.Blocks, block)
	if full {
		return ErrFull
	}
	return nil
}

// cutBlock returns what of a block has room in so many bytes.
func cutBlock(block Block, room int) Block {
	block.Text = strings.TrimSpace(cut(block.Text, room))
	fits := func(size int) bool { room -= size + 1; return room >= 0 }
	for i, item := range block.Items {
		if !fits(len(item.Text) + 2*item.Depth + 2) {
			block.Items = block.Items[:i]
			break
		}
	}
	for i, row := range block.Rows {
		if !fits(len(strings.Join(row, " | "))) {
			block.Rows = block.Rows[:i]
			break
		}
	}
	block.Header = min(block.Header, len(block.Rows))
	return block
}

// Clean makes one line of a text: valid, without control and invisible
// characters, with single spaces.
func Clean(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	space := false
	for _, r := range text {
		switch {
		case r == '\u00ad' || r == '\ufeff' || r == '\u200b' || r == utf8.RuneError || r >= '\ufdd0' && r <= '\ufdef' ||
			r&0xfffe == 0xfffe:
			continue
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plain reports whether a text is clean already, which most are.
func plain(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= 0x7f || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return text == "" || last != ' '
}

// cleanLines cleans what stands on each line and keeps the lines and their
// indentation; empty lines at the ends go.
func cleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		body := strings.TrimLeft(line, " \t")
		indent := strings.ReplaceAll(line[:len(line)-len(body)], "\t", "    ")
		if body = Clean(body); body == "" {
			indent = ""
		}
		lines[i] = cut(indent, 40) + body
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// cut returns at most so many bytes of a text, whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	most = max(0, most)
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
