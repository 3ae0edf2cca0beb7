package knowledge_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// The tests of vectors use an embedder that knows which words mean the same because
// it was told: they are about plumbing, and not about how well a model finds.

// village puts the documents of a village into a collection.
func village(t testing.TB, w *knowledgetest.World) (c knowledge.Collection, wanted string) {
	t.Helper()
	c = w.MustCreate(t, home, "Village", "/village", knowledge.Everybody)
	for name, text := range knowledgetest.Village() {
		id := w.Files.Put(home, "/village/"+name, text)
		if name == knowledgetest.VillageHours {
			wanted = id
		}
	}
	w.Settle(t)
	return c, wanted
}

// embed embeds until nothing is left.
func embed(t testing.TB, s *knowledge.Service) (n int) {
	t.Helper()
	for {
		did, err := s.EmbedOne(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		if !did {
			return n
		}
		n++
	}
}

func askNode(t testing.TB, s *knowledge.Service, who knowledge.Caller, text string) knowledge.Answer {
	t.Helper()
	a, err := s.Search(t.Context(), who, knowledge.Question{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func withEmbedder(w *knowledgetest.World, e knowledge.Embedder) *knowledge.Service {
	return w.Node(func(d *knowledge.Deps, _ *knowledge.Config) { d.Embedder = e })
}

// What shares no word with a question is found by what it means, once it was
// embedded; another node sees the vectors too, and words find what they did.
func TestPassagesAreFoundByMeaning(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		_, wanted := village(t, w)
		e := knowledgetest.VillageEmbedder("one")
		node := withEmbedder(w, e)
		if a := askNode(t, node, owner(), knowledgetest.VillageWords); a.Answered || len(e.Asked()) != 0 {
			t.Fatalf("before there are vectors: %+v", a)
		}
		if _, passages, err := node.Unembedded(t.Context()); err != nil || passages != 31 {
			t.Errorf("%d passages wait, %v", passages, err)
		}
		if n := embed(t, node); n != 31 {
			t.Errorf("embedded %d segments", n)
		}
		if segments, passages, err := node.Unembedded(t.Context()); err != nil || segments+passages != 0 {
			t.Errorf("%d segments and %d passages wait, %v", segments, passages, err)
		}
		for name, node := range map[string]*knowledge.Service{
			"this":    node,
			"another": withEmbedder(w, knowledgetest.VillageEmbedder("one")),
		} {
			a := askNode(t, node, owner(), knowledgetest.VillageWords)
			if len(a.Hits) == 0 || a.Hits[0].Document != wanted || !strings.Contains(a.Hits[0].Text, "dispensary") {
				t.Fatalf("%s node: %+v", name, a)
			}
			if a := askNode(t, node, owner(), "what roof17 has house number17"); !a.Answered || a.Hits[0].Name != "17.txt" {
				t.Errorf("%s node, by words: %+v", name, a)
			}
			if stats := node.EmbeddingStats(); stats.Questions != 2 || stats.ByWords != 0 {
				t.Errorf("%s node: %+v", name, stats)
			}
		}
		if a := ask(t, w, owner(), knowledgetest.VillageWords); len(a.Hits) != 0 {
			t.Errorf("without an embedder: %+v", a)
		}
	})
}

// Vectors hint at nothing that the caller may not read.
func TestVectorsKeepToTheReaders(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		village(t, w)
		w.MustCreate(t, home, "Own", "/own", knowledge.Delegates)
		w.Files.Put(home, "/own/secret.txt", "# Secret\nThe dispensary opens the dispensary opens.")
		w.Settle(t)
		node := withEmbedder(w, knowledgetest.VillageEmbedder("one"))
		embed(t, node)
		mine, theirs := askNode(t, node, owner(), knowledgetest.VillageWords),
			askNode(t, node, knowledge.Caller{}, knowledgetest.VillageWords)
		if len(mine.Hits) == 0 || mine.Hits[0].Name != "secret.txt" {
			t.Errorf("the owner: %+v", mine)
		}
		if slices.ContainsFunc(theirs.Hits, func(h knowledge.Hit) bool { return h.Name == "secret.txt" }) {
			t.Errorf("everybody: %+v", theirs)
		}
		// To the last digit it is as if there was nothing else.
		other := withEmbedder(w, knowledgetest.VillageEmbedder("one"))
		if err := other.Delete(t.Context(), knowledgetest.OwnerOf(home), mine.Hits[0].Collection); err != nil {
			t.Fatal(err)
		}
		if alone := askNode(t, other, knowledge.Caller{},
			knowledgetest.VillageWords); alone.Confidence != theirs.Confidence || alone.Hits[0].Score != theirs.Hits[0].Score {
			t.Errorf("%v, %v alone and %v, %v beside what may not be read", alone.Confidence, alone.Hits[0].Score, theirs.Confidence, theirs.Hits[0].Score)
		}
	})
}

