package guide_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/castalia-org/castalia/docs"
	"github.com/castalia-org/castalia/internal/service/oracle/model/guide"
	"github.com/castalia-org/castalia/plugin"
)

var tools = []plugin.ToolSpec{
	{Name: "vfs_list", Description: "List the files of a folder.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	{Name: "vfs_read", Description: "Read a text file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"Path of the file"}},"required":["path"]}`)},
	{Name: "set_color", Description: "Change the color of the page.", Schema: json.RawMessage(`{"type":"object","properties":{"color":{"type":"string","enum":["red","blue"]}},"required":["color"]}`)},
	{Name: "addNumbers", Description: "Add two numbers.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)},
	{Name: "query_entity", Description: "Look up an entity on the chain.", Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)},
}

// memory is what the memory plugin offers.
var memory = []plugin.ToolSpec{
	{Name: "remember", Description: "Remember a lasting fact about the user.", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
	{Name: "recall", Description: "Find what you remember of the user.", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)},
	{Name: "forget", Description: "Forget one memory.", Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)},
}

// chain is what the query plugin offers.
var chain = []plugin.ToolSpec{
	{Name: "get_entity", Description: "Look up an entity of the chain by its DID.", Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","description":"such as did:ixo:entity:…"}},"required":["id"]}`)},
	{Name: "query_chain", Description: "Ask the query gateway for a path.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
}

func ask(t *testing.T, p *guide.Provider, req plugin.ModelRequest) plugin.ModelResponse {
	t.Helper()
	streamed := ""
	resp, err := p.Stream(t.Context(), req, func(c plugin.Chunk) { streamed += c.Text })
	if err != nil {
		t.Fatal(err)
	}
	if streamed != resp.Text {
		t.Errorf("streamed %q, answered %q", streamed, resp.Text)
	}
	return resp
}

