package textindex_test

import (
	"slices"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

func TestNearPassagesJoin(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", village))
	scope := textindex.Scope{"village": textindex.AllDocuments()}
	near := []textindex.Key{
		{Collection: "village", Document: "minutes"},
		{Collection: "village", Document: "clinic", Number: 1},
		{Collection: "village", Document: "minutes"},
		{Collection: "village", Document: "nowhere"},
	}
	found := search(t, textindex.Query{Text: "clinic visit", Scope: scope, Near: near}, view)
	if len(found.Hits) < 3 || found.Hits[0].Document != "clinic" || found.Hits[0].Number != 1 {
		t.Fatalf("what both found is not first: %+v", found.Hits)
	}
	seen := map[textindex.Key]int{}
	for _, h := range found.Hits {
		seen[h.Key]++
	}
	if seen[near[0]] != 1 || seen[near[3]] != 0 {
		t.Fatalf("found %v", seen)
	}
	// A passage that is near and out of scope stays out.
	scope = textindex.Scope{"village": textindex.OnlyDocuments("clinic")}
	for _, h := range search(t, textindex.Query{Text: "clinic visit", Scope: scope, Near: near}, view).Hits {
		if h.Document != "clinic" {
			t.Errorf("found %s, which is out of scope", h.Document)
		}
	}
}

// A model that does not know a language holds everything for a little alike, in any
// order. What words find is not lost to that.
func TestWordsStayBeforeWhatIsAlikeByChance(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", village))
	q := textindex.Query{
		Text:  "What does a visit cost in Nairobi in shillings?",
		Scope: textindex.Scope{"village": textindex.AllDocuments()}, Limit: textindex.MaxHits,
	}
	fees := search(t, q, view).Hits[0].Key
	for _, p := range village {
		if key := (textindex.Key{Collection: "village", Document: p.Document, Number: p.Number}); key != fees {
			q.Near = append(q.Near, key)
		}
	}
	if len(q.Near) < 5 {
		t.Fatalf("only %d others", len(q.Near))
	}
	q.Likeness = func(k textindex.Key) (float64, bool) { return 0.9 - float64(slices.Index(q.Near, k))/100, k != fees }
	if found := search(t, q, view); found.Hits[0].Key != fees || !found.Answered {
		t.Errorf("first is %v, answered %v", found.Hits[0].Key, found.Answered)
	}
	// Far beyond chance is another matter.
	last := q.Near[len(q.Near)-1]
	q.Likeness = func(k textindex.Key) (float64, bool) { return 2, k == last }
	if found := search(t, q, view); found.Hits[0].Key != last {
		t.Errorf("first is %v, wanted %v", found.Hits[0].Key, last)
	}
}

// What is alike far beyond chance is an answer without words, and what is merely alike
// is none. That something is not alike takes nothing from what words say.
func TestLikenessDecidesToo(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", village))
	scope := textindex.Scope{"village": textindex.AllDocuments()}
	fees := textindex.Key{Collection: "village", Document: "clinic", Number: 1}
	alike := func(key textindex.Key, likeness float64) func(textindex.Key) (float64, bool) {
		return func(k textindex.Key) (float64, bool) { return likeness, k == key }
	}
	byWords := textindex.Query{Text: "What does a visit cost in Nairobi in shillings?", Scope: scope}
	words := search(t, byWords, view)
	if !words.Answered || words.Hits[0].Key != fees {
		t.Fatalf("words alone: %+v", words)
	}
	byWords.Likeness = alike(fees, 0)
	if found := search(t, byWords, view); found.Confidence != words.Confidence {
		t.Errorf("unlike, and %v is %v", words.Confidence, found.Confidence)
	}
	byWords.Likeness = alike(textindex.Key{}, 0)
	if found := search(t, byWords, view); found.Confidence != words.Confidence {
		t.Errorf("not compared, and %v is %v", words.Confidence, found.Confidence)
	}
	other := textindex.Query{Text: "expense of seeing somebody at the clinic", Scope: scope}
	if found := search(t, other, view); found.Answered {
		t.Fatalf("by words: %+v", found)
	}
	other.Near, other.Likeness = []textindex.Key{fees}, alike(fees, 1.2)
	if found := search(t, other, view); found.Answered {
		t.Errorf("merely alike, and answered: %+v", found)
	}
	other.Likeness = alike(fees, 1.8)
	found := search(t, other, view)
	i := slices.IndexFunc(found.Hits, func(h textindex.Hit) bool { return h.Key == fees })
	if i < 0 || !found.Answered || found.Hits[i].Confidence < 0.5 {
		t.Errorf("alike, and not answered: %+v", found)
	}
}
