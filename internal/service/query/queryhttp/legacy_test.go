package queryhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
)

// TestEveryLegacyForm asks a chain that has all of today's routes for each path
// that an older version of it had.
func TestEveryLegacyForm(t *testing.T) {
	t.Parallel()
	forms := []struct{ old, today, template string }{
		{"/ixo/claim", "/ixo/claims/claims", ""},
		{"/ixo/claim/c", "/ixo/claims/claim/c", "/ixo/claims/claim/{a}"},
		{"/ixo/collection", "/ixo/claims/collections", ""},
		{"/ixo/collection/1", "/ixo/claims/collection/1", "/ixo/claims/collection/{a}"},
		{"/ixo/dispute", "/ixo/claims/disputes", ""},
		{"/ixo/dispute/p%2Fq", "/ixo/claims/dispute/p%2Fq", "/ixo/claims/dispute/{a}"},
		{"/did", "/ixo/did/dids", ""},
		{"/did/did:ixo:1", "/ixo/did/dids/did:ixo:1", "/ixo/did/dids/{a}"},
		{"/ixo/did", "/ixo/did/dids", ""},
		{"/ixo/did/did:ixo:1", "/ixo/did/dids/did:ixo:1", ""},
		{"/ixo/bonds", "/ixo/bonds/bonds", ""},
		{"/ixo/bonds_detailed", "/ixo/bonds/bonds_detailed", ""},
		{"/ixo/token/ixo1m", "/ixo/token/minter/ixo1m", "/ixo/token/minter/{a}"},
		{"/ixo/token/ixo1m/ixo1c", "/ixo/token/minter/ixo1m/ixo1c", "/ixo/token/minter/{a}/{b}"},
		{"/ixo/liquidstake/v1beta1/params", "/ixo/liquidstake/v1beta1/module_params", ""},
	}
	var source strings.Builder
	source.WriteString(`syntax = "proto3";
		package legacy;
		import "google/api/annotations.proto";
		message Asked { string a = 1; string b = 2; }
		service Query {
		rpc Other(Asked) returns (Asked) { option (google.api.http).get = "/ixo/bonds/{a}"; }
		rpc Params(Asked) returns (Asked) { option (google.api.http).get = "/ixo/token/params"; }
	`)
	served := map[string]bool{}
	for i, f := range forms {
		template := f.template
		if template == "" {
			template = f.today
		}
		if !served[template] && !strings.Contains(template, "did:") {
			served[template] = true
			fmt.Fprintf(&source, "rpc Get%d(Asked) returns (Asked) { option (google.api.http).get = %q; }\n", i, template)
		}
	}
	source.WriteString("}")
	node := querytest.StartNode(t, querytest.NodeConfig{
		Files: querytest.Compile(t, map[string]string{"legacy.proto": source.String()}),
		Answer: func(_ context.Context, call querytest.Call) (querytest.Answer, error) {
			return querytest.Answer{Wire: call.Wire}, nil
		},
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	for prefix, own := range map[string]string{"ixo": "/ixo/", "ixo=impacts": "/impacts/"} {
		prefixes, err := query.ParsePrefixes([]string{prefix})
		if err != nil {
			t.Fatal(err)
		}
		h := serve(t, query.New([]query.Chain{pool}, query.Config{Prefixes: prefixes}), queryhttp.Options{})
		for _, f := range forms {
			old, today := strings.Replace(f.old, "/ixo/", own, 1), strings.Replace(f.today, "/ixo/", own, 1)
			got, want := get(t, h, old), get(t, h, today)
			if got.Status != http.StatusOK || want.Status != http.StatusOK || got.Body != want.Body {
				t.Errorf("%s: %d %s, %s: %d %s", old, got.Status, got.Body, today, want.Status, want.Body)
			}
			wantHeaders(t, got, "Link", "<"+today+`>; rel="successor-version"`, "Deprecation", "@1794700800")
			wantHeaders(t, want, "Link", "", "Deprecation", "")
		}
		for _, today := range []string{"bonds/did:bond:1", "token/params"} {
			wantHeaders(t, get(t, h, own+today), "Link", "", "Deprecation", "")
		}
	}
}
