package portal_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/portal"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// The guidance names what the page declares in this turn, and only then.
func TestGuidance(t *testing.T) {
	t.Parallel()
	provider := scripted.Sequence(scripted.Text("Yes."))
	n := oracletest.Start(t, provider, func(d *oraclekit.Deps) { d.Plugins = []plugin.Plugin{portal.New()} })
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	for _, body := range []map[string]any{
		{"message": "one"},
		{"message": "two", "tools": []any{map[string]any{"name": "open_page", "description": "Opens.", "schema": map[string]any{"type": "object"}}}},
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
	const want = "the user's own browser, in the user's sight: open_page."
	if len(systems) != 2 || strings.Contains(systems[0], "own browser") || !strings.Contains(systems[1], want) {
		t.Errorf("prompts: %q", systems)
	}
}
