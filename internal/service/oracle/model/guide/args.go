package guide

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

// property is what the guide understands of a JSON Schema.
type property struct {
	Type        any    `json:"type"`
	Enum        []any  `json:"enum"`
	Description string `json:"description"`
	Format      string `json:"format"`
}

func (p property) is(kind string) bool {
	switch t := p.Type.(type) {
	case string:
		return t == kind
	case []any:
		return slices.Contains(t, any(kind))
	}
	return false
}

type objectSchema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

func schemaOf(t plugin.ToolSpec) objectSchema {
	var s objectSchema
	_ = json.Unmarshal(t.Schema, &s) // a schema that is not understood has no properties
	return s
}

var (
	quoted   = regexp.MustCompile("\"([^\"]+)\"|'([^']+)'|“([^”]+)”|`([^`]+)`")
	number   = regexp.MustCompile(`-?\b\d+(?:\.\d+)?\b`)
	webLink  = regexp.MustCompile(`https?://\S+`)
	mail     = regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.]+`)
	isoDate  = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?\b`)
	didText  = regexp.MustCompile(`\bdid:[a-z0-9]+:[\w.:%-]+`)
	cidText  = regexp.MustCompile(`\bba[fg][a-z2-7]{20,}\b`)
	pathText = regexp.MustCompile(`(?:^|\s)(/[\w./@-]*|[\w-]+(?:/[\w.-]+)+|[\w-]+\.[a-z]{2,4})(?:\s|$|[?!,])`)
)

// fill reads arguments from a text, as far as the schema tells how. It also
// returns what is required and missing.
func fill(t plugin.ToolSpec, question string) (args map[string]any, missing []string) {
	schema := schemaOf(t)
	args = map[string]any{}
	rest := question
	var strs []string
	for _, m := range quoted.FindAllStringSubmatch(question, -1) {
		strs = append(strs, m[1]+m[2]+m[3]+m[4])
		rest = strings.Replace(rest, m[0], " ", 1)
	}
	numbers := number.FindAllString(rest, -1)
	for _, name := range orderedNames(schema) {
		p := schema.Properties[name]
		if v, ok := named(question, name, p); ok {
			args[name] = v
			continue
		}
		if v, ok := byEnum(question, p); ok {
			args[name] = v
			continue
		}
		if v, ok := byForm(question, name, p); ok {
			args[name] = v
			continue
		}
		required := slices.Contains(schema.Required, name)
		switch {
		case (p.is("integer") || p.is("number")) && len(numbers) > 0 && required:
			if n, err := strconv.ParseFloat(numbers[0], 64); err == nil {
				args[name] = n
			}
			numbers = numbers[1:]
		case p.is("string") && len(p.Enum) == 0 && len(strs) > 0:
			args[name] = strs[0]
			strs = strs[1:]
		case p.is("string") && required && isQuery(name):
			if words := subject(question, t.Name); words != "" {
				args[name] = words
			}
		}
	}
	for _, name := range schema.Required {
		if _, ok := args[name]; !ok {
			missing = append(missing, name)
		}
	}
	return args, missing
}

// fillDirect takes a plain answer for the one thing that was asked for.
func fillDirect(t plugin.ToolSpec, reply string, missing []string) (args map[string]any, rest []string) {
	args, _ = fill(t, reply)
	schema := schemaOf(t)
	for _, name := range missing {
		if _, ok := args[name]; ok {
			continue
		}
		if len(missing) == 1 && schema.Properties[name].is("string") && len(schema.Properties[name].Enum) == 0 {
			args[name] = strings.TrimSpace(reply)
			continue
		}
		rest = append(rest, name)
	}
	return args, rest
}

// orderedNames puts required properties first, in the schema's order.
func orderedNames(s objectSchema) []string {
	names := slices.Clone(s.Required)
	var others []string
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}

// named reads "key=value" and "key: value".
func named(question, name string, p property) (any, bool) {
	re, err := regexp.Compile(`(?i)\b` + regexp.QuoteMeta(name) + `\s*[:=]\s*("[^"]+"|'[^']+'|\S+)`)
	if err != nil {
		return nil, false
	}
	m := re.FindStringSubmatch(question)
	if m == nil {
		return nil, false
	}
	return convert(strings.Trim(m[1], `"',;`), p)
}

func convert(value string, p property) (any, bool) {
	switch {
	case p.is("integer"), p.is("number"):
		n, err := strconv.ParseFloat(value, 64)
		return n, err == nil
	case p.is("boolean"):
		b, err := strconv.ParseBool(value)
		return b, err == nil
	case p.is("string"), p.Type == nil:
		return value, true
	}
	var v any
	err := json.Unmarshal([]byte(value), &v)
	return v, err == nil
}

// byEnum finds one of the allowed words in the text.
func byEnum(question string, p property) (any, bool) {
	said := words(question)
	for _, e := range p.Enum {
		if s, ok := e.(string); ok && slices.Contains(said, strings.ToLower(s)) {
			return s, true
		}
	}
	return nil, false
}

// byForm finds what has the form that the property's name or format promises.
func byForm(question, name string, p property) (any, bool) {
	lower := strings.ToLower(name)
	for _, f := range []struct {
		hints []string
		form  *regexp.Regexp
	}{
		{[]string{"url", "uri", "link", "href"}, webLink},
		{[]string{"mail"}, mail},
		{[]string{"date", "time", "day"}, isoDate},
		{[]string{"did", "id", "entity"}, didText},
		{[]string{"cid"}, cidText},
		{[]string{"path", "file", "folder", "dir"}, pathText},
	} {
		hinted := slices.ContainsFunc(f.hints, func(h string) bool {
			return strings.Contains(lower, h) || strings.Contains(p.Format, h)
		})
		if !hinted || !p.is("string") {
			continue
		}
		if m := f.form.FindStringSubmatch(question); m != nil {
			return strings.TrimSpace(m[len(m)-1]), true
		}
	}
	return nil, false
}

// isQuery reports whether a property takes free text.
func isQuery(name string) bool {
	return slices.Contains([]string{
		"q", "query", "text", "message", "content", "question", "task", "topic", "search",
		"term", "terms", "fact", "value", "pattern",
	}, strings.ToLower(name))
}

// lookFor names what is looked for behind where.
var lookFor = regexp.MustCompile(`(?i)\b(?:search|look|grep|find)\b.*?\bfor\s+(.+)$`)

// subject is the text without the words that chose the tool.
func subject(question, tool string) string {
	drop := map[string]bool{
		"please": true, "can": true, "could": true, "you": true, "that": true, "for": true,
		"about": true, "the": true, "my": true, "me": true, "in": true,
	}
	if tool == rememberTool {
		delete(drop, "my") // "my name is Amina" is remembered whole
	}
	for _, w := range words(tool) {
		drop[stem(w)] = true
		for _, s := range synonyms[stem(w)] {
			drop[stem(s)] = true
		}
	}
	if m := lookFor.FindStringSubmatch(question); m != nil {
		return strings.Trim(m[1], " .?!:")
	}
	fields := strings.Fields(question)
	for len(fields) > 0 {
		w := strings.ToLower(strings.Trim(fields[0], ".,:;!?"))
		if !drop[w] && !drop[stem(w)] {
			break
		}
		fields = fields[1:]
	}
	return strings.Trim(strings.Join(fields, " "), " .?!:")
}
