package outbound_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
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
