package guides

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/castalia-org/castalia/internal/platform/guidebook"
)

// page is one page, drawn.
type page struct {
	Title    string
	Body     template.HTML
	Sections []section
}

// section is a heading that the list beside a page names.
type section struct{ Anchor, Title string }

// anchors lets Markdown name its headings as guidebook does.
type anchors struct{ guidebook.Anchors }

// Generate names a heading.
func (a *anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	return []byte(a.Next(string(heading)))
}

// Put is told of names that a page gives itself; ours give none.
func (a *anchors) Put([]byte) {}

// drawAll draws every page, with what its links to others have behind them.
func drawAll(docs fs.FS, asked string) (map[string]page, error) {
	all := map[string]page{}
	err := fs.WalkDir(docs, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		data, err := fs.ReadFile(docs, name)
		if err != nil {
			return fmt.Errorf("read page: %w", err)
		}
		all[name], err = draw(name, data, asked)
		return err
	})
	return all, err
}

// drawPassage draws a piece of a page.
func drawPassage(name, markdown, asked string) (template.HTML, error) {
	p, err := draw(name, []byte(markdown), asked)
	return p.Body, err
}

// draw makes HTML of Markdown. Raw HTML, and links to anything but addresses, are
// left out by the renderer.
func draw(name string, markdown []byte, asked string) (page, error) {
	reader := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
	tree := reader.Parser().Parse(text.NewReader(markdown),
		parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	out := page{Title: name}
	var headings []*ast.Heading
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(address(name, string(n.Destination), asked))
		case *ast.Image:
			n.Destination = []byte(guidebook.Address(guidebook.Home, name, string(n.Destination)))
		case *ast.Heading:
			headings = append(headings, n)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return page{}, fmt.Errorf("walk page %s: %w", name, err)
	}
	for _, h := range headings {
		id, _ := h.AttributeString("id")
		anchor, _ := id.([]byte)
		title := wording(h, markdown)
		if h.Level == 1 {
			out.Title = title
			continue
		}
		if h.Level == 2 {
			out.Sections = append(out.Sections, section{string(anchor), title})
		}
		mark := ast.NewLink()
		mark.Destination, mark.Title = []byte("#"+string(anchor)), []byte("Link to “"+title+"”")
		mark.SetAttributeString("class", []byte("anchor"))
		mark.AppendChild(mark, ast.NewString([]byte("#")))
		h.AppendChild(h, ast.NewString([]byte(" ")))
		h.AppendChild(h, mark)
	}
	var body bytes.Buffer
	if err := reader.Renderer().Render(&body, markdown, tree); err != nil {
		return page{}, fmt.Errorf("draw page %s: %w", name, err)
	}
	out.Body = template.HTML(body.String()) //nolint:gosec // goldmark escapes text and leaves raw HTML out
	return out, nil
}

// address is where a link of a page leads. One to another of our pages says again which
// language was asked for.
func address(name, target, asked string) string {
	to := guidebook.Address(guidebook.Home, name, target)
	if asked == "" || !strings.HasPrefix(to, guidebook.Home) || strings.HasPrefix(to, guidebook.Home+"images/") {
		return to
	}
	before, anchor, has := strings.Cut(to, "#")
	if has {
		anchor = "#" + anchor
	}
	return before + asked + anchor
}

// wording is the words of a heading without its marks.
func wording(n ast.Node, source []byte) string {
	var b bytes.Buffer
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
			continue
		}
		b.WriteString(wording(c, source))
	}
	return b.String()
}
