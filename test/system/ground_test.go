package system_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestANewcomerSeesThatItRuns(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		for i := range w.Nodes {
			var landing, health map[string]any
			reply := w.Node(i).Get(t, "/")
			reply.JSON(t, &landing)
			if reply.Status != 200 || landing["status"] != "ok" || landing["environment"] != "test" || landing["message"] == "" {
				t.Errorf("GET /: %d %v", reply.Status, landing)
			}
			reply = w.Node(i).Get(t, "/health")
			reply.JSON(t, &health)
			if reply.Status != 200 || health["status"] != "ok" || health["database"] != "connected" {
				t.Errorf("GET /health: %d %v", reply.Status, health)
			}
			if _, ok := health["uptime"].(float64); !ok {
				t.Errorf("uptime is no number: %v", health["uptime"])
			}
			for _, body := range []map[string]any{landing, health} {
				if _, err := time.Parse(time.RFC3339, fmt.Sprint(body["timestamp"])); err != nil {
					t.Errorf("timestamp: %v", err)
				}
			}
			if reply.Header.Get("X-Request-Id") == "" {
				t.Error("no X-Request-Id")
			}
		}
	})
}

func TestUnknownPathsAndMethodsAnswerInJSON(t *testing.T) {
	t.Parallel()
	n := system.Start(t, system.Embedded).Node(0)
	for _, c := range []struct {
		method, path string
		status       int
		message      string
	}{
		{"GET", "/nowhere", 404, "Cannot GET /nowhere"},
		{"DELETE", "/nowhere/at/all", 404, "Cannot DELETE /nowhere/at/all"},
		{"POST", "/health", 405, "Cannot POST /health"},
	} {
		var body struct {
			StatusCode int    `json:"statusCode"`
			Message    string `json:"message"`
		}
		reply := n.Do(t, system.Call{Method: c.method, Path: c.path})
		reply.JSON(t, &body)
		if reply.Status != c.status || body.StatusCode != c.status || !strings.HasPrefix(body.Message, c.message) {
			t.Errorf("%s %s: %d %s", c.method, c.path, reply.Status, reply.Body)
		}
	}
}

func TestHealthFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	address, proxy := system.Through(t, testenv.Postgres(t))
	w := system.Start(t, system.Fleet, "DATABASE_URL="+address)
	health := func(n *system.Node, status int, database string) error {
		reply, err := n.Try(t.Context(), system.Call{Method: "GET", Path: "/health"})
		if err != nil {
			return err
		}
		if reply.Status != status || !strings.Contains(string(reply.Body), `"database":"`+database+`"`) {
			return fmt.Errorf("%d %s", reply.Status, reply.Body)
		}
		return nil
	}
	proxy.Cut()
	began := time.Now()
	for _, n := range w.Nodes {
		system.Eventually(t, "health is degraded", func() error { return health(n, 503, "disconnected") })
		if n.Ready() == nil {
			t.Error("ready without a database")
		}
	}
	t.Logf("every node was seen degraded after %s", time.Since(began)) // the promise is two seconds
	proxy.Restore()
	for _, n := range w.Nodes {
		system.Eventually(t, "health recovers by itself", func() error { return health(n, 200, "connected") })
		system.Eventually(t, "ready again", n.Ready)
	}
}

// TestDrainLosesNoAcceptedRequest asks without pause while the program is told
// to stop: a refused connection is fine, a broken answer is not.
func TestDrainLosesNoAcceptedRequest(t *testing.T) {
	t.Parallel()
	w := system.Start(t, system.Embedded, "DRAIN_DELAY=100ms")
	n := w.Node(0)
	var asked, lost atomic.Int64
	var asking sync.WaitGroup
	for range 16 {
		asking.Go(func() {
			for {
				reply, err := n.Try(context.Background(), system.Call{Method: "GET", Path: "/health"})
				switch {
				case errors.Is(err, syscall.ECONNREFUSED):
					return
				case err != nil || reply.Status != 200:
					lost.Add(1)
					t.Errorf("after %d requests: %d %v", asked.Load(), reply.Status, err)
					return
				}
				asked.Add(1)
			}
		})
	}
	system.Eventually(t, "there is load", func() error {
		if asked.Load() < 200 {
			return errors.New("not yet")
		}
		return nil
	})
	n.Stop()
	asking.Wait()
	if lost.Load() > 0 {
		t.Errorf("%d of %d accepted requests were lost", lost.Load(), asked.Load())
	}
}

