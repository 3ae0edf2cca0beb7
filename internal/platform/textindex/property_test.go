package textindex_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// The words are few, so that passages share them, and some differ by a letter.
var vocabulary = []string{
	"clinic", "clinics", "water", "pump", "pumps", "meeting", "decided", "decision", "price", "maize", "nurse", "open",
	"opens", "monday", "the", "is", "of", "when", "fee", "committee", "committeee", "eau", "l'eau", "réunion", "reunion",
	"maji", "kisima", "bei", "clin", "tee", "mee", "水", "हिन्दी", "पानी", "ماء", "الماء", "水道", "2026", "12", "hospital",
}

func drawText(t *rapid.T, label string, most int) string {
	words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, most).Draw(t, label)
	var b bytes.Buffer
	for i, w := range words {
		if i > 0 {
			b.WriteString([]string{" ", " ", " ", ". ", "\n"}[i%5])
		}
		b.WriteString(w)
	}
	return b.String()
}

func drawPassages(t *rapid.T) []textindex.Passage {
	n := rapid.IntRange(0, 60).Draw(t, "passages")
	out := make([]textindex.Passage, n)
	for i := range out {
		out[i] = textindex.Passage{
			Document: fmt.Sprintf("document-%d", i%7),
			Number:   uint32(i / 7),
			Title:    drawText(t, "title", 3),
			Headings: drawText(t, "headings", 3),
			Text:     drawText(t, "text", 30),
			Meta:     []byte{byte(i)},
		}
	}
	return out
}

func build(t require, collection string, passages []textindex.Passage) []byte {
	t.Helper()
	b := textindex.NewBuilder(collection)
	for _, p := range passages {
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	n, err := b.WriteTo(&out)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(out.Len()) {
		t.Fatalf("WriteTo says %d bytes and wrote %d", n, out.Len())
	}
	return out.Bytes()
}

type require interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func open(t require, data []byte, without ...string) *textindex.View {
	t.Helper()
	s, err := textindex.OpenBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Without(without)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func search(t require, q textindex.Query, views ...*textindex.View) textindex.Result {
	t.Helper()
	found, err := textindex.NewSearcher(views, nil).Search(ctx(t), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// spread deals passages out to segments.
func spread(passages []textindex.Passage, n int, by func(i int) int) [][]textindex.Passage {
	out := make([][]textindex.Passage, n)
	for i, p := range passages {
		out[by(i)%n] = append(out[by(i)%n], p)
	}
	return out
}

func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		passages := drawPassages(t)
		mixed := rapid.Permutation(passages).Draw(t, "mixed")
		if !bytes.Equal(build(t, "c", passages), build(t, "c", mixed)) {
			t.Fatal("the same passages in another order gave another segment")
		}
	})
}

func TestMergeIsOneSegment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		passages := drawPassages(t)
		gone := rapid.SliceOfDistinct(rapid.IntRange(0, 6), rapid.ID).Draw(t, "gone")
		var without []string
		for _, g := range gone {
			without = append(without, fmt.Sprintf("document-%d", g))
		}
		var left []textindex.Passage
		for _, p := range passages {
			if !contains(without, p.Document) {
				left = append(left, p)
			}
		}
		var views []*textindex.View
		for _, part := range spread(passages, rapid.IntRange(1, 4).Draw(t, "segments"), func(i int) int { return i * 31 / 7 }) {
			views = append(views, open(t, build(t, "c", part), without...))
		}
		var merged bytes.Buffer
		if _, err := textindex.Merge(ctx(t), &merged, views...); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(merged.Bytes(), build(t, "c", left)) {
			t.Fatal("the merged segment is not the one that a builder writes")
		}
	})
}

func TestSegmentsAnswerAsOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		passages := drawPassages(t)
		q := textindex.Query{
			Text: drawText(t, "question", 6), Scope: textindex.Scope{"c": textindex.AllDocuments()},
			Limit: 5, Part: rapid.Bool().Draw(t, "part"),
		}
		by := func(i int) int { return i * 17 / 5 }
		if q.All = rapid.Bool().Draw(t, "all"); q.All {
			by = func(i int) int { return i % 7 } // documents are whole
		}
		var views []*textindex.View
		for _, part := range spread(passages, rapid.IntRange(1, 4).Draw(t, "segments"), by) {
			views = append(views, open(t, build(t, "c", part)))
		}
		if diff := cmp.Diff(search(t, q, open(t, build(t, "c", passages))), search(t, q, views...)); diff != "" {
			t.Fatalf("several segments answer differently (-one +several):\n%s", diff)
		}
	})
}

// What is out of scope leaves no trace: not in the hits, their scores, or the
// confidence.
func TestScopeIsAllThatThereIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		passages, secret := drawPassages(t), drawPassages(t)
		allowed := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"document-0", "document-1", "document-2", "document-9"}),
			rapid.ID).Draw(t, "allowed")
		gone := rapid.SampledFrom([]string{"document-0", "document-3"}).Draw(t, "gone")
		q := textindex.Query{
			Text: drawText(t, "question", 6), Scope: textindex.Scope{"c": textindex.OnlyDocuments(allowed...)}, Limit: 5,
		}
		q.All, q.Part = rapid.Bool().Draw(t, "all"), rapid.Bool().Draw(t, "part")
		var left []textindex.Passage
		for _, p := range passages {
			if contains(allowed, p.Document) && p.Document != gone {
				left = append(left, p)
			}
		}
		alone := q
		alone.Scope = textindex.Scope{"c": textindex.AllDocuments()}
		want := search(t, alone, open(t, build(t, "c", left)))
		got := search(t, q, open(t, build(t, "c", passages), gone), open(t, build(t, "secret", secret)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("what is out of scope shows (-alone +scoped):\n%s", diff)
		}
	})
}

func TestEmptyScopeFindsNothing(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "c", []textindex.Passage{{Document: "d", Text: "The clinic is open."}}))
	for _, scope := range []textindex.Scope{
		nil,
		{},
		{"other": textindex.AllDocuments()},
		{"c": {}},
		{"c": textindex.OnlyDocuments()},
	} {
		got := search(t, textindex.Query{Text: "clinic", Scope: scope}, view)
		if len(got.Hits) > 0 || got.Confidence > 0 || got.Answered {
			t.Errorf("scope %v found %+v", scope, got)
		}
		if _, ok, err := textindex.NewSearcher([]*textindex.View{view}, nil).Read(t.Context(), scope,
			textindex.Key{Collection: "c", Document: "d"}); ok || err != nil {
			t.Errorf("scope %v read the passage (error %v)", scope, err)
		}
	}
}
