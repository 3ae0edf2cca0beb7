package httprule_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	good := map[string][]string{
		"/":                           {},
		"/ixo/entity/{id}":            {"id"},
		"/ixo/entity/{id}/verified":   {"id"},
		"/v1/{name=shelves/*}/books":  {"name"},
		"/v1/{a.b_c}/{d=**}":          {"a.b_c", "d"},
		"/v1/{d=**}/tail/{e}":         {"d", "e"},
		"/v1/messages:list":           {},
		"/v1/{name=projects/*/x}:get": {"name"},
		"/a%20b/**":                   {},
	}
	for source, want := range good {
		tmpl, err := httprule.ParseTemplate(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if diff := cmp.Diff(want, tmpl.Variables()); diff != "" {
			t.Errorf("%s: -want +got\n%s", source, diff)
		}
		if tmpl.String() != source {
			t.Errorf("%s became %s", source, tmpl)
		}
	}
	bad := []string{
		"", "a", "//", "/a//b", "/a/", "/{", "/{}", "/{a", "/{a=}", "/{a=b}c", "/a*", "/***", "/**/**", "/{a}/{a}",
		"/{1a}", "/{a..b}", "/a:", "/a:b:c", "/a:b/c", "/{a={b}}", "/%zz", "/" + strings.Repeat("a/", 200) + "a",
		"/" + strings.Repeat("a", 2000),
	}
	for _, source := range bad {
		if _, err := httprule.ParseTemplate(source); err == nil {
			t.Errorf("%.40q was accepted", source)
		}
	}
}

// router has one route for each template, named by it.
func router(t testing.TB, templates ...string) *httprule.Router {
	t.Helper()
	r := new(httprule.Router)
	for _, source := range templates {
		tmpl, err := httprule.ParseTemplate(source)
		if err != nil {
			t.Fatal(err)
		}
		r.Add(&httprule.Route{HTTPMethod: "GET", Template: tmpl})
	}
	return r
}

func matches(r *httprule.Router, path string) []string {
	var found []string
	r.Find(path, func(m httprule.Match) bool {
		found = append(found, m.Route.Template.String())
		return true
	})
	return found
}

func TestRouterPrefersTheSpecific(t *testing.T) {
	t.Parallel()
	r := router(t, "/ixo/entity/{id}", "/ixo/entity/params", "/ixo/entity/{id}/verified", "/ixo/{rest=**}",
		"/ibc/denoms/{denom=**}/total_escrow", "/ibc/denoms/{denom=**}", "/v1/{name}:read", "/v1/{name}", "/twin/{a}", "/twin/{b}")
	for path, want := range map[string][]string{
		"/ixo/entity/params":              {"/ixo/entity/params", "/ixo/entity/{id}", "/ixo/{rest=**}"},
		"/ixo/entity/did:ixo:entity:1":    {"/ixo/entity/{id}", "/ixo/{rest=**}"},
		"/ixo/entity/a%2Fb":               {"/ixo/entity/{id}", "/ixo/{rest=**}"},
		"/ixo/entity/a%2Fb/verified":      {"/ixo/entity/{id}/verified", "/ixo/{rest=**}"},
		"/ixo/entity/":                    {"/ixo/{rest=**}"},
		"/ixo":                            {"/ixo/{rest=**}"},
		"/ibc/denoms/a/b/total_escrow":    {"/ibc/denoms/{denom=**}/total_escrow", "/ibc/denoms/{denom=**}"},
		"/ibc/denoms/a":                   {"/ibc/denoms/{denom=**}"},
		"/v1/did:x:read":                  {"/v1/{name}:read", "/v1/{name}"},
		"/v1/did:x":                       {"/v1/{name}"},
		"/twin/x":                         {"/twin/{a}", "/twin/{b}"},
		"/%69xo/entity/params":            {"/ixo/entity/params", "/ixo/entity/{id}", "/ixo/{rest=**}"},
		"/nothing":                        nil,
		"nothing":                         nil,
		"/ixo/%zz":                        nil,
		"/" + strings.Repeat("ixo/", 500): nil,
	} {
		if diff := cmp.Diff(want, matches(r, path)); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
	}
}

func TestNearRoutes(t *testing.T) {
	t.Parallel()
	r := router(t, "/ixo/entity/{id}", "/ixo/entity/params", "/ixo/claims/claims", "/ixo/claims/claim/{id}", "/cosmos/bank/v1beta1/supply")
	if got := r.Near("/ixo/claims/claimz", 2); len(got) != 2 || !strings.HasPrefix(got[0], "/ixo/claims/") {
		t.Errorf("near: %v", got)
	}
	for path, want := range map[string][]string{
		"/ixo/entityy":                    {"/ixo/entity/{id}", "/ixo/entity/params"},
		"/ixoo/claims/claims":             {"/ixo/claims/claims", "/ixo/claims/claim/{id}"},
		"/ixo/entity/":                    {"/ixo/entity/{id}", "/ixo/entity/params"},
		"/elsewhere":                      nil,
		"/" + strings.Repeat("ixo", 1000): nil,
	} {
		if got := r.Near(path, 3); !cmp.Equal(got, want, cmpopts.EquateEmpty()) {
			t.Errorf("near %.40s: %v", path, got)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"/ixo/entity/{id}", "/v1/{a=b/*/**}:verb", "/{a.b=**}/x", "/%41"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		tmpl, err := httprule.ParseTemplate(source)
		if err != nil {
			return
		}
		if again, err := httprule.ParseTemplate(tmpl.String()); err != nil ||
			!cmp.Equal(again.Variables(), tmpl.Variables()) {
			t.Errorf("%q does not survive: %v", source, err)
		}
	})
}

func FuzzRouter(f *testing.F) {
	c := catalog(f, querytest.DialectFiles(f, vectorsDir))
	r := new(httprule.Router)
	for _, route := range c.Routes {
		r.Add(route)
	}
	for _, seed := range []string{"/dialect/scalars/x", "/dialect/deep/a/b/tail", "/dialect/scalars/a:verb", "/dialect/twin/AQID", "/dialect/lists/1,2"} {
		f.Add(seed, "a_uint64=1&pagination.limit=2")
	}
	f.Fuzz(func(t *testing.T, path, raw string) {
		values, err := url.ParseQuery(raw)
		if err != nil {
			values = nil
		}
		r.Find(path, func(m httprule.Match) bool {
			a, errA := m.Bind(values, 10)
			b, errB := m.Bind(values, 10)
			if (errA == nil) != (errB == nil) || string(a.Wire) != string(b.Wire) {
				t.Errorf("%q %q: not the same twice", path, raw)
			}
			return true
		})
	})
}
