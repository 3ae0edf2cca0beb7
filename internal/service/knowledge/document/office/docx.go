package office

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/packed"
)

// Word reads DOCX.
type Word struct{}

// Format describes DOCX.
func (w Word) Format() document.Format {
	return document.Format{
		Name:       "docx",
		MediaTypes: []string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/vnd.ms-word.document.macroenabled.12"},
		Extensions: []string{".docx", ".docm", ".dotx"},
		Sniff:      func(data []byte) bool { return packed.Holds(data, "[Content_Types].xml", "word/document.xml") },
		Parser:     w,
	}
}

// Parse reads the text, then its footnotes.
func (Word) Parse(src document.Source, to *document.Builder) error {
	a, err := packed.Open(src.Data, to.Limits())
	if err != nil {
		return err
	}
	depth := to.Limits().Depth
	about := a.Property("docProps/core.xml", depth, "title", "language")
	to.Title(about["title"])
	to.Language(about["language"])
	main := mainPart(a, depth)
	text, err := a.Read(main)
	if err != nil {
		return err
	}
	w := word{styles: readStyles(a, packed.Resolve(main, "styles.xml"), to)}
	if w.flow, err = newFlow(to, bytes.Contains(text, []byte("lastRenderedPageBreak"))); err != nil {
		return err
	}
	if err := w.read(text); err != nil {
		return err
	}
	w.flow.page = 0 // notes stand on pages that nobody marked
	for _, part := range []string{"footnotes.xml", "endnotes.xml"} {
		text, err := a.Read(packed.Resolve(main, part))
		if errors.Is(err, packed.ErrNoSuch) {
			continue
		}
		if err != nil {
			return err
		}
		if err := w.read(text); err != nil {
			return err
		}
	}
	return nil
}

// mainPart finds the part that is the document.
func mainPart(a *packed.Archive, depth int) string {
	for _, r := range relations(a, "_rels/.rels", depth) {
		if strings.HasSuffix(r.kind, "/officeDocument") && a.Has(packed.Resolve("", r.target)) {
			return packed.Resolve("", r.target)
		}
	}
	return "word/document.xml"
}

// relation is how one part names another.
type relation struct{ id, kind, target string }

func relations(a *packed.Archive, part string, depth int) []relation {
	data, err := a.Read(part)
	if err != nil {
		return nil
	}
	var out []relation
	for s := packed.Scan(data, depth); ; {
		more, err := s.Next()
		if err != nil || !more {
			return out
		}
		if s.Start() == "Relationship" {
			out = append(out, relation{s.Attr("Id"), s.Attr("Type"), s.Attr("Target")})
		}
	}
}

// style is what a named style says of its paragraphs.
type style struct {
	based   string
	heading int
	list    bool
}

// readStyles reads which styles are headings and lists, and the language.
func readStyles(a *packed.Archive, part string, to *document.Builder) map[string]style {
	styles := map[string]style{}
	data, err := a.Read(part)
	if err != nil {
		return styles
	}
	var (
		id  string
		now style
	)
	for s := packed.Scan(data, to.Limits().Depth); ; {
		more, err := s.Next()
		if err != nil || !more {
			return styles
		}
		if s.End() == "style" && id != "" {
			styles[id] = now
			id = ""
		}
		switch s.Start() {
		case "style":
			id, now = s.Attr("styleId"), style{}
		case "name":
			now.heading = max(now.heading, headingName(s.Attr("val")))
		case "basedOn":
			now.based = s.Attr("val")
		case "outlineLvl":
			if n, err := strconv.Atoi(s.Attr("val")); err == nil && n >= 0 && n < 9 {
				now.heading = n + 1
			}
		case "numPr":
			now.list = true
		case "lang":
			to.Language(s.Attr("val"))
		}
	}
}

// headingName is the level that the name of a style means, in any case.
func headingName(name string) int {
	name = strings.ToLower(name)
	if name == "title" {
		return 1
	}
	if rest, ok := strings.CutPrefix(name, "heading "); ok {
		n, _ := strconv.Atoi(rest)
		return n
	}
	return 0
}

// word is the work on one part.
type word struct {
	flow   *flow
	styles map[string]style
}

// find follows what a style is based on, not in circles.
func (w *word) find(id string) style {
	found := w.styles[id]
	for based, n := found.based, 0; based != "" && n < 10; n++ {
		up := w.styles[based]
		if found.heading == 0 {
			found.heading = up.heading
		}
		found.list = found.list || up.list
		based = up.based
	}
	return found
}

func (w *word) read(text []byte) error {
	s := packed.Scan(text, w.flow.to.Limits().Depth)
	header := false
	for {
		more, err := s.Next()
		if err != nil {
			return errors.Join(w.flow.close(), err)
		}
		if !more {
			return w.flow.close()
		}
		switch s.Start() {
		case "":
			header, err = w.end(s.End(), header)
		case "t":
			var text string
			text, err = s.Inner()
			w.flow.write(text)
		case "del", "moveFrom", "Fallback", "instrText", "sdtPr", "rPrChange", "pPrChange":
			err = s.Skip()
		case "footnote", "endnote":
			if kind := s.Attr("type"); kind == "separator" || kind == "continuationSeparator" {
				err = s.Skip()
			}
		case "tblHeader":
			header = s.Attr("val") != "0" && s.Attr("val") != "false"
		default:
			err = w.start(s)
		}
		if err != nil {
			return err
		}
	}
}

// start begins an element.
func (w *word) start(s *packed.Scanner) error {
	switch s.Start() {
	case "p":
		w.flow.begin()
	case "tab", "cr":
		w.flow.write(" ")
	case "noBreakHyphen":
		w.flow.write("-")
	case "br":
		w.flow.write(" ")
	case "lastRenderedPageBreak":
		return w.flow.nextPage()
	case "tbl":
		return w.flow.beginTable()
	case "pStyle", "numPr", "ilvl", "numId", "outlineLvl":
		w.property(s)
	}
	return nil
}

// property reads what a paragraph is.
func (w *word) property(s *packed.Scanner) {
	p := w.flow.open()
	if p == nil {
		return
	}
	value := s.Attr("val")
	n, err := strconv.Atoi(value)
	switch s.Start() {
	case "pStyle":
		found := w.find(value)
		p.heading, p.item = found.heading, found.list && found.heading == 0
	case "ilvl":
		p.depth = n
	case "numId":
		p.item = value != "0" && p.heading == 0
	case "outlineLvl":
		if err == nil && n >= 0 && n < 9 {
			p.heading = n + 1
		}
	}
}

// end ends an element; header is whether the row says that it is one.
func (w *word) end(name string, header bool) (bool, error) {
	switch name {
	case "p":
		return header, w.flow.end()
	case "tc":
		w.flow.endCell(1)
	case "tr":
		w.flow.endRow(header)
		return false, nil
	case "tbl":
		return header, w.flow.endTable()
	}
	return header, nil
}
