package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// slowHosts is the hosts that strangers name: they take their time, and have nothing.
type slowHosts struct {
	asked, now, most atomic.Int32
	knows            did.DID
	keys             []did.Key
}

func (r *slowHosts) Keys(_ context.Context, d did.DID) ([]did.Key, error) {
	if d == r.knows {
		return r.keys, nil
	}
	r.asked.Add(1)
	if n := r.now.Add(1); n > r.most.Load() {
		r.most.Store(n)
	}
	defer r.now.Add(-1)
	<-time.After(3 * time.Second)
	return nil, errors.New("nobody there")
}

func (*slowHosts) Controllers(context.Context, did.DID) ([]did.DID, error) {
	return nil, errors.New("none")
}

// TestLookUpsAreShared has one network make up DIDs: it gets a share of the look-ups,
// and somebody else is not kept waiting.
func TestLookUpsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slowHosts{knows: "did:ixo:ixo1alice", keys: []did.Key{alice.Signer.Key()}}
		s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Resolver = r })
		ask := func(from string, who identitytest.Actor) error {
			c := identity.Handshake(identitytest.Invocation(t, who, s.DID()), "")
			c.From = netip.MustParseAddr(from)
			_, err := s.Authenticate(t.Context(), identity.Oracle, c)
			return err
		}
		var all sync.WaitGroup
		for i := range 500 {
			all.Go(func() {
				if ask("192.0.2.1", mallory.As(fmt.Sprintf("did:web:victim.test:%d", i))) == nil {
					t.Error("a made-up DID is let in")
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if err := ask("198.51.100.7", alice.As("did:ixo:ixo1alice")); err != nil || time.Since(began) > 0 {
			t.Errorf("somebody else: %v after %v", err, time.Since(began))
		}
		all.Wait()
		if n := r.most.Load(); n > 64 {
			t.Errorf("%d look-ups at once", n)
		}
	})
}

// TestATokenLosesItsWayTwice: each of its proofs names a host, none of which is there.
func TestATokenLosesItsWayTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slowHosts{}
		s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Resolver = r })
		what := identitytest.Can("fs/read", alice.Home("/x"))
		with := []identitytest.Option{what}
		for i := range 8 {
			from := mallory.As(fmt.Sprintf("did:web:victim.test:%d", i))
			with = append(with, identitytest.Proof(identitytest.Delegation(t, from, mallory.DID, what)))
		}
		c := identity.Handshake(identitytest.Invocation(t, mallory, s.DID(), with...), "")
		if _, err := s.Authenticate(t.Context(), identity.Files, c); err == nil {
			t.Error("it is let in")
		}
		if n := r.asked.Load(); n > 2 {
			t.Errorf("%d hosts were asked", n)
		}
	})
}
