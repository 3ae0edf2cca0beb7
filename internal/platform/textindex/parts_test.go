package textindex_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/pace/pacetest"
	"github.com/castalia-org/castalia/internal/platform/textindex"
)

const manyTerms = 200_000

// manyLonger are documents whose words all begin with "aaa", each once.
func manyLonger(t require) *textindex.View {
	t.Helper()
	const perPassage = 500
	var passages []textindex.Passage
	for i := range manyTerms / perPassage {
		var text strings.Builder
		for n := range perPassage {
			fmt.Fprintf(&text, "aaa%s ", letters(i*perPassage+n))
		}
		passages = append(passages, textindex.Passage{Document: fmt.Sprintf("d%04d", i), Language: "und", Text: text.String()})
	}
	return open(t, build(t, "c", passages))
}

func letters(n int) string {
	var out [5]byte
	for i := range out {
		out[i] = 'b' + byte(n%16)
		n /= 16
	}
	return string(out[:])
}

// What a question costs in memory does not grow with the words that fit it.
func TestManyLongerWordsCostLittleMemory(t *testing.T) {
	searcher := textindex.NewSearcher([]*textindex.View{manyLonger(t)}, nil)
	q := textindex.Query{All: true, Part: true, Scope: textindex.Scope{"c": textindex.OnlyDocuments("d0000", "d0399")}}
	for _, q.Text = range []string{"aaa", "aab"} {
		var found textindex.Result
		var err error
		made := testing.AllocsPerRun(1, func() { found, err = searcher.Search(t.Context(), q) })
		if err != nil || len(found.Hits) == 0 || found.Cut || found.Spent {
			t.Fatalf("%q: %d hits, %v, %v, %v", q.Text, len(found.Hits), found.Cut, found.Spent, err)
		}
		if made > manyTerms/10 {
			t.Errorf("%q among %d words: %.0f allocations", q.Text, manyTerms, made)
		}
	}
}

func TestAQuestionEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	searcher := textindex.NewSearcher([]*textindex.View{manyLonger(t)}, nil)
	q := textindex.Query{All: true, Part: true}
	for _, q.Scope = range []textindex.Scope{{"c": textindex.AllDocuments()}, {"c": textindex.OnlyDocuments("d0007")}} {
		for _, q.Text = range []string{"aaa", "aab", "aaabbbbx"} {
			for _, n := range []int64{1, 2, 20} {
				over := &pacetest.Looks{Context: t.Context()}
				over.Left.Store(n)
				if _, err := searcher.Search(over, q); !errors.Is(err, context.Canceled) || over.After.Load() > 2 {
					t.Errorf("%q ended after %d looks: %d looks later, %v", q.Text, n, over.After.Load(), err)
				}
			}
		}
	}
}
