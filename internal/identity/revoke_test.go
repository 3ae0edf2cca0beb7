package identity_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// revocation signs a ucan/revoke invocation of the token by the actor.
func revocation(t *testing.T, by identitytest.Actor, audience, token string) string {
	t.Helper()
	revoked, err := ucan.Parse(token)
	if err != nil {
		t.Fatal(err)
	}
	return sign(t, by, audience, ucan.NewRevocation(did.DID(by.DID), revoked), revoked)
}

func sign(t *testing.T, by identitytest.Actor, audience string, c ucan.Capability, proofs ...*ucan.Token) string {
	t.Helper()
	r, err := ucan.Issue(by.Signer, ucan.Statement{
		Audience: did.DID(audience), Expires: time.Now().Add(time.Minute), Capabilities: []ucan.Capability{c}, Proofs: proofs,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Encode()
}

func filesError(t *testing.T, s *identity.Service, token string) error {
	t.Helper()
	_, err := s.Authenticate(t.Context(), identity.Files, identity.Credentials{Bearer: token})
	return err
}

func TestRevokedTokenIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	for _, by := range []identitytest.Actor{alice, bob, identitytest.Oracle} {
		t.Run(by.Name, func(t *testing.T) {
			t.Parallel()
			s := identitytest.New(t)
			grant := identitytest.Delegation(t, alice, bob.DID)
			token := identitytest.Files(t, bob, s.DID(), "", identitytest.Can("fs/read", alice.Home("/x")),
				identitytest.Proof(grant))
			other := identitytest.Files(t, alice, s.DID(), "fs/read")
			if err := filesError(t, s, token); err != nil {
				t.Fatal(err)
			}
			revoked := grant
			if by.DID == bob.DID {
				revoked = token // bob may withdraw what he signed, not what he was given
			}
			done, err := s.Revoke(t.Context(), revocation(t, by, s.DID(), revoked))
			if err != nil {
				t.Fatal(err)
			}
			if done.Kind != identity.RevokedToken || done.By != by.DID {
				t.Errorf("recorded %+v", done)
			}
			if f := fault.From(filesError(t, s, token)); f == nil || f.Kind != fault.Unauthenticated || f.Code != "revoked" {
				t.Errorf("cached token after its revocation: %v", f)
			}
			if err := filesError(t, s, other); err != nil {
				t.Errorf("another token: %v", err)
			}
			if got, err := s.CheckRevoked(t.Context(), []string{"bafyother", done.Target}); err != nil || len(got) != 1 ||
				got[0] != done.Target {
				t.Errorf("check says %v, %v", got, err)
			}
		})
	}
}

func TestStrangersRevokeNothing(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	grant := identitytest.Delegation(t, alice, bob.DID)
	token := identitytest.Files(t, bob, s.DID(), "", identitytest.Can("fs/read", alice.Home("")), identitytest.Proof(grant))
	stolen := revocation(t, alice, bob.DID, token) // addressed to another service
	for name, text := range map[string]string{
		"a stranger":            revocation(t, mallory, s.DID(), token),
		"the holder, the grant": revocation(t, bob, s.DID(), grant),
		"for another service":   stolen,
		"no revocation":         identitytest.Invocation(t, alice, s.DID()),
		"in alice's name":       sign(t, mallory, s.DID(), ucan.NewIssuerRevocation(did.DID(mallory.DID), did.DID(alice.DID))),
		"with alice as with":    sign(t, mallory, s.DID(), ucan.NewIssuerRevocation(did.DID(alice.DID), did.DID(alice.DID))),
		"garbage":               "garbage",
	} {
		if r, err := s.Revoke(t.Context(), text); err == nil {
			t.Errorf("%s revokes %+v", name, r)
		}
	}
	if err := filesError(t, s, token); err != nil {
		t.Error(err)
	}
}

func TestIssuerWithdrawsEverything(t *testing.T) {
	t.Parallel()
	for _, by := range []identitytest.Actor{alice, identitytest.Oracle} {
		t.Run(by.Name, func(t *testing.T) {
			t.Parallel()
			testIssuerWithdrawn(t, by)
		})
	}
}

func testIssuerWithdrawn(t *testing.T, by identitytest.Actor) {
	t.Helper()
	s := identitytest.New(t)
	grant := identitytest.Delegation(t, alice, bob.DID)
	tokens := []string{
		identitytest.Files(t, alice, s.DID(), "fs/read"),
		identitytest.Files(t, bob, s.DID(), "", identitytest.Can("fs/read", alice.Home("")), identitytest.Proof(grant)),
	}
	if _, err := s.Revoke(t.Context(),
		sign(t, by, s.DID(), ucan.NewIssuerRevocation(did.DID(by.DID), did.DID(alice.DID)))); err != nil {
		t.Fatal(err)
	}
	for i, token := range tokens {
		if f := fault.From(filesError(t, s, token)); f == nil || f.Code != "revoked" {
			t.Errorf("token %d: %v", i, f)
		}
	}
	if err := filesError(t, s, identitytest.Files(t, bob, s.DID(), "fs/read")); err != nil {
		t.Errorf("bob in his own namespace: %v", err)
	}
}

// TestRevocationReachesOtherNodes has two nodes on one store, with a bus that
// works and with none, and a stream that must end.
func TestRevocationReachesOtherNodes(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]time.Duration{"with hints": 10 * time.Millisecond, "without": 501 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := identitytest.NewStore()
				node := func(d *identity.Deps, _ *identity.Config) { d.Store = store }
				if name == "with hints" {
					hints := busmem.New()
					defer func() { _ = hints.Close() }()
					node = func(d *identity.Deps, _ *identity.Config) { d.Store, d.Hints = store, hints }
				}
				here, there := identitytest.New(t, node), identitytest.New(t, node)
				var wg sync.WaitGroup
				stopAll := make(chan struct{})
				for _, s := range []*identity.Service{here, there} {
					ctx, cancel := contextUntil(t, stopAll)
					defer cancel()
					wg.Go(func() { _ = s.Run(ctx) })
				}
				token := identitytest.Invocation(t, alice, there.DID())
				p := authenticate(t, there, token)
				ended, stop := there.Watch(p)
				defer stop()
				synctest.Wait()
				began := time.Now()
				if _, err := here.Revoke(t.Context(), revocation(t, alice, here.DID(), token)); err != nil {
					t.Fatal(err)
				}
				<-ended
				if waited := time.Since(began); waited > limit {
					t.Errorf("the stream ended after %s", waited)
				}
				if _, err := there.Authenticate(t.Context(), identity.Oracle, identity.Handshake(token, "")); !fault.Is(err,
					fault.Unauthenticated) {
					t.Errorf("the other node still says %v", err)
				}
				close(stopAll)
				wg.Wait()
			})
		})
	}
}

