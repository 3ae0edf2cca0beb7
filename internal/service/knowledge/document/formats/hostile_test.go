package formats_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/documenttest"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/formats"
)

// paragraph is one of a DOCX.
func paragraph(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }

// packedStream is a stream of a PDF that unpacks to much.
func packedStream(content string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", b.Len(), b.String())
}

// A document that is too much is read in part, and says so, or is refused in words.
func TestHostileDocumentsCostTheirBudget(t *testing.T) {
	t.Parallel()
	limits := document.Limits{Text: 2000, Rows: 10, Columns: 5, Pages: 3, Unpacked: 200_000, Depth: 50, Blocks: 40}
	zeros := strings.Repeat("\x00", 1_000_000)
	row := `<row><c t="s"><v>0</v></c><c><v>1</v></c></row>`
	pdfPage := documenttest.Line("F1", 11, 72, 700, "Some words are here.")
	font := "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
	const leaf = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
	for _, c := range []struct {
		name string
		file string
		data []byte
		want string // a note, or the problem
	}{
		{"zip bomb beside the text", "a.docx", documenttest.Word(paragraph("Fine."), documenttest.Part{Name: "word/media/x", Text: zeros}), ""},
		{"zip bomb as the text", "a.docx", documenttest.Word(strings.Repeat(paragraph("x"), 20_000)), "the document unpacks to more than may be read"},
		{
			"zip bomb as the styles", "a.docx",
			documenttest.Zip(documenttest.Part{Name: "[Content_Types].xml"},
				documenttest.Part{Name: "word/styles.xml", Text: zeros}, documenttest.Part{Name: "word/document.xml", Text: paragraph("x")}), "",
		},
		{
			"deep elements", "a.docx",
			documenttest.Word(paragraph("Fine.") + strings.Repeat("<w:x>", 100) + strings.Repeat("</w:x>", 100)), "the document's elements stand too deep inside each other: what could be read before is here",
		},
		{"deep tables", "a.docx", documenttest.Word(paragraph("Fine.") + strings.Repeat("<w:tbl><w:tr><w:tc>", 100)), "the document's elements stand too deep inside each other: what could be read before is here"},
		{"entities", "a.docx", documenttest.Zip(documenttest.Part{Name: "[Content_Types].xml"}, documenttest.Part{
			Name: "word/document.xml", Text: `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><w:document>` + paragraph("Fine.") + paragraph("&b;") + `</w:document>`,
		}), "the document is damaged: what could be read before is here"},
		{"cut XML", "a.docx", documenttest.Word(paragraph("Fine.") + "<w:p><w:r>"), "the document is damaged: what could be read before is here"},
		{"too much text", "a.docx", documenttest.Word(paragraph(strings.Repeat("word ", 1000))), "the document has more than 2000 bytes of text: the rest was left out"},
		{"too many paragraphs", "a.docx", documenttest.Word(strings.Repeat(paragraph("x"), 100)), "the document has more than 40 paragraphs: the first 40 were read"},
		{"many pages", "a.docx", documenttest.Word(strings.Repeat("<w:p><w:r><w:lastRenderedPageBreak/><w:t>x</w:t></w:r></w:p>", 30)), "the document has more than 3 pages: the first 3 were read"},
		{
			"no XML", "a.docx",
			documenttest.Zip(documenttest.Part{Name: "[Content_Types].xml"}, documenttest.Part{Name: "word/document.xml", Text: "<w:document <<"}), "the document is damaged",
		},
		{"no parts", "a.docx", documenttest.Zip(documenttest.Part{Name: "a"}), "the document lacks a part that it must have"},
		{"no archive", "a.docx", []byte("PK\x03\x04 and no more"), "the document is damaged"},
		{"locked", "a.docx", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 EncryptedPackage"), "the document is locked with a password"},

		{
			"rows", "a.xlsx",
			documenttest.Excel([]string{"x"}, documenttest.Sheet{Name: "Prices", Rows: strings.Repeat(row, 1000)}), `the sheet "Prices" has more than 10 rows: the first 10 were read`,
		},
		{
			"shared text", "a.xlsx",
			documenttest.Excel([]string{strings.Repeat("x ", 900)}, documenttest.Sheet{Name: "P", Rows: strings.Repeat(row, 8)}),
			"the document has more than 2000 bytes of text: the rest was left out",
		},
		{
			"many shared texts", "a.xlsx",
			documenttest.Excel(slices.Repeat([]string{"some text"}, 5000), documenttest.Sheet{Name: "P", Rows: row}), "the texts that the sheets share could not all be read: the document unpacks to more than may be read",
		},
		{"far cells", "a.xlsx", documenttest.Excel([]string{"x"}, documenttest.Sheet{Name: "P", Rows: `<row r="1048576"><c r="A1048576" t="s"><v>0</v></c><c r="XFDZZZZZZZZ1"><v>7</v></c><c r="B1"><v>2</v></c></row>`}), ""},
		{
			"sheets", "a.xlsx",
			documenttest.Excel([]string{"x"}, slices.Repeat([]documenttest.Sheet{{Name: "P", Rows: row}}, 600)...), "the document has more than 500 sheets: the first 500 were read",
		},
		{"repeated rows", "a.ods", documenttest.OpenSheet(`<table:table table:name="S"><table:table-row table:number-rows-repeated="1000000000"><table:table-cell table:number-columns-repeated="1000000000"><text:p>x</text:p></table:table-cell></table:table-row></table:table>`), `the sheet "S" has more than 10 rows: the first 10 were read`},
		{"repeated cells", "a.odt", documenttest.OpenText(`<table:table><table:table-row><table:table-cell table:number-columns-repeated="1000000000"><text:p>x</text:p></table:table-cell></table:table-row></table:table>`), "a table has more than 5 columns: the first 5 were read"},
		{"deep lists", "a.odt", documenttest.OpenText(`<text:p>Fine.</text:p>` + strings.Repeat(`<text:list><text:list-item>`, 100)), "the document's elements stand too deep inside each other: what could be read before is here"},

		{"million rows", "a.csv", bytes.Repeat([]byte("a,1\n"), 1_000_000), "a table has more than 10 rows: the first 10 were read"},
		{"wide rows", "a.csv", bytes.Repeat([]byte("a,"), 1_000_000), "a table has more than 5 columns: the first 5 were read"},
		{"open quote", "a.csv", []byte("a,b\n1,\"" + strings.Repeat("x", 10_000)), "the document has more than 2000 bytes of text: the rest was left out"},
		{"no text", "a.csv", []byte{0, 1, 2, 3}, "files of this kind cannot be read as text"},

		{"deep page", "a.html", []byte("<html>" + strings.Repeat("<div><ul><li><table><tr><td>", 50_000) + "x"), ""},
		{"endless tag", "a.html", []byte("<html><p>Fine.<p " + strings.Repeat("a=b ", 500_000)), ""},
		{"many cells", "a.html", []byte("<html><table><tr>" + strings.Repeat("<td>x", 100_000)), "a table has more than 5 columns: the first 5 were read"},
		{"many rows", "a.html", []byte("<html><table>" + strings.Repeat("<tr><td>x<td>y", 100_000)), "a table has more than 10 rows: the first 10 were read"},
		{"brackets", "a.md", []byte(strings.Repeat("[", 200_000) + "x"), "the document has more than 2000 bytes of text: the rest was left out"},
		{"stars and ticks", "a.md", []byte(strings.Repeat("*_`", 100_000) + "x"), "the document has more than 2000 bytes of text: the rest was left out"},
		{"quotes", "a.md", []byte(strings.Repeat(">", 100_000) + "x"), ""},
		{"long line", "a.txt", bytes.Repeat([]byte("x"), 5_000_000), "the document has more than 2000 bytes of text: the rest was left out"},

		{"chapters", "a.epub", documenttest.Book(slices.Repeat([]string{strings.Repeat("<p>x</p>", 10_000)}, 5)...), "the document has more than 40 paragraphs: the first 40 were read"},
		{"no chapters", "a.epub", documenttest.Book(), "the document holds no text"},

		{"pages", "a.pdf", documenttest.PDF(slices.Repeat([]string{pdfPage}, 10)...), "the document has more than 3 pages: the first 3 were read"},
		{"pages in circles", "a.pdf", documenttest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 2000000000 >>", leaf, documenttest.Stream(pdfPage), font), "the document has more than 3 pages: the first 3 were read"},
		{"only circles", "a.pdf", documenttest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] >>"), "the document holds no text"},
		{"forms in circles", "a.pdf", documenttest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] >>",
			"<< /Type /Page /Contents 4 0 R /Resources 6 0 R >>", documenttest.Stream(pdfPage+"/X Do"), font, "<< /Font << /F1 5 0 R >> /XObject << /X 7 0 R >> >>",
			"<< /Subtype /Form /Resources 6 0 R /Length 15 >>\nstream\n/X Do /X Do    \nendstream"), ""},
		{"stream bomb", "a.pdf", documenttest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] >>", leaf, packedStream(pdfPage+zeros), font), "the document unpacks to more than may be read: the rest was left out"},
		{"damaged page", "a.pdf", documenttest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R 6 0 R] >>", leaf, documenttest.Stream(pdfPage), font,
			"<< /Type /Page /Contents 7 0 R >>", "<< /Length 3 /Filter /Unheard >>\nstream\nabc\nendstream"), "page 2 is damaged"},
		{"pictures", "a.pdf", documenttest.PDF("q 1 0 0 1 0 0 cm BI /W 1 ID \x00(Tj) EI Q"), "the document holds no text, only pictures of it"},
		{"no PDF", "a.pdf", []byte("%PDF-1.4 and no more"), "the document is damaged"},
		{"nothing", "a.pdf", nil, "the document is damaged"},
	} {
		doc, err := formats.All().Parse(document.Source{Name: c.file, Data: c.data}, limits)
		if err != nil {
			if err.Error() != c.want {
				t.Errorf("%s: failed with %q, want %q", c.name, err, c.want)
			}
			continue
		}
		if c.want == "" && len(doc.Notes) != 0 || c.want != "" && !slices.Contains(doc.Notes, c.want) {
			t.Errorf("%s: notes are %q, want %q", c.name, doc.Notes, c.want)
		}
		if n := len(doc.Text()); n == 0 || n > limits.Text+2*limits.Blocks {
			t.Errorf("%s: %d bytes of text", c.name, n)
		}
	}
}

