package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/plugins/mcp/mcptest"
)

func TestMCPServersFromTheCommandLine(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	dir := t.TempDir()
	s := serve(t, filepath.Join(dir, "data"), "MCP_USER_PRIVATE=true", "APPROVE_MCP_TOOLS=true")
	key := filepath.Join(dir, "me.key")
	mustRun(t, "key", "new", "--out", key)
	run := func(args ...string) string {
		return mustRun(t, append(append([]string{"mcp-server"}, args...), "--server", addressIn(t, s.out.String()), "--key", key)...)
	}
	link := run("add", "notes", server.URL+"/mcp", "--note", "what I wrote")
	if !strings.Contains(link, "/mcp-servers/authorize/") {
		t.Fatal(link)
	}
	if list := run("ls"); !strings.Contains(list, "waiting for your authorization") || !strings.Contains(list, "yours") {
		t.Error(list)
	}
	link = run("authorize", "notes")
	code := mcptest.Code(t, mcptest.Agree(t, link))
	if said := run("confirm", "notes", code); said != "notes is ready, 1 tool" {
		t.Error(said)
	}
	if list := run("ls"); !strings.Contains(list, "ready, 1 tool") || !strings.Contains(list, "echo") {
		t.Error(list)
	}
	if said := run("forget", "notes"); said != "The tokens were revoked." {
		t.Error(said)
	}
	run("rm", "notes")
	if list := run("ls"); list != "" {
		t.Error(list)
	}
	if _, errs, code := castalia(t, "mcp-server", "dance"); code != 2 {
		t.Errorf("exit %d: %s", code, errs)
	}
}
