package guide

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/plugin"
)

const (
	loadTool = "load_capability"
	// accessTool asks for access to the user's files, or says that there is some.
	accessTool = "vfs_access"
)

// mayUseFiles reports whether the turn has tools for files beside the one that asks.
func mayUseFiles(tools []plugin.ToolSpec) bool {
	return slices.ContainsFunc(tools, func(t plugin.ToolSpec) bool {
		return strings.HasPrefix(t.Name, "vfs_") && t.Name != accessTool
	})
}

// afterTools answers with what the tools of this turn returned. A capability
// that was just loaded is not an answer yet, and neither is the access that it asked for.
func afterTools(req plugin.ModelRequest, question string, done []result) (answer, bool) {
	if len(done) == 0 {
		return answer{}, false
	}
	if last := done[len(done)-1]; (last.call.Name == loadTool || last.call.Name == accessTool) && !last.failed {
		if a, ok := inFiles(req, question); ok {
			return a, true
		}
		if a, ok := matchTool(req, question); ok {
			return a, true
		}
		if t, ok := find(req.Tools, accessTool); ok && last.call.Name == loadTool && loadsFiles(last.call) &&
			!mayUseFiles(req.Tools) {
			return call(t, json.RawMessage(`{}`)), true
		}
	}
	if a, ok := openFound(req, question, done); ok {
		return a, true
	}
	var said []string
	for _, r := range done {
		if r.call.Name != loadTool && (r.call.Name != accessTool || len(done) == 1 || !mayUseFiles(req.Tools)) {
			said = append(said, report(r))
		}
	}
	return answer{text: strings.Join(said, "\n\n")}, len(said) > 0
}

// loadsFiles reports whether a call loads the tools for the user's files.
func loadsFiles(c plugin.ModelToolCall) bool {
	var args struct{ Name string }
	return json.Unmarshal(c.Args, &args) == nil && args.Name == "files"
}

// pretty shows short JSON in a code block, an outline of what is longer, and
// other text as it is.
func pretty(s string) string {
	const most = 4000
	s = strings.TrimSpace(s)
	if s == "" {
		return "(nothing)"
	}
	var plain string
	if json.Unmarshal([]byte(s), &plain) == nil {
		return cut(plain, most, "\n…")
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") != nil {
		return cut(s, most, "\n…")
	}
	if bytes.Count(b.Bytes(), []byte("\n")) > shortReply && (s[0] == '{' || s[0] == '[') {
		return outline(json.RawMessage(s))
	}
	return "```json\n" + cut(b.String(), most, "\n…") + "\n```"
}

// cut shortens a text to so many bytes, and says so by a mark.
func cut(s string, most int, mark string) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + mark
}

var explicitForm = regexp.MustCompile(`(?s)^/tool\s+(\S+)\s*(\{.*\})?\s*$`)

// explicit runs "/tool name {json}".
func explicit(req plugin.ModelRequest, question string) (answer, bool) {
	m := explicitForm.FindStringSubmatch(question)
	if m == nil {
		return answer{}, false
	}
	t, ok := find(req.Tools, m[1])
	if !ok {
		return text("There is no tool called `%s` here. These are: %s.", m[1], toolNames(req.Tools)), true
	}
	args := json.RawMessage(`{}`)
	if m[2] != "" {
		if !json.Valid([]byte(m[2])) {
			return text("What follows the tool's name must be a JSON object, as in `/tool %s {\"key\": \"value\"}`.", m[1]), true
		}
		args = json.RawMessage(m[2])
	}
	return call(t, args), true
}

func find(tools []plugin.ToolSpec, name string) (plugin.ToolSpec, bool) {
	i := slices.IndexFunc(tools, func(t plugin.ToolSpec) bool { return t.Name == name })
	if i < 0 {
		return plugin.ToolSpec{}, false
	}
	return tools[i], true
}

