package formats_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/documenttest"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/formats"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/passage"
)

// fuzzLimits are small, so that a fuzzer finds what is behind them.
func fuzzLimits() document.Limits {
	return document.Limits{Text: 4000, Rows: 20, Columns: 6, Pages: 5, Unpacked: 100_000, Depth: 40, Blocks: 50}
}

// hold checks what every document promises, whatever it was read from.
func hold(t *testing.T, name string, data []byte) {
	t.Helper()
	format, err := formats.All().Detect(document.Source{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	only := document.NewRegistry(document.Format{Name: format.Name, Extensions: format.Extensions, Parser: format.Parser})
	src := document.Source{Name: name, Data: data}
	doc, err := only.Parse(src, fuzzLimits())
	if err != nil {
		return
	}
	again, err := only.Parse(src, fuzzLimits())
	if err != nil {
		t.Fatalf("the second time it failed: %v", err)
	}
	first, _ := json.Marshal(doc)
	if second, _ := json.Marshal(again); !bytes.Equal(first, second) {
		t.Fatalf("it is not always the same:\n%s\n%s", first, second)
	}
	text, limits := doc.Text(), fuzzLimits()
	if len(doc.Blocks) > limits.Blocks || len(text) > limits.Text+2*limits.Blocks || doc.Pages > limits.Pages {
		t.Fatalf("%d blocks, %d bytes, %d pages", len(doc.Blocks), len(text), doc.Pages)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && unicode.IsControl(r)
	}) {
		t.Fatalf("it is not clean: %q", text)
	}
	for _, b := range doc.Blocks {
		if len(b.Rows) > limits.Rows || b.Header > len(b.Rows) || (b.Kind == document.Heading) != (b.Level > 0) ||
			b.Level > 6 {
			t.Fatalf("a block is %+v", b)
		}
	}
	end := 0
	for _, p := range passage.Split(doc, passage.Config{}) {
		if p.Start < end || p.Text != text[p.Start:p.End] {
			t.Fatalf("passage %+v follows %d", p, end)
		}
		end = p.End
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add(markdown)
	f.Add("- a\n\n  b\n\t- c\n```\nx")
	f.Add("|a|b|\n|-|-|\n|1")
	f.Fuzz(func(t *testing.T, text string) { hold(t, "a.md", []byte(text)) })
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(plainText))
	f.Add([]byte("\xff\xfeh\x00i\x00"))
	f.Add([]byte("caf\xe9\f1) x"))
	f.Fuzz(func(t *testing.T, data []byte) { hold(t, "a.txt", data) })
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a;b\n1;\"2"))
	f.Add([]byte("sep=,\na,b\n\n1,2\n"))
	f.Fuzz(func(t *testing.T, data []byte) { hold(t, "a.csv", data) })
}

func FuzzHTML(f *testing.F) {
	f.Add([]byte(page))
	f.Add([]byte("<ul><table><li><tr></ul><td>x</table></li>"))
	f.Fuzz(func(t *testing.T, data []byte) { hold(t, "a.html", data) })
}

func FuzzWord(f *testing.F) {
	f.Add(wordBody)
	f.Fuzz(func(t *testing.T, body string) { hold(t, "a.docx", documenttest.Word(body)) })
}

func FuzzOpenText(f *testing.F) {
	f.Add(openBody)
	f.Fuzz(func(t *testing.T, body string) { hold(t, "a.odt", documenttest.OpenText(body)) })
}

func FuzzExcel(f *testing.F) {
	f.Add(`<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" s="1"><v>46342.5</v></c></row>`, "x")
	f.Fuzz(func(t *testing.T, rows, shared string) {
		hold(t, "a.xlsx", documenttest.Excel([]string{shared}, documenttest.Sheet{Name: "S", Rows: rows}))
	})
}

func FuzzOpenSheet(f *testing.F) {
	f.Add(`<table:table table:name="S"><table:table-row table:number-rows-repeated="3"><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>`)
	f.Fuzz(func(t *testing.T, tables string) { hold(t, "a.ods", documenttest.OpenSheet(tables)) })
}