// TestSlowClientsDoNotStopOthers holds thousands of connections that never
// finish their request and asks between them.
func TestSlowClientsDoNotStopOthers(t *testing.T) {
	t.Parallel()
	n := system.Start(t, system.Embedded).Node(0)
	address := strings.TrimPrefix(n.URL, "http://")
	count := 10_000
	var held []net.Conn
	defer func() {
		for _, c := range held {
			_ = c.Close()
		}
	}()
	dialer := net.Dialer{Timeout: time.Minute}
	for i := range count {
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		held = append(held, conn)
		if i%2 == 0 { // half of them say nothing at all, half a byte at a time
			_, _ = conn.Write([]byte("G"))
		}
		if i%1000 == 0 {
			if reply := n.Get(t, "/health"); reply.Status != http.StatusOK {
				t.Fatalf("with %d slow connections: %d", i, reply.Status)
			}
		}
	}
	for _, letter := range "ET /health HTTP/1.1" {
		for i := 0; i < count; i += 2 {
			_, _ = held[i].Write([]byte{byte(letter)}) // those that were closed have lost their place
		}
		if reply := n.Get(t, "/health"); reply.Status != http.StatusOK {
			t.Fatalf("with %d slow connections: %d", count, reply.Status)
		}
	}
}

func TestASecondProcessOnTheSameDataFolderIsRefused(t *testing.T) {
	t.Parallel()
	w := system.Start(t, system.Embedded)
	text, code := system.Run(t, w.Env, "serve", "--port", "0")
	if code != 1 || !strings.Contains(text, w.Data) {
		t.Errorf("exit %d: %s", code, text)
	}
}

func TestAFleetNodeWithAnotherKeyRefusesToStart(t *testing.T) {
	t.Parallel()
	w := system.Start(t, system.Fleet)
	env := append([]string{}, w.Env...)
	text, code := system.Run(t, append(env, "FILES_MASTER_KEY="+system.Key(9)), "serve", "--port", "0")
	if code != 1 || !strings.Contains(text, "FILES_MASTER_KEY: not the key") {
		t.Errorf("exit %d: %s", code, text)
	}
	text, code = system.Run(t, append(env, "ORACLE_KEY="), "serve", "--port", "0")
	if code != 1 || !strings.Contains(text, "ORACLE_KEY: not given") {
		t.Errorf("exit %d: %s", code, text)
	}
}

func TestABadSettingStopsTheStartInOneLine(t *testing.T) {
	t.Parallel()
	text, code := system.Run(t, []string{"PORT=lots"}, "serve")
	want := "castalia serve: PORT: given \"lots\" (from environment), allowed is a whole number from 0 to 65535\n"
	if code != 1 || text != want {
		t.Errorf("exit %d: %q", code, text)
	}
}

// TestTheTelephoneLimitSpansPathsAndNodes spends the budget of one minute on
// one node and finds it spent on the others.
func TestTheTelephoneLimitSpansPathsAndNodes(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		paths := []string{"/", "/health"}
		refused := 0
		for i := range 110 {
			reply := w.Node(0).Get(t, paths[i%2])
			switch {
			case reply.Status == http.StatusTooManyRequests:
				refused++
				if i < 100 || reply.Header.Get("Retry-After") == "" {
					t.Fatalf("request %d: %d %v", i+1, reply.Status, reply.Header)
				}
			case reply.Status != http.StatusOK || i >= 100:
				t.Fatalf("request %d: %d", i+1, reply.Status)
			}
		}
		if refused != 10 {
			t.Errorf("%d of 110 refused, want 10", refused)
		}
		for _, n := range w.Nodes {
			system.Eventually(t, "the others know", func() error {
				if reply := n.Get(t, "/health"); reply.Status != http.StatusTooManyRequests {
					return fmt.Errorf("%d", reply.Status)
				}
				return nil
			})
		}
	}, "RATE_LIMIT_PER_MINUTE=100")
}
