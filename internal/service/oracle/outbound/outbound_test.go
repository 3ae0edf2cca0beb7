package outbound_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/outbound"
)

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

// Whoever is called says how long an answer is, and not how much of it is held.
func TestALongHeaderIsNotRead(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]bool{4 << 10: true, 1 << 20: false} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", size))
		}))
		t.Cleanup(web.Close)
		resp, err := outbound.Client(outbound.Config{AllowPrivate: true}).Get(web.URL)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
