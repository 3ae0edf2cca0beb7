package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/query"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// gateway answers with what it was asked.
type gateway struct{}

func (gateway) Get(_ context.Context, path string, values url.Values) (json.RawMessage, error) {
	if strings.Contains(path, "nobody") {
		return nil, plugin.Errorf(404, "entity not found")
	}
	u := url.URL{Path: path, RawQuery: values.Encode()}
	return json.Marshal(u.String())
}

func (gateway) OpenAPI(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"paths":{
		"/ixo/token/params":{"get":{"summary":"Token parameters"}},
		"/ixo/claims/claims":{"get":{"parameters":[{"name":"pagination.limit","in":"query"},{"name":"x","in":"header"}]}},
		"/ixo/tx":{"post":{}}}}`), nil
}

func TestTools(t *testing.T) {
	t.Parallel()
	p := query.New(query.Config{Prefix: "ixo"})
	tools := map[string]plugin.Tool{}
	for _, tool := range p.Tools() {
		tools[tool.Name] = tool
	}
	for _, c := range []struct{ tool, args, want string }{
		{"get_entity", `{"id":"did:ixo:entity:abc"}`, `"/ixo/entity/did:ixo:entity:abc"`},
		{"get_entity", `{"id":"abc"}`, "error: id must be a DID"},
		{"get_entity", `{"id":"did:x/../../claims"}`, "error: that is not a path"},
		{"get_entity", `{"id":"did:x?height=1"}`, "error: that is not a path"},
		{"get_entity", `{"id":"did:nobody"}`, "error: entity not found"},
		{"list_claims", `{}`, `"/ixo/claims/claims?pagination.limit=10"`},
		{"list_claims", `{"limit":3,"page":"a+b="}`, `"/ixo/claims/claims?pagination.key=a%2Bb%3D\u0026pagination.limit=3"`},
		{"get_token_params", `{}`, `"/ixo/token/params"`},
		{"query_chain", `{"path":"/ixo/bonds/bonds","params":{"height":1000000,"a":"b c","t":true}}`, `"/ixo/bonds/bonds?a=b+c\u0026height=1000000\u0026t=true"`},
		{"query_chain", `{"path":"//elsewhere"}`, "error: that is not a path"},
		{"query_chain", `{"path":"/a/../b"}`, "error: that is not a path"},
		{"query_chain", `{"path":""}`, "error: that is not a path"},
		{"list_queries", `{"contains":"TOKEN"}`, `{"routes":[{"path":"/ixo/token/params","summary":"Token parameters"}],"total":1}`},
		{"list_queries", `{}`, `{"routes":[{"path":"/ixo/claims/claims","params":["pagination.limit"]},{"path":"/ixo/token/params","summary":"Token parameters"}],"total":2}`},
	} {
		got, err := tools[c.tool].Run(t.Context(), &plugin.Runtime{Query: gateway{}}, json.RawMessage(c.args))
		if e, ok := errors.AsType[*plugin.Error](err); ok {
			got.Text = "error: " + e.Message
		} else if err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(got.Text, c.want) {
			t.Errorf("%s %s: %s, want %s", c.tool, c.args, got.Text, c.want)
		}
	}
	for _, prefix := range []string{"", "a/b", "a?b"} {
		if query.New(query.Config{Prefix: prefix}).Start(t.Context(), plugin.Host{}) == nil {
			t.Errorf("started with the prefix %q", prefix)
		}
	}
}

// renamed serves the protocol under another prefix (QUERY_PREFIXES).
type renamed struct{}

func (renamed) Get(ctx context.Context, path string, values url.Values) (json.RawMessage, error) {
	if !strings.HasPrefix(path, "/impact/") {
		return nil, plugin.Errorf(404, "Cannot GET %s", path)
	}
	return gateway{}.Get(ctx, path, values)
}

func (renamed) OpenAPI(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"paths":{"/impact/token/params":{"get":{}},"/impact/claims/claims":{"get":{}},"/impact/entity/{id}":{"get":{}},
		"/impact/entity/{id}/iidDocument":{"get":{}},"/cosmos/claims/other":{"get":{}}}}`), nil
}

// Where an operator renames the protocol's prefix the look-ups find it.
func TestARenamedPrefixIsFound(t *testing.T) {
	t.Parallel()
	for _, tool := range query.New(query.Config{Prefix: "ixo"}).Tools() {
		want, args := "", `{}`
		switch tool.Name {
		case "get_entity":
			want, args = `"/impact/entity/did:ixo:entity:abc"`, `{"id":"did:ixo:entity:abc"}`
			if _, err := tool.Run(t.Context(), &plugin.Runtime{Query: renamed{}},
				json.RawMessage(`{"id":"did:nobody"}`)); err == nil || err.Error() != "entity not found" {
				t.Errorf("somebody who is not there: %v", err)
			}
		case "list_claims":
			want = `"/impact/claims/claims?pagination.limit=10"`
		case "get_token_params":
			want = `"/impact/token/params"`
		default:
			continue
		}
		if got, err := tool.Run(t.Context(), &plugin.Runtime{Query: renamed{}}, json.RawMessage(args)); err != nil ||
			got.Text != want {
			t.Errorf("%s: %s %v, want %s", tool.Name, got.Text, err, want)
		}
	}
}

// The agent loads the capability and looks something up.
func TestTheAgentAsks(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) scripted.Reply {
		return scripted.Calls(plugin.ModelToolCall{ID: id, Name: name, Args: json.RawMessage(args)})
	}
	provider := scripted.Sequence(call("1", "load_capability", `{"name":"query"}`), call("2", "get_token_params", `{}`), scripted.Text("There."))
	n := oracletest.Start(t, provider, func(d *oraclekit.Deps) {
		d.Plugins = []plugin.Plugin{query.New(query.Config{Prefix: "ixo"})}
		d.Access = oraclekit.Access{Identity: d.Identity, QueryFor: func(string) plugin.Query { return gateway{} }}
	})
	alice := n.As(t, identitytest.Alice)
	alice.Say(alice.Session(), "token parameters?")
	for _, r := range provider.Requests() {
		for _, m := range r.Messages {
			if m.ToolCallID == "2" && strings.Contains(m.Text, "/ixo/token/params") && !m.Failed {
				return
			}
		}
	}
	t.Errorf("no answer of the gateway in %+v", provider.Requests())
}