// Another model's vectors are not compared; everything is embedded anew, and the
// old vectors go a day later.
func TestAnotherModel(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		_, wanted := village(t, w)
		embed(t, withEmbedder(w, knowledgetest.VillageEmbedder("one")))
		node := withEmbedder(w, knowledgetest.VillageEmbedder("two"))
		if a := askNode(t, node, owner(), knowledgetest.VillageWords); len(a.Hits) != 0 {
			t.Errorf("found with the vectors of another model: %+v", a)
		}
		if n := embed(t, node); n != 31 {
			t.Errorf("embedded %d segments", n)
		}
		if a := askNode(t, node, owner(), knowledgetest.VillageWords); len(a.Hits) == 0 || a.Hits[0].Document != wanted {
			t.Errorf("%+v", a)
		}
		objects := func() (n int) {
			for _, err := range w.Objects.List(t.Context(), "knowledge-vectors/") {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		w.Clock.Add(2 * time.Hour)
		if err := node.Sweep(t.Context()); err != nil || objects() != 62 {
			t.Errorf("%d sets two hours later, %v", objects(), err)
		}
		w.Clock.Add(24 * time.Hour)
		if err := node.Sweep(t.Context()); err != nil || objects() != 31 {
			t.Errorf("%d sets a day later, %v", objects(), err)
		}
		if a := askNode(t, withEmbedder(w, knowledgetest.VillageEmbedder("two")), owner(),
			knowledgetest.VillageWords); len(a.Hits) == 0 || a.Hits[0].Document != wanted {
			t.Errorf("after the sweep: %+v", a)
		}
	})
}

// An embedder that is out costs what it would have found, and no question waits for
// it twice.
func TestOutagesFallBackToWords(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	village(t, w)
	e := knowledgetest.VillageEmbedder("one")
	node := withEmbedder(w, e)
	embed(t, node)
	e.Down.Store(true)
	e.Asked()
	for range 3 {
		if a := askNode(t, node, owner(), "what roof17 has house number17"); !a.Answered || a.Hits[0].Name != "17.txt" {
			t.Errorf("%+v", a)
		}
	}
	if asked := e.Asked(); len(asked) != 1 {
		t.Errorf("asked %d times", len(asked))
	}
	if stats := node.EmbeddingStats(); stats.ByWords != 3 || stats.Failures != 1 {
		t.Errorf("%+v", stats)
	}
	e.Down.Store(false)
	w.Clock.Add(time.Minute)
	if a := askNode(t, node, owner(), knowledgetest.VillageWords); len(a.Hits) == 0 {
		t.Errorf("after the outage: %+v", a)
	}
	// While it is out documents are read, and embedded later.
	e.Down.Store(true)
	w.Files.Put(home, "/village/new.txt", "# New\nThe weir was mended.")
	w.Settle(t)
	if _, err := node.EmbedOne(t.Context(), "test"); err == nil {
		t.Error("an outage is not told to operators")
	}
	if a := askNode(t, node, owner(), "was the weir mended"); !a.Answered {
		t.Errorf("%+v", a)
	}
}

// A text that the embedder does not take keeps nothing else from being found.
func TestTextsThatAreNotTaken(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	_, wanted := village(t, w)
	w.Files.Put(home, "/village/odd.txt", "# Odd\nUnspeakable things.\fMore house things.")
	w.Files.Put(home, "/village/odd2.txt", "# Odd\nUnspeakable things again.")
	w.Settle(t)
	e := knowledgetest.VillageEmbedder("one")
	e.Refused = "Unspeakable"
	node := withEmbedder(w, e)
	embed(t, node)
	if a := askNode(t, node, owner(), knowledgetest.VillageWords); len(a.Hits) == 0 || a.Hits[0].Document != wanted {
		t.Errorf("%+v", a)
	}
	if segments, _, err := node.Unembedded(t.Context()); segments != 0 || err != nil {
		t.Errorf("%d segments wait, %v", segments, err)
	}
	// One that takes nothing is out, and nothing is given up.
	none := knowledgetest.VillageEmbedder("none")
	none.Refused = "e"
	if _, err := withEmbedder(w, none).EmbedOne(t.Context(), "test"); err == nil {
		t.Error("an embedder that takes nothing is not told to operators")
	}
}

// An embedder that does not manage a whole batch in time gets smaller ones, and one that
// manages none is out.
func TestASlowEmbedder(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	_, wanted := village(t, w)
	w.Files.Put(home, "/village/long.txt", "# Long\n"+strings.Repeat("The weir was mended once more. ", 2000))
	w.Settle(t)
	e := knowledgetest.VillageEmbedder("one")
	e.Slow = 3
	node := withEmbedder(w, e)
	embed(t, node)
	if segments, passages, err := node.Unembedded(t.Context()); segments+passages != 0 || err != nil {
		t.Errorf("%d segments and %d passages wait, %v", segments, passages, err)
	}
	if a := askNode(t, node, owner(), knowledgetest.VillageWords); len(a.Hits) == 0 || a.Hits[0].Document != wanted {
		t.Errorf("%+v", a)
	}
	if stats := node.EmbeddingStats(); stats.Failures == 0 {
		t.Errorf("no batch was too large: %+v", stats)
	}
}

