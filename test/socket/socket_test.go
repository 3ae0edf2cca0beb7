package socket_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
	"github.com/castalia-org/castalia/test/testenv"
)

// app is what the tests in JavaScript, and the official suite, expect behind a namespace.
type app struct{}

func (app) Connect(s *socketio.Socket, auth json.RawMessage) error {
	if string(auth) == `{"token":"bad"}` {
		return &socketio.RefusalError{Message: "not authorized", Data: map[string]string{"hint": "renew"}}
	}
	s.Data = auth
	return nil
}

func (app) Connected(s *socketio.Socket) { _ = s.Emit("auth", s.Data) }

func (app) Event(s *socketio.Socket, e *socketio.Event) {
	switch e.Name {
	case "message":
		if p, err := s.Namespace().PrepareRaw("message-back", e.Args, e.Attachments); err == nil {
			_ = s.Send(p)
		}
	case "message-with-ack":
		_ = e.AckRaw(e.Args, e.Attachments)
	case "ask-me":
		go func() {
			if reply, err := s.EmitAck(context.Background(), "question", e.Args[0]); err == nil {
				_ = s.Emit("answered", reply.Args[0])
			}
		}()
	case "kick-me":
		s.Disconnect(true)
	case "drop-me":
		s.Drop()
	case "join":
		var room string
		_ = e.Decode(0, &room)
		s.Join(room)
		_ = e.Ack()
	case "say":
		var room string
		_ = e.Decode(0, &room)
		if p, err := s.Namespace().Prepare("said", e.Args[1]); err == nil {
			s.Namespace().Broadcast(p, room)
		}
	}
}

func (app) Disconnect(*socketio.Socket, socketio.Reason) {}

// serve starts a server with the app in two namespaces.
func serve(t *testing.T, cfg socketio.Config) string {
	t.Helper()
	s := socketio.New(cfg)
	s.Of("/", app{})
	s.Of("/custom", app{})
	return listen(t, s, s.Shutdown)
}

func listen(t *testing.T, h http.Handler, shutdown func(context.Context) error) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = shutdown(ctx)
		server.Close()
	})
	return server.URL
}

// scripts is where the tests in JavaScript are.
const scripts = "../interop/socketio"

// patience makes a script that waits in vain name the test in which it does.
const patience = "--test-timeout=60000"

// run runs a program in a folder and shows what it said when it fails.
func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func install(t *testing.T) {
	t.Helper()
	testenv.Need(t, "node", "npm")
	if _, err := os.Stat(filepath.Join(scripts, "node_modules/socket.io-client")); err != nil {
		run(t, scripts, nil, "npm", "ci", "--no-audit", "--no-fund", "--silent")
	}
}

func TestRealClient(t *testing.T) {
	install(t)
	// Heartbeats come often, and nobody is in a hurry: a busy machine is no fault.
	url := serve(t,
		socketio.Config{Engine: engineio.Config{PingInterval: 300 * time.Millisecond, PingTimeout: 20 * time.Second}})
	run(t, scripts, []string{"SOCKETIO_URL=" + url}, "node", "--test", patience, "client.test.js")
}

type sessions map[string]string

func (s sessions) CheckSession(_ context.Context, owner, id string) error {
	if s[id] != owner {
		return fault.New(fault.NotFound, "Session not found")
	}
	return nil
}

func TestRealClientAtTheGateway(t *testing.T) {
	install(t)
	const session = "$abc:example.org"
	ids := identitytest.New(t)
	hints := busmem.New()
	t.Cleanup(func() { _ = hints.Close() })
	g := oraclesocket.New(oraclesocket.Deps{
		Guard: oraclesocket.NewGuard(ids), Bus: hints,
		Sessions: sessions{session: identitytest.Alice.DID},
	}, oraclesocket.Config{Node: "a", Alone: true})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	mux := http.NewServeMux()
	mux.HandleFunc(oraclesocket.Path, func(w http.ResponseWriter, r *http.Request) { _ = g.Routes()[0].Handler(w, r) })
	mux.HandleFunc("/call", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		out, err := g.Dispatch(r.Context(), oracle.Call{
			ID: "call-" + r.FormValue("socket"), Kind: oracle.BrowserTool, SessionID: session, RequestID: "r",
			Owner: identitytest.Alice.DID,
			Name:  "double", Args: json.RawMessage(`{"n":` + strconv.Itoa(n) + `}`), Deadline: time.Now().Add(10 * time.Second),
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(out)
	})
	url := listen(t, mux, func(context.Context) error { return nil })
	run(t, scripts, []string{
		"GATEWAY_URL=" + url, "GATEWAY_CALL=" + url + "/call", "GATEWAY_SESSION=" + session,
		"GATEWAY_INVOCATION=" + identitytest.Invocation(t, identitytest.Alice, ids.DID()),
		"GATEWAY_DELEGATION=" + identitytest.UserToOracle(t, identitytest.Alice, ids.DID()),
	}, "node", "--test", patience, "gateway.test.js")
}

// echo is the plain Engine.IO server of the official suite.
type echo struct{}

func (echo) Message(m engineio.Message) []engineio.Frame {
	if m.Binary {
		return []engineio.Frame{engineio.NewBinary(m.Data)}
	}
	return []engineio.Frame{engineio.NewText(m.Data)}
}

func (echo) Closed(engineio.Reason) {}

// TestOfficialSuites runs the protocols' own test suites. They are not ours to
// keep: SOCKETIO_SUITES names a checkout of the docs folder that has them.
func TestOfficialSuites(t *testing.T) {
	testenv.Need(t, "node", "npm", "SOCKETIO_SUITES")
	docs := testenv.Env(t, "SOCKETIO_SUITES")
	// what the suites expect
	cfg := engineio.Config{PingInterval: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond}
	engine := engineio.New(cfg, func(*engineio.Session) engineio.Receiver { return echo{} })
	for suite, url := range map[string]string{
		"engine.io-protocol/v4-test-suite": listen(t, engine, engine.Shutdown),
		"socket.io-protocol/v5-test-suite": serve(t, socketio.Config{ConnectTimeout: 10 * time.Second, Engine: cfg}),
	} {
		t.Run(suite, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(docs, suite))); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "test-suite.js")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = []byte(strings.ReplaceAll(string(text), "http://localhost:3000", url))
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
				run(t, dir, nil, "npm", "ci", "--no-audit", "--no-fund", "--silent")
			}
			run(t, dir, nil, "npx", "mocha", "--timeout=20000", "--exit", "test-suite.js") // a busy machine is no fault
		})
	}
}
