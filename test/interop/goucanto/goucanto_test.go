// Package goucanto_test holds our tokens against the other Go implementation of
// the format, as a second minter and a second reader. It lives in a module of
// its own, so that nothing of it reaches the program.
package goucanto_test

import (
	"context"
	"encoding/base64"
	"io"
	"slices"
	"testing"
	"time"

	prime "github.com/ipld/go-ipld-prime"
	"github.com/storacha/go-ucanto/core/delegation"
	"github.com/storacha/go-ucanto/core/schema"
	"github.com/storacha/go-ucanto/principal"
	"github.com/storacha/go-ucanto/principal/ed25519/signer"
	"github.com/storacha/go-ucanto/principal/ed25519/verifier"
	theirs "github.com/storacha/go-ucanto/ucan"
	"github.com/storacha/go-ucanto/validator"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

type actor struct {
	theirs principal.Signer
	ours   did.Signer
}

// newActor makes one key that both implementations hold.
func newActor(t *testing.T) actor {
	t.Helper()
	s, err := signer.Generate()
	if err != nil {
		t.Fatal(err)
	}
	text, err := signer.Format(s)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := did.ParseSigner(text)
	if err != nil {
		t.Fatal(err)
	}
	if string(ours.DID()) != s.DID().String() || ours.PrivateText() != text {
		t.Fatalf("one key, two names: %s and %s", ours.DID(), s.DID())
	}
	return actor{theirs: s, ours: ours}
}

func encode(t *testing.T, d delegation.Delegation) string {
	t.Helper()
	data, err := io.ReadAll(d.Archive())
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func TestTheirTokensHold(t *testing.T) {
	t.Parallel()
	alice, bob, service := newActor(t), newActor(t), newActor(t)
	home := "vfs:///" + string(alice.ours.DID())
	grant, err := delegation.Delegate(alice.theirs, bob.theirs,
		[]theirs.Capability[theirs.NoCaveats]{theirs.NewCapability("fs/read", home, theirs.NoCaveats{})},
		delegation.WithNoExpiration(), delegation.WithNonce("n"))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := delegation.Delegate(bob.theirs, service.theirs,
		[]theirs.Capability[theirs.NoCaveats]{theirs.NewCapability("fs/read", home+"/x", theirs.NoCaveats{})},
		delegation.WithExpiration(int(time.Now().Add(time.Minute).Unix())),
		delegation.WithProof(delegation.FromDelegation(grant)))
	if err != nil {
		t.Fatal(err)
	}
	token, err := ucan.Parse(encode(t, leaf))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ucan.Verify(token, ucan.Query{Audience: service.ours.DID(), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if root := r.Grants[0].Root; root != alice.ours.DID() || token.CID() != leaf.Link().String() {
		t.Errorf("root %s, token %s; want %s, %s", root, token.CID(), alice.ours.DID(), leaf.Link())
	}
}

func TestOurTokensHoldThere(t *testing.T) {
	t.Parallel()
	alice, bob, service := newActor(t), newActor(t), newActor(t)
	// Their default rule of ownership: the resource is the issuer's DID.
	own := string(alice.ours.DID())
	capability := []ucan.Capability{ucan.NewCapability("fs/read", own, ipld.MapNode())}
	grant, err := ucan.Issue(alice.ours, ucan.Statement{Audience: bob.ours.DID(), Capabilities: capability, Nonce: "n"})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ucan.Issue(bob.ours, ucan.Statement{
		Audience: service.ours.DID(), Capabilities: capability, Expires: time.Now().Add(time.Minute),
		Proofs: []*ucan.Token{grant},
		Facts:  []ipld.Node{ipld.MapNode(ipld.Entry{Key: "nonce", Value: ipld.TextNode("f")})},
	})
	if err != nil {
		t.Fatal(err)
	}
	read, err := delegation.Extract(leaf.Archive())
	if err != nil {
		t.Fatal(err)
	}
	if again := encode(t, read); again != leaf.Encode() {
		t.Error("their archive of our token has other bytes")
	}
	if _, err := claim(t.Context(), service.theirs.Verifier(), read); err != nil {
		t.Errorf("their validator refuses our token: %v", err)
	}
	forged, err := ucan.Issue(bob.ours, ucan.Statement{
		Audience: service.ours.DID(), Capabilities: capability, Expires: time.Now().Add(time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	if read, err = delegation.Extract(forged.Archive()); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(t.Context(), service.theirs.Verifier(), read); err == nil {
		t.Error("their validator accepts a token without its proof: this test sees nothing")
	}
}

func claim(ctx context.Context, authority principal.Verifier, d delegation.Delegation) (string, error) {
	types, err := prime.LoadSchemaBytes([]byte("type Caveats struct {}\n"))
	if err != nil {
		return "", err
	}
	parser := validator.NewCapability("fs/read", schema.DIDString(),
		schema.Struct[theirs.NoCaveats](types.TypeByName("Caveats"), nil), nil)
	authorization, failed := validator.Claim(ctx, parser, []delegation.Proof{delegation.FromDelegation(d)},
		validator.NewClaimContext(
			authority, validator.IsSelfIssued,
			func(context.Context, validator.Authorization[any]) validator.Revoked { return nil },
			validator.ProofUnavailable,
			func(text string) (principal.Verifier, error) { return verifier.Parse(text) },
			validator.FailDIDKeyResolution, validator.NotExpiredNotTooEarly,
		))
	if failed != nil {
		return "", failed
	}
	return authorization.Capability().With(), nil
}

// TestSecondSpellingIsRefused shows why the verifier is ours: both readers see
// the same signed statement, and only one of them refuses its second spelling.
func TestSecondSpellingIsRefused(t *testing.T) {
	t.Parallel()
	alice, service := newActor(t), newActor(t)
	token, err := ucan.Issue(alice.ours, ucan.Statement{
		Audience: service.ours.DID(), Expires: time.Now().Add(time.Minute),
		Capabilities: []ucan.Capability{ucan.NewCapability("fs/read", string(alice.ours.DID()), ipld.Node{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	read, err := delegation.Extract(token.Archive())
	if err != nil {
		t.Fatal(err)
	}
	block := string(read.Root().Bytes())
	n, err := ipld.Decode(block)
	if err != nil {
		t.Fatal(err)
	}
	n.Entries = append(slices.Clone(n.Entries), ipld.Entry{Key: "nnc", Value: ipld.TextNode("")})
	bent := string(ipld.AppendCBOR(nil, n))
	if _, err := ucan.ParseCAR(archive(bent)); ucan.ReasonOf(err) != ucan.NonCanonical {
		t.Errorf("ours: %v, want noncanonical", err)
	}
	if _, err := delegation.Extract([]byte(archive(bent))); err != nil {
		t.Logf("theirs refuses it as well now: %v", err)
	}
}