func toolNames(tools []plugin.ToolSpec) string {
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		names = append(names, "`"+t.Name+"`")
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func call(t plugin.ToolSpec, args json.RawMessage) answer {
	return answer{
		thought: "I will use " + t.Name + ".",
		calls:   []plugin.ModelToolCall{{Name: t.Name, Args: args}},
	}
}

var stillNeeds = regexp.MustCompile("^To use `([^`]+)` I still need ")

// continued takes an answer to the guide's own question for arguments.
func continued(req plugin.ModelRequest, question string) (answer, bool) {
	if len(req.Messages) < 3 {
		return answer{}, false
	}
	m := stillNeeds.FindStringSubmatch(req.Messages[len(req.Messages)-2].Text)
	if m == nil {
		return answer{}, false
	}
	t, ok := find(req.Tools, m[1])
	if !ok {
		return answer{}, false
	}
	before, _ := lastQuestion(req.Messages[:len(req.Messages)-2])
	args, missing := fill(t, before)
	more, _ := fillDirect(t, question, missing)
	maps.Copy(args, more)
	return proceed(t, args), true
}

var (
	oracleIs  = regexp.MustCompile(`(?m)^You are (.+?), an oracle`)
	clockLine = regexp.MustCompile(`(?m)^It is (.+) where the user is`)
	// isQuestion is what wants to know rather than have something done.
	isQuestion = regexp.MustCompile(`(?i)^\W*(what|which|who|whose|where|when|why|how|is|are|was|were|does|do|did|has|have)\b`)
)

// useTool runs the tool that the question is about.
func useTool(req plugin.ModelRequest, question string) (answer, bool) {
	if asksAbout(question) {
		return answer{}, false
	}
	return matchTool(req, question)
}

var aboutForm = regexp.MustCompile(`(?i)^\s*(how (do|can|does|to)|what (is|are|does)|why|explain|where (do|is|are)|who can|does it|is it|can i trust|tell me about)\b`)

// asksAbout reports whether somebody wants to know about a thing rather than have it done.
func asksAbout(question string) bool { return aboutForm.MatchString(question) }

// asked is a question: something to look for, and nothing to write down.
var asked = regexp.MustCompile(`(?i)^\W*(what|which|who|where|when|do|does|did|have)\b`)

// matchTool finds the tool whose name the question spells out best.
func matchTool(req plugin.ModelRequest, question string) (answer, bool) {
	said := map[string]bool{}
	for _, w := range words(question) {
		said[stem(w)] = true
	}
	type candidate struct {
		tool  plugin.ToolSpec
		score float64
	}
	var best []candidate
	for _, t := range req.Tools {
		if t.Name == loadTool || t.Name == accessTool || t.Name == "list_capabilities" || isDocumentTool(t.Name) ||
			t.Name == "remember" && asked.MatchString(question) {
			continue
		}
		if s := toolScore(t, question, said); s >= 1 {
			best = append(best, candidate{t, s})
		}
	}
	if len(best) == 0 {
		return answer{}, false
	}
	slices.SortStableFunc(best, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	args, _ := fill(best[0].tool, question)
	return proceed(best[0].tool, args), true
}

// toolScore is at least 1 when the question is clearly about the tool: it names
// it, or says most words of its name.
func toolScore(t plugin.ToolSpec, question string, said map[string]bool) float64 {
	lower := strings.ToLower(question)
	if name := strings.ToLower(t.Name); len(name) > 3 {
		if at := strings.Index(lower, name); at >= 0 {
			return 11 - float64(at)/float64(len(lower)) // of several the first is meant
		}
	}
	parts := words(strings.ReplaceAll(t.Name, "__", " "))
	if len(parts) > 1 && (parts[0] == "vfs" || parts[0] == "mcp" || parts[0] == "call") {
		parts = parts[1:]
	}
	matched := 0.0
	for _, w := range parts {
		if said[stem(w)] || slices.ContainsFunc(synonyms[stem(w)], func(s string) bool { return said[stem(s)] }) {
			matched++
		}
	}
	share := matched / float64(len(parts))
	about := 0.0
	for _, w := range slices.Compact(slices.Sorted(slices.Values(terms(t.Description)))) {
		if said[w] {
			about++
		}
	}
	switch {
	case share >= 0.99 && (len(parts) > 1 || about >= 1):
		return 2 + about/10
	case share >= 0.5 && about >= 2:
		return 1 + about/10
	}
	return 0
}

// synonyms are other words for the verbs of tools.
var synonyms = map[string][]string{
	"list": {"show", "ls", "browse"}, "read": {"open", "cat", "view", "show"}, "write": {"save", "create", "store", "put"},
	"delete": {"remove", "erase", "rm"}, "search": {"find", "look", "grep"},
	"get":      {"show", "fetch", "look", "lookup", "find", "query", "read"},
	"remember": {"note", "memorize"}, "recall": {"remember", "know"}, "forget": {"erase"}, "set": {"change", "make", "switch", "turn"},
	"query": {"ask", "lookup"}, "entity": {"entity", "entities"},
}

// proceed runs a tool, or asks for what it still needs.
func proceed(t plugin.ToolSpec, args map[string]any) answer {
	var missing []string
	schema := schemaOf(t)
	for _, name := range schema.Required {
		if _, ok := args[name]; ok {
			continue
		}
		what := "`" + name + "`"
		if d := schema.Properties[name].Description; d != "" {
			what += " (" + strings.TrimSuffix(d, ".") + ")"
		}
		missing = append(missing, what)
	}
	if len(missing) > 0 {
		return text("To use `%s` I still need %s.", t.Name, strings.Join(missing, " and "))
	}
	data, err := json.Marshal(args)
	if err != nil {
		return text("I could not prepare the arguments of `%s`.", t.Name)
	}
	return call(t, data)
}

var capabilityLine = regexp.MustCompile(`(?m)^- ([a-z0-9-]+) \(load it with load_capability[^)\n]*\): (.*)$`)

// loadCapability loads the capability that the question names, once: what merely
// has a word in common with it is not asked for.
func loadCapability(done []result) func(plugin.ModelRequest, string) (answer, bool) {
	return func(req plugin.ModelRequest, question string) (answer, bool) {
		t, ok := find(req.Tools, loadTool)
		inFile := openForm.MatchString(question) || saysAbout.MatchString(question)
		if !ok || asksAbout(question) && !inFile || slices.ContainsFunc(done, func(r result) bool {
			return r.call.Name == loadTool
		}) {
			return answer{}, false
		}
		said := terms(question)
		for _, m := range capabilityLine.FindAllStringSubmatch(req.System, -1) {
			named := slices.ContainsFunc(terms(m[1]), func(w string) bool { return slices.Contains(said, w) })
			named = named || inFile && m[1] == "files" || m[1] == "query" && didText.MatchString(question)
			if !named {
				continue
			}
			args, err := json.Marshal(map[string]string{"name": m[1]})
			if err != nil {
				return answer{}, false
			}
			a := call(t, args)
			a.thought = "I will load " + m[1] + "."
			return a, true
		}
		return answer{}, false
	}
}

// quote answers from the documentation, where a section is about the question.
func (p *Provider) quote(ctx context.Context) func(plugin.ModelRequest, string) (answer, bool) {
	return func(_ plugin.ModelRequest, question string) (answer, bool) {
		h, ok := p.search(ctx, question)
		if !ok {
			return answer{}, false
		}
		return answer{text: "From Castalia's documentation:\n\n" + p.asQuoted(
			textindex.Passage{Document: h.Document, Title: h.Title, Text: h.Text, Meta: h.Meta})}, true
	}
}

// toolsOf lists the tools of the turn.
func (p *Provider) toolsOf(b *book, all []plugin.ToolSpec) string {
	tools := slices.DeleteFunc(slices.Clone(all), func(t plugin.ToolSpec) bool {
		return t.Name == loadTool || t.Name == "list_capabilities" || isDocumentTool(t.Name)
	})
	if len(tools) == 0 {
		return ""
	}
	return "\n\n" + p.line(b, "tools", "tools", toolNames(tools))
}
