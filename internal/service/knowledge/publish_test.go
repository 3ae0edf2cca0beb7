package knowledge_test

import (
	"fmt"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// What is for everybody or members is its owner's alone until an operator publishes
// it, to those whom the operator saw chosen and no more.
func TestAnOperatorPublishes(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		const question = "where is the clinic paid"
		stranger, member := knowledge.Caller{}, knowledge.Caller{DID: bob, Member: true}
		found := func(who knowledge.Caller) bool { return len(ask(t, w, who, question).Hits) > 0 }
		w.Files.Put(home, "/k/a.txt", "# Clinic\nThe clinic is paid at the counter.")
		c, err := w.Create(t.Context(), knowledgetest.OwnerOf(home),
			knowledge.NewCollection{Name: "K", Folder: "/k", Readers: knowledge.Members})
		if err != nil || c.Published() {
			t.Fatalf("%+v, %v", c, err)
		}
		w.Settle(t)
		expect := func(when string, owners, members, strangers bool) {
			t.Helper()
			if o, m, s := found(owner()), found(member), found(stranger); o != owners || m != members || s != strangers {
				t.Errorf("%s: owner %v, member %v, stranger %v", when, o, m, s)
			}
		}
		expect("not published", true, false, false)
		for _, wrong := range []struct {
			id      string
			readers knowledge.Readers
			kind    fault.Kind
		}{{"none", knowledge.Members, fault.NotFound}, {c.ID, knowledge.Everybody, fault.Conflict}, {
			c.ID, knowledge.Named, fault.Invalid,
		}} {
			if _, err := w.Publish(t.Context(), wrong.id, wrong.readers); !fault.Is(err, wrong.kind) {
				t.Errorf("publish %q to %q: %v", wrong.id, wrong.readers, err)
			}
		}
		if c, err = w.Publish(t.Context(), c.ID, knowledge.Members); err != nil || !c.Published() {
			t.Fatalf("%+v, %v", c, err)
		}
		expect("published to members", true, true, false)
		change := func(to knowledge.Readers) {
			t.Helper()
			if c, err = w.Change(t.Context(), knowledgetest.OwnerOf(home), c.ID, knowledge.Changes{Readers: &to}); err != nil {
				t.Fatal(err)
			}
		}
		change(knowledge.Everybody)
		if all, err := w.ForMany(t.Context(), "", 10); err != nil || len(all) != 1 || all[0].Published() || c.Published() {
			t.Errorf("%+v, %v", all, err)
		}
		expect("chosen for everybody after it was published to members", true, true, false)
		if _, err := w.Publish(t.Context(), c.ID, knowledge.Everybody); err != nil {
			t.Fatal(err)
		}
		expect("published to everybody", true, true, true)
		change(knowledge.Delegates)
		expect("closed by its owner", true, false, false)
		change(knowledge.Members)
		expect("opened to fewer than it was published to", true, true, false)
		if err := w.Unpublish(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		expect("not published any more", true, false, false)
		if err := w.Unpublish(t.Context(), c.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("twice: %v", err)
		}
	})
}

// A file in collections within each other counts once, and is not a collection for
// each folder on the way to it.
func TestNestedCollectionsCountOnce(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		folder := ""
		for i := range knowledge.MaxNested {
			folder += fmt.Sprint("/n", i)
			w.MustCreate(t, home, fmt.Sprint("N", i), folder, knowledge.Everybody)
		}
		for name, deeper := range map[string]string{"one more below": folder + "/x", "one more above": "/n0/n1x"} {
			_, err := w.Create(t.Context(), knowledgetest.OwnerOf(home),
				knowledge.NewCollection{Name: name, Folder: deeper, Readers: knowledge.Everybody})
			if below := name == "one more below"; below != fault.Is(err, fault.Conflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.Files.Put(home, folder+"/a.txt", "# Hours\nThe village clinic opens on Sunday.")
		w.Files.Put(home, "/n0/b.txt", "# Hours\nThe village clinic opens on Monday.")
		w.Settle(t)
		if hits := ask(t, w, knowledge.Caller{}, "when does the village clinic open").Hits; len(hits) != 2 {
			t.Errorf("%d hits: %+v", len(hits), hits)
		}
	})
}

// However much one owner or one document has to say, others are heard.
func TestNobodyIsCrowdedOut(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	loud, quiet := identity.NamespaceOf(bob), home
	for i := range 12 {
		w.Files.Put(loud, fmt.Sprintf("/l/%d.txt", i), "# When does the village clinic open\nWhen does the village clinic open? The village clinic opens on Sunday.")
	}
	w.Files.Put(quiet, "/q/a.txt", "# Notes\nThe clinic of our village opens at nine on weekdays, and the market after it. People come from far away.")
	w.MustCreate(t, loud, "Loud", "/l", knowledge.Everybody)
	w.MustCreate(t, quiet, "Quiet", "/q", knowledge.Everybody)
	w.Settle(t)
	owners := map[string]int{}
	for _, h := range ask(t, w, knowledge.Caller{}, "when does the village clinic open").Hits {
		owners[h.CollectionName]++
	}
	if owners["Quiet"] != 1 || owners["Loud"] != knowledge.DefaultHits-1 {
		t.Errorf("%v", owners)
	}
}
