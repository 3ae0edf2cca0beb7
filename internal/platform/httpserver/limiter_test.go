package httpserver_test

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// clock is a clock that stands until it is moved.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 15, 12, 0, 2, 0, time.UTC)} }

func (c *clock) read() time.Time { return c.now }

func TestLimiterCountsAMinute(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 100, Now: c.read})
	key := httpserver.KeyOf("alice")
	for i := range 100 {
		if ok, _ := l.Allow(key); !ok {
			t.Fatalf("request %d was refused", i+1)
		}
	}
	ok, wait := l.Allow(key)
	if ok {
		t.Fatal("request 101 was allowed")
	}
	if ok, _ := l.Allow(httpserver.KeyOf("bob")); !ok {
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
		l := httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: limit, Now: c.read})
		key := httpserver.KeyOf("k")
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
	l := httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 1, MaxKeys: 64, Now: c.read})
	busy := httpserver.KeyOf("busy")
	l.Allow(busy)
	for i := range 100_000 {
		l.Allow(httpserver.KeyOf(strconv.Itoa(i)))
		if ok, _ := l.Allow(busy); ok { // stays in use, so it is remembered
			t.Fatal("a key in use was forgotten")
		}
	}
	if ok, _ := l.Allow(httpserver.KeyOf("7")); !ok {
		t.Error("a quiet key is remembered beyond the bound")
	}
}

func TestLimiterAddresses(t *testing.T) {
	t.Parallel()
	l := httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 1, Exempt: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}})
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
		nodes := []*httpserver.Limiter{
			httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 10}),
			httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 10}),
		}
		for i, l := range nodes {
			other := nodes[1-i]
			go l.Share(ctx, "node"+strconv.Itoa(i), 250*time.Millisecond, func(_ context.Context, c httpserver.Counts) error {
				wire, err := c.AppendBinary(nil)
				if err != nil {
					return err
				}
				got, err := httpserver.ParseCounts(wire)
				if err != nil {
					return err
				}
				other.Merge(got)
				other.Merge(got) // the bus may double
				return nil
			})
		}
		key := httpserver.KeyOf("spread")
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
	l := httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 0})
	l.Merge(httpserver.Counts{})
	l.Share(t.Context(), "n", time.Second, nil)
	if ok, _ := l.AllowAddr(netip.Addr{}); !ok {
		t.Error("refused")
	}
}

func TestLimiterAllocatesNothing(t *testing.T) {
	l := httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 1 << 30})
	addr := netip.MustParseAddr("203.0.113.1")
	if n := testing.AllocsPerRun(1000, func() {
		l.AllowAddr(addr)
		l.Allow(httpserver.KeyOf("did:key:z6Mk"))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// One limiter spans surfaces and routes; the surface writes the refusal.
func TestSharedLimiter(t *testing.T) {
	t.Parallel()
	l := httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 3})
	health := get("/health", echo())
	health.Limiter = l
	s := newServer(t, httpserver.Config{}, httpserver.Surface{
		Name: "ussd", Limiter: l, Prefixes: []string{"/api/ussd"},
		Routes: []httpserver.Route{route("POST", "/api/ussd", echo())},
		Errors: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte("END Please try again later"))
		},
	}, httpserver.Surface{Name: "app", Routes: []httpserver.Route{health, get("/free", echo())}})

	do(t, s, "POST", "/api/ussd")
	do(t, s, "GET", "/health")
	do(t, s, "GET", "/api/ussd/nothing") // what is missing counts too
	if a := do(t, s, "POST", "/api/ussd"); a.StatusCode != http.StatusTooManyRequests || a.body != "END Please try again later" {
		t.Errorf("got %d %s", a.StatusCode, a.body)
	}
	a := do(t, s, "GET", "/health")
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || a.body != `{"message":"ThrottlerException: Too Many Requests","statusCode":429}` {
		t.Errorf("got %d %v %s", a.StatusCode, a.Header, a.body)
	}
	if a := do(t, s, "GET", "/free"); a.StatusCode != http.StatusOK {
		t.Errorf("a route without the limiter got %d", a.StatusCode)
	}
}

func FuzzParseCounts(f *testing.F) {
	good, _ := httpserver.Counts{Node: "n1", Seq: 7, Keys: map[httpserver.Key]uint32{httpserver.KeyOf("a"): 3}}.AppendBinary(nil)
	f.Add(good)
	f.Add([]byte{})
	f.Add([]byte{255})
	f.Add(append([]byte{255}, make([]byte, 300)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := httpserver.ParseCounts(data)
		if err != nil {
			return
		}
		again, err := c.AppendBinary(nil)
		if err != nil {
			t.Fatalf("what was parsed can not be written: %v", err)
		}
		if len(again) != len(data) {
			t.Fatalf("%d bytes became %d", len(data), len(again))
		}
		httpserver.NewLimiter(httpserver.LimiterConfig{PerMinute: 1}).Merge(c)
	})
}
