package formats_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/documenttest"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/formats"
)

// show writes a document down: a line for what it is, one for each block.
func show(doc *document.Document) []string {
	out := []string{fmt.Sprintf("%s %q %q %d", doc.Format, doc.Title, doc.Language, doc.Pages)}
	for _, b := range doc.Blocks {
		kind := string(b.Kind[:1])
		switch b.Kind {
		case document.Heading:
			kind = fmt.Sprintf("h%d", b.Level)
		case document.Table:
			kind = fmt.Sprintf("t%d", b.Header)
		}
		place := ""
		if b.Place.Page > 0 {
			place += fmt.Sprintf(" p%d", b.Place.Page)
		}
		if b.Place.Part != "" {
			place += " " + b.Place.Part
		}
		if b.Place.Anchor != "" {
			place += " #" + b.Place.Anchor
		}
		if b.Place.Line > 0 {
			place += fmt.Sprintf(" :%d", b.Place.Line)
		}
		out = append(out, kind+place+" "+strings.Join(b.Lines(), " / "))
	}
	for _, note := range doc.Notes {
		out = append(out, "note "+note)
	}
	return out
}

const wordBody = `
<w:p><w:pPr><w:pStyle w:val="Titre1"/></w:pPr><w:r><w:t>Clinic</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Open </w:t></w:r><w:r><w:t>from 8&#x2013;12 &amp; later.</w:t></w:r><w:del><w:r><w:delText>Never.</w:delText></w:r></w:del></w:p>
<w:p><w:pPr><w:pStyle w:val="Sub"/></w:pPr><w:r><w:t>Bring</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="Bullet"/></w:pPr><w:r><w:t>card</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="2"/></w:numPr></w:pPr><w:r><w:t>blue</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="Loop"/></w:pPr><w:r><w:lastRenderedPageBreak/><w:t>Next</w:t><w:tab/><w:t>page.</w:t></w:r></w:p>
<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr><w:tc><w:p><w:r><w:t>Crop</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Price</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>Maize</w:t></w:r></w:p><w:p><w:r><w:t>dry</w:t></w:r></w:p></w:tc><w:tc><w:tbl><w:tr><w:tc><w:p><w:r><w:t>40</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>KES</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>
<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>In a box</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:p><w:r><w:t>In a box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent><w:t>Around it</w:t></w:r></w:p>`

const openBody = `<text:tracked-changes><text:p>Deleted</text:p></text:tracked-changes>
<text:p text:style-name="P1">Le puits</text:p><text:h text:outline-level="2">Décision</text:h>
<text:p>La pompe<text:s text:c="3"/>est<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Selon Awa.</text:p></text:note-body></text:note> réparée.<text:soft-page-break/></text:p>
<text:list><text:list-item><text:p>vis</text:p><text:list><text:list-item><text:p>petite</text:p></text:list-item></text:list></text:list-item></text:list>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Nom</text:p></table:table-cell><table:table-cell><text:p>Prix</text:p></table:table-cell></table:table-row></table:table-header-rows>
<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>5</text:p></table:table-cell></table:table-row></table:table>`

const page = `<!DOCTYPE html><html lang="pt"><head><title>Preços &amp; datas</title><style>p{}</style></head><body>
<nav><a href="/">Início</a></nav><h1 id="top">Feira</h1><p>Abre às <b>oito</b>.<br>Fecha tarde.
<p id="milho">Milho hoje<script>alert("x")</script><div hidden><div>segredo</div>oculto</div><div style="display: none">nada</div>
<ul><li>milho<ol><li>seco</ol><li>arroz</ul>
<table><caption>Tabela</caption><tr><th>Nome<th>Preço<tr><td>Milho<td><table><tr><td>40</td></tr></table></table>
<pre>a
  b</pre><dl><dt>kg<dd>quilo</dl></body>`

const markdown = "---\ntitle: Rules\nlang: en\n---\n# The **pump**\n\nAsk [Amina](https://x.example/a_b) or `root`.\nSecond line with snake_case and *stress*.\n\n" +
	"Hours\n-----\n\n- one\n  goes on\n  - inner\n- [x] two\n\n1. first\n2. second\n\n| Crop | Price |\n|------|:-----:|\n| Maize \\| dry | 40 |\n\n" +
	"```go\nx := 1\n\n\ty\n```\n\n<!-- not\nthis -->\n> quoted &amp; kept\n\n    indented\n"

const plainText = "THE WATER COMMITTEE\n\nWe met on Monday\nand decided:\n\n- buy a pump\n  for the well\n- ask Amina\n\n1.2 Money\n\nName      Paid   Due\nAwa       10     20\nBaraka    5      25\n"

