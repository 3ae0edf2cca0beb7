package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
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
	routes := [][2]string{
		{http.MethodGet, "/health"},
		{http.MethodGet, "/"},
		{http.MethodPost, "/api/ussd"},
		{http.MethodGet, "/api/ussd/sessions"},
	}
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

// TestLimitsAreMeasured looks for what was refused, and for nothing of a limit
// that is switched off.
func TestLimitsAreMeasured(t *testing.T) {
	t.Parallel()
	l := newLimits(config.Server{GuessLimit: 1}, config.Identity{}, nil)
	m := telemetry.NewMetrics()
	l.measure(m)
	l.guesses.Allow(ratelimit.KeyOf("a"))
	l.guesses.Allow(ratelimit.KeyOf("a"))
	got := httptest.NewRecorder()
	m.Handler().ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, line := range []string{"castalia_rate_limit_wrong_secret_refused_total 1", "castalia_rate_limit_wrong_secret_keys 1"} {
		if !strings.Contains(got.Body.String(), line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(got.Body.String(), "rate_limit_pages") {
		t.Error("a limit that is switched off is measured")
	}
}

// unlimited are the routes without a credential that have no limit by address,
// and why.
var unlimited = map[string]string{
	"GET /ready":        "proxies ask it, often and from one address",
	"GET /ready/{part}": "as above",
	"GET /socket.io/":   "its handshake takes the time of verification of its address",
	"POST /socket.io/":  "as above; without a handshake nothing is done",
}

// checked are routes of plugins that want a secret of their own, whose wrong ones
// are counted.
var checked = []string{"/credits/grants", "/claims/cron/", "/teamchat/"}

// TestAnonymousRoutesHaveLimits finds every route that needs no credential.
func TestAnonymousRoutesHaveLimits(t *testing.T) {
	t.Parallel()
	w := open(t)
	used := map[string]bool{}
	for _, route := range w.Routes() {
		name := route.Method + " " + route.Pattern
		if route.Auth != httpserver.Public || route.Surface == "ussd" { // which has one for all its routes
			continue
		}
		if slices.ContainsFunc(checked, func(prefix string) bool { return strings.HasPrefix(route.Pattern, prefix) }) {
			continue
		}
		switch _, known := unlimited[name]; {
		case known:
			used[name] = true
		case route.Limit == "" && route.Limiter == nil:
			t.Errorf("%s of %s has no limit by address", name, route.Surface)
		}
	}
	for name := range unlimited {
		if !used[name] {
			t.Errorf("%s is not there", name)
		}
	}
}

// TestLimitsOfAnonymousRoutes spends each class's limit: the class is refused at
// that address, and nothing else.
func TestLimitsOfAnonymousRoutes(t *testing.T) {
	t.Parallel()
	w := open(t, "PUBLIC_FILES_RATE_LIMIT_PER_MINUTE", "5", "PAGES_RATE_LIMIT_PER_MINUTE", "6", "REVOCATION_RATE_LIMIT_PER_MINUTE", "4")
	const from = "198.51.100.7:1000"
	for _, class := range []struct {
		allowed int
		asks    []request
	}{
		{
			5,
			[]request{
				{method: http.MethodGet, target: "/public/id/x"},
				{method: http.MethodHead, target: "/public/id/y", may: []string{"text"}},
			},
		},
		{6, []request{
			{method: http.MethodGet, target: "/docs-json"},
			{method: http.MethodGet, target: "/docs"},
			{method: http.MethodGet, target: "/console/share", may: []string{"text"}},
		}},
		{4, []request{{method: http.MethodPost, target: "/api/revocations", body: `{"revocation":"x"}`}}},
	} {
		for i := range class.allowed + 4 {
			ask := class.asks[i%len(class.asks)]
			ask.from = from
			got := w.send(t, ask)
			if refused := got.Code == http.StatusTooManyRequests; refused != (i >= class.allowed) ||
				refused && got.Header().Get("Retry-After") == "" {
				t.Errorf("%s %s, request %d: %d, Retry-After %q", ask.method, ask.target, i+1, got.Code, got.Header().Get("Retry-After"))
			}
		}
		ask := class.asks[0]
		ask.from = "198.51.100.8:1000"
		if got := w.send(t, ask); got.Code == http.StatusTooManyRequests {
			t.Errorf("%s at another address: %d", ask.target, got.Code)
		}
	}
}
