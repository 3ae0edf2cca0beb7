package identitytest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity"
)

// TestStore holds a store against the contract of identity.Store. Each call of
// open returns an empty store.
func TestStore(t *testing.T, open func(t *testing.T) identity.Store) {
	t.Helper()
	at := time.UnixMilli(1_800_000_000_123).UTC()
	t.Run("revocations are numbered in order and kept once", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		first := addRevocation(t, s, identity.RevokedToken, "bafyone", at)
		second := addRevocation(t, s, identity.RevokedIssuer, "did:key:zOne", at)
		feed, added, err := s.AddRevocation(t.Context(), identity.Revocation{
			Kind: identity.RevokedToken, Target: "bafyone", By: "did:x:y", At: at,
		})
		if err != nil || added || feed != first.Feed {
			t.Errorf("second revocation of one target: feed %d, added %t, %v", feed, added, err)
		}
		if second.Feed <= first.Feed {
			t.Errorf("feed went from %d to %d", first.Feed, second.Feed)
		}
		got, err := s.Revocations(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]identity.Revocation{inFeed(first), inFeed(second)}, got); diff != "" {
			t.Errorf("revocations (-want +got):\n%s", diff)
		}
		if got, err := s.Revocations(t.Context(), first.Feed, 10); err != nil || len(got) != 1 {
			t.Errorf("after the first: %v, %v", got, err)
		}
		if got, err := s.Revocations(t.Context(), 0, 1); err != nil || len(got) != 1 || got[0].Feed != first.Feed {
			t.Errorf("limit of one: %v, %v", got, err)
		}
	})
	t.Run("whatever a target has comes back", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, target := range []string{"", " ", "a\nb", "1 0 3 abc", "did:web:ü.example", "bafyone"} {
			addRevocation(t, s, identity.RevokedIssuer, target, at)
		}
		got, err := s.Revocations(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var targets []string
		for _, r := range got {
			targets = append(targets, r.Target)
		}
		if diff := cmp.Diff([]string{"", " ", "a\nb", "1 0 3 abc", "did:web:ü.example", "bafyone"}, targets); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
	})
	t.Run("case of a target matters", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		addRevocation(t, s, identity.RevokedIssuer, "did:key:zABC", at)
		addRevocation(t, s, identity.RevokedIssuer, "did:key:zabc", at)
	})
	t.Run("a mark is used once by one of many", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		var wins sync.Map
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if fresh, err := s.UseOnce(t.Context(), "mark", at); err != nil {
					t.Error(err)
				} else if fresh {
					wins.Store(i, true)
				}
			})
		}
		wg.Wait()
		n := 0
		wins.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d callers used the mark", n)
		}
	})
	t.Run("a delegation is replaced and forgotten", func(t *testing.T) {
		t.Parallel()
		testDelegations(t, open(t), at)
	})
	t.Run("revocations are forgotten when their token is over", func(t *testing.T) {
		t.Parallel()
		testSweepRevocations(t, open(t))
	})
	t.Run("sweep forgets what ended", func(t *testing.T) {
		t.Parallel()
		testSweep(t, open(t), at)
	})
}

// inFeed is what the feed has of a revocation: neither who made it nor when.
func inFeed(r identity.Revocation) identity.Revocation {
	return identity.Revocation{Feed: r.Feed, Target: r.Target, Until: r.Until}
}

func addRevocation(t *testing.T, s identity.Store, kind identity.RevocationKind, target string,
	at time.Time,
) identity.Revocation {
	t.Helper()
	r := identity.Revocation{Kind: kind, Target: target, By: Alice.DID, At: at}
	feed, added, err := s.AddRevocation(t.Context(), r)
	if err != nil || !added {
		t.Fatalf("revoke %s: added %t, %v", target, added, err)
	}
	r.Feed = feed
	return r
}

