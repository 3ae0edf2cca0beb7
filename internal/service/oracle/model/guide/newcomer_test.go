package guide_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/plugin"
)

// newcomer is what somebody asks who has just come, and what is acceptable.
type newcomer struct {
	Never     []string
	Questions []struct {
		Ask, Good   string
		Says, Never []string
		Links       bool
	}
}

var catalogue = "You are Testa, an oracle run.\nCapabilities:\n" +
	"- files (load it with load_capability unless you have its tools): Reads, searches and writes the user's own files. Use it when: the user asks about something in their files or documents; do not repeat in text what it shows.\n" +
	"- memory (load it with load_capability unless you have its tools): Remembers facts. Use it when: the user tells something lasting.\n" +
	"- query (load it with load_capability unless you have its tools): Looks up entities of the chain. Use it when: the user asks for data of the chain.\n"

// fileTools are what the files plugin offers after it was loaded, and notes what
// they find in two files.
var fileTools = []plugin.ToolSpec{
	{Name: "vfs_list", Description: "List a folder.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"}}}`)},
	{Name: "vfs_glob", Description: "Find files by name.", Schema: json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string"}},"required":["pattern"]}`)},
	{Name: "vfs_search", Description: "Search files by words.", Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"path":{"type":"string"}},"required":["q"]}`)},
	{Name: "vfs_grep", Description: "Search the text itself.", Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"ignoreCase":{"type":"boolean"}},"required":["q"]}`)},
	{Name: "vfs_read", Description: "Read a text file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "vfs_write", Description: "Write a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path","text"]}`)},
}

var notes = map[string]string{
	"/notes/minutes.md": "Amina brings the keys of the pump house.",
	"/notes/water.md":   "The pump in the valley was mended in May.",
}

// runTool plays the store.
func runTool(t *testing.T, c plugin.ModelToolCall) string {
	t.Helper()
	var args struct{ Q, Path, Pattern string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		t.Fatal(err)
	}
	var hits []string
	for name, text := range notes {
		switch c.Name {
		case "vfs_read":
			if name == args.Path {
				return text
			}
		case "vfs_glob":
			if strings.HasSuffix(name, strings.TrimPrefix(args.Pattern, "**")) {
				hits = append(hits, name)
			}
		case "vfs_list":
			hits = append(hits, name)
		case "vfs_search", "vfs_grep":
			if strings.Contains(strings.ToLower(text), strings.ToLower(args.Q)) {
				hits = append(hits, name+": "+text)
			}
		}
	}
	slices.Sort(hits)
	data, err := json.Marshal(map[string]any{"files": hits, "count": len(hits)})
	if err != nil {
		t.Fatal(err)
	}
	if len(hits) == 0 {
		return "No matching files."
	}
	return string(data)
}

// TestNewcomersAreAnswered asks what newcomers ask, as turns of the oracle do: the
// files are a capability that is loaded, and tools run until there is an answer.
func TestNewcomersAreAnswered(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/newcomer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all newcomer
	if err := yaml.UnmarshalWithOptions(raw, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if len(all.Questions) != 30 {
		t.Errorf("%d questions", len(all.Questions))
	}
	p := newGuide(t)
	for _, q := range all.Questions {
		t.Run(q.Ask, func(t *testing.T) {
			t.Parallel()
			tools := []plugin.ToolSpec{{Name: "load_capability", Description: "Load a capability.", Schema: json.RawMessage(`{"type":"object"}`)}}
			talk := []plugin.ModelMessage{says(plugin.RoleUser, q.Ask)}
			said, used := "", 0
			for step := 0; said == ""; step++ {
				resp := ask(t, p, plugin.ModelRequest{System: catalogue, Messages: talk, Tools: tools})
				if len(resp.ToolCalls) == 0 || step == 4 {
					said = resp.Text
					break
				}
				c := resp.ToolCalls[0]
				c.ID = fmt.Sprint(step)
				result := "Loaded."
				if c.Name == "load_capability" {
					tools = append(tools, fileTools...)
				} else {
					used++
					result = runTool(t, c)
				}
				talk = append(talk, plugin.ModelMessage{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{c}},
					plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: c.ID, Text: result})
			}
			if len(tools) > 1 && used == 0 {
				t.Error("a capability was loaded for nothing")
			}
			for _, must := range q.Says {
				if !regexp.MustCompile(`(?is)` + must).MatchString(said) {
					t.Errorf("it lacks /%s/ (%s):\n%s", must, q.Good, said)
				}
			}
			for _, never := range append(slices.Clone(all.Never), q.Never...) {
				if regexp.MustCompile(`(?im)` + never).MatchString(said) {
					t.Errorf("it has /%s/:\n%s", never, said)
				}
			}
			if q.Links && !strings.Contains(said, "](/guides/") {
				t.Errorf("it links to nothing:\n%s", said)
			}
		})
	}
}
