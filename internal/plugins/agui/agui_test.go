package agui_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/agui"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// The guidance names what the page declares in this turn, and only then.
func TestGuidance(t *testing.T) {
	t.Parallel()
	provider := scripted.Sequence(scripted.Text("Yes."))
	n := oracletest.Start(t, provider, func(d *oraclekit.Deps) { d.Plugins = []plugin.Plugin{agui.New()} })
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	action := func(name string, render bool) map[string]any {
		return map[string]any{"name": name, "description": "An action.", "schema": map[string]any{"type": "object"}, "hasRender": render}
	}
	for _, body := range []map[string]any{
		{"message": "one"},
		{"message": "two", "agActions": []any{action("show_table", true), action("mark_row", false)}},
	} {
		if r := alice.Do("POST", "/messages/"+session, body); r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	var systems []string
	for _, r := range provider.Requests() {
		if r.Purpose == "turn" {
			systems = append(systems, r.System)
		}
	}
	if len(systems) != 2 || strings.Contains(systems[0], "offers actions") {
		t.Fatalf("prompts: %q", systems)
	}
	for _, want := range []string{"show something on the page: show_table.", "do something on the page: mark_row."} {
		if !strings.Contains(systems[1], want) {
			t.Errorf("no %q in %s", want, systems[1])
		}
	}
}

// A component that the page names is shown, told to open pages, and kept.
func TestComponents(t *testing.T) {
	t.Parallel()
	call := scripted.Calls(plugin.ModelToolCall{ID: "c1", Name: agui.ComponentTool, Args: json.RawMessage(`{"name":"Chart","args":{"bars":[1,2]}}`)})
	provider := scripted.Sequence(call, scripted.Text("There."))
	n := oracletest.Start(t, provider, func(d *oraclekit.Deps) { d.Plugins = []plugin.Plugin{agui.New()} })
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{
		"message": "draw", "stream": true, "metadata": map[string]any{"uiComponents": []any{"Chart", "bad name", 7, "Chart"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var shown struct {
		ComponentName, EventID, Status string
		Args                           json.RawMessage
	}
	for _, f := range oracletest.Stream(t, resp) {
		if f.Event == "render_component" {
			if err := json.Unmarshal(f.Data, &shown); err != nil {
				t.Fatal(err)
			}
		}
	}
	if shown.ComponentName != "Chart" || shown.EventID != "c1" || shown.Status != "done" || string(shown.Args) != `{"bars":[1,2]}` {
		t.Errorf("%+v", shown)
	}
	var list struct {
		Messages []struct {
			ToolCalls []struct{ Component *plugin.Component }
		}
	}
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
	if len(list.Messages) != 3 || len(list.Messages[1].ToolCalls) != 1 || list.Messages[1].ToolCalls[0].Component == nil ||
		list.Messages[1].ToolCalls[0].Component.Name != "Chart" {
		t.Errorf("%+v", list)
	}
	for _, tool := range provider.Requests()[0].Tools {
		if tool.Name == agui.ComponentTool && !strings.Contains(string(tool.Schema), `"enum":["Chart"]`) {
			t.Errorf("%s", tool.Schema)
		}
	}
}