func newGuide(t *testing.T) *guide.Provider {
	t.Helper()
	p, err := guide.New(guide.Config{Docs: docs.Guides})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func says(role plugin.Role, text string) plugin.ModelMessage {
	return plugin.ModelMessage{Role: role, Text: text}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	p := newGuide(t)
	for question, want := range map[string]string{
		"Hello!":            "built-in guide",
		"What is Castalia?": "From Castalia's documentation:\n\n**What Castalia is, and what it can do**",
		"Where are the bees?\n\n[Attachment \"n.md\", text/markdown]\n# Notes\nBees live in the hive.": "```\nBees live in the hive.\n```",
		"Read\n\n[Attachment \"a.bin\", x/y] [could not be read]":                                      "[could not be read]",
		"who are you?":               "not a language model",
		"what is 2 + 3 * (4 - 1)?":   "11",
		"what is 1,000,000 / 4,000?": "250",
		"2^3^2":                      "512",
		"-2*3":                       "-6",
		"1/0":                        "could not work that out",
		"what time is it?":           "Friday",
		"how do I resume a stream after a lost line?": "after=N",
		"help":                                 "`vfs_list`",
		"zxqv blorp":                           "found nothing",
		"What happens when a node dies?":       "runs are taken over",
		"how can I connect a language model?":  "MODEL_PROVIDER",
		"what are attachments limited to?":     "25 MB",
		"explain how plugins keep their state": "Store",
	} {
		resp := ask(t, p, plugin.ModelRequest{
			System: "You are Testa, an oracle run.\n", Tools: tools,
			Messages: []plugin.ModelMessage{{
				Role: plugin.RoleUser, Text: question, Note: "It is Friday, 1 May 2026, 10:00 where the user is (time zone UTC).",
			}},
		})
		if !strings.Contains(resp.Text, want) || len(resp.ToolCalls) > 0 {
			t.Errorf("%q: %q %v", question, resp.Text, resp.ToolCalls)
		}
	}
}

func TestDrivesTools(t *testing.T) {
	t.Parallel()
	p := newGuide(t)
	for question, want := range map[string]string{
		"list my files":                      `vfs_list {}`,
		"show the files in /notes/2026":      `vfs_list {"path":"/notes/2026"}`,
		"read /notes/a.md please":            `vfs_read {"path":"/notes/a.md"}`,
		"make the color blue":                `set_color {"color":"blue"}`,
		"add the numbers 3 and 4.5":          `addNumbers {"a":3,"b":4.5}`,
		"query entity did:ixo:entity:abc123": `query_entity {"id":"did:ixo:entity:abc123"}`,
		`/tool vfs_read {"path": "/x"}`:      `vfs_read {"path": "/x"}`,
		"Remember that I keep bees.":         `remember {"text":"I keep bees"}`,
		"can you remember that I keep bees?": `remember {"text":"I keep bees"}`,
		"what do you remember about bees?":   `recall {}`, // what is asked is not to be kept
		"Do you remember my bees?":           `recall {}`,
		"recall what I told you to remember": `recall {}`,
		"forget mem_1 that you remember":     "nothing: To use `forget` I still need `id`.",
	} {
		resp := ask(t, p, plugin.ModelRequest{
			Messages: []plugin.ModelMessage{says(plugin.RoleUser, question)}, Tools: slices.Concat(tools, memory),
		})
		got := "nothing: " + resp.Text
		if len(resp.ToolCalls) == 1 {
			got = resp.ToolCalls[0].Name + " " + string(resp.ToolCalls[0].Args)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", question, got, want)
		}
	}
}

func TestFindsAnEntityHoweverItIsAsked(t *testing.T) {
	t.Parallel()
	p := newGuide(t)
	for _, question := range []string{"get the entity did:x:1", "query entity did:x:1", "Look up the entity did:x:1, please", "show me entity did:x:1"} {
		resp := ask(t, p, plugin.ModelRequest{Messages: []plugin.ModelMessage{says(plugin.RoleUser, question)}, Tools: chain})
		if len(resp.ToolCalls) != 1 || resp.ToolCalls[0].Name != "get_entity" || string(resp.ToolCalls[0].Args) != `{"id":"did:x:1"}` {
			t.Errorf("%q: %q %v", question, resp.Text, resp.ToolCalls)
		}
	}
}

func TestAsksForWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := newGuide(t)
	talk := []plugin.ModelMessage{says(plugin.RoleUser, "read a text file")}
	resp := ask(t, p, plugin.ModelRequest{Messages: talk, Tools: tools})
	if !strings.Contains(resp.Text, "To use `vfs_read` I still need `path` (Path of the file)") {
		t.Fatalf("asked: %q", resp.Text)
	}
	talk = append(talk, says(plugin.RoleAssistant, resp.Text), says(plugin.RoleUser, "todo.txt"))
	resp = ask(t, p, plugin.ModelRequest{Messages: talk, Tools: tools})
	if len(resp.ToolCalls) != 1 || string(resp.ToolCalls[0].Args) != `{"path":"todo.txt"}` {
		t.Errorf("continued: %q %v", resp.Text, resp.ToolCalls)
	}
}