func FuzzBook(f *testing.F) {
	f.Add(`<h1>x</h1><p>y`)
	f.Fuzz(func(t *testing.T, chapter string) { hold(t, "a.epub", documenttest.Book(chapter)) })
}

// FuzzArchive breaks the archives themselves.
func FuzzArchive(f *testing.F) {
	for _, data := range [][]byte{
		documenttest.Word(wordBody), documenttest.OpenText(openBody), documenttest.Book("x"),
		documenttest.Excel([]string{"x"}, documenttest.Sheet{Name: "S"}),
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"a.docx", "a.odt", "a.xlsx", "a.ods", "a.epub"} {
			hold(t, name, data)
		}
	})
}

// FuzzPDF fuzzes what a page shows. The file around it is the library's, which is
// not made for hostile files and is read apart for that.
func FuzzPDF(f *testing.F) {
	f.Add(documenttest.Line("F1", 11, 72, 700, "words")+"[(a) -300 <6263>] TJ 1 0 0 1 5 6 Tm T* (x) '", "1 beginbfrange <00> <ff> <0041> endbfrange")
	f.Add("BI /W 1 ID x EI q Q Q (\\101\\\n(b)) Tj /F2 0 Tf", "1 beginbfchar <41> <D83DDE00> endbfchar")
	f.Fuzz(func(t *testing.T, content, table string) {
		hold(t, "a.pdf", documenttest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] >>",
			"<< /Type /Page /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>", documenttest.Stream(content),
			"<< /Type /Font /Subtype /Type1 /BaseFont /X /ToUnicode 7 0 R >>",
			"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 7 0 R /DescendantFonts [<< /W [0 [500] 1 9 600] >>] >>",
			documenttest.Stream(table)))
	})
}

// words is text of about so many bytes, in paragraphs.
func words(size int) []string {
	sentence := "The water committee met on Monday and decided that the pump near the school is repaired before the rain begins. "
	return slices.Repeat([]string{strings.Repeat(sentence, 6)}, size/len(sentence)/6)
}

// BenchmarkParse measures text per second of one processor: parsing and cutting
// into passages, without the process around it.
func BenchmarkParse(b *testing.B) {
	all := words(1 << 20)
	join := func(before, after string) string { return before + strings.Join(all, after+before) + after }
	var pages []string
	for i := 0; i < len(all); i += 4 {
		var page strings.Builder
		y := 750
		for _, text := range all[i:min(i+4, len(all))] {
			for line := range slices.Chunk(strings.Fields(text), 14) {
				page.WriteString(documenttest.Line("F1", 11, 72, y, strings.Join(line, " ")))
				y -= 13
			}
			y -= 13
		}
		pages = append(pages, page.String())
	}
	rows := join(`<row><c t="s"><v>0</v></c><c><v>40</v></c><c t="inlineStr"><is><t>`, `</t></is></c></row>`)
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"a.txt", []byte(join("", "\n\n"))},
		{"a.md", []byte(join("* ", "\n"))},
		{"a.csv", []byte(join("a,b,", "\n"))},
		{"a.html", []byte("<html>" + join("<p>", "</p>\n"))},
		{"a.epub", documenttest.Book(join("<p>", "</p>\n"))},
		{"a.docx", documenttest.Word(join(`<w:p><w:pPr><w:rPr><w:lang w:val="en-US"/></w:rPr></w:pPr><w:r><w:rPr><w:lang w:val="en-US"/></w:rPr><w:t>`, `</w:t></w:r></w:p>`))},
		{"a.odt", documenttest.OpenText(join(`<text:p text:style-name="P4">`, `</text:p>`))},
		{"a.xlsx", documenttest.Excel([]string{"x"}, documenttest.Sheet{Name: "S", Rows: rows})},
		{"a.pdf", documenttest.PDF(pages...)},
	} {
		b.Run(c.name[2:], func(b *testing.B) {
			size := 0
			for b.Loop() {
				doc, err := formats.All().Parse(document.Source{Name: c.name, Data: c.data}, document.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				size = len(doc.Text())
				passage.Split(doc, passage.Config{})
			}
			b.SetBytes(int64(size))
		})
	}
}
