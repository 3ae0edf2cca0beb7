package identity_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// What revokes a token that is over by itself is forgotten a day later, in memory
// and in the store, however many there are; what revokes for ever stays.
func TestRevocationsEndWithTheirTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The clocks are set, because to live through a month with two looks a second
		// takes long; the sweep comes a minute later.
		var ahead atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		pass := func(d time.Duration) {
			ahead.Add(int64(d))
			time.Sleep(2 * time.Minute)
		}
		store := identitytest.NewStore()
		store.Now = now
		node := func(d *identity.Deps, _ *identity.Config) { d.Store, d.Now = store, now }
		here, there := identitytest.New(t, node), identitytest.New(t, node)
		var running sync.WaitGroup
		stop := make(chan struct{})
		for _, s := range []*identity.Service{here, there} {
			ctx, cancel := contextUntil(t, stop)
			defer cancel()
			running.Go(func() { _ = s.Run(ctx) })
		}
		const many = 1203 // more than two slices of the sweep
		for i := range many {
			short := identitytest.Files(t, alice, here.DID(), "fs/read", identitytest.TTL(time.Hour),
				identitytest.Nonce(string(rune('a'+i))))
			if _, err := here.Revoke(t.Context(), revocation(t, alice, here.DID(), short)); err != nil {
				t.Fatal(err)
			}
		}
		forEver := identitytest.Delegation(t, alice, here.DID(), identitytest.Expires(time.Time{}))
		long := identitytest.Delegation(t, alice, bob.DID, identitytest.TTL(30*24*time.Hour))
		for _, token := range []string{forEver, long} {
			if _, err := here.Revoke(t.Context(), revocation(t, alice, here.DID(), token)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := here.Revoke(t.Context(),
			sign(t, bob, here.DID(), ucan.NewIssuerRevocation(did.DID(bob.DID), did.DID(bob.DID)))); err != nil {
			t.Fatal(err)
		}
		kept := func(when string, want int) {
			t.Helper()
			rows, err := store.Revocations(t.Context(), 0, 2*many)
			if err != nil || len(rows) != want {
				t.Errorf("%s the store has %d, %v; want %d", when, len(rows), err, want)
			}
			for _, s := range []*identity.Service{here, there} {
				if n := s.Stats().Revocations; n != want {
					t.Errorf("%s a node knows %d, want %d", when, n, want)
				}
			}
		}
		pass(24 * time.Hour) // the short ones expired 23 hours ago
		kept("within the grace", many+3)
		pass(2 * time.Hour)
		kept("after it", 3)
		later := identitytest.New(t, node)
		if n := later.Stats().Revocations; n != 3 {
			t.Errorf("a node that starts later knows %d", n)
		}
		pass(31 * 24 * time.Hour)
		kept("a month later", 2)
		if f := fault.From(filesError(t, here, forEver)); f == nil || f.Code != string(ucan.Revoked) {
			t.Errorf("a token that never ends: %v", f)
		}
		close(stop)
		running.Wait()
	})
}

func TestATokenThatIsOverIsNotRevoked(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	for ttl, want := range map[time.Duration]bool{time.Hour: true, -time.Hour: true, -25 * time.Hour: false} {
		token := identitytest.Files(t, alice, s.DID(), "fs/read", identitytest.TTL(ttl))
		r, err := s.Revoke(t.Context(), revocation(t, alice, s.DID(), token))
		if want && (err != nil || r.Until.IsZero()) {
			t.Errorf("a token of %s: %+v, %v", ttl, r, err)
		}
		if f := fault.From(err); !want && (f == nil || f.Kind != fault.Invalid || f.Code != string(ucan.Expired)) {
			t.Errorf("a token of %s: %v", ttl, err)
		}
	}
	if n := s.Stats().Revocations; n != 2 {
		t.Errorf("%d are known", n)
	}
}
