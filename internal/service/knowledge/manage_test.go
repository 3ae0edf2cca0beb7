package knowledge_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// A delegate with every right in a folder adds documents, and does not choose who
// reads them: readers would outlast the delegation.
func TestDelegatesChooseNoReaders(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	id := identitytest.New(t)
	owner, delegate := identitytest.Alice, identitytest.Bob
	everything := identitytest.Can("fs/*", owner.Home("/team/"))
	proof := identitytest.Delegation(t, owner, delegate.DID, everything)
	managed := func(from identitytest.Actor, options ...identitytest.Option) knowledge.Manager {
		t.Helper()
		m, err := knowledge.ManagedBy(identitytest.FilesPrincipal(t, id,
			identitytest.Files(t, from, id.DID(), "", options...)))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	by, owners := managed(delegate, everything, identitytest.Proof(proof)), managed(owner, everything)
	if by.Owner || !owners.Owner || by.Namespace != identity.NamespaceOf(owner.DID) {
		t.Fatalf("delegate %+v, owner %+v", by, owners)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !fault.Is(err, fault.Forbidden) || fault.From(err).Code != "not_the_owner" {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, readers := range []knowledge.Readers{knowledge.Everybody, knowledge.Members, knowledge.Named} {
		n := knowledge.NewCollection{Name: "Team", Folder: "/team", Readers: readers}
		if readers == knowledge.Named {
			n.DIDs = []string{delegate.DID}
		}
		_, err := w.Create(t.Context(), by, n)
		refused("create for "+string(readers), err)
	}
	c, err := w.Create(t.Context(), by, knowledge.NewCollection{Name: "Team", Folder: "/team", Readers: knowledge.Delegates})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Change(t.Context(), by, c.ID, knowledge.Changes{Readers: new(knowledge.Everybody)})
	refused("open it to everybody", err)
	_, err = w.Change(t.Context(), by, c.ID, knowledge.Changes{DIDs: []string{delegate.DID}})
	refused("name readers", err)
	if c, err = w.Change(t.Context(), by, c.ID, knowledge.Changes{Name: new("Group")}); err != nil || c.Name != "Group" ||
		c.Readers != knowledge.Delegates {
		t.Errorf("rename: %+v, %v", c, err)
	}
	c, err = w.Change(t.Context(), owners, c.ID,
		knowledge.Changes{Readers: new(knowledge.Named), DIDs: []string{delegate.DID}})
	if err != nil || !slices.Equal(c.DIDs, []string{delegate.DID}) {
		t.Errorf("the owner names readers: %+v, %v", c, err)
	}
}

// A change touches what it names, whatever else is changed at the same time.
func TestChangesKeepWhatTheyDoNotName(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		c := w.MustCreate(t, home, "A", "/a", knowledge.Named, alice, bob)
		c, err := w.Change(t.Context(), knowledgetest.OwnerOf(home), c.ID, knowledge.Changes{DIDs: []string{alice}})
		if err != nil || !slices.Equal(c.DIDs, []string{alice}) {
			t.Fatalf("take one reader out: %+v, %v", c, err)
		}
		if c, err = w.Change(t.Context(), knowledgetest.OwnerOf(home), c.ID,
			knowledge.Changes{Readers: new(knowledge.Delegates)}); err != nil || len(c.DIDs) > 0 {
			t.Fatalf("close it: %+v, %v", c, err)
		}
		for _, wrong := range []knowledge.Changes{
			{DIDs: []string{alice}},
			{Readers: new(knowledge.Named)},
			{Readers: new(knowledge.Named), DIDs: []string{}},
		} {
			if _, err := w.Change(t.Context(), knowledgetest.OwnerOf(home), c.ID, wrong); !fault.Is(err, fault.Invalid) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		for i := range 20 {
			if _, err := w.Change(t.Context(), knowledgetest.OwnerOf(home), c.ID,
				knowledge.Changes{Readers: new(knowledge.Everybody)}); err != nil {
				t.Fatal(err)
			}
			var both sync.WaitGroup
			name := fmt.Sprint("n", i)
			for _, change := range []knowledge.Changes{{Name: &name}, {Readers: new(knowledge.Delegates)}} {
				both.Go(func() {
					if _, err := w.Change(t.Context(), knowledgetest.OwnerOf(home), c.ID, change); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			if now, err := w.Records.Collection(t.Context(), knowledge.Whole(home), c.ID); err != nil || now.Name != name ||
				now.Readers != knowledge.Delegates {
				t.Fatalf("%d: %+v, %v", i, now, err)
			}
		}
	})
}

// A link for a number of readings is for files, whose readings are counted, and
// reaches no passages.
func TestCountedLinksReachNoPassages(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	id := identitytest.New(t)
	p := identitytest.FilesPrincipal(t, id, identitytest.Files(t, identitytest.Alice, id.DID(), "fs/read"))
	for _, counted := range []bool{false, true} {
		svc := w.Node(func(d *knowledge.Deps, _ *knowledge.Config) {
			d.Counted = func(context.Context, identity.Principal) (bool, error) { return counted, nil }
		})
		if who, err := svc.BearerOf(t.Context(), p); err != nil || (len(who.Areas) == 0) != counted {
			t.Errorf("counted %v: %+v, %v", counted, who, err)
		}
	}
}
