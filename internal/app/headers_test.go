package app

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
)

// Every answer of every route, good or bad, keeps browsers and caches in bounds.
func TestHeadersOfEveryRoute(t *testing.T) {
	t.Parallel()
	w := open(t, "TRUST_PROXY_ENABLED", "true", "TRUSTED_PROXIES", "203.0.0.0/8", "OPERATOR_TOKEN", "the operator's own token")
	owner := map[string][]string{
		"oracle": headers(identity.Oracle, w.tokens["alice"]), "files": headers(identity.Files, w.tokens["alice files"]),
		"operator": {"Authorization", "Bearer the operator's own token"}, "public": nil,
	}
	for kind, rows := range map[string][]row{
		"public": append([]row{dynamicRow}, publicRows...), "operator": operatorRows, "oracle": oracleRows, "files": fileRows,
	} {
		for _, row := range rows {
			r := w.request(t, row)
			r.may = append(slices.Clone(r.may), "see", "503")
			for _, credential := range [][]string{nil, owner[kind]} {
				for _, scheme := range []string{"", "http", "https"} {
					q := r.with(credential...)
					if scheme != "" {
						q = q.with("X-Forwarded-Proto", scheme)
					}
					h := w.send(t, q).Header()
					about := func(what string) {
						t.Errorf("%s (%v): %s: %v", row.route, credential != nil, what, h)
					}
					if h.Get("Referrer-Policy") != "no-referrer" {
						about("Referrer-Policy")
					}
					if h.Get("X-Frame-Options") != "DENY" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
						about("may be framed")
					}
					if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src") || strings.Contains(csp, "unsafe-eval") {
						about("Content-Security-Policy")
					}
					if (h.Get("Strict-Transport-Security") != "") != (scheme == "https") {
						about("Strict-Transport-Security over " + scheme)
					}
					if h.Get("Server") != "" || h.Get("X-Powered-By") != "" {
						about("tells what it runs on")
					}
					if cache := h.Get("Cache-Control"); kind != "public" && !strings.Contains(cache, "no-store") && !strings.Contains(cache, "no-cache") {
						about("may be cached")
					}
				}
			}
		}
	}
}

// What a peer says of the connection counts only when it is a trusted proxy.
func TestStrictTransportNeedsATrustedProxy(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := w.send(t, request{method: http.MethodGet, target: "/models", header: []string{"X-Forwarded-Proto", "https"}})
	if got.Header().Get("Strict-Transport-Security") != "" {
		t.Error("a stranger's word was taken")
	}
}

func TestProfilesAreTakenOneAtATimeAndOnlyWhenAllowed(t *testing.T) {
	t.Parallel()
	here := func(r request) request {
		r.method, r.from, r.host = http.MethodGet, "127.0.0.1:4000", "localhost:3000"
		return r
	}
	off := open(t, "PROFILING_ENABLED", "false")
	want(t, "operator", request{}, off.send(t, here(request{target: "/debug/profile/heap"})), http.StatusNotFound)
	on := open(t)
	// A gzip header is how every profile begins.
	if got := on.send(t, here(request{target: "/debug/profile/cpu?seconds=1"})); got.Code != http.StatusOK ||
		!strings.HasPrefix(got.Body.String(), "\x1f\x8b") {
		t.Errorf("CPU profile: %d, %d bytes", got.Code, got.Body.Len())
	}
}
