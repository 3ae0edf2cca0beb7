package identity_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// lose makes alice's key a lost one and fresh the one that signs for her.
func lose(t *testing.T, s *identity.Service, store *identitytest.Store, fresh identitytest.Actor) {
	t.Helper()
	store.Bind(identity.Binding{Key: alice.DID, Person: alice.DID, Lost: true},
		identity.Binding{Key: fresh.DID, Person: alice.DID, Before: alice.DID})
	s.KeysChanged(t.Context())
}

func withStore(t *testing.T) (*identity.Service, *identitytest.Store) {
	t.Helper()
	store := identitytest.NewStore()
	return identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store = store }), store
}

func oracleError(t *testing.T, s *identity.Service, token, delegation string) error {
	t.Helper()
	_, err := s.Authenticate(t.Context(), identity.Oracle, identity.Handshake(token, delegation))
	return err
}

// The new key is the person on every surface, and the lost one is nobody.
func TestABoundKeyActsAsThePerson(t *testing.T) {
	t.Parallel()
	s, store := withStore(t)
	fresh := identitytest.NewActor("fresh")
	before := identitytest.Files(t, fresh, s.DID(), "fs/read")
	if p := identitytest.FilesPrincipal(t, s, before); p.DID != fresh.DID {
		t.Fatalf("before: %s", p.DID)
	}
	lose(t, s, store, fresh)
	for name, token := range map[string]string{
		"as it was":    before, // what is remembered of the token is not used
		"own name":     identitytest.Invocation(t, fresh, s.DID(), identitytest.Can("fs/read", fresh.Home("/x"))),
		"the person's": identitytest.Invocation(t, fresh, s.DID(), identitytest.Can("fs/read", alice.Home("/x"))),
		"without any":  identitytest.Invocation(t, fresh, s.DID(), identitytest.Can("fs/read", "ixo:filesystem/x")),
	} {
		p := identitytest.FilesPrincipal(t, s, token)
		if ns, areas, err := p.Areas("fs/read"); p.DID != alice.DID || p.Root != alice.DID || p.Key != fresh.DID ||
			ns != alice.DID || len(areas) != 1 || len(areas[0].Reveal) != 1 || err != nil {
			t.Errorf("%s: %s for %s in %s %v %v", name, p.DID, p.Root, ns, areas, err)
		}
	}
	p := identitytest.Principal(t, s, fresh)
	if p.DID != alice.DID || !p.InPerson() {
		t.Errorf("at the oracle: %+v", p)
	}
	lent := identitytest.Delegation(t, bob, alice.DID, identitytest.Can("fs/read", bob.Home("/x")))
	held := identitytest.FilesPrincipal(t, s, identitytest.Invocation(t, fresh, s.DID(),
		identitytest.Can("fs/read", bob.Home("/x")), identitytest.Proof(lent)))
	if held.DID != alice.DID || held.Root != bob.DID {
		t.Errorf("what bob lent her: %s for %s", held.DID, held.Root)
	}
	carol := identitytest.NewActor("carol")
	given := identitytest.Delegation(t, fresh, carol.DID, identitytest.Can("fs/read", fresh.Home("/x")))
	lender := identitytest.FilesPrincipal(t, s, identitytest.Invocation(t, carol, s.DID(),
		identitytest.Can("fs/read", fresh.Home("/x")), identitytest.Proof(given)))
	if ns, _, err := lender.Areas("fs/read"); lender.Root != alice.DID || ns != alice.DID || err != nil {
		t.Errorf("what she lent since: %s in %s %v", lender.Root, ns, err)
	}
	deposit := identity.Deposit{Raw: identitytest.UserToOracle(t, fresh, s.DID())}
	if _, err := s.StoreDelegation(t.Context(), p, deposit); err != nil {
		t.Errorf("deposit: %v", err)
	}
	if got, err := s.DelegationOf(t.Context(), alice.DID); err != nil || !got.Authorized {
		t.Errorf("deposited for the person: %+v %v", got, err)
	}
}

