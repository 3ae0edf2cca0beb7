package httpserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// startSecure runs a server with TLS and returns a client that speaks HTTP/2 with it,
// and where.
func startSecure(t *testing.T, cfg httpserver.Config,
	surface httpserver.Surface,
) (s *running, c *http.Client, url string) {
	t.Helper()
	lender := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate for 127.0.0.1
	defer lender.Close()
	roots := x509.NewCertPool()
	roots.AddCert(lender.Certificate())
	cfg.TLS = &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"}}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.TLSAddr = port.Addr().String()
	_ = port.Close()
	s = start(t, cfg, surface)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return s, &http.Client{Transport: tr, Timeout: 30 * time.Second}, "https://" + cfg.TLSAddr
}

// TestAnUploadDoesNotEndItsNeighbours: a connection on which one request waits for its
// client and another is worked on makes room for nobody.
func TestAnUploadDoesNotEndItsNeighbours(t *testing.T) {
	t.Parallel()
	working, uploading, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	surface := httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/work", func(w http.ResponseWriter, r *http.Request) error {
			close(working)
			<-release
			return httpserver.WriteJSON(w, http.StatusOK, r.Proto)
		}),
		route("POST", "/upload", func(w http.ResponseWriter, r *http.Request) error {
			if _, err := io.ReadFull(r.Body, make([]byte, 1)); err != nil {
				return err
			}
			close(uploading)
			return readAll(w, r)
		}),
		get("/ok", echo()),
	}}
	s, c, url := startSecure(t, httpserver.Config{MaxConns: 2}, surface)
	worked, uploaded := make(chan string, 1), make(chan error, 1)
	go func() {
		_, text, err := fetch(c, "GET", url+"/work", nil)
		if err != nil {
			text = err.Error()
		}
		worked <- text
	}()
	<-working
	body, more := io.Pipe()
	go func() {
		_, _, err := fetch(c, "POST", url+"/upload", body)
		uploaded <- err
	}()
	if _, err := more.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	<-uploading
	for range 8 {
		if status, _, err := fetch(client(t), "GET", s.url("/ok"), nil); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	close(release)
	if text := <-worked; text != `"HTTP/2.0"` {
		t.Errorf("the neighbour got %s", text)
	}
	if err := more.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-uploaded; err != nil {
		t.Errorf("the upload: %v", err)
	}
}

// TestWhatIsAnsweredBeforeHTTPSHasAnID: a redirect to HTTPS names its request as every other answer does.
func TestWhatIsAnsweredBeforeHTTPSHasAnID(t *testing.T) {
	t.Parallel()
	redirects := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/ok" {
			return false
		}
		w.Header().Set("Location", "https://a.example/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return true
	}
	routes := []httpserver.Route{get("/ok", echo())}
	s := start(t, httpserver.Config{Plain: redirects}, httpserver.Surface{Name: "a", Routes: routes})
	for path, status := range map[string]int{"/ok": http.StatusOK, "/away": http.StatusPermanentRedirect} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-Id", "the-id")
		resp, err := client(t).Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if ids := resp.Header["X-Request-Id"]; resp.StatusCode != status || len(ids) != 1 || ids[0] != "the-id" {
			t.Errorf("%s: %d with ids %q", path, resp.StatusCode, ids)
		}
	}
}
