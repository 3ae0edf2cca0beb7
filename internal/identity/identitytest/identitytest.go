// Package identitytest gives tests people, real tokens and a service that
// believes them. The keys are fixed, so that expectations can be written down.
package identitytest

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Actor is somebody with a key.
type Actor struct {
	Name   string
	DID    string
	Signer did.Signer
}

// As returns the same key under another DID.
func (a Actor) As(name string) Actor {
	return Actor{Name: a.Name, DID: name, Signer: a.Signer.As(did.DID(name))}
}

// Home returns the actor's own place in the file store, with a path below it.
func (a Actor) Home(path string) string { return identity.FileResource(a.DID, path) }

// Alice, Bob and Carol are users, Mallory is a stranger with bad intentions,
// and Oracle is the service.
var (
	Alice   = NewActor("alice")
	Bob     = NewActor("bob")
	Carol   = NewActor("carol")
	Mallory = NewActor("mallory")
	Oracle  = NewActor("oracle")
)

// NewActor returns the actor of that name; the same name has the same key.
func NewActor(name string) Actor {
	seed := sha256.Sum256([]byte("castalia test actor " + name))
	s, err := did.SignerFromSeed(seed[:])
	if err != nil {
		panic(err) // a SHA-256 is always a seed
	}
	return Actor{Name: name, DID: string(s.DID()), Signer: s}
}

// Option changes a token before it is signed.
type Option func(testing.TB, *ucan.Statement)

// Can replaces the default capability, or adds one when used again.
func Can(can, with string) Option { return CanNB(can, with, "") }

// CanNB is Can with caveats as JSON.
func CanNB(can, with, nb string) Option {
	return func(tb testing.TB, s *ucan.Statement) {
		tb.Helper()
		var caveats ipld.Node
		if nb != "" {
			var err error
			if caveats, err = ipld.DecodeJSON([]byte(nb)); err != nil {
				tb.Fatalf("identitytest: nb %s: %v", nb, err)
			}
		}
		s.Capabilities = append(s.Capabilities, ucan.NewCapability(can, with, caveats))
	}
}

// CIDs is CanNB with a restriction to the CIDs; none grants no CID.
func CIDs(can, with string, cids ...string) Option {
	return func(_ testing.TB, s *ucan.Statement) {
		list := make([]ipld.Node, len(cids))
		for i, c := range cids {
			list[i] = ipld.TextNode(c)
		}
		nb := ipld.MapNode(ipld.Entry{Key: "cids", Value: ipld.ListNode(list...)})
		s.Capabilities = append(s.Capabilities, ucan.NewCapability(can, with, nb))
	}
}

// TTL sets the lifetime; a negative one makes an expired token.
func TTL(d time.Duration) Option {
	return func(_ testing.TB, s *ucan.Statement) { s.Expires = time.Now().Add(d) }
}

// Expires sets the time of expiry; the zero time is never.
func Expires(t time.Time) Option {
	return func(_ testing.TB, s *ucan.Statement) { s.Expires = t }
}

// NotBefore sets the time before which the token is refused.
func NotBefore(t time.Time) Option {
	return func(_ testing.TB, s *ucan.Statement) { s.NotBefore = t }
}

// Nonce keeps tokens apart that say the same.
func Nonce(nonce string) Option {
	return func(_ testing.TB, s *ucan.Statement) { s.Nonce = nonce }
}

// Proof adds an encoded token as a proof.
func Proof(token string) Option {
	return func(tb testing.TB, s *ucan.Statement) {
		tb.Helper()
		p, err := ucan.Parse(token)
		if err != nil {
			tb.Fatalf("identitytest: proof: %v", err)
		}
		s.Proofs = append(s.Proofs, p)
	}
}