func testDelegations(t *testing.T, s identity.Store, at time.Time) {
	t.Helper()
	if _, ok, err := s.Delegation(t.Context(), Alice.DID); err != nil || ok {
		t.Fatalf("delegation in an empty store: %t, %v", ok, err)
	}
	for _, d := range []identity.StoredDelegation{
		{User: Alice.DID, Raw: "one", CID: "bafyone", Expires: at, UpdatedAt: at},
		{User: Alice.DID, Raw: "two", CID: "bafytwo", UpdatedAt: at.Add(time.Second)},
	} {
		if err := s.PutDelegation(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		got, ok, err := s.Delegation(t.Context(), Alice.DID)
		if err != nil || !ok {
			t.Fatalf("stored delegation: %t, %v", ok, err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Errorf("delegation (-want +got):\n%s", diff)
		}
	}
	for range 2 {
		if err := s.DeleteDelegation(t.Context(), Alice.DID); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := s.Delegation(t.Context(), Alice.DID); err != nil || ok {
		t.Errorf("deleted delegation: %t, %v", ok, err)
	}
}

func testSweep(t *testing.T, s identity.Store, at time.Time) {
	t.Helper()
	for i := range 3 {
		if _, err := s.UseOnce(t.Context(), fmt.Sprint("old", i), at.Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.UseOnce(t.Context(), "live", at.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for user, expires := range map[string]time.Time{
		"did:x:old": at.Add(-time.Second), "did:x:live": at.Add(time.Second),
		"did:x:never": {},
	} {
		if err := s.PutDelegation(t.Context(), identity.StoredDelegation{
			User: user, Raw: "r", CID: "c", Expires: expires,
			UpdatedAt: at,
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{2, 2, 0} {
		if n, err := s.Sweep(t.Context(), at, 2); err != nil || n != want {
			t.Errorf("sweep of two: %d, %v; want %d", n, err, want)
		}
	}
	if fresh, err := s.UseOnce(t.Context(), "live", at); err != nil || fresh {
		t.Errorf("a live mark was swept: %t, %v", fresh, err)
	}
	for _, user := range []string{"did:x:live", "did:x:never"} {
		if _, ok, err := s.Delegation(t.Context(), user); err != nil || !ok {
			t.Errorf("delegation of %s was swept: %v", user, err)
		}
	}
}

func testSweepRevocations(t *testing.T, s identity.Store) {
	t.Helper()
	now := time.UnixMilli(time.Now().UnixMilli()).UTC()
	var kept []identity.Revocation
	for target, until := range map[string]time.Time{
		"one": now.Add(-time.Hour), "two": now.Add(-2 * time.Hour), "three": now.Add(-3 * time.Hour),
		"live": now.Add(-time.Minute), "ahead": now.Add(time.Hour), "never": {},
	} {
		r := identity.Revocation{Kind: identity.RevokedToken, Target: target, By: Alice.DID, At: now, Until: until}
		feed, added, err := s.AddRevocation(t.Context(), r)
		if err != nil || !added {
			t.Fatalf("revoke %s: added %t, %v", target, added, err)
		}
		if r.Feed = feed; until.IsZero() || !until.Before(now.Add(-time.Minute)) {
			kept = append(kept, inFeed(r))
		}
	}
	for _, want := range []int{2, 1, 0} {
		if n, applied, err := s.SweepRevocations(t.Context(), now.Add(-time.Minute), 2); err != nil || n != want ||
			!applied.Equal(now.Add(-time.Minute)) {
			t.Errorf("sweep of two: %d before %s, %v; want %d", n, applied, err, want)
		}
	}
	got, err := s.Revocations(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Errorf("revocations after the sweep (-want +got):\n%s", diff)
	}
	// A node whose clock is a day ahead makes nobody forget what is not over.
	n, applied, err := s.SweepRevocations(t.Context(), now.Add(24*time.Hour), 10)
	if err != nil || n != 1 || applied.After(now.Add(time.Minute)) {
		t.Errorf("sweep of tomorrow: %d before %s, %v", n, applied, err)
	}
	// What was forgotten can be revoked again, under a higher number.
	r := addRevocation(t, s, identity.RevokedToken, "one", now)
	for _, k := range kept {
		if r.Feed <= k.Feed {
			t.Errorf("number %d after %d", r.Feed, k.Feed)
		}
	}
}
