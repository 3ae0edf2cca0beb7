package httpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// operatorGuard lets the operator in. With a token the bearer must match it.
// Without one nobody is let in, unless the server was told to believe its own
// machine: then a direct peer on it is served, and only under a name that no
// outside page can own. A page open in the operator's browser must not read these
// routes, not even by rebinding a DNS name. A proxy on the machine that adds no
// header and writes its own Host looks just like the operator, which is why
// production believes no address.
type operatorGuard struct {
	token  [sha256.Size]byte
	locked bool
	local  bool
	failed *ratelimit.Limiter
}

func newOperatorGuard(cfg Config) operatorGuard {
	return operatorGuard{
		token: sha256.Sum256([]byte(cfg.OperatorToken)), locked: cfg.OperatorToken != "", local: cfg.LocalOperator, failed: cfg.FailedAuth,
	}
}

func (g *operatorGuard) check(r *http.Request, client netip.Addr) error {
	if crossSite(r) {
		return fault.New(fault.Forbidden, "Operator routes are not served to other sites")
	}
	if !g.locked {
		if g.local && peerAddr(r, nil).IsLoopback() && !forwarded(r.Header) && localHost(r.Host) {
			return nil
		}
		return NotFound(r)
	}
	bearer, ok := Bearer(r)
	given := sha256.Sum256([]byte(bearer)) // equal lengths, so that the comparison says nothing
	if ok && subtle.ConstantTimeCompare(given[:], g.token[:]) == 1 {
		return nil
	}
	// Counted after the check: the operator gets in from an address that others
	// guess from.
	if ok, wait := g.failed.Allow(ratelimit.KeyOfAddr(client)); !ok {
		return fault.New(fault.RateLimited, "Too many failed attempts").WithRetryAfter(wait)
	}
	return fault.New(fault.Unauthenticated, "The operator's token is required")
}

// Bearer returns the token of the Authorization header.
func Bearer(r *http.Request) (string, bool) {
	v := r.Header.Get("Authorization")
	const scheme = "bearer "
	if len(v) <= len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return "", false
	}
	token := strings.TrimSpace(v[len(scheme):])
	return token, token != ""
}

// crossSite reports whether a browser says that another site's page asks.
func crossSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// localHost reports whether a Host header is a loopback name or an address.
func localHost(host string) bool {
	name := hostName(host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// NotFound is the answer to a request for what is not there.
func NotFound(r *http.Request) error {
	return fault.Newf(fault.NotFound, "Cannot %s %s", r.Method, shownPath(r))
}

// shownPath is the path of a request as it may be repeated in an answer.
func shownPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	if len(path) > 200 {
		path = path[:200] + "…"
	}
	return path
}