// Invocation returns a token as a client sends it. By default it is what the
// oracle wants to see, `*` on ixo:oracle, for five minutes.
func Invocation(tb testing.TB, from Actor, audience string, options ...Option) string {
	tb.Helper()
	return issue(tb, from, audience, 5*time.Minute,
		ucan.NewCapability(ucan.AnyAbility, identity.OracleResource, ipld.Node{}), options)
}

// Delegation returns a delegation. By default it grants everything in the
// issuer's own namespace for an hour.
func Delegation(tb testing.TB, from Actor, audience string, options ...Option) string {
	tb.Helper()
	return issue(tb, from, audience, time.Hour, ucan.NewCapability(ucan.AnyAbility, from.Home(""), ipld.Node{}), options)
}

// UserToOracle returns a delegation as wallets make it for an oracle: `*` on
// ixo:oracle, for an hour. Alone it stands for its issuer.
func UserToOracle(tb testing.TB, from Actor, audience string, options ...Option) string {
	tb.Helper()
	return issue(tb, from, audience, time.Hour, ucan.NewCapability(ucan.AnyAbility, identity.OracleResource, ipld.Node{}),
		options)
}

// Files returns a token for the file store: the ability on the issuer's own
// namespace, for five minutes.
func Files(tb testing.TB, from Actor, audience, can string, options ...Option) string {
	tb.Helper()
	return issue(tb, from, audience, 5*time.Minute, ucan.NewCapability(can, from.Home(""), ipld.Node{}), options)
}

// Revocation is what an actor signs to withdraw a token.
func Revocation(tb testing.TB, by Actor, audience, token string) string {
	tb.Helper()
	revoked, err := ucan.Parse(token)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := ucan.Issue(by.Signer, ucan.Statement{
		Audience: did.DID(audience), Expires: time.Now().Add(time.Minute), Proofs: []*ucan.Token{revoked},
		Capabilities: []ucan.Capability{ucan.NewRevocation(did.DID(by.DID), revoked)},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return signed.Encode()
}

func issue(
	tb testing.TB, from Actor, audience string, ttl time.Duration, usual ucan.Capability, options []Option,
) string {
	tb.Helper()
	s := ucan.Statement{Audience: did.DID(audience), Expires: time.Now().Add(ttl)}
	for _, option := range options {
		option(tb, &s)
	}
	if len(s.Capabilities) == 0 {
		s.Capabilities = []ucan.Capability{usual}
	}
	token, err := ucan.Issue(from.Signer, s)
	if err != nil {
		tb.Fatalf("identitytest: issue: %v", err)
	}
	return token.Encode()
}

// New returns a service in memory whose DID is Oracle's. change may alter its
// parts and its configuration first.
func New(tb testing.TB, change ...func(*identity.Deps, *identity.Config)) *identity.Service {
	tb.Helper()
	d := identity.Deps{Store: NewStore()}
	c := identity.Config{Signer: Oracle.Signer}
	for _, f := range change {
		f(&d, &c)
	}
	s, err := identity.New(d, c)
	if err != nil {
		tb.Fatalf("identitytest: new service: %v", err)
	}
	if err := s.Load(tb.Context()); err != nil {
		tb.Fatalf("identitytest: load: %v", err)
	}
	return s
}

// Principal authenticates an oracle invocation of the actor.
func Principal(tb testing.TB, s *identity.Service, a Actor) identity.Principal {
	tb.Helper()
	p, err := s.Authenticate(tb.Context(), identity.Oracle, identity.Credentials{
		Bearer: Invocation(tb, a, s.DID()), AuthType: "ucan",
	})
	if err != nil {
		tb.Fatalf("identitytest: authenticate %s: %v", a.Name, err)
	}
	return p
}

// FilesPrincipal authenticates a file token of the actor.
func FilesPrincipal(tb testing.TB, s *identity.Service, token string) identity.Principal {
	tb.Helper()
	p, err := s.Authenticate(tb.Context(), identity.Files, identity.Credentials{Bearer: token})
	if err != nil {
		tb.Fatalf("identitytest: authenticate: %v", err)
	}
	return p
}
