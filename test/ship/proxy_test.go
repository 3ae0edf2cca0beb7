package ship_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

// TestTheProxyOfTheComposeFile runs deploy/proxy.conf before two nodes of which
// one drains: nobody notices.
func TestTheProxyOfTheComposeFile(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "nginx")
	conf, err := os.ReadFile(filepath.Join(root, "deploy", "proxy.conf"))
	if err != nil {
		t.Fatal(err)
	}
	node := func(status int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, "%s %s", r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Host"))
		}))
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	dir, port := t.TempDir(), testenv.Port(t)
	block := strings.NewReplacer("node1:3000", node(http.StatusServiceUnavailable), "node2:3000", node(http.StatusOK),
		"listen 8080", fmt.Sprintf("listen 127.0.0.1:%d", port)).Replace(string(conf))
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	text := fmt.Sprintf("daemon off; worker_processes 1; %s pid %s/pid; error_log stderr; events {} http { access_log off; proxy_temp_path %s/p; client_body_temp_path %s/b;\n%s}\n", user, dir, dir, dir, block)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "nginx", "-c", file, "-p", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	system.Eventually(t, "the proxy is up", func() error {
		_, err := ask(t.Context(), http.MethodGet, base, "")
		return err
	})
	for range 10 {
		if said, err := ask(t.Context(), http.MethodGet, base+"/ready", ""); err != nil || said != "127.0.0.1 127.0.0.1" {
			t.Errorf("%q, %v", said, err)
		}
	}
}

// TestTheUnitIsConfined asks systemd how exposed the service would be.
func TestTheUnitIsConfined(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "systemd-analyze")
	// The threshold is in tenths of the scale, from 0 (nothing can happen) to 100.
	said := do(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", filepath.Join(root, "deploy", "castalia.service"))
	if !strings.Contains(said, "Overall exposure level") {
		t.Error(said)
	}
}
