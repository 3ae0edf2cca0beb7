package httpserver

import (
	"net/http"
	"slices"
	"strings"
)

// CORSPolicy says which pages of other origins may call a surface. The zero
// policy is closed: no cross-origin header is ever sent.
type CORSPolicy struct {
	// Origins is "*" alone, or exact origins; with exact ones credentials are allowed.
	Origins []string
	Headers []string // request headers that pages may set
	Methods []string
	Exposed []string // response headers that pages may read
}

// OpenCORS is the policy of what every page may call, with the headers that carry
// credentials here. origins is "*" or a comma list; empty is "*".
func OpenCORS(origins string) CORSPolicy {
	list := ParseOrigins(origins)
	if len(list) == 0 {
		list = []string{"*"}
	}
	return CORSPolicy{
		Origins: list,
		Headers: []string{
			"Content-Type", "Authorization", "x-ucan-delegation", "x-matrix-access-token", "x-matrix-homeserver",
			"x-did", "x-request-id", "x-auth-type", "x-timezone",
		},
		Methods: []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"},
		Exposed: []string{HeaderRequestID, "X-Run-Id", "Retry-After", "X-Delegation-Required"},
	}
}

// ParseOrigins reads a comma list of origins. One "*" in it is all of them.
func ParseOrigins(list string) []string {
	var out []string
	for o := range strings.SplitSeq(list, ",") {
		o = strings.TrimSuffix(strings.TrimSpace(o), "/")
		if o == "*" {
			return []string{"*"}
		}
		if o != "" {
			out = append(out, o)
		}
	}
	return out
}

// cors is a policy with its header values made ready, so that a response pays
// for map stores only.
type cors struct {
	any, one                          bool
	origins                           []string
	single, headers, methods, exposed []string
}

func newCORS(p CORSPolicy) *cors {
	if len(p.Origins) == 0 {
		return nil
	}
	return &cors{
		any: slices.Contains(p.Origins, "*"), one: len(p.Origins) == 1, origins: p.Origins, single: p.Origins[:1:1],
		headers: []string{strings.Join(p.Headers, ",")},
		methods: []string{strings.Join(p.Methods, ",")},
		exposed: []string{strings.Join(p.Exposed, ",")},
	}
}

var trueValue = []string{"true"}

// mark adds the headers that every response carries. It reports whether the
// request's origin is allowed.
func (c *cors) mark(h http.Header, r *http.Request) bool {
	if c == nil {
		return false
	}
	if c.any {
		h["Access-Control-Allow-Origin"] = c.single
		h["Access-Control-Expose-Headers"] = c.exposed
		return true
	}
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	switch {
	case c.one:
		// One page owns this server: it is named to everybody, as caches like it.
		h["Access-Control-Allow-Origin"] = c.single
	case slices.Contains(c.origins, origin):
		h["Access-Control-Allow-Origin"] = []string{origin}
	default:
		return false
	}
	h["Access-Control-Allow-Credentials"] = trueValue
	h["Access-Control-Expose-Headers"] = c.exposed
	return true
}

var preflightAge = []string{"600"}

// preflight adds what the browser asked for before it sends the request itself.
func (c *cors) preflight(h http.Header) {
	h["Access-Control-Allow-Methods"] = c.methods
	h["Access-Control-Allow-Headers"] = c.headers
	h["Access-Control-Max-Age"] = preflightAge
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}
