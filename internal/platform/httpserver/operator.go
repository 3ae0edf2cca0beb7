package httpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver/clientaddr"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// Role is what an operator may do. Each has what those before it have.
type Role uint8

// The roles.
const (
	// Viewer looks, and changes nothing.
	Viewer Role = iota + 1
	// Changer changes what the deployment does.
	Changer
	// Owner also says who the operators are.
	Owner
)

// String is the word that people read.
func (r Role) String() string {
	switch r {
	case Viewer:
		return "viewer"
	case Changer:
		return "operator"
	case Owner:
		return "owner"
	}
	return "none"
}

// OperatorIdentity is who uses an operators' route.
type OperatorIdentity struct {
	// Name is what records call them: a DID, or which secret was shown.
	Name string
	Role Role
	// From is the DID whose role it is, theirs or that of who lends it, and "" for a secret.
	From string
	// Lent says that the role is another's, by a delegation that ends.
	Lent bool
	// Still fails once they may no longer do what they could when they were let in; nil never does.
	Still func(context.Context) error
}

// How records name those who showed no DID.
const (
	tokenOperator = "operator"
	localOperator = "operator on this machine"
)

// OperatorOf returns who uses the operators' route that ctx belongs to, and the
// zero value on other routes.
func OperatorOf(ctx context.Context) OperatorIdentity {
	if x := exchangeOf(ctx); x != nil {
		return x.operator
	}
	return OperatorIdentity{}
}

// LeastRole is what a route needs of an operator: who looks reads, unless the
// route says otherwise.
func (r *Route) LeastRole() Role {
	switch {
	case r.Role != 0:
		return r.Role
	case r.Asks || r.Method == http.MethodGet || r.Method == http.MethodHead:
		return Viewer
	}
	return Changer
}

// operatorGuard lets operators in. A bearer that matches the token is the owner's.
// A request that is signed by somebody with a role is that somebody's. Else, with a
// token, nobody is let in, nor without one, unless the server was told to believe its own
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
	signed func(*http.Request) (OperatorIdentity, error)
}

func newOperatorGuard(cfg Config) operatorGuard {
	return operatorGuard{
		token: sha256.Sum256([]byte(cfg.OperatorToken)), locked: cfg.OperatorToken != "", local: cfg.LocalOperator,
		failed: cfg.FailedAuth,
		signed: cfg.SignedOperator,
	}
}

// admit says who asks, or why they may not ask for this route.
func (g *operatorGuard) admit(r *http.Request, client netip.Addr, route *Route) (OperatorIdentity, error) {
	who, err := g.identify(r, client)
	if err != nil {
		return OperatorIdentity{}, err
	}
	if err := who.AtLeast(route.LeastRole()); err != nil {
		return OperatorIdentity{}, err
	}
	return who, nil
}

// AtLeast refuses whoever has less than a role.
func (o OperatorIdentity) AtLeast(least Role) error {
	if o.Role < least {
		return fault.Newf(fault.Forbidden, "You are %s here; this needs the role %s", withArticle(o.Role), least).WithCode("role_too_low")
	}
	return nil
}

func withArticle(r Role) string {
	if r == Viewer {
		return "a viewer"
	}
	return "an " + r.String()
}

func (g *operatorGuard) identify(r *http.Request, client netip.Addr) (OperatorIdentity, error) {
	if crossSite(r) {
		return OperatorIdentity{}, fault.New(fault.Forbidden, "Operator routes are not served to other sites")
	}
	bearer, given := Bearer(r)
	sum := sha256.Sum256([]byte(bearer)) // equal lengths, so that the comparison says nothing
	if g.locked && given && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		return OperatorIdentity{Name: tokenOperator, Role: Owner}, nil
	}
	if given && g.signed != nil {
		if who, err := g.signed(r); err != nil || who.Role != 0 {
			return who, err
		}
	}
	if !g.locked {
		if g.local && clientaddr.OfPeer(r, nil).IsLoopback() && !clientaddr.IsForwarded(r.Header) && localHost(r.Host) {
			return OperatorIdentity{Name: localOperator, Role: Owner}, nil
		}
		return OperatorIdentity{}, NotFound(r)
	}
	// Counted after the check: the operator gets in from an address that others
	// guess from.
	if ok, wait := g.failed.Allow(ratelimit.KeyOfAddr(client)); !ok {
		return OperatorIdentity{}, fault.New(fault.RateLimited, "Too many failed attempts").WithRetryAfter(wait)
	}
	return OperatorIdentity{}, fault.New(fault.Unauthenticated, "The operator's token is required")
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

// stillMay judges operators again while a long answer is sent: it ends when they are none.
func (x *exchange) stillMay() error {
	if x.operator.Still == nil || time.Since(x.judged) < time.Second/2 {
		return nil
	}
	x.judged = time.Now()
	return x.operator.Still(x)
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
