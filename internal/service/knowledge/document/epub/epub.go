// Package epub reads books: the chapters of an EPUB in the order in which they are
// read.
package epub

import (
	"errors"
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/packed"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/webpage"
)

// Book reads EPUBs.
type Book struct{}

// container names the part that describes the book.
const container = "META-INF/container.xml"

// Format describes EPUBs.
func (b Book) Format() document.Format {
	return document.Format{
		Name: "epub", MediaTypes: []string{"application/epub+zip"}, Extensions: []string{".epub"},
		Sniff: func(data []byte) bool {
			return packed.Declares(data, "application/epub+zip") || packed.Holds(data, container)
		},
		Parser: b,
	}
}

// Parse reads the chapters. One that is missing or damaged is noted.
func (Book) Parse(src document.Source, to *document.Builder) error {
	a, err := packed.Open(src.Data, to.Limits())
	if err != nil {
		return err
	}
	if a.Has("META-INF/encryption.xml") && a.Has("META-INF/rights.xml") {
		return document.ErrLocked
	}
	root, err := rootFile(a, to.Limits().Depth)
	if err != nil {
		return err
	}
	chapters, err := spine(a, root, to)
	if err != nil {
		return err
	}
	for _, chapter := range chapters {
		text, err := a.Read(chapter)
		if errors.Is(err, packed.ErrTooLarge) {
			return err
		}
		if err != nil {
			to.Note("the chapter %q could not be read", chapter)
			continue
		}
		// The title in a chapter's head is not the book's: that is known by now.
		if err := webpage.Read(text, chapter, to); err != nil {
			return err
		}
	}
	return nil
}

// rootFile finds the part that describes the book.
func rootFile(a *packed.Archive, depth int) (string, error) {
	data, err := a.Read(container)
	if err != nil {
		return "", err
	}
	for s := packed.Scan(data, depth); ; {
		more, err := s.Next()
		if err != nil || !more {
			return "", document.ErrDamaged
		}
		if path := s.Attr("full-path"); s.Start() == "rootfile" && path != "" {
			return path, nil
		}
	}
}

// spine reads the book's title and language, and the paths of its chapters.
func spine(a *packed.Archive, root string, to *document.Builder) ([]string, error) {
	data, err := a.Read(root)
	if err != nil {
		return nil, err
	}
	var (
		parts    = map[string]string{}
		chapters []string
		seen     = map[string]bool{}
	)
	for s := packed.Scan(data, to.Limits().Depth); ; {
		more, err := s.Next()
		if err != nil && len(chapters) == 0 {
			return nil, err
		}
		if err != nil || !more {
			break
		}
		switch s.Start() {
		case "title":
			text, err := s.Inner()
			if err != nil {
				return nil, err
			}
			to.Title(text)
		case "language":
			text, err := s.Inner()
			if err != nil {
				return nil, err
			}
			to.Language(text)
		case "item":
			if strings.Contains(s.Attr("media-type"), "html") && !strings.Contains(s.Attr("properties"), "nav") {
				parts[s.Attr("id")] = packed.Resolve(root, s.Attr("href"))
			}
		case "itemref":
			if path := parts[s.Attr("idref")]; path != "" && !seen[path] && s.Attr("linear") != "no" {
				seen[path] = true
				chapters = append(chapters, path)
			}
		}
	}
	if len(chapters) == 0 {
		return nil, document.ErrNoText
	}
	return chapters, nil
}
