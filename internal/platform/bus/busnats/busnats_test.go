package busnats_test

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/bus/busnats"
	"github.com/castalia-org/castalia/internal/platform/bus/bustest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a NATS server on a port of its own (-1) or on a known one.
func serve(t *testing.T, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatalf("new NATS server: %v", err)
	}
	s.Start()
	t.Cleanup(func() { stop(s) })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	return s
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func connect(t *testing.T, address string) *busnats.Bus {
	t.Helper()
	b, err := busnats.New(busnats.Config{URL: address, ReconnectWait: 10 * time.Millisecond})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestContract(t *testing.T) {
	t.Parallel()
	s := serve(t, -1)
	bustest.Contract(t, func(t *testing.T) (a, b bus.Bus) {
		t.Helper()
		return connect(t, s.ClientURL()), connect(t, s.ClientURL())
	})
}

func TestReconnectsAfterTheServerRestarts(t *testing.T) {
	t.Parallel()
	first := serve(t, testenv.Port(t))
	address := first.ClientURL()
	b := connect(t, address)
	got := make(chan string, 1000)
	if _, err := b.Subscribe("x", func(m bus.Message) { got <- string(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "x", []byte("before")); err != nil {
		t.Fatal(err)
	}
	if m := <-got; m != "before" {
		t.Fatalf("got %q", m)
	}

	stop(first)
	eventually(t, "Ping notices that the server is away", func() bool {
		return fault.Is(b.Ping(t.Context()), fault.Unavailable)
	})
	serve(t, port(t, address))
	eventually(t, "the subscription is back", func() bool {
		if err := b.Publish(t.Context(), "x", []byte("after")); err != nil {
			return false
		}
		select {
		case m := <-got:
			return m == "after"
		case <-time.After(10 * time.Millisecond):
			return false
		}
	})
	eventually(t, "Ping works again", func() bool { return b.Ping(t.Context()) == nil })
	eventually(t, "the lapse was counted", func() bool { return b.Lapses() == 1 })
}

func TestStartsBeforeTheServer(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	b := connect(t, address)
	got := make(chan string, 1000)
	if _, err := b.Subscribe("x", func(m bus.Message) { got <- string(m.Data) }); err != nil {
		t.Fatalf("Subscribe without a server: %v", err)
	}
	if err := b.Ping(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Ping without a server: %v", err)
	}
	serve(t, port(t, address))
	eventually(t, "a message comes through", func() bool {
		_ = b.Publish(t.Context(), "x", []byte("hello"))
		select {
		case m := <-got:
			return m == "hello"
		case <-time.After(10 * time.Millisecond):
			return false
		}
	})
}

func TestWhileTheServerIsAwayHintsAreBounded(t *testing.T) {
	t.Parallel()
	b := connect(t, freeAddress(t))
	var refused error
	for range 64 {
		if refused = b.Publish(t.Context(), "x", make([]byte, 64<<10)); refused != nil {
			break
		}
	}
	if !fault.Is(refused, fault.Unavailable) {
		t.Errorf("4 MiB of hints for a server that is away: %v, want unavailable", refused)
	}
}

func TestRefusesAnAddressThatCanNeverWork(t *testing.T) {
	t.Parallel()
	if b, err := busnats.New(busnats.Config{URL: "nats://host:not-a-port"}); err == nil {
		_ = b.Close()
		t.Error("New accepted an address without a usable port")
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func port(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func freeAddress(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("nats://127.0.0.1:%d", testenv.Port(t))
}
