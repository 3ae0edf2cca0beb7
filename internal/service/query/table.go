package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/query/httprule"
)

// Prefix renames the first path segment of a chain's routes. The zero New
// leaves it as it is.
type Prefix struct{ Old, New string }

// ParsePrefixes reads QUERY_PREFIXES: "ixo" names the protocol's own prefix,
// "ixo=impacts" serves it as /impacts/….
func ParsePrefixes(list []string) ([]Prefix, error) {
	var prefixes []Prefix
	for _, item := range list {
		was, now, renamed := strings.Cut(strings.TrimSpace(item), "=")
		if !validSegment(was) || renamed && !validSegment(now) {
			return nil, fmt.Errorf("prefix %q: want name or old=new, each one path segment", item)
		}
		if !renamed {
			now = was
		}
		prefixes = append(prefixes, Prefix{Old: was, New: now})
	}
	return prefixes, nil
}

func validSegment(s string) bool {
	return s != "" && !strings.ContainsAny(s, "/{}*:%?# =")
}

// table is what is served at one moment.
type table struct {
	router   *httprule.Router
	catalogs []*httprule.Catalog
	prefixes []Prefix
	claims   map[string]bool
	// partial says that some chain has not said yet what it serves.
	partial bool
	version uint64
}

// newTable joins the catalogues; where two chains have the same route, the
// earlier one is asked.
func newTable(catalogs []*httprule.Catalog, prefixes []Prefix, version uint64) *table {
	t := &table{
		router: new(httprule.Router), catalogs: catalogs, prefixes: prefixes, claims: make(map[string]bool), version: version,
	}
	for _, p := range prefixes { // also before a chain was reached: its queries are away, not unknown
		t.claims[p.New] = true
	}
	for _, c := range catalogs {
		if c == nil {
			t.partial = true
			continue
		}
		for _, r := range c.Routes {
			first := r.Template.FirstSegment()
			if first == "" {
				continue // a route that would take every path
			}
			t.router.Add(r)
			for _, name := range t.publicSegments(first) {
				t.claims[name] = true
			}
		}
	}
	for _, rule := range legacyRules {
		if first := rule.from[0]; first != ownPrefix && t.legacyTarget(rule, make([]string, len(rule.from))) != "" {
			t.claims[first] = true
		}
	}
	return t
}

// publicSegments returns the names under which a first segment is served.
func (t *table) publicSegments(first string) []string {
	var names []string
	for _, p := range t.prefixes {
		if p.Old == first {
			names = append(names, p.New)
		}
	}
	if names == nil {
		return []string{first}
	}
	return names
}

// internalPath undoes a rename. ok is false when the path uses the old name of
// a prefix that is not served under it any more.
func (t *table) internalPath(path string) (string, bool) {
	first, rest, slash := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if slash {
		rest = "/" + rest
	}
	hidden := false
	for _, p := range t.prefixes {
		if p.New == first {
			return "/" + p.Old + rest, true
		}
		hidden = hidden || p.Old == first
	}
	return path, !hidden
}

// PublicPath returns a path or template of the descriptors as clients see it.
func (t *table) publicPath(path string) string {
	first, rest, slash := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if slash {
		rest = "/" + rest
	}
	return "/" + t.publicSegments(first)[0] + rest
}

// near names served routes that resemble the path.
func (t *table) near(path string) []string {
	names := t.router.Near(path, 3)
	for i, name := range names {
		names[i] = t.publicPath(name)
	}
	return names
}

// ownPrefix stands for the protocol's own prefix in the legacy rules.
const ownPrefix = "{p}"

// legacyRule maps a path of an older chain version to today's. A segment in
// braces is taken over.
type legacyRule struct{ from, to []string }

func rewrite(from, to string) legacyRule {
	return legacyRule{strings.Split(from, "/"), strings.Split(to, "/")}
}

// legacyRules are the living forms of older chain versions. They apply only
// where no route of today matches, and where their target is served.
var legacyRules = []legacyRule{
	rewrite("{p}/claim", "{p}/claims/claims"),
	rewrite("{p}/claim/{id}", "{p}/claims/claim/{id}"),
	rewrite("{p}/collection", "{p}/claims/collections"),
	rewrite("{p}/collection/{id}", "{p}/claims/collection/{id}"),
	rewrite("{p}/dispute", "{p}/claims/disputes"),
	rewrite("{p}/dispute/{proof}", "{p}/claims/dispute/{proof}"),
	rewrite("did", "{p}/did/dids"),
	rewrite("did/{id}", "{p}/did/dids/{id}"),
	rewrite("{p}/did", "{p}/did/dids"),
	rewrite("{p}/did/{id}", "{p}/did/dids/{id}"),
	rewrite("{p}/bonds", "{p}/bonds/bonds"),
	rewrite("{p}/bonds_detailed", "{p}/bonds/bonds_detailed"),
	rewrite("{p}/token/{minter}", "{p}/token/minter/{minter}"),
	rewrite("{p}/token/{minter}/{contract}", "{p}/token/minter/{minter}/{contract}"),
	rewrite("{p}/liquidstake/v1beta1/params", "{p}/liquidstake/v1beta1/module_params"),
}

// legacy returns today's path for a path of an older chain, or "".
func (t *table) legacy(path string) string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, rule := range legacyRules {
		if len(rule.from) != len(segments) {
			continue
		}
		if !slices.ContainsFunc(t.prefixes, func(p Prefix) bool { return rule.matches(segments, p.Old) }) {
			continue
		}
		if target := t.legacyTarget(rule, segments); target != "" {
			return target
		}
	}
	return ""
}

func (r legacyRule) matches(segments []string, own string) bool {
	for i, want := range r.from {
		switch {
		case want == ownPrefix:
			want = own
		case want[0] == '{':
			if segments[i] == "" {
				return false
			}
			continue
		}
		if segments[i] != want {
			return false
		}
	}
	return true
}

// legacyTarget fills the rule's target for the first own prefix that serves it.
func (t *table) legacyTarget(r legacyRule, segments []string) string {
	for _, p := range t.prefixes {
		var b strings.Builder
		for _, s := range r.to {
			b.WriteByte('/')
			switch {
			case s == ownPrefix:
				b.WriteString(p.Old)
			case s[0] == '{':
				value := segments[slices.Index(r.from, s)]
				if value == "" {
					value = "x" // asked only whether the target is served
				}
				b.WriteString(value)
			default:
				b.WriteString(s)
			}
		}
		served := false
		t.router.Find(b.String(), func(httprule.Match) bool {
			served = true
			return false
		})
		if served {
			return b.String()
		}
	}
	return ""
}