func TestLoadsCapabilitiesAndReportsResults(t *testing.T) {
	t.Parallel()
	p := newGuide(t)
	system := "Capabilities:\n- files (load it with load_capability unless you have its tools): The user's own files. Use it when: the user asks for files.\n"
	load := plugin.ToolSpec{Name: "load_capability", Schema: json.RawMessage(`{"type":"object"}`)}
	talk := []plugin.ModelMessage{says(plugin.RoleUser, "list my files")}
	resp := ask(t, p, plugin.ModelRequest{System: system, Messages: talk, Tools: []plugin.ToolSpec{load}})
	if len(resp.ToolCalls) != 1 || string(resp.ToolCalls[0].Args) != `{"name":"files"}` {
		t.Fatalf("load: %q %v", resp.Text, resp.ToolCalls)
	}
	chainOnly := "Capabilities:\n- query (load it with load_capability unless you have its tools): Data of the chain.\n"
	other := ask(t, p, plugin.ModelRequest{
		System: chainOnly, Messages: []plugin.ModelMessage{says(plugin.RoleUser, "look up the entity did:x:1")}, Tools: []plugin.ToolSpec{load},
	})
	if len(other.ToolCalls) != 1 || string(other.ToolCalls[0].Args) != `{"name":"query"}` {
		t.Errorf("an entity: %q %v", other.Text, other.ToolCalls)
	}
	called := resp.ToolCalls[0]
	called.ID = "1"
	talk = append(talk, plugin.ModelMessage{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{called}},
		plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: "1", Text: "Loaded files."})
	resp = ask(t, p, plugin.ModelRequest{System: system, Messages: talk, Tools: tools})
	if len(resp.ToolCalls) != 1 || resp.ToolCalls[0].Name != "vfs_list" {
		t.Fatalf("after loading: %q %v", resp.Text, resp.ToolCalls)
	}
	called = resp.ToolCalls[0]
	called.ID = "2"
	talk = append(talk, plugin.ModelMessage{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{called}},
		plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: "2", Text: `["a.md"]`})
	resp = ask(t, p, plugin.ModelRequest{System: system, Messages: talk, Tools: tools})
	if !strings.Contains(resp.Text, "a.md") || len(resp.ToolCalls) > 0 {
		t.Errorf("result: %q %v", resp.Text, resp.ToolCalls)
	}
}

// TestReportsResults: a short reply is shown as it is, of a long one what it has.
func TestReportsResults(t *testing.T) {
	t.Parallel()
	p := newGuide(t)
	long := `{"entity":{"id":"did:ixo:entity:1","type":"dao","status":1,"relayerNode":"","metadata":null,
		"controller":["did:x:1","did:x:2"],"linkedResource":[{"id":"{id}#page","type":"Settings","proof":"a` + "`" + `b"}],
		"entityDocument":{"service":[],"accounts":[]},"endDate":"` + strings.Repeat("9", 300) + `","context":[]}}`
	many := "[" + strings.Repeat(`{"id":"c","deep":{"a":1},"n":7},`, 24) + `{"deep":{"a":1}}]`
	for reply, want := range map[string]string{
		"":                    "(nothing)",
		"two words":           "two words",
		`"a \"quoted\" text"`: `a "quoted" text`,
		"7":                   "```json\n7\n```",
		`{"a":[1,2]}`:         "```json\n{\n  \"a\": [\n    1,\n    2\n  ]\n}\n```",
		long: "- **id**: `did:ixo:entity:1`\n- **type**: `dao`\n- **status**: `1`\n- **controller**: 2 entries\n" +
			"- **linkedResource**: id `{id}#page`, type `Settings`, proof `` a`b ``\n- **entityDocument**: service, accounts\n" +
			"- **endDate**: `" + strings.Repeat("9", 160) + "…`\n\nThat is an outline; the tool's result has the whole reply.",
		many: strings.Repeat("- id `c`, n `7`\n", 20) + "- and 5 more\n\nThat is an outline; the tool's result has the whole reply.",
		`[[],{},null,[1,2],{"a":[1,2,3,4,5]},"x","y","z",1,2]`: "- (nothing)\n- (nothing)\n- (nothing)\n- 2 entries\n- a\n- `x`\n- `y`\n- `z`\n- `1`\n- `2`\n\n" +
			"That is an outline; the tool's result has the whole reply.",
	} {
		resp := ask(t, p, plugin.ModelRequest{Tools: tools, Messages: []plugin.ModelMessage{
			says(plugin.RoleUser, "query entity"),
			{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{{ID: "1", Name: "query_entity"}}},
			{Role: plugin.RoleTool, ToolCallID: "1", Text: reply},
		}})
		if got, ok := strings.CutPrefix(resp.Text, "`query_entity` answered:\n\n"); !ok || got != want {
			t.Errorf("%s:\n%s\nwant\n%s", reply, resp.Text, want)
		}
	}
}

