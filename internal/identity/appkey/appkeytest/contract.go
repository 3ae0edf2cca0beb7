package appkeytest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/appkey"
)

var at = time.UnixMilli(1_800_000_000_123).UTC()

// TestStore holds a store to its contract. open returns two stores that stand for
// two nodes on the same, empty records.
func TestStore(t *testing.T, open func(t *testing.T) (here, there appkey.Store)) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, appkey.Store, appkey.Store){
		"what is added is found": testAdded, "names are taken once": testNames, "there is a bound": testBound,
		"revoked": testRevoked, "uses are coarse": testTouched, "every charge counts": testCharged, "budgets hold": testReserved,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, there := open(t)
			test(t, here, there)
		})
	}
}

func add(t *testing.T, s appkey.Store, k appkey.Key) {
	t.Helper()
	if err := s.AddKey(t.Context(), k, "digest "+k.ID); err != nil {
		t.Fatalf("add %s: %v", k.ID, err)
	}
}

func read(t *testing.T, s appkey.Store, id string) appkey.Key {
	t.Helper()
	k, ok, err := s.KeyByDigest(t.Context(), "digest "+id)
	if err != nil || !ok {
		t.Fatalf("%s: found %t, %v", id, ok, err)
	}
	return k
}

func testAdded(t *testing.T, here, there appkey.Store) {
	first, second := Record("a", "did:x:alice", "one", at), Record("b", "did:x:alice", "two", at.Add(time.Second))
	add(t, here, first)
	add(t, here, second)
	add(t, here, Record("c", "did:x:bob", "one", at))
	if diff := cmp.Diff(first, read(t, there, "a")); diff != "" {
		t.Errorf("by digest (-want +got):\n%s", diff)
	}
	list, err := there.Keys(t.Context(), "did:x:alice", 10)
	if diff := cmp.Diff([]appkey.Key{second, first}, list); diff != "" || err != nil {
		t.Errorf("list: %v (-want +got):\n%s", err, diff)
	}
	for _, digest := range []string{"", "digest", "digest A", "digest d"} {
		if k, ok, err := there.KeyByDigest(t.Context(), digest); ok || err != nil {
			t.Errorf("digest %q: %v, %v", digest, k, err)
		}
	}
	if _, ok, err := there.Key(t.Context(), "did:x:bob", "a"); ok || err != nil {
		t.Errorf("Bob finds Alice's key: %v", err)
	}
	if k, ok, err := there.Key(t.Context(), "did:x:alice", "a"); !ok || err != nil || k.Name != "one" {
		t.Errorf("Alice's own key: %v %t %v", k, ok, err)
	}
}

