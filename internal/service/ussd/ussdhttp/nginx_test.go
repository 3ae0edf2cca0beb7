package ussdhttp_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/castalia-org/castalia/test/testenv"
)

// TestTheProxyOfTheGuide runs the nginx block of the operations guide: a gateway
// reaches the session paths and nobody else does; operators reach theirs, from
// wherever they are, and nobody without their token does.
func TestTheProxyOfTheGuide(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "nginx")
	const theGateway = "127.0.0.2"
	g := newGateway(t, options{})
	upstream := httptest.NewServer(g.server)
	t.Cleanup(upstream.Close)
	base := startNginx(t, guideBlock(t, upstream.Listener.Addr().String(), theGateway))

	ask := func(from, method, path, body, token string) (int, string) {
		t.Helper()
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		reply, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reply.Body.Close() }()
		text, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return reply.StatusCode, string(text)
	}

	body := fmt.Sprintf(`{"sessionId":"s1","serviceCode":"*2233#","phoneNumber":%q,"text":""}`, alice)
	if status, text := ask(theGateway, http.MethodPost, "/api/ussd", body, ""); status != http.StatusOK ||
		!strings.HasPrefix(text, "CON Welcome") {
		t.Errorf("the gateway hears %d %q", status, text)
	}
	for _, path := range []string{"/api/ussd", "/api/ussd/africastalking", "/api/ussd/hubtel", "/api/ussd/nalo", "/api/ussd/debug/s1"} {
		if status, text := ask("127.0.0.1", http.MethodPost, path, body, ""); status != http.StatusForbidden {
			t.Errorf("a stranger at %s hears %d %q", path, status, text)
		}
	}
	for _, path := range []string{"sessions", "debug/s1", "timeline/s1", "live", "funnel", "graph", "locks", "refusals"} {
		if status, text := ask("127.0.0.1", http.MethodGet, "/operator/ussd/"+path, "", operator); status != http.StatusOK {
			t.Errorf("the operator at %s hears %d %q", path, status, text)
		}
		if status, text := ask(theGateway, http.MethodGet, "/operator/ussd/"+path, "", ""); status != http.StatusUnauthorized {
			t.Errorf("somebody without a token at %s hears %d %q", path, status, text)
		}
	}
}

// guideBlock is what the guide puts into nginx's server block, with other addresses.
func guideBlock(t *testing.T, upstream, gateway string) string {
	t.Helper()
	guide, err := os.ReadFile("../../../../docs/guides/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?m)(^    .*\n)+`).FindString(string(guide[strings.Index(string(guide), "For nginx"):]))
	for old, now := range map[string]string{"127.0.0.1:3000": upstream, "196.0.2.0/24": gateway} {
		if !strings.Contains(block, old) {
			t.Fatalf("the guide's block does not name %s:\n%s", old, block)
		}
		block = strings.ReplaceAll(block, old, now)
	}
	return block
}

// startNginx runs nginx with a server block and returns its address. It inherits
// the socket, so that whoever connects before it is ready waits.
func startNginx(t *testing.T, block string) string {
	t.Helper()
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	var temporary strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temporary, "  %s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	user := "" // root's workers would be somebody who may not write to dir
	if os.Geteuid() == 0 {
		user = "user root;\n"
	}
	conf := fmt.Sprintf(`daemon off;
worker_processes 1;
%spid %s/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
%s  server {
    listen %s;
%s  }
}
`, user, dir, &temporary, listener.Addr(), block)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	var said lockedBuffer
	cmd := exec.Command("nginx", "-c", file, "-p", dir)
	cmd.Env = append(os.Environ(), "NGINX=3;")
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx said: %s", said.String())
		}
	})
	return "http://" + listener.Addr().String()
}