// TestRepeatsSentences: what a tool says for people is said as it is.
func TestRepeatsSentences(t *testing.T) {
	t.Parallel()
	p := newGuide(t)
	const dark = "The theme is dark now."
	for reply, want := range map[string]string{
		`{"message":"The theme is dark now.","before":"auto","now":"dark"}`: dark,
		`"The theme is dark now."`:         dark,
		"The theme is dark now.\n":         dark,
		`{"message":"ok"}`:                 "`query_entity` answered:\n\n```json\n{\n  \"message\": \"ok\"\n}\n```",
		`{"message":{"text":"Not this."}}`: "`query_entity` answered:\n\n```json\n{\n  \"message\": {\n    \"text\": \"Not this.\"\n  }\n}\n```",
		"One.\nTwo.":                       "`query_entity` answered:\n\nOne.\nTwo.",
	} {
		resp := ask(t, p, plugin.ModelRequest{Tools: tools, Messages: []plugin.ModelMessage{
			says(plugin.RoleUser, "query entity"),
			{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{{ID: "1", Name: "query_entity"}}},
			{Role: plugin.RoleTool, ToolCallID: "1", Text: reply},
		}})
		if resp.Text != want {
			t.Errorf("%s:\n%s\nwant\n%s", reply, resp.Text, want)
		}
	}
}

// A message may have a megabyte. What is compared with the manual word by word is its beginning: all of it took four
// seconds. Allocations are counted, which are the same on any machine.
func TestALongMessageIsNotCompared(t *testing.T) {
	p := newGuide(t)
	var long strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&long, "w%06d ", i)
	}
	req := plugin.ModelRequest{Tools: tools, Messages: []plugin.ModelMessage{says(plugin.RoleUser, long.String())}}
	if spent := testing.AllocsPerRun(1, func() { ask(t, p, req) }); spent > 100_000 {
		t.Errorf("%.0f allocations", spent)
	}
	// Arguments are read whole all the same.
	args := `{"path":"/` + strings.Repeat("a", 100_000) + `"}`
	got := ask(t, p, plugin.ModelRequest{Tools: tools, Messages: []plugin.ModelMessage{says(plugin.RoleUser, "/tool vfs_list "+args)}})
	if len(got.ToolCalls) != 1 || string(got.ToolCalls[0].Args) != args {
		t.Errorf("%.200v", got)
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	resp := ask(t, newGuide(t), plugin.ModelRequest{
		Purpose: "title", Messages: []plugin.ModelMessage{says(plugin.RoleUser, "human: How do bees make their honey in winter\nai: slowly")},
	})
	if resp.Text != "How do bees make their honey …" {
		t.Errorf("title: %q", resp.Text)
	}
}

func FuzzAnswers(f *testing.F) {
	p, err := guide.New(guide.Config{Docs: fstest.MapFS{"a.md": {Data: []byte("# A\n\ntext about bees")}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("\x00[[],{\"a\":[{}]},null,\"`\"]")
	for _, s := range []string{"hello", "/tool vfs_read {", "2+(3", "read \"a\" 'b", "path=/x color:red", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, question string) {
		talk := []plugin.ModelMessage{says(plugin.RoleUser, question)}
		if reply, ok := strings.CutPrefix(question, "\x00"); ok {
			talk = append(talk,
				plugin.ModelMessage{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{{ID: "1", Name: "vfs_list"}}},
				plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: "1", Text: reply})
		}
		resp, err := p.Stream(t.Context(), plugin.ModelRequest{Messages: talk, Tools: tools}, func(plugin.Chunk) {})
		if err != nil || resp.Text == "" && len(resp.ToolCalls) == 0 {
			t.Errorf("no answer to %q: %v", question, err)
		}
	})
}
