package identity_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// moody is a store whose feed of revocations can fail, and can be silent like a
// line that went dead.
type moody struct {
	*identitytest.Store
	fails, deaf atomic.Bool
	asked       atomic.Int32
}

func (m *moody) Revocations(ctx context.Context, after int64, limit int) ([]identity.Revocation, error) {
	m.asked.Add(1)
	if m.deaf.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if m.fails.Load() {
		return nil, errors.New("no database")
	}
	return m.Store.Revocations(ctx, after, limit)
}

// twoNodes are services on one store, without a bus: one that works, and one that
// follows nothing, as if it had stood still, with the store as it sees it.
func twoNodes(t *testing.T) (awake, asleep *identity.Service, seen *moody) {
	t.Helper()
	seen = &moody{Store: identitytest.NewStore()}
	awake = identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store = seen.Store })
	asleep = identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store = seen })
	return awake, asleep, seen
}

// A node that stood still, or was cut off, knows tokens that were withdrawn
// meanwhile. It looks before it trusts them.
func TestANodeThatStoodStillLooksBeforeItTrusts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		awake, asleep, _ := twoNodes(t)
		grant := identitytest.Delegation(t, alice, bob.DID)
		oracle := identitytest.Invocation(t, alice, asleep.DID())
		files := identitytest.Files(t, bob, asleep.DID(), "", identitytest.Can("fs/read", alice.Home("/x")),
			identitytest.Proof(grant))
		authenticate(t, asleep, oracle)
		if err := filesError(t, asleep, files); err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{oracle, grant} {
			if _, err := awake.Revoke(t.Context(), revocation(t, alice, awake.DID(), token)); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Second)
		if f := fault.From(filesError(t, asleep, files)); f == nil || f.Code != "revoked" {
			t.Errorf("a second after the revocation: %v", f)
		}
		if _, err := asleep.Authenticate(t.Context(), identity.Oracle, identity.Handshake(oracle, "")); !fault.Is(err,
			fault.Unauthenticated) {
			t.Errorf("the oracle, a second after the revocation: %v", err)
		}
	})
}

// What nobody can say is not taken for a yes, and not for a no.
func TestWithoutTheFeedNobodyIsTrusted(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(*moody){
		"it fails":     func(m *moody) { m.fails.Store(true) },
		"it is silent": func(m *moody) { m.deaf.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, s, store := twoNodes(t)
				token := identitytest.Files(t, alice, s.DID(), "fs/read")
				delegation := identity.Credentials{Delegation: identitytest.UserToOracle(t, alice, s.DID())}
				if err := filesError(t, s, token); err != nil {
					t.Fatal(err)
				}
				breaks(store)
				if err := filesError(t, s, token); err != nil {
					t.Errorf("within the second: %v", err)
				}
				<-time.After(time.Second)
				began := time.Now()
				if err := filesError(t, s, token); !fault.Is(err, fault.Unavailable) {
					t.Errorf("a known token without the feed: %v", err)
				}
				if waited := time.Since(began); waited > 5*time.Second {
					t.Errorf("it was said after %v", waited)
				}
				if _, err := s.Authenticate(t.Context(), identity.Oracle, delegation); !fault.Is(err, fault.Unavailable) {
					t.Errorf("a delegation without the feed: %v", err)
				}
				if _, err := s.CheckRevoked(t.Context(), []string{"bafy"}); !fault.Is(err, fault.Unavailable) {
					t.Errorf("a check without the feed: %v", err)
				}
				store.fails.Store(false)
				store.deaf.Store(false)
				if err := filesError(t, s, token); err != nil {
					t.Errorf("the feed is back: %v", err)
				}
			})
		})
	}
}

// Following the feed goes on when one reading of it never ends.
func TestASilentLineDoesNotEndTheFollowing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, store := twoNodes(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		store.deaf.Store(true)
		<-time.After(time.Minute)
		store.deaf.Store(false)
		<-time.After(10*time.Second + 200*time.Millisecond) // between two looks
		before := store.asked.Load()
		for range 100 { // a fresh picture is not asked for again
			if err := filesError(t, s, identitytest.Files(t, alice, s.DID(), "fs/read")); err != nil {
				t.Fatal(err)
			}
		}
		if n := store.asked.Load() - before; n > 0 {
			t.Errorf("a hundred requests read the feed %d times", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// slowSweep is a store whose sweep never ends.
type slowSweep struct{ *moody }

func (slowSweep) Sweep(ctx context.Context, _ time.Time, _ int) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// What is open under a token ends within a second of its revocation, also while
// old records are being forgotten on a line that went dead.
func TestAStuckSweepDoesNotHoldUpRevocations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		awake, _, store := twoNodes(t)
		s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store = slowSweep{store} })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		<-time.After(90 * time.Second) // a sweep has begun
		token := identitytest.Invocation(t, alice, s.DID())
		who := authenticate(t, s, token)
		over := make(chan struct{})
		defer s.OnEnd(who, func() { close(over) })()
		if _, err := awake.Revoke(t.Context(), revocation(t, alice, awake.DID(), token)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-over:
		case <-time.After(time.Second):
			t.Error("it goes on under a token that was revoked")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