// Whatever the lost key ever signed counts no more: tokens, logins, what it lent and
// deposited, and what others made of that.
func TestALostKeyIsNobody(t *testing.T) {
	t.Parallel()
	s, store := withStore(t)
	fresh := identitytest.NewActor("fresh")
	lent := identitytest.Delegation(t, alice, bob.DID)
	files := map[string]string{
		"its own token": identitytest.Files(t, alice, s.DID(), "fs/read"),
		"what it lent": identitytest.Files(t, bob, s.DID(), "", identitytest.Can("fs/read", alice.Home("/x")),
			identitytest.Proof(lent)),
		"what it lent the new key": identitytest.Files(t, fresh, s.DID(), "", identitytest.Can("fs/read", bob.Home("/x")),
			identitytest.Proof(identitytest.Delegation(t, alice, fresh.DID, identitytest.Can("fs/read", bob.Home("/x")),
				identitytest.Proof(identitytest.Delegation(t, bob, alice.DID, identitytest.Can("fs/read", bob.Home("/x"))))))),
	}
	login, delegation := identitytest.Invocation(t, alice, s.DID()), identitytest.UserToOracle(t, alice, s.DID())
	p := identitytest.Principal(t, s, alice)
	if _, err := s.StoreDelegation(t.Context(), p, identity.Deposit{Raw: delegation}); err != nil {
		t.Fatal(err)
	}
	for name, token := range files {
		if err := filesError(t, s, token); err != nil {
			t.Fatalf("%s, before: %v", name, err)
		}
	}
	ended, stop := s.Watch(p)
	defer stop()
	lose(t, s, store, fresh)
	<-ended
	for name, token := range files {
		if err := filesError(t, s, token); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := oracleError(t, s, login, ""); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("its login: %v", err)
	}
	if err := oracleError(t, s, "", delegation); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("its delegation: %v", err)
	}
	if got, err := s.DelegationOf(t.Context(), alice.DID); err != nil || got.Authorized {
		t.Errorf("its deposit: %+v %v", got, err)
	}
	revoke := sign(t, alice, s.DID(), ucan.NewIssuerRevocation(did.DID(alice.DID), did.DID(alice.DID)))
	if _, err := s.Revoke(t.Context(), revoke); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("its revocation: %v", err)
	}
}

// What was undone is as it was, and the key that was bound by mistake is nobody: what it
// signed as the person must not count as its own either.
func TestABindingCanBeUndone(t *testing.T) {
	t.Parallel()
	s, store := withStore(t)
	fresh := identitytest.NewActor("fresh")
	lasting := identitytest.Files(t, alice, s.DID(), "fs/read")
	lose(t, s, store, fresh)
	if err := filesError(t, s, lasting); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a token of the lost key: %v", err)
	}
	p := identitytest.Principal(t, s, fresh)
	ended, stop := s.Watch(p)
	defer stop()
	store.Bind(identity.Binding{Key: fresh.DID, Person: alice.DID, Lost: true, Before: alice.DID},
		identity.Binding{Key: alice.DID, Person: alice.DID})
	s.KeysChanged(t.Context())
	<-ended
	if err := filesError(t, s, identitytest.Files(t, fresh, s.DID(), "fs/read")); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the key that was bound: %v", err)
	}
	if got := identitytest.Principal(t, s, alice); got.DID != alice.DID {
		t.Errorf("the key before: %s", got.DID)
	}
	if err := filesError(t, s, lasting); err != nil { // that it was refused is not remembered
		t.Errorf("its token: %v", err)
	}
	if got := s.KeyOf(alice.DID); got != alice.DID {
		t.Errorf("signs now: %s", got)
	}
}

// A withdrawal of an issuer is about its key: who withdrew a stolen one goes on with another.
func TestWhoWithdrewAStolenKeyGoesOnWithANewOne(t *testing.T) {
	t.Parallel()
	s, store := withStore(t)
	fresh := identitytest.NewActor("fresh")
	if _, err := s.Revoke(t.Context(), sign(t, alice, s.DID(),
		ucan.NewIssuerRevocation(did.DID(alice.DID), did.DID(alice.DID)))); err != nil {
		t.Fatal(err)
	}
	lose(t, s, store, fresh)
	if got := identitytest.Principal(t, s, fresh); got.DID != alice.DID {
		t.Errorf("%s", got.DID)
	}
	if _, err := s.Revoke(t.Context(), sign(t, fresh, s.DID(),
		ucan.NewIssuerRevocation(did.DID(fresh.DID), did.DID(fresh.DID)))); err != nil {
		t.Fatal(err)
	}
	if err := oracleError(t, s, identitytest.Invocation(t, fresh, s.DID()), ""); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the new key, withdrawn: %v", err)
	}
}