func authenticate(t *testing.T, s *identity.Service, token string) identity.Principal {
	t.Helper()
	p, err := s.Authenticate(t.Context(), identity.Oracle, identity.Handshake(token, ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWatchEndsWithTheToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := identitytest.New(t)
		p := authenticate(t, s, identitytest.Invocation(t, alice, s.DID(), identitytest.TTL(time.Minute)))
		ended, stop := s.Watch(p)
		defer stop()
		began := time.Now()
		<-ended
		if waited := time.Since(began); waited > time.Minute {
			t.Errorf("ended after %s", waited)
		}
		stopped, stop := s.Watch(p)
		stop()
		select {
		case <-stopped:
		case <-time.After(time.Hour):
		}
		if _, err := s.Revoke(t.Context(), "garbage"); err == nil {
			t.Error("garbage is a revocation")
		}
	})
}

// countingResolver knows one DID and counts who asks.
type countingResolver struct {
	known map[did.DID][]did.Key
	rules map[did.DID][]did.DID
	asked atomic.Int32
	wait  time.Duration
	err   error
}

func (r *countingResolver) answer() error {
	r.asked.Add(1)
	if r.wait > 0 {
		<-time.After(r.wait)
	}
	return r.err
}

func TestConcurrentFirstUsesVerifyOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &countingResolver{known: map[did.DID][]did.Key{"did:ixo:ixo1alice": {alice.Signer.Key()}}, wait: time.Second}
		s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Resolver = r })
		token := identitytest.Invocation(t, alice.As("did:ixo:ixo1alice"), s.DID())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if p, err := s.Authenticate(t.Context(), identity.Oracle, identity.Handshake(token, "")); err != nil ||
					p.DID != "did:ixo:ixo1alice" {
					t.Errorf("%v, %v", p, err)
				}
			})
		}
		wg.Wait()
		if n := r.asked.Load(); n != 1 {
			t.Errorf("the resolver was asked %d times", n)
		}
		authenticate(t, s, token)
		if got := s.Stats(); got.Verified != 1 || got.Recalled != 1 || got.Refused != 0 || got.Remembered != 1 {
			t.Errorf("figures %+v", got)
		}
		// A verdict that depends on somebody's DID document is asked for again.
		<-time.After(2 * time.Minute)
		authenticate(t, s, token)
		if n := r.asked.Load(); n != 2 {
			t.Errorf("after two minutes the resolver was asked %d times", n)
		}
	})
}
