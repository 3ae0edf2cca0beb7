package membership_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

func wantBlocked(t *testing.T, what string, err error) {
	t.Helper()
	if !fault.Is(err, fault.Forbidden) || fault.From(err).Code != membership.CodeBlocked {
		t.Errorf("%s: %v, want that they are blocked", what, err)
	}
}

func TestWhoIsBlockedIsKeptOutWhoeverElseMayComeIn(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		for _, mode := range []membership.Mode{membership.Open, membership.Invite, membership.Closed} {
			db := sqldbtest.Migrate(t, open(t), membershipsql.Migrations())
			here, there := newNode(t, db, mode), newNode(t, db, mode, alice.DID) // there a setting names her
			for _, who := range []identitytest.Actor{alice, bob} {
				if _, _, err := here.book.AddMember(t.Context(), who.DID, ""); err != nil {
					t.Fatal(err)
				}
			}
			enter := func(n node, who identitytest.Actor) error {
				_, err := n.enter(t, identity.Oracle, identitytest.Invocation(t, who, n.DID()))
				return err
			}
			if err := enter(here, alice); err != nil {
				t.Fatal(err)
			}
			if _, err := here.book.Block(t.Context(), alice.DID, "spam", "o"); err != nil {
				t.Fatal(err)
			}
			for _, n := range []node{here, there} {
				n.door.Announce(t.Context())
				wantBlocked(t, mode.String(), enter(n, alice))
				wantBlocked(t, mode.String()+" without a token", n.door.AdmitDID(t.Context(), alice.DID))
				if err := enter(n, bob); err != nil {
					t.Errorf("%s: another is refused: %v", mode, err)
				}
			}
			late := newNode(t, db, mode) // which was started later
			wantBlocked(t, mode.String()+" on a new node", enter(late, alice))
			if err := here.book.Unblock(t.Context(), alice.DID); err != nil {
				t.Fatal(err)
			}
			for _, n := range []node{here, there, late} {
				n.door.Announce(t.Context())
				if err := enter(n, alice); err != nil {
					t.Errorf("%s: still refused: %v", mode, err)
				}
			}
			if err := here.book.Unblock(t.Context(), alice.DID); !fault.Is(err, fault.NotFound) {
				t.Errorf("a block that ended is ended again: %v", err)
			}
		}
	})
}

func TestWhatABlockedPersonDelegatedIsRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t, openDB(t), membership.Open)
	if _, err := n.book.Block(t.Context(), alice.DID, "", "o"); err != nil {
		t.Fatal(err)
	}
	p := identity.Principal{DID: bob.DID, Root: alice.DID, Kind: identity.ByDelegation}
	if _, err := n.door.Admit(t.Context(), p); fault.From(err).Code != membership.CodeBlocked {
		t.Errorf("by the word of somebody who is blocked: %v", err)
	}
}

// Whoever passed a member's word on is looked at too: otherwise they pass it on to another
// key of their own.
func TestABlockHoldsInTheMiddleOfAChain(t *testing.T) {
	t.Parallel()
	n := newNode(t, openDB(t), membership.Invite, alice.DID)
	if _, err := n.book.Block(t.Context(), bob.DID, "", "o"); err != nil {
		t.Fatal(err)
	}
	p := identity.Principal{
		DID: carol.DID, Root: alice.DID, Grants: []ucan.Grant{{Root: did.DID(alice.DID)}},
		Chain: []ucan.Link{{Issuer: did.DID(carol.DID)}, {Issuer: did.DID(bob.DID)}, {Issuer: did.DID(alice.DID)}},
	}
	if _, err := n.door.Admit(t.Context(), p); fault.From(err).Code != membership.CodeBlocked {
		t.Errorf("passed on by somebody who is blocked: %v", err)
	}
	if err := n.door.Bar(p); fault.From(err).Code != membership.CodeBlocked {
		t.Errorf("where everybody is taken: %v", err)
	}
}

// What is open ends with a block, also where everybody may come in.
func TestABlockEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	for _, mode := range []membership.Mode{membership.Open, membership.Invite} {
		n := newNode(t, openDB(t), mode, alice.DID, bob.DID)
		ended := map[string]bool{}
		for _, who := range []identitytest.Actor{alice, bob} {
			p := identity.Principal{DID: who.DID, Root: who.DID, Sponsor: who.DID}
			defer n.door.OnLeave(p, func() { ended[who.DID] = true })()
		}
		n.door.Announce(t.Context())
		if len(ended) > 0 {
			t.Errorf("%s: something ended before anybody was blocked", mode)
		}
		if _, err := n.book.Block(t.Context(), alice.DID, "", "o"); err != nil {
			t.Fatal(err)
		}
		n.door.Announce(t.Context())
		if !ended[alice.DID] || ended[bob.DID] {
			t.Errorf("%s: ended %v", mode, ended)
		}
	}
}
