package queryhttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
)

func gate(t *testing.T, text string) queryhttp.Gate {
	t.Helper()
	g, err := queryhttp.ParseGate(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGate(t *testing.T) {
	t.Parallel()
	auth := identitytest.New(t)
	l := newLab(t, queryhttp.Options{})
	alice := identitytest.Invocation(t, identitytest.Alice, auth.DID())
	asked := identitytest.Invocation(t, identitytest.Alice, auth.DID(),
		identitytest.Can(identity.QueryAbility, identity.QueryResource))
	narrow := identitytest.Invocation(t, identitytest.Alice, auth.DID(), identitytest.Can("store/add", "ixo:other"))
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	key := func(k string) []string { return []string{"X-API-Key", k} }
	for _, tt := range []struct {
		rules   string
		headers []string
		status  int
	}{
		{"", nil, 200},
		{"none", bearer("nonsense"), 200},
		{"deny", nil, 403},
		{"key:abc", nil, 401},
		{"key:abc", key("abd"), 401},
		{"key:abc", key("abc"), 200},
		{"key:abc|key:def", key("def"), 200},
		{"key:abc", bearer("abc"), 401},
		{"bearer:abc", bearer("abc"), 200},
		{"bearer:abc", bearer("x"), 401},
		{"key:abc; /cosmos=key:def", key("def"), 403},
		{"/ixo=key:abc", nil, 401},
		{"/ixo/token=none; *=deny", nil, 200},
		{"/ixo/tok=deny", nil, 200}, // a group ends at a slash
		{"/ixo/token/params=deny", nil, 403},
		{"ucan", nil, 401},
		{"ucan", bearer("nonsense"), 401},
		{"ucan", bearer(alice), 200},
		{"ucan", bearer(asked), 200},
		{"ucan", bearer(narrow), 403},
		{"ucan|key:abc", key("abc"), 200},
		{"ucan|key:abc", bearer(alice), 200},
		{"ucan|key:abc", nil, 401},
	} {
		h := serve(t, l.gateway, queryhttp.Options{Gate: gate(t, tt.rules), Auth: auth})
		got := get(t, h, "/ixo/token/params", tt.headers...)
		if got.Status != tt.status {
			t.Errorf("%q: %d, want %d: %s", tt.rules, got.Status, tt.status, got.Body)
		}
		if got.Status == http.StatusOK && tt.rules != "" && tt.rules != "none" && !strings.HasPrefix(tt.rules, "/ixo/tok") &&
			strings.Contains(got.Header.Get("Cache-Control"), "public") {
			t.Errorf("%q: a gated reply may be shared: %s", tt.rules, got.Header.Get("Cache-Control"))
		}
	}
}

func TestGateComesAfterTheRoute(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{Gate: gate(t, "key:abc")})
	if got := get(t, l.handler, "/ixo/nothing"); got.Status != http.StatusNotFound {
		t.Errorf("an unknown path is 404 with or without a credential: %d", got.Status)
	}
	// The legacy form of a gated path is gated like it.
	strict := newLab(t, queryhttp.Options{Gate: gate(t, "/ixo/claims=key:abc")})
	if got := get(t, strict.handler, "/ixo/claim"); got.Status != http.StatusUnauthorized {
		t.Errorf("legacy path around the gate: %d", got.Status)
	}
}

// TestGateReadsThePathAsTheRouterDoes keeps an escaped spelling from slipping
// past the rule of its group.
func TestGateReadsThePathAsTheRouterDoes(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{Gate: gate(t, "/ixo/token=deny")})
	for _, target := range []string{"/ixo/%74oken/params", "/%69xo/token/params", "/ixo/token/param%73"} {
		if got := get(t, l.handler, target); got.Status == http.StatusOK {
			t.Errorf("%s went past the gate", target)
		}
	}
	l = newLab(t, queryhttp.Options{Gate: gate(t, "/ixo/entity/a,(b)=deny")})
	for _, target := range []string{"/ixo/entity/a,(b)", "/ixo/entity/%61,(b)", "/ixo/entity/a%2C(b)", "/ixo/entity/a,%28b%29"} {
		if got := get(t, l.handler, target); got.Status != http.StatusForbidden {
			t.Errorf("%s went past the gate: %d", target, got.Status)
		}
	}
}

func TestWrongKeysAreCounted(t *testing.T) {
	t.Parallel()
	limit := ratelimit.NewLimiter(ratelimit.LimiterConfig{Name: "failures", PerMinute: 3})
	l := newLab(t, queryhttp.Options{Gate: gate(t, "key:abc"), Guesses: limit})
	last := 0
	for range 5 {
		last = get(t, l.handler, "/ixo/token/params", "X-API-Key", "guess").Status
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the fifth guess: %d", last)
	}
	if got := get(t, l.handler, "/ixo/token/params", "X-API-Key", "abc"); got.Status != http.StatusOK {
		t.Errorf("the right key from the same address: %d", got.Status)
	}
}

func TestParseGateRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"perhaps", "key:", "key", "ucan:x", "/a", "/a=none;/a=deny", "none:x", "key:s3cret|what"} {
		_, err := queryhttp.ParseGate(text)
		if err == nil {
			t.Errorf("%q was accepted", text)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
	if _, err := queryhttp.Surface(query.New(nil, query.Config{}), queryhttp.Options{Gate: gate(t, "ucan")}); err == nil {
		t.Error("a gate for UCANs without anybody to verify them was accepted")
	}
}
