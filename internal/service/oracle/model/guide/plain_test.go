package guide_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/internal/platform/guidebook"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/service/oracle/model/guide"
	"github.com/castalia-org/castalia/plugin"
)

// sample is where the documents of the sample community are.
const sample = "../../../../cli/knowcli/demo"

// documents plays the community's documents.
func documents(t *testing.T) *textindex.Small {
	t.Helper()
	all, err := guidebook.Passages(os.DirFS(sample))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range all {
		all[i].Language = analyse.Detect(p.Text)
	}
	prices, err := os.ReadFile(filepath.Join(sample, "market-prices.csv"))
	if err != nil {
		t.Fatal(err)
	}
	table := strings.ReplaceAll(strings.TrimSpace(string(prices)), ",", " | ")
	all = append(all, textindex.Passage{Document: "market-prices.csv", Title: "market prices", Text: table})
	ix, err := textindex.NewSmall(all, analyse.Everyday())
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// oracle plays a turn's tools: documents, memory, and files that are not allowed.
type oracle struct {
	guide *guide.Provider
	index *textindex.Small
	told  []string
	talk  []plugin.ModelMessage
}

func (o *oracle) tools() []plugin.ToolSpec {
	tools := append(slices.Clone(memory), plugin.ToolSpec{Name: "load_capability", Schema: json.RawMessage(`{"type":"object"}`)})
	if o.index != nil {
		tools = append(tools, plugin.ToolSpec{Name: "knowledge_search", Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return tools
}

// ask says something and plays tools until there is an answer.
func (o *oracle) ask(t *testing.T, question string) string {
	t.Helper()
	o.talk = append(o.talk, plugin.ModelMessage{
		Role: plugin.RoleUser, Text: question, Note: "It is Friday, 1 May 2026, 10:00 where the user is (time zone UTC).",
	})
	tools := o.tools()
	for step := range 6 {
		resp := ask(t, o.guide, plugin.ModelRequest{System: catalogue, Messages: o.talk, Tools: tools})
		if len(resp.ToolCalls) == 0 {
			o.talk = append(o.talk, says(plugin.RoleAssistant, resp.Text))
			return resp.Text
		}
		c := resp.ToolCalls[0]
		c.ID = fmt.Sprint(len(o.talk), step)
		if c.Name == "load_capability" {
			tools = append(tools, plugin.ToolSpec{Name: "vfs_access", Schema: json.RawMessage(`{"type":"object"}`)})
		}
		o.talk = append(o.talk, plugin.ModelMessage{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{c}},
			plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: c.ID, Text: o.run(t, c)})
	}
	t.Errorf("%q: no answer after six steps", question)
	return ""
}

func (o *oracle) run(t *testing.T, c plugin.ModelToolCall) string {
	t.Helper()
	var args struct{ Query, Text, ID string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		t.Fatal(err)
	}
	switch c.Name {
	case "knowledge_search":
		return o.search(t, args.Query)
	case "remember":
		o.told = append(o.told, args.Text)
		return fmt.Sprintf(`{"id":"mem_1","text":%q,"createdAt":"2026-05-01T10:00:00Z"}`, args.Text)
	case "forget":
		o.told = nil
		return `{"forgotten":1}`
	case "recall":
		var all []map[string]string
		for _, text := range o.told {
			all = append(all, map[string]string{"id": "mem_1", "text": text})
		}
		out, err := json.Marshal(map[string]any{"memories": all})
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	case "load_capability":
		return "Loaded."
	}
	return "The user has not allowed it."
}

// search answers as the knowledge tool does.
func (o *oracle) search(t *testing.T, question string) string {
	t.Helper()
	found, err := o.index.Search(t.Context(), question, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !found.Answered {
		return "Answered: no. The documents do not answer this; say so.\nDocuments that come nearest:\n<quote abc>\nMwangaza Clinic\n</quote abc>\n"
	}
	var b strings.Builder
	b.WriteString("Answered: yes. Cite the sources that you use by their numbers, as [1].\n")
	for i, h := range found.Hits {
		var said []string
		for _, s := range h.Answer {
			said = append(said, h.Text[s.Start:s.End])
		}
		fmt.Fprintf(&b, "\n[%d] c/%s/%d\n<quote abc>\nsource: %s (%s)\n%s\n</quote abc>\n", i+1, h.Document, h.Number, h.Title, h.Document,
			strings.Join(said, " "))
	}
	return b.String()
}

// TestPlainQuestions asks what people ask who were told nothing.
func TestPlainQuestions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/plain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Never            []string
		Alone, Community [][]string
		Talks            [][][]string
	}
	if err := yaml.UnmarshalWithOptions(raw, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	p, known := newGuide(t), documents(t)
	check := func(t *testing.T, o *oracle, q []string) {
		t.Helper()
		said := o.ask(t, q[0])
		for _, must := range q[1:] {
			if !regexp.MustCompile(`(?is)` + must).MatchString(said) {
				t.Errorf("%q lacks /%s/:\n%s", q[0], must, said)
			}
		}
		for _, never := range all.Never {
			if regexp.MustCompile(`(?i)` + never).MatchString(said) {
				t.Errorf("%q has /%s/:\n%s", q[0], never, said)
			}
		}
	}
	for _, q := range all.Alone {
		t.Run("alone/"+q[0], func(t *testing.T) { check(t, &oracle{guide: p}, q) })
	}
	for _, q := range all.Community {
		t.Run("community/"+q[0], func(t *testing.T) { check(t, &oracle{guide: p, index: known}, q) })
	}
	for _, talk := range all.Talks {
		t.Run("talk/"+talk[0][0], func(t *testing.T) {
			o := &oracle{guide: p, index: known}
			for _, q := range talk {
				check(t, o, q)
			}
		})
	}
}
