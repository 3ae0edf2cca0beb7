package testenv

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// nats is the process's one NATS server. It runs while a test uses it.
var nats struct {
	sync.Mutex
	server *server.Server
	users  int
}

// NATS returns the address of a NATS server inside this process. Tests share
// it: use subjects of your own (Token helps).
func NATS(t testing.TB) string {
	t.Helper()
	nats.Lock()
	defer nats.Unlock()
	if nats.server == nil {
		nats.server = StartNATS(t, "127.0.0.1", server.RANDOM_PORT)
	}
	nats.users++
	t.Cleanup(func() {
		nats.Lock()
		defer nats.Unlock()
		if nats.users--; nats.users == 0 {
			nats.server.Shutdown()
			nats.server.WaitForShutdown()
			nats.server = nil
		}
	})
	return nats.server.ClientURL()
}

// StartNATS starts a NATS server that the test itself stops, and may start
// again on the same port, as tests of reconnection do.
func StartNATS(t testing.TB, host string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: host, Port: port, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatalf("start NATS: %v", err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("NATS did not start in time")
	}
	return s
}