// What a file is, its bytes decide before its name.
func TestFormatsAreFoundByTheirBytes(t *testing.T) {
	t.Parallel()
	html := []byte("<!doctype html><p>x</p>")
	for _, c := range []struct {
		name, media string
		data        []byte
		want        string
	}{
		{"", "", documenttest.PDF("x"), "pdf"},
		{"x.txt", "text/plain", documenttest.PDF("x"), "pdf"},
		{"", "", documenttest.Word(""), "docx"},
		{"", "", documenttest.Excel(nil), "xlsx"},
		{"", "", documenttest.OpenText(""), "odt"},
		{"", "", documenttest.OpenSheet(""), "ods"},
		{"", "", documenttest.Book(""), "epub"},
		{"x.txt", "text/plain", html, "html"},
		{"x.MD", "text/plain", []byte("# x"), "markdown"},
		{"prices.csv", "application/vnd.ms-excel", []byte("a,b"), "csv"},
		{"page.php", "text/html; charset=utf-8", []byte("<p>x"), "html"},
		{"README", "application/octet-stream", []byte("Read me"), "text"},
		{"x.bin", "", []byte{0, 1, 2, 3}, ""},
		{"x.zip", "application/zip", documenttest.Zip(documenttest.Part{Name: "a"}), ""},
		{"", "", nil, ""},
	} {
		got, err := formats.All().Detect(document.Source{Name: c.name, MediaType: c.media, Data: c.data})
		if got.Name != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %s %.20q is %q, %v, want %q", c.name, c.media, c.data, got.Name, err, c.want)
		}
	}
}

