package passage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/passage"
)

// sentence has n words.
func sentence(n int, word string) string {
	return strings.ToUpper(word[:1]) + word[1:] + strings.Repeat(" "+word, n-1) + "."
}

func build(t testing.TB, add func(b *document.Builder) error) *document.Document {
	t.Helper()
	b := document.NewBuilder(document.Limits{})
	if err := add(b); err != nil {
		t.Fatal(err)
	}
	return b.Document()
}

func first(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

func at(page int) document.Place { return document.Place{Page: page} }

func TestPassagesFollowTheHeadings(t *testing.T) {
	t.Parallel()
	doc := build(t, func(b *document.Builder) error {
		return first(
			b.Paragraph("Before all headings.", at(1)),
			b.Heading(1, "Clinic", at(1)),
			b.Heading(2, "Hours", at(1)),
			b.Paragraph("Open from eight.", at(1)),
			b.Paragraph("Closed on Sundays.", at(2)),
			b.Heading(2, "Prices", at(2)),
			b.Heading(1, "Contact", at(3)),
			b.Paragraph("Ask Amina.", at(3)),
		)
	})
	want := []string{
		`[] "Before all headings." 1-1`,
		`[Clinic Hours] "Open from eight.\n\nClosed on Sundays." 1-2`,
		`[Clinic] "Prices" 2-2`,
		`[Contact] "Ask Amina." 3-3`,
	}
	var got []string
	for _, p := range passage.Split(doc, passage.Config{}) {
		got = append(got, fmt.Sprintf("%v %q %d-%d", p.Headings, p.Text, p.Place.Page, p.LastPage))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestALongParagraphIsCutBetweenSentences(t *testing.T) {
	t.Parallel()
	doc := build(t, func(b *document.Builder) error {
		return first(
			b.Paragraph(strings.Repeat(sentence(30, "bee")+" ", 20), at(0)),
			b.Paragraph(sentence(500, "wasp"), at(0)),
		)
	})
	for i, p := range passage.Split(doc, passage.Config{}) {
		if n := len(strings.Fields(p.Text)); n > 200 {
			t.Errorf("passage %d has %d words", i, n)
		}
		if strings.HasPrefix(p.Text, "Bee") && !strings.HasSuffix(p.Text, ".") {
			t.Errorf("passage %d ends within a sentence: %q", i, p.Text)
		}
	}
}

// Dr. Amina, 3.5 kg and e.g. this end no sentence.
func TestAbbreviationsEndNoSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"Ask Dr. Amina or J. K. Mwangi. She weighs 3.5 kg.": {"Ask Dr. Amina or J. K. Mwangi.", "She weighs 3.5 kg."},
		`He said "Stop." Then he left! Really? Yes`:         {`He said "Stop."`, "Then he left!", "Really?", "Yes"},
		"Take e.g. Salt. approx. two spoons.":               {"Take e.g. Salt. approx. two spoons."},
		"診療所は八時に開きます。日曜は休みです。":                              {"診療所は八時に開きます。", "日曜は休みです。"},
		"क्लिनिक आठ बजे खुलता है। रविवार को बंद।":           {"क्लिनिक आठ बजे खुलता है।", "रविवार को बंद।"},
		"متى تفتح العيادة؟ في الثامنة.":                     {"متى تفتح العيادة؟", "في الثامنة."},
	} {
		doc := build(t, func(b *document.Builder) error { return b.Paragraph(text, at(0)) })
		var got []string
		for _, p := range passage.Split(doc, passage.Config{Max: 1, Min: 1}) {
			got = append(got, p.Text)
		}
		// One word per passage cuts sentences too: joined they must be what they were.
		if joined := strings.Join(got, " "); strings.ReplaceAll(joined, " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%q was lost: %q", text, joined)
		}
		if got := passage.Sentences(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestATableThatIsCutRepeatsItsHeader(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"Crop", "Price"}}
	for i := range 150 {
		rows = append(rows, []string{fmt.Sprintf("maize number %d", i), fmt.Sprintf("%d shillings", i)})
	}
	doc := build(t, func(b *document.Builder) error {
		return first(b.Heading(1, "Prices", at(0)), b.Table(1, rows, document.Place{Part: "List", Line: 1}))
	})
	all := passage.Split(doc, passage.Config{})
	if len(all) < 4 {
		t.Fatalf("%d passages", len(all))
	}
	for i, p := range all {
		if i == 0 != (p.Lead == "") || !strings.HasPrefix(p.Shown(), "Crop | Price\nmaize") {
			t.Errorf("passage %d begins %q", i, p.Shown()[:40])
		}
		if p.Place.Part != "List" || i > 0 && !strings.HasPrefix(p.Text, fmt.Sprintf("maize number %d |", p.Place.Line-2)) {
			t.Errorf("passage %d stands at %+v: %q", i, p.Place, p.Text[:20])
		}
	}
}

func TestListsAndTablesStayWholeWhereTheyFit(t *testing.T) {
	t.Parallel()
	items := make([]document.Item, 12)
	for i := range items {
		items[i] = document.Item{Depth: i % 2, Text: sentence(10, "bring")}
	}
	doc := build(t, func(b *document.Builder) error {
		return first(b.Paragraph(sentence(40, "take"), at(0)), b.Paragraph(sentence(60, "give"), at(0)), b.List(items, at(0)),
			b.Paragraph("The end.", at(0)))
	})
	got := passage.Split(doc, passage.Config{})
	if len(got) != 2 || strings.Count(got[1].Text, "- Bring") != len(items) || !strings.HasSuffix(got[1].Text, "The end.") {
		t.Errorf("passages are %+v", got)
	}
}

func TestScriptsWithoutSpacesAreCutToo(t *testing.T) {
	t.Parallel()
	doc := build(t, func(b *document.Builder) error {
		return first(b.Paragraph(strings.Repeat("診療所は八時に開きます。", 100), at(0)),
			b.Paragraph(strings.Repeat("คลินิก", 500), at(0)), b.Paragraph(strings.Repeat("x", 50_000), at(0)))
	})
	got := passage.Split(doc, passage.Config{})
	if len(got) < 12 {
		t.Errorf("%d passages", len(got))
	}
	for i, p := range got {
		if n := len([]rune(p.Text)); n > 9000 {
			t.Errorf("passage %d has %d characters", i, n)
		}
	}
}

// Nothing is lost, doubled or reordered, whatever the document.
func TestPassagesCoverTheText(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{
		"a", "Dr.", "end.", "What?", "maji", "है।", "診療所。", "\u00e9", strings.Repeat("long", 60),
	})
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(words, 0, 60).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		b := document.NewBuilder(document.Limits{})
		for range rapid.IntRange(0, 12).Draw(t, "blocks") {
			place := document.Place{Page: rapid.IntRange(0, 3).Draw(t, "page"), Line: 1}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				_ = b.Heading(rapid.IntRange(1, 6).Draw(t, "level"), line.Draw(t, "heading"), place)
			case 1:
				_ = b.Paragraph(line.Draw(t, "text"), place)
			case 2:
				_ = b.Code(strings.Join(rapid.SliceOf(line).Draw(t, "code"), "\n"), place)
			case 3:
				var items []document.Item
				for _, text := range rapid.SliceOf(line).Draw(t, "items") {
					items = append(items, document.Item{Depth: rapid.IntRange(0, 3).Draw(t, "depth"), Text: text})
				}
				_ = b.List(items, place)
			case 4:
				_ = b.Table(rapid.IntRange(0, 2).Draw(t, "header"), rapid.SliceOf(rapid.SliceOf(line)).Draw(t, "rows"), place)
			}
		}
		doc := b.Document()
		cfg := passage.Config{Max: rapid.IntRange(0, 50).Draw(t, "max"), Min: rapid.IntRange(0, 50).Draw(t, "min")}
		text, spans := doc.Layout()
		covered := make([]bool, len(text))
		for i, block := range doc.Blocks {
			for j := spans[i].Start; block.Kind == document.Heading && j < spans[i].End; j++ {
				covered[j] = true
			}
		}
		end := 0
		for _, p := range passage.Split(doc, cfg) {
			if p.Text != text[p.Start:p.End] || p.Text == "" || p.Start < end {
				t.Fatalf("%+v does not follow %d", p, end)
			}
			for end = p.Start; end < p.End; end++ {
				covered[end] = true
			}
		}
		for i, seen := range covered {
			if !seen && text[i] != ' ' && text[i] != '\n' {
				t.Fatalf("byte %d is in no passage: %q", i, text)
			}
		}
	})
}