// Joined segments keep their vectors without asking again, and what was taken back
// is in none of them; at rest all of them are sealed.
func TestVectorsAreJoined(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		c, wanted := village(t, w)
		e := knowledgetest.VillageEmbedder("one")
		node := withEmbedder(w, e)
		embed(t, node)
		lost := w.Files.Put(home, "/village/late.txt", "# Late\nSomething late.") // not embedded yet
		w.Settle(t)
		w.Files.Remove(home, lost)
		w.Files.Put(home, "/village/later.txt", "# Later\nSomething later.")
		w.Settle(t)
		w.Clock.Add(2 * time.Minute)
		e.Asked()
		if n, err := node.TidyOnce(t.Context()); err != nil || n != 33 {
			t.Fatalf("joined %d, %v", n, err)
		}
		embed(t, node)
		if asked := e.Asked(); len(asked) != 1 || !strings.Contains(asked[0], "Something later") {
			t.Errorf("asked again for %q", asked)
		}
		sets, err := w.Records.VectorSets(t.Context(), c.ID, "one")
		if err != nil || len(sets) != 1 || sets[0].Passages != 32 || !sets[0].Complete {
			t.Fatalf("%+v, %v", sets, err)
		}
		if a := askNode(t, node, owner(), knowledgetest.VillageWords); len(a.Hits) == 0 || a.Hits[0].Document != wanted {
			t.Errorf("%+v", a)
		}
		for info, err := range w.Objects.List(t.Context(), "knowledge-vectors/") {
			if err != nil {
				t.Fatal(err)
			}
			body, err := w.Objects.Get(t.Context(), info.Key, 0, info.Size)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if _, err := text.ReadFrom(body); err != nil || bytes.Contains(text.Bytes(), []byte("ctxvec")) || text.Len() == 0 {
				t.Errorf("%s is not sealed, %v", info.Key, err)
			}
			_ = body.Close()
		}
		w.Clock.Add(2 * time.Hour)
		if err := node.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := node.Delete(t.Context(), knowledgetest.OwnerOf(home), c.ID); err != nil {
			t.Fatal(err)
		}
		if err := node.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for info := range w.Objects.List(t.Context(), "knowledge-vectors/") {
			t.Errorf("%s is left of a deleted collection", info.Key)
		}
	})
}

// Of a document that changed before it was embedded nothing is left to embed, which
// is done once.
func TestSegmentsOfWhichNothingIsLeft(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		w.Files.Put(home, "/clinic/a.txt", clinic)
		w.Settle(t)
		w.Files.Put(home, "/clinic/a.txt", "# Clinic\nIt moved.")
		w.Settle(t)
		e := knowledgetest.VillageEmbedder("one")
		node := withEmbedder(w, e)
		for i := range 3 {
			did, err := node.EmbedOne(t.Context(), "test")
			if err != nil || did != (i < 2) {
				t.Fatalf("look %d: %v, %v", i, did, err)
			}
		}
		if asked := e.Asked(); len(asked) != 1 || !strings.Contains(asked[0], "It moved") {
			t.Errorf("asked for %q", asked)
		}
	})
}

// A node that dies while it embeds holds its segment up, and no more.
func TestAnEmbedderThatDies(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		w.Files.Put(home, "/clinic/a.txt", clinic)
		w.Settle(t)
		dead, ok, err := w.Records.TakeSegment(t.Context(), "one", "dead", time.Millisecond)
		if err != nil || !ok {
			t.Fatalf("%v %v", ok, err)
		}
		var next knowledge.EmbedWork
		for ok = false; !ok; {
			if next, ok, err = w.Records.TakeSegment(t.Context(), "one", "alive", time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		if next.Segment != dead.Segment {
			t.Errorf("%+v", next)
		}
		if _, ok, err := w.Records.TakeSegment(t.Context(), "one", "third", time.Hour); ok || err != nil {
			t.Errorf("taken twice: %v", err)
		}
		if _, ok, err := w.Records.TakeSegment(t.Context(), "two", "third", time.Hour); !ok || err != nil {
			t.Errorf("another model waits: %v", err)
		}
		for name, err := range map[string]error{
			"keep": w.Records.KeepSegment(t.Context(), dead, time.Hour),
			"save": w.Records.SaveVectors(t.Context(), dead, nil, 0),
		} {
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("%s by the dead: %v", name, err)
			}
		}
		if err := w.Records.SaveVectors(t.Context(), next, nil, 0); err != nil {
			t.Fatal(err)
		}
		e := knowledgetest.VillageEmbedder("one")
		embed(t, withEmbedder(w, e))
		if asked := e.Asked(); len(asked) == 0 {
			t.Error("what was given back is not embedded")
		}
	})
}
