// Package formats lists the formats that documents are read in. Whoever wants to
// read another one adds it with Registry.With.
package formats

import (
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/epub"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/office"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/pdffile"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/textfile"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/webpage"
)

// All knows every format that is read.
func All() *document.Registry {
	return document.NewRegistry(
		pdffile.File{}.Format(),
		office.Word{}.Format(), office.Excel{}.Format(), office.OpenText{}.Format(), office.OpenSheet{}.Format(),
		epub.Book{}.Format(),
		webpage.Page{}.Format(),
		textfile.Markdown{}.Format(), textfile.CSV{}.Format(), textfile.Plain{}.Format(),
	)
}
