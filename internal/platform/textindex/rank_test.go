package textindex

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// randomViews are a few segments with words by Zipf's law, so that some words
// fill many blocks, and with documents taken out.
func randomViews(t *testing.T, random *rand.Rand, passages int) []*View {
	t.Helper()
	zipf := rand.NewZipf(random, 1.2, 4, 900)
	var views []*View
	for part := range 3 {
		b := NewBuilder("c")
		for i := range passages {
			var text strings.Builder
			for range 5 + random.IntN(40) {
				fmt.Fprintf(&text, "term%d ", zipf.Uint64())
			}
			p := Passage{
				Document: fmt.Sprintf("d%d-%d", part, i/5), Number: uint32(i % 5),
				Title: fmt.Sprintf("term%d", zipf.Uint64()), Text: text.String(),
			}
			if err := b.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if _, err := b.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		s, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Without([]string{"d0-3", "d1-7", "d2-90"})
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	return views
}

// What is passed over could not have been among the best: the candidates are
// those that scoring every passage gives.
func TestNothingGoodIsPassedOver(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	views, err := applyScope(t.Context(), randomViews(t, random, 2500), Scope{"c": AllDocuments()})
	if err != nil {
		t.Fatal(err)
	}
	p := planner{analyser: analyse.NewAnalyser(), views: views, left: maxWork}
	for _, v := range views {
		p.passages += v.visible
	}
	for range 150 {
		question := ""
		for range 1 + random.IntN(6) {
			question += fmt.Sprintf("term%d ", random.IntN(1+random.IntN(900)))
		}
		made, err := p.plan(t.Context(), Query{Text: question})
		if err != nil {
			t.Fatal(err)
		}
		gathered := func(most int) []candidate {
			top := &best{most: most}
			for i, v := range views {
				lanes := newLanes(v.view.Segment(), i, made.groups)
				if err := gather(t.Context(), i, v, lanes, top); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortFunc(top.heap, func(a, b candidate) int {
				if b.less(a) {
					return -1
				}
				return 1
			})
			return top.heap
		}
		all := gathered(1 << 20)
		for _, most := range []int{1, 10, 64} {
			if diff := cmp.Diff(all[:min(most, len(all))], gathered(most), cmp.AllowUnexported(candidate{})); diff != "" {
				t.Fatalf("%q, the best %d (-of all +found):\n%s", question, most, diff)
			}
		}
	}
}

// Candidates whose positions are not read could not have been kept.
func TestPositionsAreReadWhereTheyDecide(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	views, err := applyScope(t.Context(), randomViews(t, random, 1500), Scope{"c": AllDocuments()})
	if err != nil {
		t.Fatal(err)
	}
	p := planner{analyser: analyse.NewAnalyser(), views: views, left: maxWork}
	for _, v := range views {
		p.passages += v.visible
	}
	for range 100 {
		question := ""
		for range 2 + random.IntN(5) {
			question += fmt.Sprintf("term%d ", random.IntN(1+random.IntN(300)))
		}
		made, err := p.plan(t.Context(), Query{Text: question})
		if err != nil {
			t.Fatal(err)
		}
		for _, collect := range []func(context.Context, int, scoped, []*lane, *best) error{gather, gatherAll} {
			all, err := rank(t.Context(), views, made.groups, 64, 64, collect)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := rank(t.Context(), views, made.groups, 64, 5, collect)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(all[:min(5, len(all))], kept, cmp.AllowUnexported(candidate{}, rescored{})); diff != "" {
				t.Fatalf("%q, the best five (-of all +kept):\n%s", question, diff)
			}
		}
	}
}
