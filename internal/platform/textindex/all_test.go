package textindex_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// documents are what was found, each once, best first.
func documents(t require, q textindex.Query, views ...*textindex.View) []string {
	t.Helper()
	q.Scope = textindex.Scope{"village": textindex.AllDocuments()}
	var out []string
	for _, h := range search(t, q, views...).Hits {
		if slices.Contains(out, h.Document) {
			t.Fatalf("%q found %s twice", q.Text, h.Document)
		}
		out = append(out, h.Document)
	}
	return out
}

func TestAllWordsOfADocument(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", village))
	for _, c := range []struct {
		question string
		want     []string
	}{
		{"clinic shillings", []string{"clinic"}}, // in two passages
		{"clinic nurse children", []string{"clinic"}},
		{"clinic pump", nil},
		{"clinic zebra", nil},
		{"the pump of the committee", []string{"minutes"}}, // stop words are not looked for
		{"committtee pumps", []string{"minutes"}},
		{"puits familles", []string{"eau"}},
		{"儿童 开放", []string{"zh"}},
		{"", nil},
	} {
		if diff := cmp.Diff(c.want, documents(t, textindex.Query{Text: c.question, All: true}, view)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.question, diff)
		}
	}
}

// A word of a question may be a stop word of the language in which a text is written.
func TestWordsThatATextMayNotHaveAreNotNeeded(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", []textindex.Passage{
		{Document: "fr", Text: "Le contrat est prêt car le maire est venu. Les familles paient leur eau à la fin du mois."},
		{Document: "en", Text: "The contract of the car was signed by the chairman. The families pay for the water."},
	}))
	got := documents(t, textindex.Query{Text: "car contrat", All: true}, view)
	if !slices.Contains(got, "fr") {
		t.Errorf("found %v", got)
	}
	if got := documents(t, textindex.Query{Text: "car", All: true}, view); len(got) != 1 || got[0] != "en" {
		t.Errorf("the word alone found %v", got)
	}
}

func TestAllFindsWhatEveryPassageHas(t *testing.T) {
	t.Parallel()
	var passages []textindex.Passage
	for i := range 3000 {
		passages = append(passages, textindex.Passage{Document: fmt.Sprintf("d%04d", i), Title: "harvest"})
	}
	if got := documents(t, textindex.Query{Text: "harvest", All: true, Limit: 50},
		open(t, build(t, "village", passages))); len(got) != 50 {
		t.Errorf("found %d", len(got))
	}
}

func TestPartsOfWords(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", append([]textindex.Passage{
		{Document: "plan", Text: "The committees plan a clinical trial."},
		{Document: "part", Text: "Department of inv2026 and inv2027."},
	}, village...)))
	for _, c := range []struct {
		question string
		want     []string
	}{
		{"commit", []string{"minutes", "plan"}},
		{"clini", []string{"clinic", "plan"}},
		{"clinic", []string{"clinic", "plan"}}, // the whole word first
		{"clin tri", []string{"plan"}},
		{"nnenord", []string{"de"}}, // inside of Brunnenordnung
		{"epart", []string{"part"}}, // the index has stems: "epartmen" is in none
		{"inv202", []string{"part"}},
		{"Gebü", []string{"de"}},
		{"诊", []string{"zh"}},
		{"co", nil}, // too short
	} {
		got := documents(t, textindex.Query{Text: c.question, All: true, Part: true}, view)
		if c.question != "clinic" {
			slices.Sort(got)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.question, diff)
		}
	}
	if got := documents(t, textindex.Query{Text: "nnenord", All: true}, view); len(got) > 0 {
		t.Errorf("a part was found where none was asked for: %v", got)
	}
}

func TestAHitSaysWhereTheWordsAre(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", village))
	for question, want := range map[string]string{"Brunnenordnung": "", "Gebühr Familie": "1 Familien 0 Gebühren "} {
		found := search(t,
			textindex.Query{
				Text: question, All: true, Part: true, Scope: textindex.Scope{"village": textindex.AllDocuments()},
			}, view)
		if len(found.Hits) != 1 {
			t.Fatalf("%q: %+v", question, found.Hits)
		}
		got := ""
		for _, w := range found.Hits[0].Words {
			got += fmt.Sprintf("%d %s ", w.Word, found.Hits[0].Text[w.Start:w.End])
		}
		if got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

// All words is each word: what has all is what a look for each would find. Codes have
// no language and no typing mistakes.
func TestAllIsEach(t *testing.T) {
	t.Parallel()
	codes := []string{"a1", "b2", "c3", "d4", "e5"}
	rapid.Check(t, func(t *rapid.T) {
		var passages []textindex.Passage
		for i := range rapid.IntRange(0, 60).Draw(t, "passages") {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(codes), 0, 4).Draw(t, "text"), " ")
			passages = append(passages, textindex.Passage{Document: fmt.Sprintf("d%d", i/3), Number: uint32(i % 3), Text: text})
		}
		words := rapid.SliceOfNDistinct(rapid.SampledFrom(codes), 1, 4, rapid.ID).Draw(t, "question")
		var views []*textindex.View
		for _, part := range spread(passages, 2, func(i int) int { return i / 3 }) {
			views = append(views, open(t, build(t, "village", part)))
		}
		var want []string
		for i, w := range words {
			one := documents(t, textindex.Query{Text: w, All: true, Limit: textindex.MaxHits}, views...)
			if i == 0 {
				want = one
			}
			want = slices.DeleteFunc(want, func(d string) bool { return !slices.Contains(one, d) })
		}
		got := documents(t, textindex.Query{Text: strings.Join(words, " "), All: true, Limit: textindex.MaxHits}, views...)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatalf("%v found %v, want %v", words, got, want)
		}
	})
}

func FuzzQuery(f *testing.F) {
	view := open(f, build(f, "village", village))
	f.Add("clinic hours", true, true)
	f.Add("诊", true, true)
	f.Add("\xff\x00", false, true)
	f.Add(strings.Repeat("a ", 2000), true, false)
	f.Fuzz(func(t *testing.T, text string, all, part bool) {
		found := search(t,
			textindex.Query{
				Text: text, All: all, Part: part,
				Scope: textindex.Scope{"village": textindex.OnlyDocuments("clinic", "zh", "ar")}, Limit: 5,
			}, view)
		if len(found.Hits) > 5 {
			t.Fatalf("%d hits", len(found.Hits))
		}
		for _, h := range found.Hits {
			if !slices.Contains([]string{"clinic", "zh", "ar"}, h.Document) {
				t.Fatalf("found %s", h.Document)
			}
		}
	})
}
