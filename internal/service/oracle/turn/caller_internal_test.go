package turn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/plugin"
)

// Providers refuse calls without a result and results without a call.
func TestEachCallHasOneResult(t *testing.T) {
	t.Parallel()
	user := plugin.ModelMessage{Role: plugin.RoleUser, Text: "and?"}
	asks := func(ids ...string) plugin.ModelMessage {
		m := plugin.ModelMessage{Role: plugin.RoleAssistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, plugin.ModelToolCall{ID: id, Name: "f"})
		}
		return m
	}
	result := func(id string) plugin.ModelMessage {
		return plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: id, Text: "x"}
	}
	missing := func(id string) plugin.ModelMessage {
		return plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: id, Text: unanswered, Failed: true}
	}
	type list = []plugin.ModelMessage
	for name, c := range map[string]struct{ in, want list }{
		"whole": {
			list{user, asks("a", "b"), result("b"), result("a"), user},
			list{user, asks("a", "b"), result("b"), result("a"), user},
		},
		"one is missing":  {list{asks("a", "b"), result("a"), user}, list{asks("a", "b"), result("a"), missing("b"), user}},
		"none at the end": {list{user, asks("a")}, list{user, asks("a"), missing("a")}},
		"without a call":  {list{result("z"), user, result("a")}, list{user}},
		"twice":           {list{asks("a"), result("a"), result("a")}, list{asks("a"), result("a")}},
		"too late":        {list{asks("a"), user, result("a")}, list{asks("a"), missing("a"), user}},
	} {
		if d := cmp.Diff(c.want, answered(c.in)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