func testNames(t *testing.T, here, there appkey.Store) {
	const tries = 8
	var made atomic.Int64
	var wg sync.WaitGroup
	for i := range tries {
		wg.Go(func() {
			s := here
			if i%2 == 0 {
				s = there
			}
			switch err := s.AddKey(t.Context(), Record(fmt.Sprint("try", i), "did:x:alice", "one", at), fmt.Sprint("digest try", i)); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, appkey.ErrNameTaken):
				t.Errorf("refused with %v", err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Fatalf("%d of one name were made", made.Load())
	}
	// The name is free again when the key has expired, and when it was revoked.
	add(t, here, Record("later", "did:x:alice", "one", at.Add(time.Hour)))
	if err := here.RevokeKey(t.Context(), "did:x:alice", "later", at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	add(t, here, Record("last", "did:x:alice", "one", at.Add(time.Hour)))
}

func testBound(t *testing.T, here, there appkey.Store) {
	for i := range appkey.MaxActive {
		add(t, here, Record(fmt.Sprint(i), "did:x:alice", fmt.Sprint("key", i), at))
	}
	if err := there.AddKey(t.Context(), Record("more", "did:x:alice", "more", at), "digest more"); !errors.Is(err, appkey.ErrTooMany) {
		t.Errorf("one more that counts: %v", err)
	}
	add(t, there, Record("other", "did:x:bob", "more", at))
	for i := range appkey.MaxMadePerDay - appkey.MaxActive { // when the first have expired
		add(t, here, Record(fmt.Sprint("second", i), "did:x:alice", fmt.Sprint("key", i), at.Add(2*time.Hour)))
	}
	if err := there.AddKey(t.Context(), Record("more", "did:x:alice", "more", at.Add(4*time.Hour)),
		"digest more"); !errors.Is(err, appkey.ErrTooMany) {
		t.Errorf("one more in a day: %v", err)
	}
	add(t, there, Record("more", "did:x:alice", "more", at.Add(25*time.Hour)))
}

func testRevoked(t *testing.T, here, there appkey.Store) {
	add(t, here, Record("a", "did:x:alice", "one", at))
	when := at.Add(time.Minute)
	if err := here.RevokeKey(t.Context(), "did:x:bob", "a", when); err != nil {
		t.Fatal(err)
	}
	if k := read(t, there, "a"); !k.Revoked.IsZero() {
		t.Error("Bob revoked Alice's key")
	}
	for _, d := range []time.Duration{0, time.Minute} {
		if err := here.RevokeKey(t.Context(), "did:x:alice", "a", when.Add(d)); err != nil {
			t.Fatal(err)
		}
		if k := read(t, there, "a"); !k.Revoked.Equal(when) {
			t.Errorf("revoked at %v, want %v", k.Revoked, when)
		}
	}
}

func testTouched(t *testing.T, here, there appkey.Store) {
	add(t, here, Record("a", "did:x:alice", "one", at))
	for _, c := range []struct{ now, want time.Time }{
		{at, at}, {at.Add(59 * time.Second), at}, {at.Add(time.Minute), at.Add(time.Minute)}, {at, at.Add(time.Minute)},
	} {
		if err := here.TouchKey(t.Context(), "a", c.now, c.now.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		if k := read(t, there, "a"); !k.Used.Equal(c.want) {
			t.Errorf("used at %v: noted %v, want %v", c.now, k.Used, c.want)
		}
	}
}

func testCharged(t *testing.T, here, there appkey.Store) {
	add(t, here, Record("a", "did:x:alice", "one", at))
	add(t, here, Record("b", "did:x:alice", "two", at))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s := here
			if i%2 == 0 {
				s = there
			}
			if err := s.ChargeKey(t.Context(), "a", appkey.Amount{Tokens: 3, Micros: 5}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if k := read(t, there, "a"); k.Spent != (appkey.Amount{Tokens: 60, Micros: 100}) {
		t.Errorf("spent %+v", k.Spent)
	}
	if k := read(t, there, "b"); k.Spent != (appkey.Amount{}) {
		t.Errorf("the other one spent %+v", k.Spent)
	}
}

// testReserved has forty callers want more of a budget than there is.
func testReserved(t *testing.T, here, there appkey.Store) {
	k := Record("a", "did:x:alice", "one", at)
	k.Budget = appkey.Amount{Tokens: 1000}
	add(t, here, k)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total appkey.Amount
		let   int
	)
	for i := range 40 {
		wg.Go(func() {
			s := here
			if i%2 == 0 {
				s = there
			}
			held, ok, err := s.ReserveKey(t.Context(), "did:x:alice", "a", appkey.Amount{Tokens: 300, Micros: 7})
			if err != nil {
				t.Error(err)
			}
			if !ok && held != (appkey.Amount{}) {
				t.Errorf("refused, and held %+v", held)
			}
			mu.Lock()
			defer mu.Unlock()
			if ok {
				let++
				total.Tokens += held.Tokens
				total.Micros += held.Micros
			}
		})
	}
	wg.Wait()
	if let != 4 || total != (appkey.Amount{Tokens: 1000, Micros: 28}) || read(t, there, "a").Spent != total {
		t.Errorf("%d were let in, with %+v; spent %+v", let, total, read(t, there, "a").Spent)
	}
	if err := here.ChargeKey(t.Context(), "a", appkey.Amount{Tokens: -250}); err != nil {
		t.Fatal(err)
	}
	if held, ok, err := there.ReserveKey(t.Context(), "did:x:alice", "a", appkey.Amount{Tokens: 300}); err != nil || !ok ||
		held.Tokens != 250 {
		t.Errorf("what was taken back is not there: %+v %v %v", held, ok, err)
	}
	for _, id := range [][2]string{{"did:x:bob", "a"}, {"did:x:alice", "none"}} {
		if _, ok, err := here.ReserveKey(t.Context(), id[0], id[1], appkey.Amount{Tokens: 1}); err != nil || ok {
			t.Errorf("%v: %v %v", id, ok, err)
		}
	}
}
