package app

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/castalia-org/castalia/internal/plugins/agui"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetool"
	"github.com/castalia-org/castalia/plugin"
)

// ownWords are the tools of shipped plugins that answer in the program's own words or
// the user's, and foreignWords those that quote others. A new tool is in one of them.
var (
	ownWords = []string{
		"remember", "recall", "forget", "set_user_preferences", agui.ComponentTool, "vfs_access",
		"vfs_write", "vfs_append", "vfs_move", "vfs_delete", "vfs_restore", "vfs_share",
	}
	foreignWords = []string{
		"get_entity", "list_claims", "get_token_params", "list_queries", "query_chain", knowledgetool.Search, knowledgetool.Read,
		"vfs_list", "vfs_glob", "vfs_search", "vfs_grep", "vfs_list_cids", "vfs_read", "vfs_read_cid", "vfs_stat", "vfs_versions", "vfs_diff", "vfs_edit",
	}
)

// offer is what a service offers the agent.
type offer struct {
	plugin.Files
	specs []plugin.ToolSpec
	err   error
}

func (o offer) Tools(context.Context) ([]plugin.ToolSpec, error) { return o.specs, o.err }

// Every tool that comes with the program says whether it quotes others: what a turn
// may do afterwards hangs on it.
func TestEveryToolSaysWhoseWordsItReturns(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := w.send(t, w.owners("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, append([]string{"Content-Type", "application/json"}, rpc...)...))
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(got.Body.Bytes(), &list); err != nil || len(list.Result.Tools) == 0 {
		t.Fatalf("%v: %s", err, got.Body)
	}
	var files, documents offer
	for _, one := range list.Result.Tools {
		files.specs = append(files.specs, plugin.ToolSpec{Name: one.Name})
	}
	for _, one := range knowledgetool.Specs() {
		documents.specs = append(documents.specs, plugin.ToolSpec{Name: one.Name})
	}
	var all []plugin.Tool
	for _, rt := range []*plugin.Runtime{
		{Files: files, Knowledge: documents},
		{Files: offer{err: plugin.ErrNoDelegation}, Knowledge: offer{}},
	} {
		for _, p := range ShippedPlugins() {
			if has, ok := p.(plugin.ToolProvider); ok {
				all = append(all, has.Tools()...)
			}
			if has, ok := p.(plugin.RequestToolProvider); ok {
				more, err := has.RequestTools(t.Context(), rt)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, more...)
			}
			if has, ok := p.(plugin.SubAgentProvider); ok {
				for _, sub := range has.SubAgents() {
					all = append(all, sub.Tools...)
				}
			}
		}
	}
	met := map[string]bool{}
	for _, tool := range all {
		met[tool.Name] = true
		own, foreign := slices.Contains(ownWords, tool.Name), slices.Contains(foreignWords, tool.Name)
		if own == foreign || tool.Foreign != foreign {
			t.Errorf("%s: its own words %v, foreign %v; it says foreign %v", tool.Name, own, foreign, tool.Foreign)
		}
	}
	for _, name := range append(slices.Clone(ownWords), foreignWords...) {
		if !met[name] && name != agui.ComponentTool { // offered where a page draws
			t.Errorf("%s is not offered", name)
		}
	}
}
