package textindex_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// A match with every needed word is what All finds, however the documents are spread
// over segments and whichever way the scope is said.
func TestMatchesAreWhatAllFinds(t *testing.T) {
	t.Parallel()
	one := []*textindex.View{open(t, build(t, "village", village))}
	var apart []*textindex.View
	byDocument := map[string][]textindex.Passage{}
	for _, p := range village {
		byDocument[p.Document] = append(byDocument[p.Document], p)
	}
	for _, passages := range byDocument {
		apart = append(apart, open(t, build(t, "village", passages)))
	}
	names := []string{}
	for name := range byDocument {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, views := range [][]*textindex.View{one, apart} {
		for _, question := range []string{"clinic shillings", "clinic nurse children", "clinic pump", "the pump of the committee", "committtee pumps", "puits", "儿童 开放", "clin", "", "%"} {
			for without := range len(names) + 1 { // the last leaves nothing out
				left := func(name string) bool { return without == len(names) || name != names[without] }
				only := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !left(name) })
				q := textindex.Query{
					Text: question, All: true, Part: true, Limit: 100,
					Scope: textindex.Scope{"village": textindex.OnlyDocuments(only...)},
				}
				var want []string
				for _, h := range search(t, q, views...).Hits {
					want = append(want, h.Document)
				}
				slices.Sort(want)
				q.Scope = textindex.Scope{"village": textindex.DocumentsThat(left)}
				matches, err := textindex.NewSearcher(views, nil).Match(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, m := range matches.Documents {
					if m.Words == matches.Needed {
						got = append(got, m.Document)
					}
					if m.Words == 0 || m.Most == 0 || m.Words&^matches.Needed != 0 || !left(m.Document) {
						t.Errorf("%q: %+v of %b", question, m, matches.Needed)
					}
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%q without %d (-all +matches):\n%s", question, without, diff)
				}
			}
		}
	}
}

func TestAMatchIsReadWhereItsWordsStand(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", village))
	matches, err := textindex.NewSearcher([]*textindex.View{view}, nil).Match(t.Context(), textindex.Query{
		Text: "repaired pumps", Scope: textindex.Scope{"village": textindex.AllDocuments()},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matches.Documents {
		hit, err := matches.Read(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range hit.Words {
			if word := strings.ToLower(hit.Text[w.Start:w.End]); !strings.Contains(word, "pump") &&
				!strings.Contains(word, "repair") {
				t.Errorf("%s: %q", m.Document, word)
			}
		}
	}
	if len(matches.Documents) == 0 {
		t.Error("nothing was found")
	}
}
