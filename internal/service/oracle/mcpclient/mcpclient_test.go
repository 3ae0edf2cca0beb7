package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

type echoIn struct {
	Text string `json:"text"`
}

// server is an MCP server with two tools that wants a header.
func server(t *testing.T, lists *atomic.Int64) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Say it back."},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you said " + in.Text}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Fail."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("no luck")
		})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				lists.Add(1)
			}
			return next(ctx, method, req)
		}
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Operator") != "yes" || r.Header.Get("Authorization") != "" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func run(t *testing.T, tools []agent.Tool, name, args string) (string, error) {
	t.Helper()
	for _, tool := range tools {
		if tool.Name == name {
			r, err := tool.Run(t.Context(), &plugin.Runtime{}, json.RawMessage(args))
			return r.Text, err
		}
	}
	t.Fatalf("no tool %s", name)
	return "", nil
}

func TestTools(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	url := server(t, &lists)
	id := identitytest.New(t)
	e := mcpclient.New(id, nil, mcpclient.Config{ListTimeout: 2 * time.Second})
	open := plugin.MCPServer{Name: "open", URL: url, Headers: map[string]string{"X-Operator": "yes"}, AllowPrivate: true}
	guarded := open
	guarded.Name, guarded.Protected = "guarded", true
	away := open
	away.Name, away.URL = "away", "http://127.0.0.1:1/mcp"
	private := open
	private.Name, private.AllowPrivate = "private", false
	alice := identitytest.Alice
	token := func(tool string) string {
		return identitytest.Invocation(t, alice, id.DID(), identitytest.Can("mcp/call", id.MCPResource("guarded", tool)),
			identitytest.Nonce(tool))
	}
	user := turn.MCPUser{DID: alice.DID, Invocations: map[string]string{"guarded__echo": token("echo"), "guarded__fail": token("echo")}}
	tools, done := e.Tools(t.Context(), []plugin.MCPServer{open, guarded, away, private}, user)
	defer done()
	if len(tools) != 4 {
		t.Fatalf("%d tools", len(tools))
	}
	for _, tool := range tools {
		if !tool.Foreign {
			t.Errorf("%s passes its server's words off as the program's", tool.Name)
		}
	}
	if got, err := run(t, tools, "open__echo", `{"text":"hi"}`); err != nil || got != "you said hi" {
		t.Errorf("echo: %q %v", got, err)
	}
	if _, err := run(t, tools, "open__fail", `{}`); err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("fail: %v", err)
	}
	if got, err := run(t, tools, "guarded__echo", `{"text":"once"}`); err != nil || got != "you said once" {
		t.Errorf("protected: %q %v", got, err)
	}
	if _, err := run(t, tools, "guarded__echo", `{"text":"twice"}`); err == nil {
		t.Error("an invocation was used twice")
	}
	if _, err := run(t, tools, "guarded__fail", `{}`); err == nil || strings.Contains(err.Error(), "no luck") {
		t.Errorf("an invocation for another tool was taken: %v", err)
	}
	tools, done2 := e.Tools(t.Context(), []plugin.MCPServer{open, guarded}, turn.MCPUser{DID: alice.DID})
	defer done2()
	if _, err := run(t, tools, "guarded__echo", `{}`); err == nil || !strings.Contains(err.Error(), "protected") {
		t.Errorf("without an invocation: %v", err)
	}
	if n := lists.Load(); n > 2 {
		t.Errorf("the tools were listed %d times", n)
	}
}

func TestAServerThatMayNotBePrivateIsKnownApart(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	open := plugin.MCPServer{
		Name: "open", URL: server(t, &lists), Headers: map[string]string{"X-Operator": "yes"}, AllowPrivate: true,
	}
	private := open
	private.AllowPrivate = false
	e := mcpclient.New(nil, nil, mcpclient.Config{})
	for _, c := range []struct {
		server plugin.MCPServer
		want   int
	}{{private, 0}, {open, 2}, {private, 0}, {open, 2}} {
		tools, done := e.Tools(t.Context(), []plugin.MCPServer{c.server}, turn.MCPUser{})
		done()
		if len(tools) != c.want {
			t.Errorf("private allowed %t: %d tools, want %d", c.server.AllowPrivate, len(tools), c.want)
		}
	}
}

// pass is an access with one token.
type pass struct {
	holder  string
	refused atomic.Int64
}

func (p *pass) Holder() string                      { return p.holder }
func (*pass) Token(context.Context) (string, error) { return "secret", nil }
func (p *pass) Refused(context.Context, string, []string) (bool, error) {
	p.refused.Add(1)
	return false, nil
}

// A server without an authorization may lead to another path of its own, as
// many do with a slash; a token goes nowhere but where it was meant to.
func TestRedirectsWithAndWithoutToken(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	var tokens atomic.Int64
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.RedirectHandler("/mcp/", http.StatusTemporaryRedirect))
	mux.HandleFunc("/mcp/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			tokens.Add(1)
		}
		h.ServeHTTP(w, r)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	e := mcpclient.New(nil, nil, mcpclient.Config{})
	for holder, want := range map[string]int{"": 1, "alice": 0} {
		tools, done := e.Tools(t.Context(), []plugin.MCPServer{
			{Name: "x", URL: web.URL + "/mcp", AllowPrivate: true, Access: &pass{holder: holder}},
		}, turn.MCPUser{})
		done()
		if len(tools) != want {
			t.Errorf("%q: %d tools", holder, len(tools))
		}
	}
	if n := tokens.Load(); n != 0 {
		t.Errorf("%d tokens followed", n)
	}
}

// What one user was refused is told to the next one's access as well.
func TestRefusalsReachEverybody(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("WWW-Authenticate", `Bearer scope="a"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	e := mcpclient.New(nil, nil, mcpclient.Config{})
	first := int64(0)
	for range 3 {
		p := &pass{}
		_, err := e.Offers(t.Context(), plugin.MCPServer{Name: "x", URL: web.URL, AllowPrivate: true, Access: p})
		refusal, ok := errors.AsType[*plugin.MCPRefusedError](err)
		if !ok || len(refusal.Challenges) != 1 || p.refused.Load() == 0 {
			t.Errorf("%v, told %d times", err, p.refused.Load())
		}
		if first == 0 {
			first = asked.Load()
		}
	}
	if asked.Load() != first {
		t.Errorf("asked %d times", asked.Load())
	}
}
