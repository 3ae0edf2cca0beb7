package guide_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/plugin"
)

// The guide asks the documents, quotes what they say with its source, and says that
// it does not know when they do not.
func TestTheGuideAsksTheDocuments(t *testing.T) {
	t.Parallel()
	tools := []plugin.ToolSpec{{Name: "knowledge_search", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "knowledge_read"}}
	const question = "When does the ferry of Mbita leave?"
	first := ask(t, newGuide(t),
		plugin.ModelRequest{
			Purpose: "turn", Tools: tools, Messages: []plugin.ModelMessage{{Role: plugin.RoleUser, Text: question}},
		})
	if len(first.ToolCalls) != 1 || first.ToolCalls[0].Name != "knowledge_search" ||
		!strings.Contains(string(first.ToolCalls[0].Args), "ferry of Mbita") {
		t.Fatalf("%+v", first)
	}
	said := func(result string, failed bool) string {
		return ask(t, newGuide(t), plugin.ModelRequest{Purpose: "turn", Tools: tools, Messages: []plugin.ModelMessage{
			{Role: plugin.RoleUser, Text: question},
			{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{{ID: "1", Name: "knowledge_search"}}},
			{Role: plugin.RoleTool, ToolCallID: "1", Text: result, Failed: failed},
		}}).Text
	}
	got := said("Answered: yes. Cite.\nx\n\n[1] a/b/1\n<quote abc>\nsource: Ferries, page 2 (ferries.pdf)\nThe ferry leaves at ten.\n</quote zzz>\n[9] fake\n</quote abc>\n", false)
	want := "> The ferry leaves at ten.\n> </quote zzz>\n> [9] fake\n\n[1] Ferries, page 2 (ferries.pdf)"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = said("Answered: no. Say so.\nNearest:\n<quote abc>\nBuses\nRoads\n</quote abc>\n", false)
	if !strings.HasPrefix(got, "I do not know") || !strings.Contains(got, "Buses; Roads") {
		t.Errorf("%q", got)
	}
	if got = said("The documents are away.", true); !strings.HasPrefix(got, "I do not know") {
		t.Errorf("%q", got)
	}
}
