package autohttps

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func newHTTPS(t *testing.T) *HTTPS {
	t.Helper()
	h, err := New(Config{
		Names: func() []string { return []string{"a.example", "b.example"} }, Port: 443, Key: bytes.Repeat([]byte{1}, 32),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestPlainRequests(t *testing.T) {
	t.Parallel()
	const served = 0
	for _, c := range []struct {
		host, path, from string
		status           int
		to               string
	}{
		{"a.example", "/", "198.51.100.1:9", served, ""},
		{"a.example", "/health", "8.8.8.8:9", served, ""},
		{"8.8.4.4", "/api/ussd", "8.8.8.8:9", served, ""},
		{"a.example", "/api/ussd/hubtel", "8.8.8.8:9", served, ""},
		{"a.example", "/console/?a=b", "8.8.8.8:9", http.StatusPermanentRedirect, "https://a.example/console/?a=b"},
		{"B.example.:80", "/healthy", "127.0.0.1:9", http.StatusPermanentRedirect, "https://b.example/healthy"},
		{"evil.example", "/console/", "8.8.8.8:9", http.StatusMisdirectedRequest, ""},
		{"evil.example", "/.well-known/acme-challenge/x", "8.8.8.8:9", http.StatusMisdirectedRequest, ""},
		{"a.example", "//evil.example/x", "8.8.8.8:9", http.StatusPermanentRedirect, "https://a.example//evil.example/x"},
		{"10.0.0.7:3000", "/socket.io/", "10.0.0.8:9", served, ""},
		{"localhost:3000", "/ready", "127.0.0.1:9", served, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", http.NoBody)
		r.Host, r.RemoteAddr = c.host, c.from
		path, query, _ := strings.Cut(c.path, "?")
		r.URL.Path, r.URL.RawQuery = path, query
		w := httptest.NewRecorder()
		status := served
		if newHTTPS(t).Plain(w, r) {
			status = w.Code
		}
		if status != c.status || w.Header().Get("Location") != c.to {
			t.Errorf("%s%s of %s: %d %q, want %d %q", c.host, c.path, c.from, status, w.Header().Get("Location"), c.status, c.to)
		}
	}
}

// TestARedirectStaysHere asks for targets that are no paths, as no browser does.
func TestARedirectStaysHere(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"x:.evil.example/", "x:@evil.example/", "http:.evil.example", "http://evil.example/"} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target + " HTTP/1.1\r\nHost: a.example\r\n\r\n")))
		if err != nil {
			continue // the server reads it no better
		}
		r.Host, r.RemoteAddr = "a.example", "8.8.8.8:9"
		w := httptest.NewRecorder()
		if newHTTPS(t).Plain(w, r) && w.Header().Get("Location") != "https://a.example/" {
			t.Errorf("%s leads to %s", target, w.Header().Get("Location"))
		}
	}
}

func TestNamesThatNobodyCanHaveAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"localhost", "*.example.org", "Oracle.example.org", "10.0.0.1", "a..b", "a.example/x", "a.example:443", "-a.example"} {
		if err := CheckNames([]string{bad}); err == nil || !strings.Contains(err.Error(), "oracle.example.org") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := New(Config{CAFile: "none.pem"}); err == nil ||
		!strings.Contains(err.Error(), "ACME_CA_FILE") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestOnlyTheHolderWrites: a node without the lease, or with one that moved on, stores
// nothing and asks the authority nothing.
func TestOnlyTheHolderWrites(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), Migrations())
		h := newHTTPS(t)
		h.Use(db, lease.NewKeeper(db, "one"))
		ctx := t.Context()
		if err := h.cache.Put(ctx, "a.example", []byte("secret")); !errors.Is(err, errNotHeld) {
			t.Fatalf("without the lease: %v", err)
		}
		transport, err := h.transport()
		if err != nil {
			t.Fatal(err)
		}
		asked := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1/", http.NoBody)
		resp, err := transport.RoundTrip(asked)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, errNotHeld) {
			t.Fatalf("the authority was asked: %v", err)
		}
		if _, err := h.certificate(&tls.ClientHelloInfo{ServerName: "a.example"}); !errors.Is(err, autocert.ErrCacheMiss) {
			t.Fatalf("a handshake on a node without the lease: %v", err)
		}
		if _, err := h.certificate(&tls.ClientHelloInfo{ServerName: "evil.example"}); err == nil {
			t.Fatal("a name that is not ours")
		}
		old := take(t, h)
		if err := h.cache.Put(ctx, "a.example", []byte("secret")); err != nil {
			t.Fatal(err)
		}
		if got, err := h.cache.Get(ctx, "a.example"); err != nil || string(got) != "secret" {
			t.Fatalf("%q %v", got, err)
		}
		if err := h.cache.Put(ctx, "a.example+token", []byte("challenge")); err != nil {
			t.Fatal(err)
		}
		if err := h.leases.Release(ctx, old); err != nil {
			t.Fatal(err)
		}
		take(t, h)
		h.held.Store(&old)
		if err := h.cache.Put(ctx, "a.example", []byte("late")); !errors.Is(err, lease.ErrLost) {
			t.Errorf("with a lease that moved on: %v", err)
		}
		if err := h.cache.Delete(ctx, "a.example+token"); !errors.Is(err, lease.ErrLost) {
			t.Errorf("another's challenge is deleted: %v", err)
		}
		// What is moved to another name, or sealed by another key, does not open.
		if err := db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `UPDATE https_cache SET name = 'b.example' WHERE name = 'a.example'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got, err := h.cache.Get(ctx, "b.example"); !errors.Is(err, autocert.ErrCacheMiss) {
			t.Errorf("%q %v", got, err)
		}
	})
}

func take(t *testing.T, h *HTTPS) lease.Lease {
	t.Helper()
	l, ok, err := h.leases.Acquire(t.Context(), leaseName, time.Minute)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	h.held.Store(&l)
	return l
}

// TestStrangersOrderNothing: a handshake serves what is there. Only the worker of the node
// with the lease orders, in its own rhythm, whoever else connects.
func TestStrangersOrderNothing(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		var asked atomic.Int32
		authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(http.StatusNotFound)
		}))
		t.Cleanup(authority.Close)
		db := sqldbtest.Migrate(t, open(t), Migrations())
		h, err := New(Config{
			Names: func() []string { return []string{"a.example"} }, Directory: authority.URL, Key: bytes.Repeat([]byte{1}, 32),
			Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		h.Use(db, lease.NewKeeper(db, "one"))
		take(t, h)
		hello := &tls.ClientHelloInfo{ServerName: "a.example", SupportedProtos: []string{"h2"}}
		for _, there := range []struct {
			what  string
			until time.Duration
		}{{"nothing", 0}, {"a certificate that ended", -time.Hour}} {
			if there.until != 0 {
				if err := h.cache.Put(t.Context(), "a.example", certificateUntil(t, time.Now().Add(there.until))); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := h.certificate(hello); !errors.Is(err, autocert.ErrCacheMiss) || asked.Load() != 0 {
				t.Errorf("with %s: %v, asked %d times", there.what, err, asked.Load())
			}
		}
		if err := h.order(t.Context(), "a.example"); err == nil || asked.Load() == 0 {
			t.Errorf("the worker: %v, asked %d times", err, asked.Load())
		}
	})
}

// TestClientsOfOldGetTheOneCertificate: one that knows no ECDSA fails in its handshake, and
// has no second certificate ordered.
func TestClientsOfOldGetTheOneCertificate(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), Migrations())
		h := newHTTPS(t)
		h.Use(db, lease.NewKeeper(db, "one"))
		take(t, h)
		if err := h.cache.Put(t.Context(), "a.example", certificateUntil(t, time.Now().Add(90*24*time.Hour))); err != nil {
			t.Fatal(err)
		}
		got, err := h.certificate(&tls.ClientHelloInfo{
			ServerName: "a.example", CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
		})
		if err != nil || got.Leaf == nil || got.Leaf.DNSNames[0] != "a.example" {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// certificateUntil is a certificate with its key, as the manager keeps them.
func certificateUntil(t *testing.T, end time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"a.example"},
		NotBefore: end.Add(-365 * 24 * time.Hour), NotAfter: end,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})...)
}

func TestTroublesNameTheDomain(t *testing.T) {
	t.Parallel()
	h := newHTTPS(t)
	h.note("b.example", errors.New("refused"))
	if got := h.Troubles(t.Context()); len(got) != 1 || got[0].Error() != "no certificate for b.example; refused" {
		t.Error(got)
	}
	h.note("b.example", nil)
	if got := h.Troubles(t.Context()); len(got) != 0 {
		t.Error(got)
	}
}
