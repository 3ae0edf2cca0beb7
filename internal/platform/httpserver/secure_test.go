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
