package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

var (
	crowd     = netip.MustParseAddr("198.51.100.7")
	elsewhere = netip.MustParseAddr("203.0.113.9")
)

// work takes one turn of the given length and says how long it waited for it.
func work(ctx context.Context, g *Gate, from netip.Addr, length time.Duration) (waited time.Duration, err error) {
	began := time.Now()
	turn, err := g.Enter(ctx, from)
	waited = time.Since(began)
	if err != nil {
		return waited, err
	}
	time.Sleep(length)
	turn.Leave()
	return waited, nil
}

// flood keeps so many callers of an address busy until the context ends.
func flood(ctx context.Context, g *Gate, from netip.Addr, callers int, length time.Duration) (wait func()) {
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for ctx.Err() == nil {
				_, _ = work(ctx, g, from, length)
			}
		})
	}
	return running.Wait
}

func empty(t *testing.T, g *Gate) {
	t.Helper()
	if g.running != 0 || g.beyond != 0 || g.waiting != 0 || g.within.len != 0 || g.over.len != 0 ||
		g.idle.len != len(g.networks) {
		t.Errorf("left behind: running %d (beyond %d), waiting %d, rings %d and %d, idle %d of %d",
			g.running, g.beyond, g.waiting, g.within.len, g.over.len, g.idle.len, len(g.networks))
	}
}

func TestCheapFloodLocksNobodyOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Slots: 2})
		for range 200_000 { // forty times the budget
			if _, err := work(t.Context(), g, crowd, 200*time.Microsecond); err != nil {
				t.Fatal(err)
			}
		}
		if waited, err := work(t.Context(), g, crowd, time.Millisecond); err != nil || waited != 0 {
			t.Errorf("a neighbour of what is over: waited %s, %v", waited, err)
		}
		empty(t, g)
	})
}

func TestOtherNetworksDoNotFeelAFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Slots: 4})
		ctx, stop := context.WithCancel(t.Context())
		ended := flood(ctx, g, crowd, 1000, 10*time.Millisecond)
		time.Sleep(10 * time.Second) // far beyond the budget
		for i := range 200 {
			if waited, err := work(t.Context(), g, elsewhere, time.Millisecond); err != nil || waited > 10*time.Millisecond {
				t.Fatalf("turn %d waited %s: %v", i, waited, err)
			}
		}
		stop()
		ended()
		empty(t, g)
	})
}

func TestRefusalComesAfterTheWaitOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Wait: 2 * time.Second, Slots: 2})
		ctx, stop := context.WithCancel(t.Context())
		ended := flood(ctx, g, crowd, 500, 50*time.Millisecond) // 25 s of work at a time
		time.Sleep(time.Minute)
		served, refused := 0, 0
		for range 40 {
			waited, err := work(t.Context(), g, crowd, time.Millisecond)
			switch {
			case err == nil:
				served++
			case !fault.Is(err, fault.RateLimited) || fault.From(err).RetryAfter <= 0:
				t.Fatal(err)
			case waited != 2*time.Second:
				t.Fatalf("refused after %s", waited)
			default:
				refused++
			}
			time.Sleep(137 * time.Millisecond)
		}
		if refused == 0 {
			t.Errorf("served %d, refused %d: the flood was no flood", served, refused)
		}
		stop()
		ended()
		empty(t, g)
	})
}

func TestNetworksBeyondTheirBudgetTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Slots: 2})
		ctx, stop := context.WithCancel(t.Context())
		loud := flood(ctx, g, crowd, 400, 10*time.Millisecond)
		small := netip.MustParseAddr("192.0.2.1")
		for range 200 { // uses its own time up as well
			_, _ = work(t.Context(), g, small, 10*time.Millisecond)
		}
		for i := range 50 {
			// One of the flood runs, one more may be first in the ring.
			if waited, err := work(t.Context(), g, small, 10*time.Millisecond); err != nil || waited > 20*time.Millisecond {
				t.Fatalf("turn %d waited %s: %v", i, waited, err)
			}
		}
		stop()
		loud()
		empty(t, g)
	})
}

// TestThriftyFloodsLeaveSomethingToTheOthers has so many networks within their
// budget that they could take every slot.
func TestThriftyFloodsLeaveSomethingToTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Slots: 2})
		for range 150 {
			_, _ = work(t.Context(), g, crowd, 10*time.Millisecond)
		}
		ctx, stop := context.WithCancel(t.Context())
		var floods []func()
		for i := range 200 {
			floods = append(floods, flood(ctx, g, netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 2, 10*time.Millisecond))
		}
		for i := range 10 {
			if waited, err := work(t.Context(), g, crowd, 10*time.Millisecond); err != nil || waited > 100*time.Millisecond {
				t.Fatalf("turn %d waited %s: %v", i, waited, err)
			}
		}
		stop()
		for _, ended := range floods {
			ended()
		}
		empty(t, g)
	})
}

func TestPausedTurnsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Slots: 2})
		var lookups sync.WaitGroup
		for range 100 {
			lookups.Go(func() {
				turn, err := g.Enter(t.Context(), crowd)
				if err != nil {
					t.Error(err)
					return
				}
				turn.Pause()
				time.Sleep(10 * time.Second) // somebody else's slow server
				turn.Resume()
				turn.Leave()
			})
		}
		synctest.Wait()
		if waited, err := work(t.Context(), g, crowd, 0); err != nil || waited != 0 {
			t.Errorf("a neighbour waited %s: %v", waited, err)
		}
		lookups.Wait()
		if left := g.networks[crowd].left; left != time.Second {
			t.Errorf("waiting for others was charged: %s left", left)
		}
		empty(t, g)
	})
}

func TestBudgetComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Slots: 2})
		if _, err := work(t.Context(), g, crowd, time.Hour); err != nil {
			t.Fatal(err)
		}
		n := g.networks[crowd]
		if n.left != -time.Second {
			t.Errorf("a debt of %s", -n.left)
		}
		time.Sleep(61 * time.Second)
		if g.refill(n, time.Now()) <= 0 {
			t.Errorf("%s left after a minute", n.left)
		}
		time.Sleep(time.Hour)
		if g.refill(n, time.Now()) != time.Second {
			t.Errorf("%s left after an hour", n.left)
		}
	})
}

func TestOneNetworkBySixtyFourBits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"2001:db8::1", "2001:db8::ffff:1", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
	} {
		if got := NetworkOf(netip.MustParseAddr(test.a)) == NetworkOf(netip.MustParseAddr(test.b)); got != test.same {
			t.Errorf("%s and %s: the same is %t", test.a, test.b, got)
		}
	}
	if NetworkOf(netip.Addr{}).IsValid() {
		t.Error("no address became one")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Slots: 2, MaxNetworks: 100})
		for i := range 100_000 {
			from := netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1})
			if _, err := work(t.Context(), g, from, 0); err != nil {
				t.Fatal(err)
			}
			if len(g.networks) > 100 {
				t.Fatalf("%d networks are remembered", len(g.networks))
			}
		}
		empty(t, g)
	})
}

// TestFullQueueTakesFromTheLongest fills the queue from one network: another one
// still gets in, at its cost.
func TestFullQueueTakesFromTheLongest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Hour, Slots: 2, MaxWaiting: 50})
		var flooding sync.WaitGroup
		refusals := make(chan time.Duration, 200)
		for range 100 {
			flooding.Go(func() {
				if waited, err := work(t.Context(), g, crowd, 10*time.Millisecond); err != nil {
					refusals <- waited
				}
			})
		}
		synctest.Wait()
		if g.waiting != 50 || len(refusals) != 48 {
			t.Errorf("%d wait, %d were refused", g.waiting, len(refusals))
		}
		if waited, err := work(t.Context(), g, elsewhere, 0); err != nil || waited > 20*time.Millisecond {
			t.Errorf("another network waited %s: %v", waited, err)
		}
		flooding.Wait()
		if len(refusals) != 49 {
			t.Errorf("%d were refused", len(refusals))
		}
		empty(t, g)
	})
}

func TestWhoLeavesTheQueueLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Budget: time.Second, Slots: 2})
		a, _ := g.Enter(t.Context(), crowd)
		b, _ := g.Enter(t.Context(), crowd)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Enter(ctx, crowd); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after its caller left: %v", err)
		}
		a.Leave()
		b.Leave()
		empty(t, g)
	})
}

func TestNoGate(t *testing.T) {
	t.Parallel()
	g := NewGate(GateConfig{})
	turn, err := g.Enter(t.Context(), crowd)
	if err != nil {
		t.Fatal(err)
	}
	turn.Pause()
	turn.Resume()
	turn.Leave()
	if g.Stats() != (GateStats{}) {
		t.Errorf("%+v", g.Stats())
	}
}

// TestGateUnderRandomLoad holds the gate to its bounds whatever comes.
func TestGateUnderRandomLoad(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dice := rand.New(rand.NewPCG(seed, 1))
				g := NewGate(GateConfig{
					Budget: 200 * time.Millisecond, Slots: 2 + dice.IntN(4), MaxWaiting: 20 + dice.IntN(200), MaxNetworks: 5,
				})
				var all sync.WaitGroup
				for range 1500 {
					from := netip.AddrFrom4([4]byte{10, 0, 0, byte(dice.ExpFloat64() * 3)})
					length, pause, patience := time.Duration(dice.IntN(20))*time.Millisecond, dice.IntN(5) == 0,
						time.Duration(dice.IntN(10_000))*time.Millisecond
					all.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						defer cancel()
						began := time.Now()
						turn, err := g.Enter(ctx, from)
						if time.Since(began) > 2*time.Second {
							t.Errorf("waited %s", time.Since(began))
						}
						if err != nil {
							return
						}
						time.Sleep(length)
						if pause {
							turn.Pause()
							time.Sleep(length)
							turn.Resume()
						}
						turn.Leave()
					})
					time.Sleep(time.Duration(dice.IntN(6)) * time.Millisecond)
					g.mu.Lock()
					if g.waiting > g.cfg.MaxWaiting || g.running < 0 || g.beyond > g.running || g.idle.len > 5 {
						t.Errorf("waiting %d, running %d, beyond %d, networks %d", g.waiting, g.running, g.beyond, len(g.networks))
					}
					g.mu.Unlock()
				}
				all.Wait()
				empty(t, g)
			})
		})
	}
}
