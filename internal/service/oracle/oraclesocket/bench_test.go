package oraclesocket_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
)

// benchServer in the environment makes this binary a gateway instead of a test:
// see socketiotest.ServeForLoad.
const benchServer = "ORACLESOCKET_BENCH_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(benchServer) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	g := oraclesocket.New(oraclesocket.Deps{Guard: anybody{}, Sessions: anything{}, Bus: busmem.New()},
		oraclesocket.Config{Node: "bench"})
	serve := g.Routes()[0].Handler
	err := socketiotest.ServeForLoad(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = serve(w, r) }))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// anybody is a Guard that believes, and holds for each socket what the real one
// holds: a watch and a timer.
type anybody struct{}

func (anybody) Authenticate(_ context.Context, _ netip.Addr, c identity.Credentials) (identity.Principal, error) {
	return identity.Principal{DID: c.Bearer, Expires: time.Now().Add(time.Hour)}, nil
}

func (anybody) OnEnd(p identity.Principal, end func()) (stop func()) {
	timer := time.AfterFunc(time.Until(p.Expires), end)
	return func() { timer.Stop() }
}

type anything struct{}

func (anything) CheckSession(context.Context, string, string) error { return nil }

// BenchmarkIdle measures the memory of 5,000 pages of as many sessions, each
// with a room that is open to the bus. The bar is 12 KiB for each.
func BenchmarkIdle(b *testing.B) {
	const sockets = 5000
	l := socketiotest.Launch(b, benchServer+"=1")
	connect := func(first, n int) {
		for i := first; i < first+n; i++ {
			l.Connect(1, func(int) string { return fmt.Sprintf("&sessionId=$session-%d:example.org", i) },
				fmt.Sprintf(`{"invocation":"did:key:z6MkuserNumber%d"}`, i), 2)
		}
	}
	connect(0, 10)
	before := l.Memory()
	connect(10, sockets)
	b.ReportMetric(float64(l.Memory()-before)/sockets/1024, "KiB/socket")
}