// Each format gives the blocks that a person would name.
func TestFormats(t *testing.T) {
	t.Parallel()
	rows := `<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="inlineStr"><is><t>When</t></is></c><c r="D3" t="str"><v>Share</v></c></row>` +
		`<row r="4"><c r="A4" t="s"><v>2</v></c><c r="B4" s="1"><v>46342</v></c><c r="C4"><f>1+1</f><v>0.30000000000000004</v></c><c r="D4" s="2"><v>0.155</v></c></row>` +
		`<row r="5"><c r="A5" t="b"><v>1</v></c><c r="B5" s="3"><v>0.5</v></c><c r="C5" t="e"><v>#DIV/0!</v></c><c r="D5" t="s"><v>99</v></c></row>`
	ods := `<table:table table:name="Bei"><table:table-row><table:table-cell><text:p>Zao</text:p></table:table-cell><table:table-cell><text:p>Bei</text:p></table:table-cell></table:table-row>` +
		`<table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>Mahindi</text:p><office:annotation><text:p>no</text:p></office:annotation></table:table-cell><table:table-cell><text:p>40</text:p></table:table-cell></table:table-row>` +
		`<table:table-row table:number-rows-repeated="1048572"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>` +
		`<table:table table:name="Siri" table:style-name="ta2"><table:table-row><table:table-cell><text:p>hidden</text:p></table:table-cell></table:table-row></table:table>`
	pdf := documenttest.PDF(
		documenttest.Line("F2", 20, 72, 750, "Health post")+documenttest.Line("F1", 11, 72, 700, "The post opens at eight and closes at four. It is far from the hos-")+
			documenttest.Line("F1", 11, 72, 686, "pital, and near the school.")+documenttest.Line("F2", 11, 72, 650, "Prices")+
			documenttest.Line("F1", 11, 72, 630, "Visit")+documenttest.Line("F1", 11, 200, 630, "Price")+
			documenttest.Line("F1", 11, 300, 630, "Days")+
			documenttest.Line("F1", 11, 72, 616, "Adult")+documenttest.Line("F1", 11, 200, 616, "50")+documenttest.Line("F1", 11,
			300, 616, "Monday")+
			documenttest.Line("F1", 11, 72, 40, "1"),
		documenttest.Line("F1", 11, 72, 700, "\\225 a card")+documenttest.Line("F1", 11, 72, 686, "\\225 a cup")+
			documenttest.Line("F1", 11, 72, 640, "All are welcome.")+documenttest.Line("F1", 11, 72, 40, "2"),
	)
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"a.docx", documenttest.Word(wordBody), []string{
			`docx "Minutes" "sw" 2`, "h1 p1 Clinic", "p p1 Open from 8–12 & later.", "h2 p1 Bring", "l p1 - card /   - blue", "p p1 Next page.",
			"t1 p2 Crop | Price / Maize dry | 40 KES", "p p2 In a box", "p p2 Around it",
		}},
		{"a.odt", documenttest.OpenText(openBody), []string{
			`odt "Bulletin" "fr-FR" 2`, "h1 p1 Le puits", "h2 p1 Décision", "p p1 La pompe est réparée.", "p p2 Selon Awa.", "l p2 - vis /   - petite", "t1 p2 Nom | Prix / 5 | 5",
		}},
		{"a.xlsx", documenttest.Excel([]string{"Price list", "Crop", "Maize"}, documenttest.Sheet{Name: "Prices", Rows: rows},
			documenttest.Sheet{Name: "Salaries", State: "hidden", Rows: rows}), []string{
			`xlsx "" "" 0`, "h1 Prices Prices", "p Prices :1 Price list", "t1 Prices :3 Crop | When |  | Share / Maize | 2026-11-16 | 0.3 | 15.5% / TRUE | 12:00", `note the sheet "Salaries" is hidden: it was not read`,
		}},
		{"a.ods", documenttest.OpenSheet(ods), []string{
			`ods "Bulletin" "fr-FR" 0`, "h1 Bei Bei", "t1 Bei :1 Zao | Bei / Mahindi | 40 / Mahindi | 40", `note the sheet "Siri" is hidden: it was not read`,
		}},
		{"a.epub", documenttest.Book(`<h1 id="x">One</h1><p>First.</p>`, `<h2>Two</h2><p>Second.</p>`), []string{
			`epub "Bees" "pt-BR" 0`, "h1 OEBPS/text/c0.xhtml #x One", "p OEBPS/text/c0.xhtml #x First.", "h2 OEBPS/text/c1.xhtml Two", "p OEBPS/text/c1.xhtml Second.",
		}},
		{"a.pdf", pdf, []string{
			`pdf "" "en" 2`, "h1 p1 Health post", "p p1 The post opens at eight and closes at four. It is far from the hospital, and near the school.", "h2 p1 Prices",
			"t1 p1 Visit | Price | Days / Adult | 50 | Monday", "l p2 - a card / - a cup", "p p2 All are welcome.",
		}},
		{"a.html", []byte(page), []string{
			`html "Preços & datas" "pt" 0`, "h1 #top Feira", "p #top Abre às oito. Fecha tarde.", "p #milho Milho hoje", "l #milho - milho /   - seco / - arroz",
			"p #milho Tabela", "t1 #milho Nome | Preço / Milho | 40", "c #milho a /   b", "l #milho - kg: quilo",
		}},
		{"a.md", []byte(markdown), []string{
			`markdown "Rules" "en" 0`, "h1 #the-pump :5 The pump", "p :7 Ask Amina or root. Second line with snake_case and stress.", "h2 #hours :11 Hours",
			"l :13 - one goes on /   - inner / - two / - first / - second", "t1 :21 Crop | Price / Maize | dry | 40", "c :26 x := 1 /  /     y", "p :33 quoted & kept", "c :35     indented",
		}},
		{"a.csv", []byte("Zao;Bei\nMahindi;\"1,5\"\n\nMchele;3\nNgano;4\n"), []string{
			`csv "" "" 0`, "t1 :1 Zao | Bei / Mahindi | 1,5", "t0 :4 Mchele | 3 / Ngano | 4",
		}},
		{"a.txt", []byte(plainText), []string{
			`text "" "" 0`, "h1 :1 THE WATER COMMITTEE", "p :3 We met on Monday and decided:", "l :6 - buy a pump for the well / - ask Amina", "h2 :10 1.2 Money",
			"c :12 Name Paid Due / Awa 10 20 / Baraka 5 25",
		}},
	} {
		doc, err := formats.All().Parse(document.Source{Name: c.name, Data: c.data}, document.Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := show(doc); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
