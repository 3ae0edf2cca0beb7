package textindex_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// TestMissingWordsRefuse asks with the lexicon, in its languages and in another one.
func TestMissingWordsRefuse(t *testing.T) {
	t.Parallel()
	s := textindex.NewSearcher([]*textindex.View{open(t, build(t, "village", village))}, analyse.Concepts())
	for question, want := range map[string]bool{
		"When does the clinic open?":                true,
		"what did the committee decide on the pump": true,
		"mkulima analipwa lini":                     true,
		"quand payer l'eau":                         true,
		"Wann zahlen Familien ihre Gebühren?":       true,
		"who won the football championship":         false,
		"which vaccine do newborn goats need":       false,
		"does the clinic sell goats":                false,
		"Wann zahlen Bauern ihre Steuern in Kassel": false,
		"": false,
	} {
		found, err := s.Search(t.Context(),
			textindex.Query{Text: question, Scope: textindex.Scope{"village": textindex.AllDocuments()}})
		if err != nil {
			t.Fatal(err)
		}
		if found.Answered != want {
			t.Errorf("%q: answered %v with confidence %.2f, want %v", question, found.Answered, found.Confidence, want)
		}
	}
}

// TestMissingWordsAddUp: a question is not answered because it lacks several words
// instead of one.
func TestMissingWordsAddUp(t *testing.T) {
	t.Parallel()
	ix, err := textindex.NewSmall([]textindex.Passage{
		{Document: "a", Language: analyse.English, Text: "The clinic opens on Monday. Children pay nothing."},
		{Document: "b", Language: analyse.English, Text: "The committee decided to repair the pump before the rains."},
	}, analyse.Concepts())
	if err != nil {
		t.Fatal(err)
	}
	missing := []string{"goats", "passport", "football", "roof"}
	for n := range missing {
		question := strings.Join(append([]string{"clinic opens Monday children"}, missing[:n]...), " ")
		found, err := ix.Search(t.Context(), question, 1)
		if err != nil || len(found.Hits) != 1 {
			t.Fatalf("%s: %v, %+v", question, err, found.Hits)
		}
		if found.Answered != (n == 0) {
			t.Errorf("%s: answered %v with confidence %.3f", question, found.Answered, found.Confidence)
		}
	}
}
