package textindex

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// longerViews are three segments with words that begin with "log" or have it inside,
// and in how many passages of the even documents each is.
func longerViews(t *testing.T) (views []*View, even Documents, counts map[string]uint32) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 3))
	counts = map[string]uint32{}
	var names []string
	for part := range 3 {
		b := NewBuilder("c")
		for i := range 120 {
			words := map[string]bool{}
			for range 12 {
				ending := fmt.Sprintf("%c%c%c", 'b'+rune(random.IntN(8)), 'b'+rune(random.IntN(8)), 'b'+rune(random.IntN(2)))
				words[[]string{"log", "xylog"}[random.IntN(2)]+ending] = true
			}
			text := ""
			for w := range words {
				text += w + " "
				if i%2 == 0 {
					counts[w]++
				}
			}
			p := Passage{Document: fmt.Sprintf("d%d-%d", part, i), Language: analyse.Undetermined, Text: text}
			if i%2 == 0 {
				names = append(names, p.Document)
			}
			if err := b.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if _, err := b.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		s, err := OpenBytes(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Without(nil)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	return views, OnlyDocuments(names...), counts
}

// The longer words are those that most passages of the scope have, however many fit
// and wherever they are. Work that is spent leaves some out, and says so.
func TestLongerWordsAreTheCommonestOfTheScope(t *testing.T) {
	t.Parallel()
	all, even, counts := longerViews(t)
	views, err := applyScope(t.Context(), all, Scope{"c": even})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		part string
		fits func(string) bool
	}{
		{"log", func(w string) bool { return strings.HasPrefix(w, "log") }},
		{"xylog", func(w string) bool { return strings.HasPrefix(w, "xylog") }},
		{"ylog", func(w string) bool { return strings.HasPrefix(w, "xylog") }},
	} {
		var want []string
		for w := range counts {
			if c.fits(w) {
				want = append(want, w)
			}
		}
		slices.SortFunc(want, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
		if len(want) <= maxParts {
			t.Fatalf("only %d words fit %s", len(want), c.part)
		}
		p := planner{views: views, left: maxWork}
		g := group{part: c.part}
		if _, err := p.addParts(t.Context(), &g); err != nil || p.spent {
			t.Fatalf("%s: spent %v, %v", c.part, p.spent, err)
		}
		var got []string
		for _, v := range g.variants {
			if v.df != counts[v.term] {
				t.Errorf("%s is in %d passages, not in %d", v.term, counts[v.term], v.df)
			}
			got = append(got, v.term)
		}
		if !slices.Equal(got, want[:maxParts]) {
			t.Errorf("%s: %v, want %v", c.part, got, want[:maxParts])
		}
		few, whole := planner{views: views, left: 40}, g.variants
		g.variants = nil
		if _, err := few.addParts(t.Context(), &g); err != nil || !few.spent || len(g.variants) >= len(whole) {
			t.Errorf("%s with little work: %d words, spent %v, %v", c.part, len(g.variants), few.spent, err)
		}
	}
}

// Whole words are found when no work is left for others.
func TestWholeWordsAreFoundWithoutWork(t *testing.T) {
	t.Parallel()
	all, even, counts := longerViews(t)
	views, err := applyScope(t.Context(), all, Scope{"c": even})
	if err != nil {
		t.Fatal(err)
	}
	p := planner{analyser: analyse.NewAnalyser(), views: views, passages: 180}
	made, err := p.plan(t.Context(), Query{Text: "logbbb", Part: true})
	if err != nil || !made.spent || len(made.groups) != 1 || len(made.groups[0].variants) != 1 ||
		made.groups[0].variants[0].df != counts["logbbb"] {
		t.Errorf("%+v, %v", made, err)
	}
}
