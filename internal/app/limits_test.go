package app

import (
	"net/http"
	"strings"
	"testing"
)

// TestOneCounterForTelephonesAndHealth counts /api/ussd…, /health and / of one
// address together, and nothing else with them.
func TestOneCounterForTelephonesAndHealth(t *testing.T) {
	t.Parallel()
	w := open(t)
	const from = "198.51.100.7:1000"
	ask := func(method, target string) (int, http.Header, string) {
		t.Helper()
		got := w.send(t, request{method: method, target: target, from: from, may: []string{"text"}})
		return got.Code, got.Header(), got.Body.String()
	}
	routes := [][2]string{{http.MethodGet, "/health"}, {http.MethodGet, "/"}, {http.MethodPost, "/api/ussd"}, {http.MethodGet, "/api/ussd/sessions"}}
	for i := range 100 {
		if code, _, body := ask(routes[i%len(routes)][0], routes[i%len(routes)][1]); code == http.StatusTooManyRequests {
			t.Fatalf("request %d: %s", i+1, body)
		}
	}
	for _, route := range routes {
		code, header, body := ask(route[0], route[1])
		if code != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
			t.Errorf("%v: %d %s", route, code, body)
		}
		if text := strings.HasPrefix(body, "END Service temporarily unavailable. Please try again later."); text != (route[1] == "/api/ussd") {
			t.Errorf("%v answers %q", route, body)
		}
	}
	if code, _, body := ask(http.MethodGet, "/ixo/token/params"); code != http.StatusOK {
		t.Errorf("a query is counted with them: %d %s", code, body)
	}
	if got := w.send(t, request{method: http.MethodGet, target: "/health"}); got.Code != http.StatusOK {
		t.Errorf("another address: %d", got.Code)
	}
}
