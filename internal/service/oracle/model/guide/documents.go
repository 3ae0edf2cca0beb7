package guide

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

// documentTool asks the community's documents.
const documentTool = "knowledge_search"

// isDocumentTool reports whether the guide knows by itself when to use a tool.
func isDocumentTool(name string) bool { return strings.HasPrefix(name, "knowledge_") }

// askDocuments looks into the community's documents, unless that was done.
func askDocuments(done bool) func(plugin.ModelRequest, string) (answer, bool) {
	return func(req plugin.ModelRequest, question string) (answer, bool) {
		t, ok := find(req.Tools, documentTool)
		if !ok || done {
			return answer{}, false
		}
		const most = 1000
		args, err := json.Marshal(map[string]any{"query": cut(question, most-4, ""), "limit": 3, "brief": true})
		if err != nil {
			return answer{}, false
		}
		a := call(t, args)
		a.thought = "I will look into the documents."
		return a, true
	}
}

var (
	quotation = regexp.MustCompile(`(?s)<quote ([a-z0-9]+)>\n(.*?)\n</quote ([a-z0-9]+)>`)
	sourceOf  = regexp.MustCompile(`^source: ([^\n]*)\n`)
)

// documentsSaid is what the documents answered: a text to show, or what comes
// nearest.
type documentsSaid struct{ text, nearest string }

// fromDocuments reads the last tool's result, if the documents were asked. A look
// that failed counts as one that found nothing.
func fromDocuments(done []result) (documentsSaid, bool) {
	if len(done) == 0 || done[len(done)-1].call.Name != documentTool {
		return documentsSaid{}, false
	}
	last := done[len(done)-1]
	quotes := quotations(last.text)
	if last.failed || !strings.HasPrefix(last.text, "Answered: yes") || len(quotes) == 0 {
		said := documentsSaid{}
		if !last.failed && len(quotes) == 1 {
			said.nearest = " These documents come nearest: " + strings.Join(strings.Split(quotes[0], "\n"), "; ") + "."
		}
		return said, true
	}
	var b strings.Builder
	for i, q := range quotes {
		source := sourceOf.FindStringSubmatch(q)
		if source == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		said := strings.TrimSpace(strings.TrimPrefix(q, source[0]))
		fmt.Fprintf(&b, "> %s\n\n[%d] %s", strings.ReplaceAll(said, "\n", "\n> "), i+1, source[1])
	}
	return documentsSaid{text: b.String()}, true
}

// quotations are what stands between marks that belong together: what a document
// says of marks is part of its text.
func quotations(text string) []string {
	first := quotation.FindStringSubmatch(text)
	if first == nil {
		return nil
	}
	open, end := "<quote "+first[1]+">\n", "\n</quote "+first[1]+">"
	var out []string
	for _, part := range strings.Split(text, open)[1:] {
		if said, _, ok := strings.Cut(part, end); ok {
			out = append(out, said)
		}
	}
	return out
}
