package identity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Everybody can write another CID in front of the same signed bytes. A token has
// one name, so under any other it is no token.
func TestARelabelledTokenIsRefused(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	grant := identitytest.Delegation(t, alice, bob.DID)
	read := identity.FileResource(alice.DID, "/x")
	tokens := map[string]func(identitytest.Label) string{
		"leaf": func(l identitytest.Label) string {
			return identitytest.Relabel(t, identitytest.Files(t, alice, s.DID(), "fs/read"), l)
		},
		"root": func(l identitytest.Label) string {
			return identitytest.RelabelRoot(t, identitytest.Files(t, alice, s.DID(), "fs/read"), l)
		},
		"proof": func(l identitytest.Label) string {
			return identitytest.RelabelProof(t, bob, s.DID(), "fs/read", read, grant, l)
		},
	}
	for what, make := range tokens {
		for _, label := range identitytest.Labels() {
			if err := filesError(t, s, make(label)); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%s under %s: %v", what, label.Name, err)
			}
		}
	}
	honest := identitytest.Label{Name: "dag-cbor", CID: ipld.SumDagCBOR}
	for what, make := range tokens {
		if err := filesError(t, s, make(honest)); err != nil {
			t.Errorf("%s under its own name: %v", what, err)
		}
	}
}

// Whoever asks about a token by another spelling of its CID is told the same, in
// the spelling of the question.
func TestRevocationsAreCheckedByDigest(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	token := identitytest.Files(t, alice, s.DID(), "fs/read")
	if _, err := s.Revoke(t.Context(), revocation(t, alice, s.DID(), token)); err != nil {
		t.Fatal(err)
	}
	names := identitytest.Names(t, token)
	asked := append(identitytest.Names(t, identitytest.Files(t, alice, s.DID(), "fs/list")), "garbage", "")
	got, err := s.CheckRevoked(t.Context(), append(asked, names...))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(names) {
		t.Errorf("revoked %q, want %q", got, names)
	}
}

// Rows that an earlier release wrote under whatever name a token then travelled
// hold as before.
func TestARowInAnOldSpellingStillRevokes(t *testing.T) {
	t.Parallel()
	for i := range identitytest.Names(t, identitytest.Files(t, alice, identitytest.Oracle.DID, "fs/read")) {
		store := identitytest.NewStore()
		token := identitytest.Files(t, alice, identitytest.Oracle.DID, "fs/read")
		name := identitytest.Names(t, token)[i]
		if _, _, err := store.AddRevocation(t.Context(), identity.Revocation{
			Kind: identity.RevokedToken, Target: name, By: alice.DID, At: time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
		s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store = store })
		if f := fault.From(filesError(t, s, token)); f == nil || f.Code != string(ucan.Revoked) {
			t.Errorf("a row of %s: %v", name, f)
		}
		parsed, err := ucan.Parse(token)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.CheckRevoked(t.Context(), []string{parsed.CID()}); err != nil || len(got) != 1 {
			t.Errorf("a row of %s: check says %v, %v", name, got, err)
		}
	}
}

// An account's address and its DID are one namespace; in capitals it is another
// name, which nobody owns.
func TestAccountHasOneNamespace(t *testing.T) {
	t.Parallel()
	const address = "ixo1qy352eufjjmc9c"
	for _, name := range []string{address, "did:ixo:" + address} {
		if got := identity.NamespaceOf(name); got != address {
			t.Errorf("%s has namespace %s", name, got)
		}
	}
	for _, name := range []string{
		strings.ToUpper(address), "did:ixo:" + strings.ToUpper(address), "did:ixo:Ixo1qy352eufjjmc9c", "did:x:" + address,
		"did:ixo:" + address + "#1", " " + address, address + "/", "did:ixo:did:ixo:" + address,
	} {
		if got := identity.NamespaceOf(name); got == address {
			t.Errorf("%s has namespace %s", name, got)
		}
	}
}

// A delegation is deposited under its one name, and found revoked under it.
func TestDepositedDelegationHasOneName(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	me := identitytest.Principal(t, s, alice)
	token := identitytest.Delegation(t, alice, s.DID())
	for _, label := range identitytest.Labels() {
		if _, err := s.StoreDelegation(t.Context(), me,
			identity.Deposit{Raw: identitytest.Relabel(t, token, label)}); !fault.Is(err, fault.Invalid) {
			t.Errorf("as %s: %v", label.Name, err)
		}
	}
	if _, err := s.StoreDelegation(t.Context(), me, identity.Deposit{Raw: token}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Revoke(t.Context(), revocation(t, alice, s.DID(), token)); err != nil {
		t.Fatal(err)
	}
	if status, err := s.DelegationOf(t.Context(), alice.DID); err != nil || status.Authorized {
		t.Errorf("after its revocation: %+v, %v", status, err)
	}
}

// An invocation of a tool is used once, under whatever text it comes.
func TestInvocationIsUsedOnceInAnySpelling(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	me := identitytest.Principal(t, s, alice)
	token := identitytest.Invocation(t, alice, s.DID(),
		identitytest.Can(identity.MCPAbility, s.MCPResource("files", "read")))
	if err := s.UseInvocation(t.Context(), me, "files", "read", token); err != nil {
		t.Fatal(err)
	}
	spellings := []string{
		token, strings.TrimRight(token, "="), " " + token, strings.NewReplacer("+", "-", "/", "_").Replace(token),
	}
	for _, label := range identitytest.Labels() {
		spellings = append(spellings, identitytest.Relabel(t, token, label))
	}
	for _, spelling := range spellings {
		if err := s.UseInvocation(t.Context(), me, "files", "read", spelling); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%.20s… is used again: %v", spelling, err)
		}
	}
}
