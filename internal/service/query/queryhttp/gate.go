package queryhttp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/query/httprule"
)

// Authenticator turns a credential into a principal; *identity.Service is one.
type Authenticator interface {
	Authenticate(ctx context.Context, surface identity.Surface, c identity.Credentials) (identity.Principal, error)
}

// HeaderAPIKey carries an API key.
const HeaderAPIKey = "X-Api-Key" //nolint:gosec // the name of a header

// Gate decides who may ask which routes. The zero Gate is open.
type Gate struct {
	rules []gateRule // the longest prefix first
}

type gateRule struct {
	prefix string // "/cosmos/tx"; "" is every path
	open   bool
	deny   bool
	ucan   bool
	keys   [][sha256.Size]byte
	bearer [][sha256.Size]byte
}

// ParseGate reads QUERY_AUTH: rules between semicolons, each a route group and
// what opens it. A group is a path prefix, or * for all others; a rule without
// a group is for all.
//
//	none                      open, which is also the default
//	ucan                      a UCAN invocation
//	key:SECRET                the X-API-Key header
//	bearer:SECRET             the Authorization header
//	deny                      nobody
//
// Alternatives stand between bars: "*=ucan|key:s3cret; /cosmos/tx=deny; /ixo/entity=none".
func ParseGate(text string) (Gate, error) {
	var g Gate
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		group, modes := "*", part
		if strings.HasPrefix(part, "/") || strings.HasPrefix(part, "*") {
			var ok bool
			if group, modes, ok = strings.Cut(part, "="); !ok {
				return Gate{}, fmt.Errorf("gate: %q says no way in", group)
			}
		}
		rule, err := parseRule(strings.TrimSpace(group), modes)
		if err != nil {
			return Gate{}, err
		}
		if slices.ContainsFunc(g.rules, func(r gateRule) bool { return r.prefix == rule.prefix }) {
			return Gate{}, fmt.Errorf("gate: the group %q has two rules", group)
		}
		g.rules = append(g.rules, rule)
	}
	slices.SortStableFunc(g.rules, func(a, b gateRule) int { return len(b.prefix) - len(a.prefix) })
	return g, nil
}

func parseRule(group, modes string) (gateRule, error) {
	rule := gateRule{prefix: httprule.CanonicalPath(strings.TrimSuffix(group, "/"))}
	if group == "*" {
		rule.prefix = ""
	}
	for mode := range strings.SplitSeq(modes, "|") {
		word, secret, has := strings.Cut(strings.TrimSpace(mode), ":")
		switch {
		case word == "none" && !has:
			rule.open = true
		case word == "deny" && !has:
			rule.deny = true
		case word == "ucan" && !has:
			rule.ucan = true
		case word == "key" && secret != "":
			rule.keys = append(rule.keys, sha256.Sum256([]byte(secret)))
		case word == "bearer" && secret != "":
			rule.bearer = append(rule.bearer, sha256.Sum256([]byte(secret)))
		default:
			// The secret stays out of the message.
			return gateRule{}, fmt.Errorf("gate: group %q: want none, deny, ucan, key:SECRET or bearer:SECRET, not %q", group, word)
		}
	}
	return rule, nil
}

// Open reports whether everybody may ask everything.
func (g Gate) Open() bool {
	return !slices.ContainsFunc(g.rules, func(r gateRule) bool { return !r.open })
}

// NeedsIdentity reports whether some group takes UCANs.
func (g Gate) NeedsIdentity() bool {
	return slices.ContainsFunc(g.rules, func(r gateRule) bool { return r.ucan })
}

// rule returns the rule of a path; nil is open.
func (g Gate) rule(path string) *gateRule {
	for i := range g.rules {
		r := &g.rules[i]
		if r.prefix == "" || path == r.prefix || strings.HasPrefix(path, r.prefix) && path[len(r.prefix)] == '/' {
			return r
		}
	}
	return nil
}

// check lets the request through, or says why not: 401 without a credential
// that anybody would take, 403 with one that is for other routes, 429 to an
// address that tried too many wrong keys. Right ones are served whatever the
// address tried before: others may share it.
func (g Gate) check(r *http.Request, path string, auth Authenticator, guesses *ratelimit.Limiter) error {
	rule := g.rule(path)
	if rule == nil || rule.open {
		return nil
	}
	if rule.deny {
		return fault.New(fault.Forbidden, "this deployment does not serve the route")
	}
	key := r.Header.Get(HeaderAPIKey)
	bearer, _ := httpserver.Bearer(r)
	if among(rule.keys, key) || among(rule.bearer, bearer) {
		return nil
	}
	for i := range g.rules {
		if among(g.rules[i].keys, key) || among(g.rules[i].bearer, bearer) {
			return fault.New(fault.Forbidden, "the credential is for other routes")
		}
	}
	if rule.ucan && auth != nil {
		if c := identityhttp.Credentials(r); c.Bearer != "" || c.Delegation != "" || len(rule.keys)+len(rule.bearer) == 0 {
			_, err := auth.Authenticate(r.Context(), identity.Query, c)
			return err
		}
	}
	if presents(r) {
		if ok, wait := guesses.AllowAddr(httpserver.ClientIP(r.Context())); !ok {
			return fault.New(fault.RateLimited, "Too many failed authentications").WithRetryAfter(wait)
		}
	}
	return fault.New(fault.Unauthenticated, "this deployment gates the route: "+rule.ways())
}

func presents(r *http.Request) bool {
	return r.Header.Get(HeaderAPIKey) != "" || r.Header.Get("Authorization") != "" || r.Header.Get(identityhttp.HeaderDelegation) != ""
}

func (r *gateRule) ways() string {
	var ways []string
	if r.ucan {
		ways = append(ways, "send a UCAN as Authorization: Bearer")
	}
	if len(r.bearer) > 0 {
		ways = append(ways, "send Authorization: Bearer with the token that the operator gave you")
	}
	if len(r.keys) > 0 {
		ways = append(ways, "send X-API-Key")
	}
	return strings.Join(ways, ", or ")
}

// among compares in constant time.
func among(secrets [][sha256.Size]byte, given string) bool {
	if given == "" {
		return false
	}
	sum := sha256.Sum256([]byte(given))
	found := 0
	for _, s := range secrets {
		found |= subtle.ConstantTimeCompare(s[:], sum[:])
	}
	return found == 1
}
