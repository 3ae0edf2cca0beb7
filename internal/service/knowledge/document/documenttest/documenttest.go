// Package documenttest makes documents for tests: small ones of each kind, from
// their parts.
package documenttest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
)

// Part is a file inside an archive.
type Part struct{ Name, Text string }

// Zip packs parts in their order; one called mimetype is not compressed.
func Zip(parts ...Part) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, part := range parts {
		header := &zip.FileHeader{Name: part.Name, Method: zip.Deflate}
		if part.Name == "mimetype" {
			header.Method = zip.Store
			header.CRC32, header.CompressedSize64, header.UncompressedSize64 = 0, 0, 0
		}
		f, err := w.CreateHeader(header)
		if err != nil {
			panic(err)
		}
		if _, err := f.Write([]byte(part.Text)); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Word is a DOCX with this body; more parts may follow.
func Word(body string, more ...Part) []byte {
	return Zip(append([]Part{
		{"[Content_Types].xml", `<Types/>`},
		{"_rels/.rels", `<Relationships><Relationship Id="rId1" Type="http://x/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"docProps/core.xml", `<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>Minutes</dc:title><dc:language>sw</dc:language></cp:coreProperties>`},
		{"word/styles.xml", `<w:styles><w:style w:styleId="Titre1"><w:name w:val="heading 1"/></w:style>` +
			`<w:style w:styleId="Sub"><w:basedOn w:val="Titre2"/></w:style><w:style w:styleId="Titre2"><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>` +
			`<w:style w:styleId="Bullet"><w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr></w:style>` +
			`<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style></w:styles>`},
		{"word/document.xml", `<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="w"><w:body>` + body + `</w:body></w:document>`},
	}, more...)...)
}

// Sheet is one of a workbook; State may be hidden.
type Sheet struct{ Name, State, Rows string }

// Excel is an XLSX with these sheets and shared strings.
func Excel(shared []string, sheets ...Sheet) []byte {
	var book, rels strings.Builder
	parts := []Part{{"[Content_Types].xml", `<Types/>`}}
	for i, s := range sheets {
		fmt.Fprintf(&book, `<sheet name="%s" state="%s" sheetId="%d" r:id="rId%d"/>`, s.Name, s.State, i+1, i+1)
		fmt.Fprintf(&rels, `<Relationship Id="rId%d" Type="t/worksheet" Target="worksheets/sheet%d.xml"/>`, i+1, i+1)
		parts = append(parts, Part{fmt.Sprintf("xl/worksheets/sheet%d.xml", i+1), `<worksheet><sheetData>` + s.Rows + `</sheetData></worksheet>`})
	}
	return Zip(append(parts,
		Part{"xl/workbook.xml", `<workbook><sheets>` + book.String() + `</sheets></workbook>`},
		Part{"xl/_rels/workbook.xml.rels", `<Relationships>` + rels.String() + `</Relationships>`},
		Part{"xl/sharedStrings.xml", `<sst><si><t>` + strings.Join(shared, `</t></si><si><t>`) + `</t></si></sst>`},
		Part{"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd\.mm\.yyyy"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="9"/><xf numFmtId="20"/></cellXfs></styleSheet>`},
	)...)
}

// OpenText is an ODT with this body.
func OpenText(body string) []byte { return openDocument("text", body) }

// OpenSheet is an ODS with these tables.
func OpenSheet(tables string) []byte { return openDocument("spreadsheet", tables) }

func openDocument(kind, body string) []byte {
	return Zip(
		Part{"mimetype", "application/vnd.oasis.opendocument." + kind},
		Part{"META-INF/manifest.xml", `<manifest:manifest/>`},
		Part{"meta.xml", `<office:document-meta><office:meta><dc:title>Bulletin</dc:title><dc:language>fr-FR</dc:language></office:meta></office:document-meta>`},
		Part{"content.xml", `<office:document-content><office:automatic-styles><style:style style:name="P1" style:parent-style-name="Title"/>` +
			`<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style></office:automatic-styles>` +
			`<office:body><office:` + kind + `>` + body + `</office:` + kind + `></office:body></office:document-content>`},
	)
}

// Book is an EPUB with these chapters, each the inside of a body.
func Book(chapters ...string) []byte {
	var items, refs strings.Builder
	parts := []Part{
		{"mimetype", "application/epub+zip"},
		{"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`},
	}
	for i, chapter := range chapters {
		fmt.Fprintf(&items, `<item id="c%d" href="text/c%d.xhtml" media-type="application/xhtml+xml"/>`, i, i)
		fmt.Fprintf(&refs, `<itemref idref="c%d"/>`, i)
		parts = append(parts, Part{fmt.Sprintf("OEBPS/text/c%d.xhtml", i), `<html><head><title>Chapter</title></head><body>` + chapter + `</body></html>`})
	}
	return Zip(append(parts, Part{"OEBPS/book.opf", `<package><metadata><dc:title>Bees</dc:title><dc:language>pt-BR</dc:language></metadata><manifest>` +
		items.String() + `</manifest><spine>` + refs.String() + `</spine></package>`})...)
}

// Objects is a PDF of these objects, numbered from 1; the first is its catalogue.
func Objects(objects ...string) []byte {
	var b bytes.Buffer
	at := make([]int, len(objects))
	b.WriteString("%PDF-1.4\n")
	for i, object := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.Bytes()
}

// Stream is an object of a PDF that holds bytes.
func Stream(content string) string {
	return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

// PDF is one with these pages, each the operators that show it. Its font F1 is
// plain, F2 bold.
func PDF(pages ...string) []byte {
	var kids strings.Builder
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>", "",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
	}
	for _, page := range pages {
		n := len(objects) + 1
		fmt.Fprintf(&kids, "%d 0 R ", n)
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>", n+1),
			Stream(page))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(pages))
	return Objects(objects...)
}

// Line shows a text at a height of a page, in a font of a size.
func Line(font string, size, x, y int, text string) string {
	return fmt.Sprintf("BT /%s %d Tf %d %d Td (%s) Tj ET\n", font, size, x, y, text)
}
