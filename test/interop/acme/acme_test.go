// Package acme has a real certificate authority (Pebble, which Let's Encrypt tests
// its clients with) issue certificates for a fleet of ours.
package acme

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"github.com/castalia-org/castalia/internal/app/autohttps"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

const domain = "oracle.castalia.test"

// authority is a Pebble that looks at names' ports on this machine.
type authority struct {
	server *httptest.Server
	file   string // what vouches for the authority's own address
	roots  *x509.CertPool
}

// everyNameIsHere resolves every name to this machine.
func everyNameIsHere(t *testing.T) string {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0") // Pebble asks so
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: port, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
		reply := new(dns.Msg).SetReply(r)
		if q := r.Question[0]; q.Qtype == dns.TypeA {
			reply.Answer = append(reply.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1),
			})
		}
		_ = w.WriteMsg(reply)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return port.Addr().String()
}

func newAuthority(t *testing.T, httpPort, tlsPort int) authority {
	t.Helper()
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "default"}})
	front := wfe.New(quiet, store, va.New(quiet, httpPort, tlsPort, false, everyNameIsHere(t), store), issuer,
		[]string{"pebble.letsencrypt.org"}, false, false, 1, 1)
	a := authority{
		server: httptest.NewTLSServer(front.Handler()), file: filepath.Join(t.TempDir(), "authority.pem"),
		roots: x509.NewCertPool(),
	}
	t.Cleanup(a.server.Close)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	if err := os.WriteFile(a.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if !a.roots.AppendCertsFromPEM(issuer.GetRootCert(0).PEM()) {
		t.Fatal("the authority has no root")
	}
	return a
}

// freePorts are four ports that nobody has now.
func freePorts(t *testing.T) (ports [4]int) {
	t.Helper()
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after all are known: none comes twice
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// node is one of a fleet.
type node struct {
	plain, port int
	order       func() // begins to get certificates
	stop        func()
}

func startNode(t *testing.T, name string, a authority, plain, port int, db *sqldb.DB) node {
	t.Helper()
	h, err := autohttps.New(autohttps.Config{
		Names: func() []string { return []string{domain} },
		Email: "ada@castalia.test", Directory: a.server.URL + wfe.DirectoryPath, CAFile: a.file, Port: port,
		Key: bytes.Repeat([]byte{7}, 32), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Use(db, lease.NewKeeper(db, name))
	server, err := httpserver.New(httpserver.Config{
		Addr: fmt.Sprintf("127.0.0.1:%d", plain), TLSAddr: fmt.Sprintf("127.0.0.1:%d", port), TLS: h.TLS(), Plain: h.Plain,
	})
	if err != nil {
		t.Fatal(err)
	}
	say := func(w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s %s", r.Proto, body)
		}
		return err
	}
	surface := httpserver.Surface{Name: "test", Routes: []httpserver.Route{
		{Method: http.MethodGet, Pattern: "/health", Auth: httpserver.Public, Handler: say},
		{Method: http.MethodPost, Pattern: "/echo", Auth: httpserver.Public, Handler: say},
	}}
	if err := server.Mount(surface); err != nil {
		t.Fatal(err)
	}
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Run(ctx) })
	stop := sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return node{plain: plain, port: port, order: func() { running.Go(func() { _ = h.Run(ctx) }) }, stop: stop}
}

// client reaches one node under the domain.
func client(a authority, n node) *http.Client {
	to := func(port int) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", port))
		}
	}
	secure := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: a.roots}, ForceAttemptHTTP2: true, DialContext: to(n.port),
	}
	plain := &http.Transport{DialContext: to(n.plain)}
	return &http.Client{
		Transport: byScheme{"https": secure, "http": plain}, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type byScheme map[string]http.RoundTripper

func (b byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	return b[r.URL.Scheme].RoundTrip(r)
}

// eventually asks until there is an answer.
func eventually(t *testing.T, c *http.Client, url string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		resp, err := c.Get(url)
		if err == nil {
			return resp
		}
		select {
		case <-ctx.Done():
			t.Fatalf("GET %s: %v", url, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// TestMain has Pebble validate at once: it otherwise sleeps for up to fifteen seconds.
func TestMain(m *testing.M) {
	if err := os.Setenv("PEBBLE_VA_NOSLEEP", "1"); err != nil {
		panic(err)
	}
	m.Run()
}

// TestAFleetGetsItsCertificate: one node orders, the authority asks the other one,
// both serve the same certificate, and after both are gone a third has it still,
// without asking anybody.
func TestAFleetGetsItsCertificate(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		store := sqldbtest.Migrate(t, open(t), autohttps.Migrations())
		ports := freePorts(t)
		a := newAuthority(t, ports[2], ports[3])
		first := startNode(t, "first", a, ports[0], ports[1], store)
		second := startNode(t, "second", a, ports[2], ports[3], store)
		first.order() // now that the other one, which the authority will ask, is there
		second.order()
		url := fmt.Sprintf("https://%s/health", domain)
		var serials []string
		for _, n := range []node{first, second} {
			resp := eventually(t, client(a, n), url)
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusOK || string(body) != "HTTP/2.0 " || resp.Header.Get("Strict-Transport-Security") == "" {
				t.Errorf("%d %q %v", resp.StatusCode, body, resp.Header)
			}
			serials = append(serials, resp.TLS.PeerCertificates[0].SerialNumber.String())
		}
		if serials[0] != serials[1] {
			t.Errorf("two certificates were ordered: %v", serials)
		}
		checkPlain(t, client(a, second), second.port)
		checkSealed(t, store)
		first.stop()
		second.stop()
		a.server.Close()
		third := startNode(t, "third", a, ports[0], ports[1], store)
		third.order()
		resp := eventually(t, client(a, third), url)
		if got := resp.TLS.PeerCertificates[0].SerialNumber.String(); got != serials[0] {
			t.Errorf("another certificate: %s", got)
		}
		// A connection that requests share outlives the time in which each must progress.
		big := strings.Repeat("x", 1<<20)
		if resp, err := client(a, third).Post(fmt.Sprintf("https://%s/echo", domain), "text/plain",
			strings.NewReader(big)); err != nil || resp.ContentLength == 0 {
			t.Errorf("a large body: %v %v", resp, err)
		}
	})
}

// checkPlain: without TLS there is health, and the way to HTTPS.
func checkPlain(t *testing.T, c *http.Client, port int) {
	t.Helper()
	resp, err := c.Get("http://" + domain + "/health")
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Strict-Transport-Security") != "" {
		t.Fatal(resp, err)
	}
	resp, err = c.Post("http://"+domain+"/echo?a=b", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("https://%s:%d/echo?a=b", domain, port); resp.StatusCode != http.StatusPermanentRedirect ||
		resp.Header.Get("Location") != want {
		t.Errorf("%d %q, want %q", resp.StatusCode, resp.Header.Get("Location"), want)
	}
}

// checkSealed: the database alone tells nobody a key.
func checkSealed(t *testing.T, store *sqldb.DB) {
	t.Helper()
	rows, err := store.Read().QueryContext(t.Context(), `SELECT name, body FROM https_cache ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		var body []byte
		if err := rows.Scan(&name, &body); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(body, []byte("PRIVATE KEY")) || bytes.Contains(body, []byte("CERTIFICATE")) {
			t.Errorf("%s is readable", name)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "acme_account+key") || !strings.Contains(got, domain) {
		t.Errorf("kept are %s", got)
	}
}
