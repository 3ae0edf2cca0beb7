package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// office is an address that many people share.
var office = netip.MustParseAddr("198.51.100.7")

// crowded is a service, and the gate in front of it.
func crowded(t *testing.T) (*identity.Service, *ratelimit.Gate) {
	t.Helper()
	gate := ratelimit.NewGate(ratelimit.GateConfig{Budget: time.Second, Slots: 2})
	return identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Gate = gate }), gate
}

// hold takes every slot of the gate.
func hold(t *testing.T, gate *ratelimit.Gate) (release func()) {
	t.Helper()
	var turns []*ratelimit.Turn
	for range 2 {
		turn, err := gate.Enter(t.Context(), office)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
	}
	return func() {
		for _, turn := range turns {
			turn.Leave()
		}
	}
}

func code(err error) string {
	if err == nil {
		return "served"
	}
	return fault.KindOf(err).String() + " " + fault.From(err).Code
}

// TestWhoWasGoodOnceDoesNotQueue fills the gate: tokens that the node knows, also
// those that are over, are judged all the same, and others wait two seconds.
func TestWhoWasGoodOnceDoesNotQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, gate := crowded(t)
		present := func(token string) (string, time.Duration) {
			began := time.Now()
			_, err := s.Authenticate(t.Context(), identity.Oracle,
				identity.Credentials{Bearer: token, AuthType: "ucan", From: office})
			return code(err), time.Since(began)
		}
		good := identitytest.Invocation(t, alice, s.DID())
		short := identitytest.Invocation(t, alice, s.DID(), identitytest.TTL(30*time.Second))
		for _, token := range []string{good, short} {
			if got, _ := present(token); got != "served" {
				t.Fatal(got)
			}
		}
		time.Sleep(time.Minute)
		release := hold(t, gate)
		for _, test := range []struct {
			name, token, want string
			wait              time.Duration
		}{
			{"known", good, "served", 0},
			{"expired, was good once", short, "unauthenticated expired", 0},
			{"the same again", short, "unauthenticated expired", 0},
			{"unknown", identitytest.Invocation(t, bob, s.DID()), "rate_limited throttled", 2 * time.Second},
			{"garbage", "garbage", "rate_limited throttled", 2 * time.Second},
		} {
			if got, waited := present(test.token); got != test.want || waited != test.wait {
				t.Errorf("%s: %s after %s, want %s after %s", test.name, got, waited, test.want, test.wait)
			}
		}
		release()
		if got, waited := present(identitytest.Invocation(t, bob, s.DID())); got != "served" || waited != 0 {
			t.Errorf("after the crowd has gone: %s after %s", got, waited)
		}
	})
}

// TestExpiredTokensCostNothingAgain counts verifications of one that is over.
func TestExpiredTokensCostNothingAgain(t *testing.T) {
	t.Parallel()
	s, _ := crowded(t)
	token := identitytest.Invocation(t, alice, s.DID(), identitytest.TTL(-time.Hour))
	for range 50 {
		_, err := s.Authenticate(t.Context(), identity.Oracle,
			identity.Credentials{Bearer: token, AuthType: "ucan", From: office})
		if got := code(err); got != "unauthenticated expired" {
			t.Fatal(got)
		}
	}
	if n := s.Stats().Refused; n != 1 {
		t.Errorf("verified %d times", n)
	}
}

// TestDelegationsQueueToo wants to hear of the crowd, not that the delegation is
// bad: a client would throw it away.
func TestDelegationsQueueToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, gate := crowded(t)
		known := identitytest.Invocation(t, alice, s.DID())
		if _, err := s.Authenticate(t.Context(), identity.Oracle,
			identity.Credentials{Bearer: known, AuthType: "ucan", From: office}); err != nil {
			t.Fatal(err)
		}
		defer hold(t, gate)()
		for i, c := range []identity.Credentials{
			{Delegation: identitytest.Delegation(t, alice, s.DID(), identitytest.Nonce("1"))},
			{Bearer: known, AuthType: "ucan", Delegation: identitytest.Delegation(t, alice, s.DID(), identitytest.Nonce("2"))},
		} {
			c.From = office
			if _, err := s.Authenticate(t.Context(), identity.Oracle, c); !fault.Is(err, fault.RateLimited) {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}

// slowResolver answers, that it does not know, when it is told to.
type slowResolver struct{ release chan struct{} }

func (r slowResolver) Keys(context.Context, did.DID) ([]did.Key, error) {
	<-r.release
	return nil, errors.New("unknown")
}

func (r slowResolver) Controllers(context.Context, did.DID) ([]did.DID, error) {
	<-r.release
	return nil, errors.New("unknown")
}

// TestLookupsHoldNobodyUp has tokens whose keys somebody else's slow server
// knows, in every slot.
func TestLookupsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) {
			d.Gate = ratelimit.NewGate(ratelimit.GateConfig{Budget: time.Second, Slots: 2})
			d.Resolver = slowResolver{release}
		})
		ended := make(chan error, 20)
		for i := range 20 {
			far := alice.As(fmt.Sprintf("did:web:slow%d.example", i))
			go func() {
				_, err := s.Authenticate(t.Context(), identity.Oracle,
					identity.Credentials{Bearer: identitytest.Invocation(t, far, s.DID()), AuthType: "ucan", From: office})
				ended <- err
			}()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := s.Authenticate(t.Context(), identity.Oracle,
			identity.Credentials{
				Bearer: identitytest.Invocation(t, bob, s.DID()), AuthType: "ucan", From: office,
			}); err != nil || time.Since(began) != 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		close(release)
		for range 20 {
			if err := <-ended; !fault.Is(err, fault.Unauthenticated) {
				t.Error(err)
			}
		}
	})
}
