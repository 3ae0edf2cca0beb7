package identity_test

import (
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Anybody can mirror an ECDSA signature: the delegation says the same under
// another CID. Whoever uses the twin before the delegation is revoked is known to the
// node by then, and has no more of it than who used the delegation itself.
func TestTheTwinOfARevokedTokenIsForgottenToo(t *testing.T) {
	t.Parallel()
	s, w := identitytest.New(t), identitytest.NewWallet(t)
	home := identity.FileResource(string(w.DID()), "")
	statement := ucan.Statement{
		Audience: did.DID(bob.DID), Expires: time.Now().Add(time.Hour), Nonce: "one",
		Capabilities: []ucan.Capability{ucan.NewCapability("fs/read", home, ipld.Node{})},
	}
	made := w.Issue(statement)
	w.Mirror = true
	twin := w.Issue(statement)
	w.Mirror = false
	if made.CID() == twin.CID() {
		t.Fatal("the twin has the same CID")
	}
	token := identitytest.Files(t, bob, s.DID(), "", identitytest.Can("fs/read", home), identitytest.Proof(twin.Encode()))
	p, err := s.Authenticate(t.Context(), identity.Files, identity.Credentials{Bearer: token})
	if err != nil {
		t.Fatal(err)
	}
	ended, stop := s.Watch(p)
	defer stop()
	revoke := w.Issue(ucan.Statement{
		Audience: did.DID(s.DID()), Expires: time.Now().Add(time.Minute), Proofs: []*ucan.Token{made},
		Capabilities: []ucan.Capability{ucan.NewRevocation(w.DID(), made)},
	})
	if _, err := s.Revoke(t.Context(), revoke.Encode()); err != nil {
		t.Fatal(err)
	}
	if f := fault.From(filesError(t, s, token)); f == nil || f.Code != "revoked" {
		t.Errorf("the known token under the twin: %v", f)
	}
	select {
	case <-ended:
	default:
		t.Error("its stream goes on")
	}
}
