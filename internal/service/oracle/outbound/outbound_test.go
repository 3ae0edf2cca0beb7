package outbound_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/outbound"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1": true, "127.0.0.1": false, "10.1.2.3": false, "192.168.0.1": false, "172.16.0.9": false,
		"169.254.169.254": false, "0.0.0.0": false, "100.64.1.1": false, "::1": false, "fe80::1": false, "fd00::1": false,
		"::ffff:127.0.0.1": false, "::ffff:8.8.8.8": true, "224.0.0.1": false, "255.255.255.255": false, "64:ff9b::7f00:1": false,
	} {
		if got := outbound.Public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}
	}))
	defer web.Close()
	get := func(cfg outbound.Config, path string) error {
		resp, err := outbound.Client(cfg).Get(web.URL + path)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	if err := get(outbound.Config{}, "/"); !errors.Is(err, outbound.ErrPrivate) {
		t.Errorf("loopback: %v", err)
	}
	if err := get(outbound.Config{AllowPrivate: true}, "/"); err != nil {
		t.Error(err)
	}
	if err := get(outbound.Config{AllowPrivate: true, MaxRedirects: 5}, "/away"); err == nil {
		t.Error("a redirect led to another host")
	}
}
