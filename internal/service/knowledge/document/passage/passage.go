// Package passage cuts documents into the passages that are searched, shown and
// cited.
//
// A passage follows the document's structure: it never reaches over a heading,
// keeps lists, tables and code whole where they fit, and is otherwise cut between
// sentences, items, rows or lines; a table that is cut carries its header along.
// It knows the headings above it, its place, and which bytes of the document's
// text it is, so that a citation opens at the right spot.
//
// Cutting is deterministic, and loses nothing: each byte of the text is in exactly
// one passage, but for white space and for headings that have passages below them.
package passage

import (
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// Passage is a piece of a document.
type Passage struct {
	// Headings are those above it, the outermost first.
	Headings []string
	// Text is document.Text()[Start:End].
	Text       string
	Start, End int
	// Lead is the header of the table that Text goes on with; empty otherwise. It
	// belongs above Text wherever that is shown or searched.
	Lead string
	// Place is where it begins, LastPage the page on which it ends.
	Place    document.Place
	LastPage int
}

// Config sizes passages, in words. The zero value is what is measured.
type Config struct {
	Min int // 80: below it a passage goes on with what follows
	Max int // 200: above it a passage is cut
}

// Split cuts a document into passages.
func Split(doc *document.Document, cfg Config) []Passage {
	if cfg.Max <= 0 {
		cfg.Max = 200
	}
	if cfg.Min <= 0 || cfg.Min > cfg.Max {
		cfg.Min = min(80, cfg.Max)
	}
	text, spans := doc.Layout()
	s := splitter{cfg: cfg, text: text}
	for i := range doc.Blocks {
		if block := &doc.Blocks[i]; block.Kind == document.Heading {
			s.heading(block, spans[i])
		} else {
			s.block(block, spans[i])
		}
	}
	s.flush()
	s.endHeadings(0)
	return s.out
}

// splitter is the work of one Split.
type splitter struct {
	cfg  Config
	text string
	path []heading
	// open are the pieces of the passage that is being collected.
	open  []piece
	words int
	out   []Passage
}

// heading is one that is open, and whether a passage stands below it.
type heading struct {
	level int
	text  string
	span  document.Span
	place document.Place
	used  bool
}

// piece is a range of the text that is not cut any more.
type piece struct {
	document.Span
	words int
	lead  string
	place document.Place
}

// heading ends the passage before it. A heading with nothing below it is a
// passage itself, so that it can be found.
func (s *splitter) heading(b *document.Block, at document.Span) {
	s.flush()
	s.endHeadings(b.Level)
	s.path = append(s.path, heading{level: b.Level, text: b.Text, span: at, place: b.Place})
}

// endHeadings closes the headings of a level and below.
func (s *splitter) endHeadings(level int) {
	for n := len(s.path) - 1; n >= 0 && s.path[n].level >= level; n-- {
		h := s.path[n]
		s.path = s.path[:n]
		if h.used {
			continue
		}
		s.emit([]piece{{Span: h.span, place: h.place}})
	}
}

// block adds a block: whole if it fits, else in its pieces.
func (s *splitter) block(b *document.Block, at document.Span) {
	words := countWords(s.text[at.Start:at.End])
	whole := piece{Span: at, words: words, place: b.Place}
	switch {
	case words <= s.cfg.Max && s.words+words <= s.cfg.Max:
		s.add(whole)
	case words <= s.cfg.Max && (s.words >= s.cfg.Min || b.Kind != document.Paragraph):
		s.flush()
		s.add(whole)
	default: // too long for one passage, or a paragraph that fills up a short one
		for _, p := range s.pieces(b, at) {
			if s.words+p.words > s.cfg.Max && s.words > 0 {
				s.flush()
			}
			s.add(p)
		}
	}
}

// add collects a piece. A piece with a lead that its passage begins with keeps it.
func (s *splitter) add(p piece) {
	s.open = append(s.open, p)
	s.words += p.words
}

// flush makes a passage of what was collected.
func (s *splitter) flush() {
	if len(s.open) > 0 {
		s.emit(s.open)
	}
	s.open, s.words = s.open[:0], 0
}

func (s *splitter) emit(pieces []piece) {
	first, last := pieces[0], pieces[len(pieces)-1]
	p := Passage{
		Start: first.Start, End: last.End, Text: s.text[first.Start:last.End], Lead: first.lead,
		Place: first.place, LastPage: last.place.Page,
	}
	for i := range s.path {
		s.path[i].used = true
		p.Headings = append(p.Headings, s.path[i].text)
	}
	s.out = append(s.out, p)
}

// pieces cuts a block where it may be cut.
func (s *splitter) pieces(b *document.Block, at document.Span) []piece {
	if b.Kind == document.Paragraph {
		return s.sentences(at, b.Place)
	}
	var (
		out    []piece
		header int // of a table: its rows and their size
		lead   string
	)
	lines := b.Lines()
	if b.Kind == document.Table {
		header = min(b.Header, len(lines))
		if lead = strings.Join(lines[:header], "\n"); countWords(lead) > s.cfg.Max/2 {
			lead = "" // no header, but a part of the table
		}
	}
	start := at.Start
	for i, line := range lines {
		span := document.Span{Start: start, End: start + len(line)}
		start = span.End + 1
		if span.Start == span.End {
			continue
		}
		place := b.Place
		if place.Line > 0 {
			place.Line += i
		}
		cut := []piece{{Span: span, words: countWords(line), place: place}}
		if cut[0].words > s.cfg.Max {
			cut = s.sentences(span, place)
		}
		if i >= header {
			for j := range cut {
				cut[j].lead = lead
			}
		}
		out = append(out, cut...)
	}
	return s.nested(b, out)
}

// nested joins the items of a list with those inside them, as long as they fit.
func (s *splitter) nested(b *document.Block, pieces []piece) []piece {
	if b.Kind != document.List || len(pieces) != len(b.Items) {
		return pieces
	}
	var out []piece
	for i, p := range pieces {
		if n := len(out) - 1; b.Items[i].Depth > 0 && n >= 0 && out[n].words+p.words <= s.cfg.Max {
			out[n].End, out[n].words = p.End, out[n].words+p.words
			continue
		}
		out = append(out, p)
	}
	return out
}

// sentences cuts a range between sentences, and a sentence that is too long
// between words.
func (s *splitter) sentences(at document.Span, place document.Place) []piece {
	var out []piece
	for _, span := range sentenceSpans(s.text[at.Start:at.End]) {
		span.Start, span.End = span.Start+at.Start, span.End+at.Start
		words := countWords(s.text[span.Start:span.End])
		if words <= s.cfg.Max {
			out = append(out, piece{Span: span, words: words, place: place})
			continue
		}
		for _, part := range wordRuns(s.text[span.Start:span.End], s.cfg.Max) {
			part.Start, part.End = part.Start+span.Start, part.End+span.Start
			out = append(out, piece{Span: part, words: countWords(s.text[part.Start:part.End]), place: place})
		}
	}
	return out
}

// Path is the headings as one line.
func (p Passage) Path() string { return strings.Join(p.Headings, " › ") }

// Shown is the passage as people and models read it: with its lead.
func (p Passage) Shown() string {
	return strings.Join(slices.DeleteFunc([]string{p.Lead, p.Text}, func(s string) bool { return s == "" }), "\n")
}
