// Package calltest has what tests of live calls need: a node of the oracle with
// calls, pages that call it over a real connection, and speech services that
// speak the API and misbehave on demand.
package calltest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callhttp"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callrtc"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
)

// Setup is what a node is made of; zero values are filled in.
type Setup struct {
	DB       *sqldb.DB
	Bus      bus.Bus
	Identity *identity.Service
	Provider model.Provider
	Hearing  call.SpeechToText
	Voice    call.TextToSpeech
	Archive  call.Archive
	Access   turn.Access
	Call     call.Config
	RTC      callrtc.Config
}

// services are those of a setup, for good.
type services struct {
	hearing call.SpeechToText
	voice   call.TextToSpeech
}

func (s services) Hearing() call.SpeechToText { return s.hearing }

func (s services) Voice() call.TextToSpeech { return s.voice }

// Node is one running oracle with calls.
type Node struct {
	*oraclekit.Oracle
	// Name is the node's in the fleet.
	Name     string
	URL      string
	Calls    *call.Service
	Gateway  *oraclesocket.Gateway
	Identity *identity.Service
	Signer   did.Signer
	Endpoint *callrtc.Endpoint
	stop     func()
}

// Hints is a bus that ends with the test.
func Hints(t testing.TB) bus.Bus {
	b := busmem.New()
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// Start runs a node on loopback.
func Start(t testing.TB, s Setup) *Node {
	t.Helper()
	if s.DB == nil {
		s.DB = oracletest.Migrated(t, sqldbtest.SQLite(t))
	}
	if s.Bus == nil {
		s.Bus = Hints(t)
	}
	if s.Identity == nil {
		s.Identity = identitytest.New(t)
	}
	if s.Provider == nil {
		s.Provider = scripted.Sequence(scripted.Text("Hello. ", "I am ", "here."))
	}
	if s.Call.Node == "" {
		s.Call.Node = oracle.NewID()
	}
	// A busy machine must not make a call look like one of a dead node: tests of those say when.
	s.Call.Lease = cmp.Or(s.Call.Lease, 10*Patience)
	s.RTC.Loopback = true
	endpoint, err := callrtc.New(s.RTC)
	must(t, err)
	n := &Node{Name: s.Call.Node, Identity: s.Identity, Signer: identitytest.Oracle.Signer, Endpoint: endpoint}
	n.Oracle, err = oraclekit.New(oraclekit.Deps{
		DB: s.DB, Bus: s.Bus, Identity: s.Identity, Provider: s.Provider, Access: s.Access,
		Oracle: oracle.Identity{Name: "Testa", DID: identitytest.Oracle.DID},
		Socket: func(owners oracle.SessionChecker) (oracle.Publisher, oracle.Dispatcher, error) {
			n.Gateway = oraclesocket.New(oraclesocket.Deps{
				Guard: oraclesocket.NewGuard(s.Identity), Sessions: owners, Bus: s.Bus,
			},
				oraclesocket.Config{Node: s.Call.Node})
			return n.Gateway, n.Gateway, nil
		},
		SessionGone:  func(ctx context.Context, id string) { n.Calls.SessionDeleted(ctx, id) },
		Authenticate: identityhttp.Wrap(s.Identity, identity.Oracle), CORS: httpserver.OpenCORS("*"),
		Run: run.Config{Node: s.Call.Node},
	})
	must(t, err)
	n.Calls = call.New(call.Deps{
		Store: n.Store, Endpoint: endpoint, Signer: n.Signer, Guard: s.Identity, Pages: n.Gateway, Oracle: n.Spoken(),
		Speech: services{s.Hearing, s.Voice}, Archive: s.Archive, Bus: s.Bus,
	}, s.Call)
	n.Gateway.TakeCalls(n.Calls)
	server, err := httpserver.New(httpserver.Config{Addr: "127.0.0.1:0", DrainTimeout: 5 * time.Second})
	must(t, err)
	for _, surface := range []httpserver.Surface{
		n.Surface, n.Gateway.Surface(httpserver.OpenCORS("*")),
		callhttp.Surface(callhttp.Deps{
			Calls: n.Calls, Authenticate: identityhttp.Wrap(s.Identity, identity.Oracle), CORS: httpserver.OpenCORS("*"),
		}),
	} {
		must(t, server.Mount(surface))
	}
	must(t, server.Listen(t.Context()))
	n.URL = "http://" + server.Addr()
	n.run(t, server)
	return n
}

// run serves and starts the workers, and stops them in the order of the program.
func (n *Node) run(t testing.TB, server *httpserver.Server) {
	ctx, cancel := context.WithCancel(context.Background())
	serving, stopServing := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Run(serving) }()
	var all sync.WaitGroup
	work := n.Workers()
	work["sockets"], work["calls"] = n.Gateway.Run, n.Calls.Run
	for _, w := range work {
		all.Go(func() {
			if err := w(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	n.stop = sync.OnceFunc(func() {
		stopServing()
		if err := <-served; err != nil {
			t.Error(err)
		}
		cancel()
		all.Wait()
		if err := n.Endpoint.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(n.stop)
}

// Stop stops the node as an operator would.
func (n *Node) Stop() { n.stop() }

// Patience bounds the waiting for what must happen; it is no measure of speed.
const Patience = time.Minute

// Eventually waits for something that only asking tells.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
