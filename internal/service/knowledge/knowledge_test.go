package knowledge_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

var (
	alice = identitytest.Alice.DID
	bob   = identitytest.Bob.DID
	home  = identity.NamespaceOf(alice)
)

const clinic = "# Clinic hours\nThe dispensary opens at eight in the morning on weekdays.\fSaturday surgery begins at nine."

func ask(t testing.TB, w *knowledgetest.World, who knowledge.Caller, text string) knowledge.Answer {
	t.Helper()
	a, err := w.Search(t.Context(), who, knowledge.Question{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func owner() knowledge.Caller { return knowledge.Caller{DID: alice} }

const weekdays = "dispensary opens morning weekdays"

// What is in the folder is known, with its place, changes with the file and is
// forgotten with it, whether it was there before or came later.
func TestKnowledgeFollowsTheFolder(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		before := w.Files.Put(home, "/clinic/hours.txt", clinic)
		w.Files.Put(home, "/clinic/.draft.txt", "The hidden dispensary opens weekdays in the morning.")
		w.Files.Put(home, "/elsewhere/hours.txt", "The other dispensary opens weekdays in the morning.")
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		w.Settle(t)
		a := ask(t, w, knowledge.Caller{}, weekdays)
		if len(a.Hits) != 1 || !a.Answered {
			t.Fatalf("%+v", a)
		}
		want := knowledge.Source{
			Collection: c.ID, CollectionName: "Clinic", Document: before, Name: "hours.txt", Title: "Clinic hours", Page: 1,
			Headings: []string{"Clinic hours"},
		}
		got := a.Hits[0].Source
		got.Number = 0
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		later := w.Files.Put(home, "/clinic/fees.txt", "# Fees\nA consultation costs forty shillings.")
		w.Files.Put(home, "/clinic/hours.txt", "# Clinic hours\nThe dispensary opens at noon on weekdays.")
		w.Settle(t)
		if a := ask(t, w, owner(), weekdays); len(a.Hits) != 1 || !strings.Contains(a.Hits[0].Text, "noon") {
			t.Errorf("after the change: %+v", a)
		}
		if a := ask(t, w, owner(), "what does a consultation cost in shillings"); len(a.Hits) == 0 || a.Hits[0].Name != "fees.txt" {
			t.Errorf("what came later: %+v", a)
		}
		w.Files.Remove(home, before)
		w.Files.Move(home, later, "/elsewhere/fees.txt")
		w.Settle(t)
		if a := ask(t, w, owner(), weekdays+" consultation shillings"); len(a.Hits) != 0 || a.Answered || len(a.Nearest) != 0 {
			t.Errorf("after the file was removed: %+v", a)
		}
	})
}

// Nobody is shown, counted or hinted what they may not read.
func TestReaders(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		carol := "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
		w.Members[bob] = true
		for name, readers := range map[string]knowledge.Readers{
			"all": knowledge.Everybody, "members": knowledge.Members,
			"named": knowledge.Named, "delegates": knowledge.Delegates,
		} {
			w.Files.Put(home, "/"+name+"/a.txt", "# About "+name+"\nThe password of the pumphouse is kept by "+name+".")
			var dids []string
			if readers == knowledge.Named {
				dids = []string{carol}
			}
			w.MustCreate(t, home, name, "/"+name, readers, dids...)
		}
		w.Settle(t)
		area := func(root vfspath.Root) []vfspath.Area { return []vfspath.Area{{Root: root}} }
		for name, c := range map[string]struct {
			who  knowledge.Caller
			want string
		}{
			"a telephone":               {knowledge.Caller{}, "all"},
			"a stranger":                {knowledge.Caller{DID: identitytest.NewActor("stranger").DID}, "all"},
			"a member":                  {knowledge.Caller{DID: bob, Member: true}, "all members"},
			"a named one":               {knowledge.Caller{DID: carol}, "all named"},
			"the owner":                 {owner(), "all delegates members named"},
			"a holder for one folder":   {knowledge.Caller{Reach: knowledge.Reach{Namespace: home, Areas: area("/delegates")}}, "all delegates"},
			"a holder below one folder": {knowledge.Caller{Reach: knowledge.Reach{Namespace: home, Areas: area("/delegates/")}}, "all delegates"},
			"a holder of one file":      {knowledge.Caller{Reach: knowledge.Reach{Namespace: home, Areas: area("/delegates/a.txt")}}, "all"},
			"a holder of another name":  {knowledge.Caller{Reach: knowledge.Reach{Namespace: home, Areas: area("/delegate")}}, "all"},
			"a holder of everything":    {knowledge.Caller{Reach: knowledge.Reach{Namespace: home, Areas: area("/")}}, "all delegates members named"},
			"a holder in person": {knowledge.Caller{
				DID:  bob,
				Held: []knowledge.Reach{{Namespace: carol, Areas: area("/")}, {Namespace: home, Areas: area("/delegates")}},
			}, "all delegates"},
			"a holder of two": {knowledge.Caller{
				DID:  bob,
				Held: []knowledge.Reach{{Namespace: home, Areas: area("/named")}, {Namespace: home, Areas: area("/members")}},
			}, "all members named"},
			"of another's everything": {knowledge.Caller{Reach: knowledge.Reach{Namespace: identity.NamespaceOf(bob), Areas: area("/")}}, "all"},
		} {
			got := map[string]bool{}
			for _, h := range ask(t, w, c.who, "who keeps the password of the pumphouse").Hits {
				got[h.CollectionName] = true
			}
			want := map[string]bool{}
			for n := range strings.FieldsSeq(c.want) {
				want[n] = true
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
		// What a stranger learns is the same with and without what is not theirs.
		before := ask(t, w, knowledge.Caller{}, "password of the pumphouse members delegates")
		all, _, err := w.Records.CollectionsOf(t.Context(), knowledge.Whole(home))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if c.Readers != knowledge.Everybody {
				if err := w.Delete(t.Context(), knowledgetest.OwnerOf(home), c.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		if d := cmp.Diff(ask(t, w, knowledge.Caller{}, "password of the pumphouse members delegates"), before); d != "" {
			t.Errorf("a stranger can tell what others have: %s", d)
		}
	})
}

func TestReadPassages(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		file := w.Files.Put(home, "/clinic/hours.txt", clinic)
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Delegates)
		w.Settle(t)
		got, err := w.ReadPassages(t.Context(), owner(), c.ID, file, 0, 5)
		if err != nil || len(got) == 0 || !strings.Contains(got[0].Text, "eight in the morning") {
			t.Errorf("%+v, %v", got, err)
		}
		for name, try := range map[string]func() error{
			"another reader": func() error {
				_, err := w.ReadPassages(t.Context(), knowledge.Caller{DID: bob}, c.ID, file, 0, 0)
				return err
			},
			"another document": func() error { _, err := w.ReadPassages(t.Context(), owner(), c.ID, "file-9", 0, 0); return err },
			"beyond the end":   func() error { _, err := w.ReadPassages(t.Context(), owner(), c.ID, file, 900, 1); return err },
			"before the start": func() error { _, err := w.ReadPassages(t.Context(), owner(), c.ID, file, -1, 1); return err },
			"no collection":    func() error { _, err := w.ReadPassages(t.Context(), owner(), "nope", file, 0, 0); return err },
		} {
			if err := try(); !fault.Is(err, fault.NotFound) || fault.From(err).Message != "There is no such passage." {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Neither the database nor the object store has words of a document, nor its title.
func TestNoTextIsInClearAtRest(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	w.Files.Put(home, "/clinic/a.txt", "# Zanthoxylum\nThe querulous pangolin sleeps in the wheelhouse.")
	w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
	w.Settle(t)
	if a := ask(t, w, owner(), "where sleeps the querulous pangolin"); !a.Answered {
		t.Fatalf("%+v", a)
	}
	looked := 0
	for _, root := range []string{w.Folder, filepath.Dir(databaseFile(t, w))} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			looked++
			for _, word := range []string{"querulous", "pangol", "wheelhouse", "Zanthoxylum", "zanthox"} {
				if bytes.Contains(text, []byte(word)) {
					t.Errorf("%s has %q", filepath.Base(path), word)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 2 {
		t.Errorf("looked at %d files", looked)
	}
}

func databaseFile(t testing.TB, w *knowledgetest.World) string {
	t.Helper()
	var seq int
	var name, file string
	if err := w.DB.Read().QueryRowContext(t.Context(), "PRAGMA database_list").Scan(&seq, &name, &file); err != nil || file == "" {
		t.Fatalf("%q %v", file, err)
	}
	return file
}

// Segments are joined without a change of what is found; what was taken back is
// destroyed, and objects that nobody needs go.
func TestTidyAndSweep(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		var first string
		for i := range 12 {
			id := w.Files.Put(home, fmt.Sprintf("/clinic/%02d.txt", i), fmt.Sprintf("# Ward %d\nWard number%d has the colour shade%d and many visitors.", i, i, i))
			if i == 0 {
				first = id
			}
		}
		w.Settle(t)
		count := func() (segments, objects int) {
			_, _, all, err := w.Records.State(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range w.Objects.List(t.Context(), "knowledge/") {
				if err != nil {
					t.Fatal(err)
				}
				objects++
			}
			return len(all), objects
		}
		if segments, objects := count(); segments != 12 || objects != 12 {
			t.Fatalf("%d segments in %d objects", segments, objects)
		}
		before := ask(t, w, owner(), "which colour has ward number7 shade7")
		w.Files.Remove(home, first)
		w.Settle(t)
		w.Clock.Add(2 * time.Minute)
		if n, err := w.TidyOnce(t.Context()); err != nil || n != 12 {
			t.Fatalf("joined %d, %v", n, err)
		}
		if segments, _ := count(); segments != 1 {
			t.Errorf("%d segments", segments)
		}
		after := ask(t, w, owner(), "which colour has ward number7 shade7")
		if before.Hits[0].Text != after.Hits[0].Text || before.Hits[0].Document != after.Hits[0].Document {
			t.Errorf("%+v\n%+v", before.Hits[0], after.Hits[0])
		}
		if a := ask(t, w, owner(), "number0 shade0"); len(a.Hits) > 0 && strings.Contains(a.Hits[0].Text, "number0 ") {
			t.Errorf("found what was removed: %+v", a.Hits[0])
		}
		if n, err := w.TidyOnce(t.Context()); err != nil || n != 0 {
			t.Errorf("a second time: %d, %v", n, err)
		}
		w.Clock.Add(2 * time.Hour)
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if segments, objects := count(); segments != 1 || objects != 1 {
			t.Errorf("%d segments in %d objects after the sweep", segments, objects)
		}
		if err := w.Delete(t.Context(), knowledgetest.OwnerOf(home), c.ID); err != nil {
			t.Fatal(err)
		}
		w.Clock.Add(2 * time.Hour)
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for info, err := range w.Objects.List(t.Context(), "knowledge/") {
			t.Errorf("%v is left of a deleted collection (%v)", info.Key, err)
		}
	})
}

// A reader that dies holds a document up, and no more: somebody else reads it, and
// the dead one, should it wake up, changes nothing.
func TestAReaderThatDies(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		waits := func(want bool) {
			t.Helper()
			if got, err := w.Records.Waits(t.Context()); err != nil || got != want {
				t.Errorf("documents wait: %v, %v, want %v", got, err, want)
			}
		}
		waits(false)
		w.Files.Put(home, "/clinic/a.txt", clinic)
		w.Follow(t)
		waits(true)
		dead, ok, err := w.Records.Take(t.Context(), "dead", time.Millisecond)
		if err != nil || !ok {
			t.Fatalf("%v %v", ok, err)
		}
		var next knowledge.Work
		for ok = false; !ok; {
			if next, ok, err = w.Records.Take(t.Context(), "alive", time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		if next.FileID != dead.FileID || next.Attempts != 2 {
			t.Errorf("%+v", next)
		}
		if _, ok, err := w.Records.Take(t.Context(), "third", time.Hour); ok || err != nil {
			t.Errorf("taken twice: %v", err)
		}
		waits(true) // whoever has it may die
		for name, err := range map[string]error{
			"renew": w.Records.Renew(t.Context(), dead, time.Hour), "finish": w.Records.Finish(t.Context(), dead, nil),
			"give up": w.Records.GiveUp(t.Context(), dead), "postpone": w.Records.Postpone(t.Context(), dead, 0),
		} {
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("%s by the dead: %v", name, err)
			}
		}
		// A newer version makes whoever reads the older one lose it.
		w.Files.Put(home, "/clinic/a.txt", clinic+" Again.")
		if _, err := w.FollowOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Records.Finish(t.Context(), next, nil); !fault.Is(err, fault.Conflict) {
			t.Errorf("an older version was shown: %v", err)
		}
		w.Settle(t)
		docs, err := w.Records.Documents(t.Context(), home, c.ID, "", 10)
		if err != nil || len(docs) != 1 || docs[0].State != knowledge.Read || docs[0].ReadVersion != 2 {
			t.Errorf("%+v, %v", docs, err)
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		w.Files.Put(home, "/clinic/broken.pdf", knowledgetest.Broken)
		w.Files.Put(home, "/clinic/good.txt", clinic)
		w.Files.Put(home, "/clinic/large.txt", strings.Repeat("too large ", 200))
		w.Service = w.Node(func(_ *knowledge.Deps, cfg *knowledge.Config) { cfg.MaxDocument = 1000 })
		w.Settle(t)
		docs, err := w.Records.Documents(t.Context(), home, c.ID, "", 10)
		if err != nil || len(docs) != 3 {
			t.Fatalf("%+v, %v", docs, err)
		}
		for i, want := range []struct {
			state knowledge.State
			why   string
			pages int
		}{
			{knowledge.Failed, string(document.ErrDamaged), 0}, {knowledge.Read, "", 2}, {knowledge.Failed, "the document is too large to be read", 0},
		} {
			if d := docs[i]; d.State != want.state || d.Why != want.why || d.Pages != want.pages {
				t.Errorf("%+v, want %+v", d, want)
			}
		}
		if _, counts, err := w.Records.CollectionsOf(t.Context(), knowledge.Whole(home)); err != nil ||
			counts[0] != (knowledge.Counts{Read: 1, Failed: 2}) {
			t.Errorf("%+v, %v", counts, err)
		}
		// A good version of a broken file is read, a broken version of a good one is
		// not what the file says any more.
		w.Files.Put(home, "/clinic/broken.pdf", "# Mended\nThe hydraulic ram was mended in spring.")
		w.Files.Put(home, "/clinic/good.txt", knowledgetest.Broken)
		w.Settle(t)
		if a := ask(t, w, owner(), "hydraulic mended spring"); !a.Answered {
			t.Errorf("%+v", a)
		}
		if a := ask(t, w, owner(), weekdays); len(a.Hits) != 0 {
			t.Errorf("%+v", a)
		}
	})
}

// A document that takes its readers along is given up after some of them.
func TestADeadlyDocument(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
	w.Files.Put(home, "/clinic/a.txt", clinic)
	w.Follow(t)
	for i := 0; ; i++ {
		work, ok, err := w.Records.Take(t.Context(), "dies", time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if ok && work.Attempts > 5 {
			break
		}
	}
	for state := knowledge.Waiting; state != knowledge.Failed; {
		if _, err := w.ReadOne(t.Context(), "alive"); err != nil {
			t.Fatal(err)
		}
		docs, err := w.Records.Documents(t.Context(), home, c.ID, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		state = docs[0].State
	}
}

// One owner's many documents hold up nobody else's.
func TestTheQueueIsFair(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		other := identity.NamespaceOf(bob)
		for i := range 30 {
			w.Files.Put(home, fmt.Sprintf("/many/%d.txt", i), clinic)
		}
		w.MustCreate(t, home, "Many", "/many", knowledge.Everybody)
		w.Follow(t)
		w.Files.Put(other, "/few/1.txt", clinic)
		w.Files.Put(other, "/few/2.txt", clinic)
		w.MustCreate(t, other, "Few", "/few", knowledge.Everybody)
		w.Follow(t)
		var order strings.Builder
		for range 4 {
			work, ok, err := w.Records.Take(t.Context(), "me", time.Hour)
			if err != nil || !ok {
				t.Fatalf("%v %v", ok, err)
			}
			order.WriteString(strings.Split(work.Path, "/")[1] + " ")
		}
		if got := strings.Count(order.String(), "few"); got != 2 {
			t.Errorf("the order is %s", &order)
		}
	})
}

func TestRotateKeys(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		w.Files.Put(home, "/clinic/a.txt", clinic)
		w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		w.Settle(t)
		fresh := seal.NewKey()
		if n, err := w.Node(func(_ *knowledge.Deps, cfg *knowledge.Config) {
			cfg.OldKeys, cfg.MasterKey = []seal.Key{cfg.MasterKey}, fresh
		}).RotateKeys(t.Context()); err != nil || n != 1 {
			t.Fatalf("%d, %v", n, err)
		}
		w.Service = w.Node(func(_ *knowledge.Deps, cfg *knowledge.Config) { cfg.MasterKey = fresh })
		if a := ask(t, w, owner(), weekdays); !a.Answered {
			t.Errorf("%+v", a)
		}
		w.Service = w.Node(nil)
		if _, err := w.Search(t.Context(), owner(), knowledge.Question{Text: weekdays}); err == nil {
			t.Error("the old key still opens it")
		}
	})
}

// TestANodeThatWasForgottenDoesNotBringAFormerKeyBack makes a collection on a node that
// still has the former key first.
func TestANodeThatWasForgottenDoesNotBringAFormerKeyBack(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	fresh := seal.NewKey()
	w.Files.Put(home, "/clinic/a.txt", clinic)
	w.Service = w.Node(func(_ *knowledge.Deps, cfg *knowledge.Config) {
		cfg.OldKeys, cfg.InForce = []seal.Key{fresh}, func(context.Context) (seal.Key, error) { return fresh, nil }
	})
	w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
	w.Settle(t)
	w.Service = w.Node(func(_ *knowledge.Deps, cfg *knowledge.Config) { cfg.MasterKey = fresh })
	if a := ask(t, w, owner(), weekdays); !a.Answered {
		t.Errorf("without the former key: %+v", a)
	}
}

func TestWhatIsNoCollection(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	good := knowledge.NewCollection{Name: "A", Folder: "/a", Readers: knowledge.Everybody}
	for name, change := range map[string]func(*knowledge.NewCollection){
		"no name":            func(n *knowledge.NewCollection) { n.Name = "  " },
		"a long name":        func(n *knowledge.NewCollection) { n.Name = strings.Repeat("n", 81) },
		"a name with breaks": func(n *knowledge.NewCollection) { n.Name = "a\nb" },
		"all files":          func(n *knowledge.NewCollection) { n.Folder = "/" },
		"a hidden folder":    func(n *knowledge.NewCollection) { n.Folder = "/.a" },
		"a climbing folder":  func(n *knowledge.NewCollection) { n.Folder = "/a/../b" },
		"no readers":         func(n *knowledge.NewCollection) { n.Readers = "" },
		"named nobody":       func(n *knowledge.NewCollection) { n.Readers = knowledge.Named },
		"names too many":     func(n *knowledge.NewCollection) { n.DIDs = []string{bob} },
		"names no DID":       func(n *knowledge.NewCollection) { n.Readers, n.DIDs = knowledge.Named, []string{"bob"} },
	} {
		n := good
		change(&n)
		if _, err := w.Create(t.Context(), knowledgetest.OwnerOf(home), n); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := w.Create(t.Context(), knowledgetest.OwnerOf(home), good)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []knowledge.NewCollection{
		{Name: "A", Folder: "/b", Readers: knowledge.Everybody},
		{Name: "B", Folder: "/a", Readers: knowledge.Everybody},
	} {
		if _, err := w.Create(t.Context(), knowledgetest.OwnerOf(home), n); !fault.Is(err, fault.Conflict) {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if _, err := w.Change(t.Context(), knowledgetest.OwnerOf(identity.NamespaceOf(bob)), c.ID,
		knowledge.Changes{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("changed by another: %v", err)
	}
	if err := w.Delete(t.Context(), knowledgetest.OwnerOf(identity.NamespaceOf(bob)), c.ID); !fault.Is(err,
		fault.NotFound) {
		t.Errorf("deleted by another: %v", err)
	}
}

// Questions have bounds, and one without anything to read finds nothing.
func TestQuestions(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	for _, text := range []string{"", "  ", strings.Repeat("q", knowledge.MaxQuery+1)} {
		if _, err := w.Search(t.Context(), owner(), knowledge.Question{Text: text}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
	if a := ask(t, w, owner(), "anything at all"); a.Answered || len(a.Hits) != 0 {
		t.Errorf("%+v", a)
	}
}

// Collections to tidy come in order, a page at a time, so that a round meets each.
func TestCollectionsToTidyComeInOrder(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		var want []string
		for i := range 7 {
			folder := fmt.Sprintf("/ward%d", i)
			want = append(want, w.MustCreate(t, home, folder[1:], folder, knowledge.Everybody).ID)
			id := w.Files.Put(home, folder+"/a.txt", "Some words about the ward.")
			w.Settle(t)
			w.Files.Remove(home, id)
			w.Settle(t)
		}
		slices.Sort(want)
		var got []string
		for after := ""; ; {
			page, err := w.Records.Dirty(t.Context(), 100, []int64{1 << 20}, w.Clock.Now().Add(time.Hour), after, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, c := range page {
				got = append(got, c.ID)
			}
			after = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
