package ratelimit_test

import (
	"context"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// clock is a clock that stands until it is moved.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 15, 12, 0, 2, 0, time.UTC)} }

func (c *clock) read() time.Time { return c.now }

func TestLimiterCountsAMinute(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 100, Now: c.read})
	key := ratelimit.KeyOf("alice")
	for i := range 100 {
		if ok, _ := l.Allow(key); !ok {
			t.Fatalf("request %d was refused", i+1)
		}
	}
	ok, wait := l.Allow(key)
	if ok {
		t.Fatal("request 101 was allowed")
	}
	if ok, _ := l.Allow(ratelimit.KeyOf("bob")); !ok {
		t.Error("one key's requests count for another")
	}
	if wait < time.Minute || wait > time.Minute+5*time.Second {
		t.Errorf("told to wait for %s", wait)
	}
	c.now = c.now.Add(wait - time.Millisecond)
	if ok, _ := l.Allow(key); ok {
		t.Error("allowed before the wait was over")
	}
	c.now = c.now.Add(time.Millisecond)
	for i := range 100 {
		if ok, _ := l.Allow(key); !ok {
			t.Fatalf("request %d after the wait was refused", i+1)
		}
	}
}

// Whatever the schedule, no minute holds more than the limit, nobody is
// refused who stayed within it over a minute and a slot, and the wait that is
// told is exact.
func TestLimiterProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		l := ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: limit, Now: c.read})
		key := ratelimit.KeyOf("k")
		var allowed []time.Time
		within := func(d time.Duration) (n int) {
			for _, at := range allowed {
				if c.now.Sub(at) < d {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			c.now = c.now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms")) * time.Millisecond)
			ok, wait := l.Allow(key)
			switch {
			case ok:
				if n := within(time.Minute); n >= limit {
					t.Fatalf("allowed although %d were in the last minute", n)
				}
				allowed = append(allowed, c.now)
			case within(time.Minute+5*time.Second) < limit:
				t.Fatal("refused although few were in the last minute")
			default:
				before := c.now
				c.now = before.Add(wait)
				if ok, _ := l.Allow(key); !ok {
					t.Fatalf("still refused after the wait of %s", wait)
				}
				allowed = append(allowed, c.now)
			}
		}
	})
}

func TestLimiterForgetsTheQuietest(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 1, MaxKeys: 64, Now: c.read})
	busy := ratelimit.KeyOf("busy")
	l.Allow(busy)
	for i := range 100_000 {
		l.Allow(ratelimit.KeyOf(strconv.Itoa(i)))
		if ok, _ := l.Allow(busy); ok { // stays in use, so it is remembered
			t.Fatal("a key in use was forgotten")
		}
	}
	if stats := l.Stats(); stats.Keys > 64 || stats.Refused != 100_000 {
		t.Errorf("got %+v", stats)
	}
	if ok, _ := l.Allow(ratelimit.KeyOf("7")); !ok {
		t.Error("a quiet key is remembered beyond the bound")
	}
}

func TestLimiterAddresses(t *testing.T) {
	t.Parallel()
	l := ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 1, Exempt: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}})
	for _, tc := range []struct {
		addr string
		want bool
	}{
		{"203.0.113.1", true},
		{"203.0.113.1", false},
		{"203.0.113.2", true},
		{"2001:db8::1", true},
		{"2001:db8::2", false}, // the same /64
		{"2001:db8:0:1::1", true},
		{"198.51.100.7", true},
		{"198.51.100.7", true},
	} {
		if ok, _ := l.AllowAddr(netip.MustParseAddr(tc.addr)); ok != tc.want {
			t.Errorf("%s: got %v", tc.addr, ok)
		}
	}
}

func TestLimiterSharesCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		nodes := []*ratelimit.Limiter{
			ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 10}),
			ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 10}),
		}
		for i, l := range nodes {
			other := nodes[1-i]
			go l.Share(ctx, "node"+strconv.Itoa(i), 250*time.Millisecond, func(_ context.Context, c ratelimit.Counts) error {
				wire, err := c.AppendBinary(nil)
				if err != nil {
					return err
				}
				got, err := ratelimit.ParseCounts(wire)
				if err != nil {
					return err
				}
				other.Merge(got)
				other.Merge(got) // the bus may double
				return nil
			})
		}
		key := ratelimit.KeyOf("spread")
		total := 0
		for range 20 {
			for _, l := range nodes {
				if ok, _ := l.Allow(key); ok {
					total++
				}
			}
			time.Sleep(300 * time.Millisecond)
			synctest.Wait()
		}
		if total < 10 || total > 11 {
			t.Errorf("two nodes allowed %d requests with a limit of 10", total)
		}
	})
}

func TestNoLimiterAllows(t *testing.T) {
	t.Parallel()
	l := ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 0})
	l.Merge(ratelimit.Counts{})
	l.Share(t.Context(), "n", time.Second, nil)
	if ok, _ := l.AllowAddr(netip.Addr{}); !ok {
		t.Error("refused")
	}
}

func TestLimiterAllocatesNothing(t *testing.T) {
	l := ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 1 << 30})
	addr := netip.MustParseAddr("203.0.113.1")
	if n := testing.AllocsPerRun(1000, func() {
		l.AllowAddr(addr)
		l.Allow(ratelimit.KeyOf("did:key:z6Mk"))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseCounts(f *testing.F) {
	good, _ := ratelimit.Counts{Node: "n1", Seq: 7, Keys: map[ratelimit.Key]uint32{ratelimit.KeyOf("a"): 3}}.AppendBinary(nil)
	f.Add(good)
	f.Add([]byte{})
	f.Add([]byte{255})
	f.Add(append([]byte{255}, make([]byte, 300)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ratelimit.ParseCounts(data)
		if err != nil {
			return
		}
		again, err := c.AppendBinary(nil)
		if err != nil {
			t.Fatalf("what was parsed cannot be written: %v", err)
		}
		if len(again) != len(data) {
			t.Fatalf("%d bytes became %d", len(data), len(again))
		}
		ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 1}).Merge(c)
	})
}
