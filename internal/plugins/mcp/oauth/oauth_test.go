package oauth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/plugins/mcp/oauth"
	"github.com/castalia-org/castalia/internal/service/oracle/outbound"
)

// Whoever is named by strangers is public, and is asked over TLS.
func TestOnlyPublicAddressesAreAsked(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	dial := outbound.Dialer(false).DialContext
	for _, c := range []*oauth.Client{oauth.New(dial, true), oauth.New(dial, false), oauth.New(nil, false)} {
		for _, address := range []string{plain.URL, secure.URL, "http://169.254.169.254/latest", "http://[::1]:1/"} {
			g := oauth.Grant{Token: address, Revoke: address}
			if _, err := c.Discover(t.Context(), address+"/mcp", nil); err == nil {
				t.Errorf("discover at %s", address)
			}
			if _, err := c.Renew(t.Context(), g, "secret-token"); err == nil || strings.Contains(err.Error(), "secret-token") {
				t.Errorf("renew at %s: %v", address, err)
			}
			if err := c.Revoke(t.Context(), g, "secret-token", "access_token"); err == nil {
				t.Errorf("revoke at %s", address)
			}
			if _, err := c.Register(t.Context(), oauth.Found{Register: address}, "x", "x", "x"); err == nil {
				t.Errorf("register at %s", address)
			}
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests went through", n)
	}
}

func TestCheckIssuer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		promised bool
		iss      string
		ok       bool
	}{{true, "https://a", true}, {true, "", false}, {true, "https://b", false}, {false, "", true}, {false, "https://a", true}, {false, "https://b", false}} {
		if err := (oauth.Grant{Issuer: "https://a", NamesIssuer: c.promised}).CheckIssuer(c.iss); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestLacksScope(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		`Bearer error="insufficient_scope", scope="a b"`: "a b",
		`Bearer error="insufficient_scope"`:              "",
		`Bearer error="invalid_token", scope="a b"`:      "no",
		`Basic realm="x"`:                                "no",
		`Negotiate abc==`:                                "no",
	} {
		scope, lacks := oauth.LacksScope([]string{header})
		if lacks == (want == "no") || lacks && scope != want {
			t.Errorf("%s: %q %t", header, scope, lacks)
		}
	}
}

// One set of scopes has one spelling, whatever its order, however often each is named and
// however many lists it comes in.
func TestScopesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for _, lists := range [][]string{
		{"a b C"}, {"b a C"}, {"C", "b a"}, {"a a b", "b C", ""}, {"  b  a ", "C"}, {"b", "a b", "C a"},
	} {
		got, err := oauth.Scopes(lists...)
		if err != nil || got != "C a b" {
			t.Errorf("%q: %q %v", lists, got, err)
		}
		if again, err := oauth.Scopes(got); err != nil || again != got {
			t.Errorf("%q became %q: %v", got, again, err)
		}
	}
	long := strings.Repeat("s", 1100)
	for _, lists := range [][]string{{"a\tb"}, {"a\nb"}, {`a"b`}, {`a\b`}, {"ä"}, {long + "1", long + "2"}} {
		if got, err := oauth.Scopes(lists...); err == nil || got != "" {
			t.Errorf("%.40q: %.40q %v", lists, got, err)
		}
	}
	if got, err := oauth.Scopes(long, long+" "+long); err != nil || got != long {
		t.Errorf("a long one, named often: %.40q %v", got, err)
	}
}
