package plainlink_test

import (
	"context"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink"
)

// What a delegate may do can be taken back, and an address would not notice.
func TestOnlyTheOwnerMakesPlainLinks(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	const alice = "did:key:zAlice"
	w.MustPut(t, alice, "/f", "text")
	links := plainlink.New(w.Service, everybody)
	delegate := filestore.Owner(alice)
	delegate.Invoker, delegate.Chain = "did:key:zBob", []string{"bafyproof"}
	if _, _, err := links.Make(t.Context(), delegate, plainlink.Wanted{Path: "/f"}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a delegate makes one: %v", err)
	}
	secret, _, err := links.Make(t.Context(), filestore.Owner(alice), plainlink.Wanted{Path: "/f"})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := links.Open(t.Context(), secret); err != nil || l.Access.Has(filestore.Write) ||
		l.Access.Has(filestore.Delete) {
		t.Errorf("it opens for %+v, %v", l.Access, err)
	}
}

func sameKind(got, want error) bool {
	return (got == nil) == (want == nil) && (got == nil || fault.KindOf(got) == fault.KindOf(want))
}

func everybody(context.Context, string) error { return nil }

// TestALinkEndsWithItsOwner lets an owner go, and come back.
func TestALinkEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	const alice = "did:key:zAlice"
	w.MustPut(t, alice, "/f", "text")
	var asked error
	links := plainlink.New(w.Service, func(_ context.Context, did string) error {
		if did != alice {
			t.Errorf("asked about %s", did)
		}
		return asked
	})
	reads, _, err := links.Make(t.Context(), filestore.Owner(alice), plainlink.Wanted{Path: "/f"})
	if err != nil {
		t.Fatal(err)
	}
	takes, _, err := links.MakeForUploads(t.Context(), filestore.Owner(alice),
		plainlink.WantedUploads{Path: "/in", MaxBytes: 10, Expires: w.Service.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says, want error
	}{
		{fault.New(fault.Forbidden, "not a member"), fault.New(fault.Gone, "")},
		{fault.New(fault.Unavailable, "nobody can say"), fault.New(fault.Unavailable, "")},
		{nil, nil},
	} {
		asked = c.says
		for _, secret := range []string{reads, takes} {
			if _, err := links.Open(t.Context(), secret); !sameKind(err, c.want) {
				t.Errorf("where the door says %v: %v", c.says, err)
			}
		}
	}
}

// TestWhoOnlyReadsPublishesNothing: a token that reads ends, and an address would stay.
func TestWhoOnlyReadsPublishesNothing(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	const alice = "did:key:zAlice"
	w.MustPut(t, alice, "/f", "text")
	w.MustPut(t, alice, "/here/g", "text")
	links := plainlink.New(w.Service, everybody)
	narrow := func(abilities filestore.Ability, root vfspath.Root) filestore.Access {
		a := filestore.Owner(alice)
		a.Grants = []filestore.Grant{{
			Abilities: filestore.List | filestore.Read, Area: vfspath.Area{Root: vfspath.Everything},
		}, {Abilities: abilities, Area: vfspath.Area{Root: root}}}
		return a
	}
	for _, c := range []struct {
		what string
		a    filestore.Access
		path string
		want error
	}{
		{"reads", narrow(filestore.Read, vfspath.Everything), "/f", fault.New(fault.Forbidden, "")},
		{"writes elsewhere", narrow(filestore.Write, "/here"), "/f", fault.New(fault.Forbidden, "")},
		{"writes elsewhere, and wants all", narrow(filestore.Write, "/here"), "/", fault.New(fault.Forbidden, "")},
		{"writes there", narrow(filestore.Write, "/here"), "/here", nil},
	} {
		if _, _, err := links.Make(t.Context(), c.a, plainlink.Wanted{Path: c.path}); !sameKind(err, c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
