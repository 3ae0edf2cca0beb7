package identity_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

var readAbilities = []string{"fs/read", "knowledge/read"}

// heldRoots says what somebody's delegation proves of other people's files.
func heldRoots(t testing.TB, s *identity.Service, user identity.Principal) (out []string) {
	t.Helper()
	all, err := s.Held(t.Context(), user, readAbilities...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		for _, ability := range readAbilities {
			if namespace, areas, err := p.Areas(ability); err == nil {
				out = append(out, fmt.Sprint(map[string]string{alice.DID: "alice", bob.DID: "bob", s.DID(): "oracle"}[namespace],
					areas[0].Root, " ", ability, " ", p.CIDs != nil))
			}
		}
	}
	return out
}

// A delegation to the service proves what its own proofs cover, and no more: neither
// what its issuer only says, nor what is the service's own.
func TestWhatADelegationHolds(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	clinic, all := alice.Home("/clinic"), alice.Home("")
	lent := func(options ...identitytest.Option) string {
		return identitytest.Delegation(t, alice, bob.DID, options...)
	}
	can, proof := identitytest.Can, identitytest.Proof
	for name, c := range map[string]struct {
		says []identitytest.Option
		want []string
	}{
		"as it was lent":          {[]identitytest.Option{can("fs/read", clinic), proof(lent(can("fs/read", clinic)))}, []string{"alice/clinic fs/read false"}},
		"a part of what was lent": {[]identitytest.Option{can("fs/read", clinic), proof(lent())}, []string{"alice/clinic fs/read false"}},
		"passages alone":          {[]identitytest.Option{can("knowledge/read", clinic), proof(lent(can("knowledge/read", clinic)))}, []string{"alice/clinic knowledge/read false"}},
		"more rights than lent":   {[]identitytest.Option{can("*", clinic), proof(lent(can("knowledge/read", clinic)))}, nil},
		"one of two": {[]identitytest.Option{
			can("fs/read", all), can("fs/read", clinic), proof(lent(can("fs/read", clinic))),
		}, []string{"alice/clinic fs/read false"}},
		"some contents": {[]identitytest.Option{
			can("fs/read", clinic),
			proof(lent(identitytest.CIDs("fs/read", clinic, "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"))),
		}, []string{"alice/clinic fs/read true"}},
		"another ability":       {[]identitytest.Option{can("fs/list", clinic), proof(lent())}, nil},
		"more than was lent":    {[]identitytest.Option{can("fs/read", all), proof(lent(can("fs/read", clinic)))}, nil},
		"what nobody lent":      {[]identitytest.Option{can("fs/read", clinic)}, nil},
		"lent to somebody else": {[]identitytest.Option{can("fs/read", clinic), proof(identitytest.Delegation(t, alice, mallory.DID))}, nil},
		"one's own":             {[]identitytest.Option{can("fs/read", bob.Home("/")), proof(lent())}, nil},
		"the service's own":     {[]identitytest.Option{can("fs/read", identity.FileResource(s.DID(), "/")), proof(lent())}, nil},
	} {
		raw := identitytest.Delegation(t, bob, s.DID(), append(c.says, identitytest.Nonce(name))...)
		if got := heldRoots(t, s, identity.Principal{DID: bob.DID, Delegation: raw}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := heldRoots(t, s, identity.Principal{DID: bob.DID}); got != nil {
		t.Errorf("without a delegation: %q", got)
	}
}

// A stored delegation is held until somebody takes it back, on either end.
func TestWhatIsHeldEnds(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	user := identitytest.Principal(t, s, bob)
	deposit := func(nonce string) (lent, raw string) {
		t.Helper()
		lent = identitytest.Delegation(t, alice, bob.DID, identitytest.Nonce(nonce))
		raw = identitytest.Delegation(t, bob, s.DID(), identitytest.Can("fs/read", alice.Home("/clinic")), identitytest.Proof(lent))
		if _, err := s.StoreDelegation(t.Context(), user, identity.Deposit{Raw: raw}); err != nil {
			t.Fatal(err)
		}
		if got := heldRoots(t, s, user); len(got) != 1 {
			t.Fatalf("%q", got)
		}
		return lent, raw
	}
	deposit("forgotten")
	if err := s.ForgetDelegation(t.Context(), bob.DID); err != nil {
		t.Fatal(err)
	}
	if got := heldRoots(t, s, user); got != nil {
		t.Errorf("forgotten: %q", got)
	}
	lent, raw := deposit("revoked")
	if _, err := s.Revoke(t.Context(), revocation(t, alice, s.DID(), lent)); err != nil {
		t.Fatal(err)
	}
	carried := user
	carried.Delegation = raw
	for name, p := range map[string]identity.Principal{"stored": user, "with the request": carried} {
		if got := heldRoots(t, s, p); got != nil {
			t.Errorf("revoked by the owner, %s: %q", name, got)
		}
	}
}

// Whoever the door does not let in any more lends nothing.
func TestWhatIsHeldGoesByTheDoor(t *testing.T) {
	t.Parallel()
	shut := false
	s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) {
		d.Door = doorOf(func(p identity.Principal) error {
			if shut && slices.Contains(p.Roots(), alice.DID) {
				return fault.New(fault.Forbidden, "not any more")
			}
			return nil
		})
	})
	raw := identitytest.Delegation(t, bob, s.DID(), identitytest.Can("fs/read", alice.Home("/clinic")),
		identitytest.Proof(identitytest.Delegation(t, alice, bob.DID)))
	user := identity.Principal{DID: bob.DID, Delegation: raw}
	if got := heldRoots(t, s, user); len(got) != 1 {
		t.Fatalf("%q", got)
	}
	shut = true
	if got := heldRoots(t, s, user); got != nil {
		t.Errorf("%q", got)
	}
}

type doorOf func(identity.Principal) error

func (d doorOf) Admit(_ context.Context, p identity.Principal) (string, error) { return p.DID, d(p) }

func (doorOf) Bar(identity.Principal) error { return nil }

func (doorOf) OnLeave(identity.Principal, func()) (stop func()) { return func() {} }
