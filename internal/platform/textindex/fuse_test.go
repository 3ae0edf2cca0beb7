package textindex_test

import (
	"slices"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

func TestNearPassagesJoinByRank(t *testing.T) {
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

// What words find is no answer when nothing is alike, and the other way round a
// little of one is made up for by the other. What nobody compared is left to words.
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
	if found := search(t, byWords, view); found.Answered || found.Confidence != words.Confidence/2 {
		t.Errorf("unlike, and answered: %v, %v", found.Answered, found.Confidence)
	}
	byWords.Likeness = alike(textindex.Key{}, 0)
	if found := search(t, byWords, view); found.Confidence != words.Confidence {
		t.Errorf("not compared, and %v is %v", words.Confidence, found.Confidence)
	}
	other := textindex.Query{Text: "expense of seeing somebody at the clinic", Scope: scope}
	if found := search(t, other, view); found.Answered {
		t.Fatalf("by words: %+v", found)
	}
	other.Near, other.Likeness = []textindex.Key{fees}, alike(fees, 1)
	found := search(t, other, view)
	i := slices.IndexFunc(found.Hits, func(h textindex.Hit) bool { return h.Key == fees })
	if i < 0 || !found.Answered || found.Hits[i].Confidence < 0.5 {
		t.Errorf("alike, and not answered: %+v", found)
	}
}
