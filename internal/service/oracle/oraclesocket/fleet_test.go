package oraclesocket_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/bus/busnats"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestADeletedSessionEndsItsPages(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2)
	pages := []*socketiotest.Client{nodes[0].connect(t), nodes[1].connect(t)}
	stays := socketiotest.Connect(t, nodes[1].url, "sessionId=$alice:2", nodes[1].auth(t, identitytest.Alice))
	stays.ExpectEvent("connected", nil)
	nodes[0].CloseSession(t.Context(), alices)
	for _, page := range pages {
		page.Expect("41")
		page.ExpectClose()
	}
	stays.Emit("ping")
	stays.ExpectEvent("pong", nil)
}

// TestOverNATS takes the bus away and gives it back: the node's own pages go on
// hearing their node, the rooms join again by themselves, and every page is told
// to read what it may have missed.
func TestOverNATS(t *testing.T) {
	t.Parallel()
	server := testenv.StartNATS(t, "127.0.0.1", testenv.Port(t))
	address := server.ClientURL()
	port := 0
	if _, err := fmt.Sscanf(address, "nats://127.0.0.1:%d", &port); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	ids := identitytest.New(t)
	var nodes []*node
	var buses []*busnats.Bus
	for _, name := range []string{"a", "b"} {
		hints, err := busnats.New(busnats.Config{URL: address, ReconnectWait: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hints.Close() })
		buses = append(buses, hints)
		nodes = append(nodes, start(t, hints, ids, name, false, func(_ *oraclesocket.Deps, c *oraclesocket.Config) {
			c.AskWindow = 5 * time.Second // a busy machine must not choose the page
		}))
	}
	here, there := nodes[0].connect(t), nodes[1].connect(t)
	for _, b := range buses { // the rooms are open
		if err := b.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	say := func() { _ = nodes[0].Publish(t.Context(), event(t, oracle.EventRenderComponent)) }
	say()
	here.ExpectEvent("render_component", nil)
	there.ExpectEvent("render_component", nil)
	time.Sleep(2 * time.Millisecond)
	there.Emit("ping")
	there.ExpectEvent("pong", nil)
	answered(t, there, nodes[0], "over-nats")

	server.Shutdown()
	server.WaitForShutdown()
	eventually(t, "the bus is away", func() bool { return fault.Is(buses[0].Ping(t.Context()), fault.Unavailable) })
	say()
	here.ExpectEvent("render_component", nil)

	// What was said meanwhile may be lost, so both pages are told to read again.
	again := testenv.StartNATS(t, "127.0.0.1", port)
	t.Cleanup(func() {
		again.Shutdown()
		again.WaitForShutdown()
	})
	eventually(t, "the bus is back", func() bool {
		return buses[0].Ping(t.Context()) == nil && buses[1].Ping(t.Context()) == nil
	})
	until(t, here, "message_cache_invalidation")
	until(t, there, "message_cache_invalidation")
	say()
	until(t, there, "render_component")
}

// until reads events up to the one of that name, which is for Alice's session.
func until(t *testing.T, c *socketiotest.Client, name string) {
	t.Helper()
	for {
		got, arg := c.Event()
		if got != name {
			continue
		}
		if m := fields(t, arg); m["sessionId"] != alices {
			t.Fatalf("%s %s", got, arg)
		}
		return
	}
}

// awayBus is a bus that refuses hints while it is away, without a lapse of its
// connection.
type awayBus struct {
	bus.Bus
	away *atomic.Bool
}

func (b awayBus) Publish(ctx context.Context, subject string, data []byte) error {
	if b.away.Load() {
		return fault.New(fault.Unavailable, "away")
	}
	return b.Bus.Publish(ctx, subject, data)
}

// TestPagesReadAgainAfterRefusedHints lets one node speak while the bus refuses
// it: the pages of the others are told once it does not.
func TestPagesReadAgainAfterRefusedHints(t *testing.T) {
	t.Parallel()
	away := new(atomic.Bool)
	nodes := fleet(t, 2, func(d *oraclesocket.Deps, c *oraclesocket.Config) {
		c.Mend = 5 * time.Millisecond
		if c.Node == "a" {
			d.Bus = awayBus{d.Bus, away}
		}
	})
	there := nodes[1].connect(t)
	away.Store(true)
	if err := nodes[0].Publish(t.Context(), event(t, oracle.EventRenderComponent)); err == nil {
		t.Fatal("Publish hid that the bus is away")
	}
	away.Store(false)
	there.ExpectEvent("message_cache_invalidation", nil)
}

// droppingBus is a bus whose subscriptions say that they lost hints.
type droppingBus struct {
	bus.Bus
	dropped *atomic.Uint64
}

func (b droppingBus) Subscribe(subject string, fn func(bus.Message)) (bus.Subscription, error) {
	s, err := b.Bus.Subscribe(subject, fn)
	return dropping{s, b.dropped}, err
}

type dropping struct {
	bus.Subscription
	dropped *atomic.Uint64
}

func (d dropping) Dropped() uint64 { return d.dropped.Load() }

func TestPagesReadAgainAfterDroppedHints(t *testing.T) {
	t.Parallel()
	dropped := new(atomic.Uint64)
	nodes := fleet(t, 2, func(d *oraclesocket.Deps, _ *oraclesocket.Config) { d.Bus = droppingBus{d.Bus, dropped} })
	there := nodes[1].connect(t)
	for _, lost := range []uint64{0, 3} {
		dropped.Store(lost)
		for range 2 { // told once
			if err := nodes[0].Publish(t.Context(), event(t, oracle.EventRenderComponent)); err != nil {
				t.Fatal(err)
			}
		}
		if lost > 0 {
			there.ExpectEvent("message_cache_invalidation", nil)
		}
		there.ExpectEvent("render_component", nil)
		there.ExpectEvent("render_component", nil)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(socketiotest.Patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestAThousandPagesReconnectAtOnce stops a node with half of the pages.
func TestAThousandPagesReconnectAtOnce(t *testing.T) {
	t.Parallel()
	const total = 1000
	nodes := fleet(t, 2, manyPerUser)
	auth := nodes[0].auth(t, identitytest.Alice)
	open := func(n *node) *socketiotest.Client {
		c := socketiotest.Connect(t, n.url, "sessionId="+alices, auth)
		c.ExpectEvent("connected", nil)
		return c
	}
	pages := make([]*socketiotest.Client, total)
	each := func(from, to int, do func(i int)) {
		var wg sync.WaitGroup
		for i := from; i < to; i++ {
			wg.Go(func() { do(i) })
		}
		wg.Wait()
	}
	each(0, total, func(i int) { pages[i] = open(nodes[i%2]) })
	go nodes[0].stop()
	each(0, total/2, func(i int) {
		pages[2*i].ExpectClose()
		pages[2*i] = open(nodes[1])
	})
	if err := nodes[1].Publish(t.Context(), event(t, oracle.EventRenderComponent)); err != nil {
		t.Fatal(err)
	}
	each(0, total, func(i int) { pages[i].ExpectEvent("render_component", nil) })
	if got := nodes[1].Stats(); got.Sockets != total || got.Overflowed != 0 {
		t.Errorf("after all: %+v", got)
	}
}
