package identity_test

import (
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// BenchmarkAuthenticate compares the first use of a token with all others, in
// turn. The bar: x-faster at least 50.
func BenchmarkAuthenticate(b *testing.B) {
	cached := identitytest.New(b)
	good := identity.Handshake(identitytest.Invocation(b, alice, cached.DID(), identitytest.TTL(10*time.Minute)), "")
	if _, err := cached.Authenticate(b.Context(), identity.Oracle, good); err != nil {
		b.Fatal(err)
	}
	const batch = 64 // a cached one is too short for the clock
	var first, later []time.Duration
	for b.Loop() {
		fresh := identitytest.New(b)
		began := time.Now()
		if _, err := fresh.Authenticate(b.Context(), identity.Oracle, good); err != nil {
			b.Fatal(err)
		}
		first = append(first, time.Since(began))
		began = time.Now()
		for range batch {
			if _, err := cached.Authenticate(b.Context(), identity.Oracle, good); err != nil {
				b.Fatal(err)
			}
		}
		later = append(later, time.Since(began)/batch)
	}
	slices.Sort(first)
	slices.Sort(later)
	f, l := first[len(first)/2], later[len(later)/2]
	b.ReportMetric(float64(l), "ns/op")
	b.ReportMetric(float64(f), "first-ns")
	b.ReportMetric(float64(f)/float64(l), "x-faster")
}

// TestAKnownTokenMakesNothing: what every request but the first does leaves
// nothing to be collected.
func TestAKnownTokenMakesNothing(t *testing.T) {
	s := identitytest.New(t)
	good := identity.Handshake(identitytest.Invocation(t, alice, s.DID(), identitytest.TTL(10*time.Minute)), "")
	made := testing.AllocsPerRun(100, func() {
		if _, err := s.Authenticate(t.Context(), identity.Oracle, good); err != nil {
			t.Error(err)
		}
	})
	if made != 0 {
		t.Errorf("a known token makes %v objects", made)
	}
}
