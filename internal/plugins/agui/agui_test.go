package agui_test

import (
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
