package mcp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/plugins/mcp"
	"github.com/castalia-org/castalia/plugin"
)

func TestServers(t *testing.T) {
	t.Parallel()
	p := mcp.New(mcp.Config{
		Servers: []string{"maps=https://maps.example/mcp", " bank=https://bank.example/mcp"}, Bearers: "maps=s3cret=,", Protected: []string{"bank"}, Timeout: time.Second,
	}, pages)
	if on, why := p.AutoDetect(); !on || why == "" {
		t.Errorf("off: %s", why)
	}
	if err := p.Start(t.Context(), plugin.Host{}); err != nil {
		t.Fatal(err)
	}
	got, err := p.MCPServers(t.Context(), &plugin.Runtime{})
	if err != nil {
		t.Fatal(err)
	}
	want := []plugin.MCPServer{
		{
			Name: "maps", URL: "https://maps.example/mcp", Headers: map[string]string{"Authorization": "Bearer s3cret="}, Visibility: plugin.OnDemand,
			Summary: "Tools of the MCP server maps at maps.example.", Timeout: time.Second,
		},
		{
			Name: "bank", URL: "https://bank.example/mcp", Protected: true, Visibility: plugin.OnDemand,
			Summary: "Tools of the MCP server bank at bank.example.", Timeout: time.Second,
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if on, why := mcp.New(mcp.Config{}, pages).AutoDetect(); on || why == "" {
		t.Errorf("on without servers: %s", why)
	}
}

func TestBadListsStopTheStart(t *testing.T) {
	t.Parallel()
	good := []string{"maps=https://maps.example/mcp"}
	for want, cfg := range map[string]mcp.Config{
		"not name=URL":             {Servers: []string{"https://maps.example"}},
		"a-z, 0-9":                 {Servers: []string{"Maps=https://maps.example"}},
		"needs an http":            {Servers: []string{"maps=ftp://maps.example"}},
		"without a password":       {Servers: []string{"maps=https://me:s3cret@maps.example"}},
		"MCP_PRIVATE=true":         {Servers: []string{"maps=http://maps.example"}},
		"two servers":              {Servers: []string{"maps=https://a.example", "maps=https://b.example"}},
		"at most 20":               {Servers: strings.Split(strings.TrimSuffix(letters("=https://a.example,"), ","), ",")},
		"is not in MCP_SERVERS":    {Servers: good, Protected: []string{"bank"}},
		"not name=token":           {Servers: good, Bearers: "bank=s3cret"},
		"with a name of MCP_SERVE": {Servers: good, Bearers: "maps=s3cret x"},
		"a client id and perhaps":  {Clients: "https://a.example id"},
		"begin with two addresses": {Clients: "https://a.example s3cret s3cret"},
	} {
		err := mcp.New(cfg, pages).Start(t.Context(), plugin.Host{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	here := mcp.Config{Servers: []string{"maps=http://127.0.0.1:1/mcp"}, Private: true}
	if err := mcp.New(here, pages).Start(t.Context(), plugin.Host{}); err != nil {
		t.Errorf("a private server: %v", err)
	}
}

// letters puts a to z before the text.
func letters(text string) string {
	var b strings.Builder
	for c := 'a'; c <= 'z'; c++ {
		b.WriteString(string(c) + text)
	}
	return b.String()
}
