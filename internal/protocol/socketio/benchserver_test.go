package socketio_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

// benchServer names, in the environment, the server that this binary is to be
// instead of running tests: benchmarks measure the processor time and the
// memory of a server alone, so it has a process of its own.
const benchServer = "SOCKETIO_BENCH_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(benchServer); kind != "" {
		if err := runBenchServer(kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// benchPacket is what both servers send to everybody.
const benchPacket = `42["said",{"sessionId":"$s:example.org","requestId":"5f0c7a","componentName":"Widget","status":"done"}]`

func runBenchServer(kind string) error {
	switch kind {
	case "ours":
		s := socketio.New(socketio.Config{ConnectTimeout: time.Minute})
		h := &benchApp{}
		h.namespace = s.Of("/", h)
		return socketiotest.ServeForLoad(s)
	case "bare":
		return socketiotest.ServeForLoad(&bareServer{conns: make(map[*bareConn]struct{})})
	}
	return fmt.Errorf("unknown server %q", kind)
}

// benchApp broadcasts when it is told "go", and acknowledges what wants it.
type benchApp struct{ namespace *socketio.Namespace }

func (a *benchApp) Connect(*socketio.Socket, json.RawMessage) error { return nil }
func (a *benchApp) Connected(s *socketio.Socket)                    { s.Join("room") }
func (a *benchApp) Disconnect(*socketio.Socket, socketio.Reason)    {}
func (a *benchApp) Event(_ *socketio.Socket, e *socketio.Event) {
	if e.Name != "go" {
		_ = e.AckRaw(e.Args, nil)
		return
	}
	p, err := a.namespace.PrepareRaw("said", []json.RawMessage{[]byte(benchPacket[len(`42["said",`) : len(benchPacket)-1])}, nil)
	if err == nil {
		a.namespace.Broadcast(p, "room")
	}
}

// bareServer does the same with nothing but a WebSocket: the mark to measure by.
type bareServer struct {
	mu    sync.Mutex
	conns map[*bareConn]struct{}
}

type bareConn struct {
	mu sync.Mutex
	*websocket.Conn
}

var bareUpgrader = websocket.Upgrader{
	ReadBufferSize: 512, WriteBufferSize: 512, WriteBufferPool: &sync.Pool{},
	CheckOrigin: func(*http.Request) bool { return true },
}

func (s *bareServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := bareUpgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &bareConn{Conn: conn}
	c.send([]byte("0{}"))
	go s.serve(c)
}

func (s *bareServer) serve(c *bareConn) {
	defer func() { _ = c.Close() }()
	for {
		_, data, err := c.ReadMessage()
		switch {
		case err != nil:
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
			return
		case string(data) == "40":
			c.send([]byte(`40{"sid":"x"}`))
			s.mu.Lock()
			s.conns[c] = struct{}{}
			s.mu.Unlock()
		case string(data) == `42["go"]`:
			s.broadcast()
		default:
			data[1] = '3'
			c.send(data)
		}
	}
}

func (c *bareConn) send(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.SetWriteDeadline(time.Now().Add(20 * time.Second))
	_ = c.WriteMessage(websocket.TextMessage, data)
}

func (s *bareServer) broadcast() {
	p, err := websocket.NewPreparedMessage(websocket.TextMessage, []byte(benchPacket))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		_ = c.SetWriteDeadline(time.Now().Add(20 * time.Second))
		_ = c.WritePreparedMessage(p)
		c.mu.Unlock()
	}
}