// Others can add formats, and theirs come first.
func TestFormatsCanBeAdded(t *testing.T) {
	t.Parallel()
	all := formats.All()
	more := all.With(document.Format{Name: "shout", Extensions: []string{".md"}, Parser: shout{}})
	doc, err := more.Parse(document.Source{Name: "x.md", Data: []byte("hey")}, document.Limits{})
	if err != nil || doc.Format != "shout" || doc.Text() != "HEY" {
		t.Errorf("it reads %+v, %v", doc, err)
	}
	if len(more.Formats()) != len(all.Formats())+1 {
		t.Error("the first registry changed")
	}
}

type shout struct{}

func (shout) Parse(src document.Source, to *document.Builder) error {
	return to.Paragraph(strings.ToUpper(string(src.Data)), document.Place{})
}

// A parser that panics has met a damaged file; what it read before is kept.
func TestAPanicIsDamage(t *testing.T) {
	t.Parallel()
	all := document.NewRegistry(document.Format{Name: "panic", Extensions: []string{".x"}, Parser: panics{}})
	if _, err := all.Parse(document.Source{Name: "a.x"}, document.Limits{}); err == nil || err.Error() != "the document is damaged" {
		t.Errorf("it failed with %v", err)
	}
	doc, err := all.Parse(document.Source{Name: "a.x", Data: []byte("fine")}, document.Limits{})
	if err != nil || doc.Text() != "fine" || len(doc.Notes) != 1 {
		t.Errorf("it read %+v, %v", doc, err)
	}
}

type panics struct{}

func (panics) Parse(src document.Source, to *document.Builder) error {
	_ = to.Paragraph(string(src.Data), document.Place{})
	panic("damaged")
}
