package ussdmenu

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// maxSource bounds a menu file; the default menu takes a twentieth of it.
const maxSource = 1 << 20

// Issue is one thing that is wrong with a menu, and where.
type Issue struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Path is the field, such as screens.welcome.options[1].next; empty where it is not one field.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// String writes the issue the way editors read it.
func (i Issue) String() string { return fmt.Sprintf("%s:%d: %s", i.File, i.Line, i.Message) }

// CheckError lists everything that is wrong with a menu.
type CheckError struct{ Issues []Issue }

// Error names the first issues, one a line.
func (e *CheckError) Error() string {
	lines := make([]string, 0, len(e.Issues))
	for _, issue := range e.Issues {
		lines = append(lines, issue.String())
	}
	return strings.Join(lines, "\n")
}

// Parse reads a menu, with the shared parts behind it, and checks it against the
// registered actions and the smallest screen that it will be shown on. The file's name
// is for messages only. The error is a *CheckError that lists every issue.
func Parse(name string, source []byte, actions map[string]ActionSpec, least Limit) (*Menu, error) {
	if len(source) > maxSource {
		return nil, &CheckError{Issues: []Issue{{File: name, Line: 1, Message: "the file is larger than 1 MiB"}}}
	}
	return ParseParts(NewWork(nil), name, Split(source), actions, least)
}

// ParseParts reads a menu and the shared parts that belong to it. The error is that of
// the work, or a *CheckError.
func ParseParts(w *Work, name string, parts []Part, actions map[string]ActionSpec, least Limit) (*Menu, error) {
	c := &checker{
		work: w, file: name, src: &Source{}, actions: actions, limit: least.OrDefault(), lines: map[string]int{},
		shared: map[string]bool{},
	}
	for i, p := range parts {
		if !w.spend(reading * len(p.Text)) {
			return nil, c.refused()
		}
		src := &Source{}
		if err := yamlfile.Unmarshal(p.Text, src, maxSource, yaml.Strict()); err != nil {
			return nil, SyntaxError(name, p.Line, err)
		}
		tree, err := yamlfile.Tree(p.Text, maxSource)
		if err != nil {
			return nil, SyntaxError(name, p.Line, err)
		}
		c.offset = p.Line - 1
		for _, doc := range tree.Docs {
			if doc.Body != nil {
				c.index("", doc.Body)
			}
		}
		if i == 0 {
			c.src = src
			continue
		}
		c.include(src)
	}
	src, source := c.src, joinParts(parts)
	c.prepare()
	c.prune()
	c.check()
	if err := c.refused(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(source)
	m := &Menu{
		name: src.Name, version: hex.EncodeToString(sum[:6]), languages: src.Languages,
		source: bytes.Clone(source), src: src,
	}
	m.labels.back, m.labels.exit = src.Labels.Back, src.Labels.Exit
	m.labels.next, m.labels.previous = src.Labels.Next, src.Labels.Previous
	m.labels.invalid = src.Labels.Invalid
	return m, nil
}

// refused is why there is no menu; nil: there is one.
func (c *checker) refused() error {
	switch {
	case c.work.Err() != nil:
		return c.work.Err()
	case c.work.left < 0:
		return &CheckError{Issues: []Issue{{
			File: c.file, Line: c.offset + 1,
			Message: "the menus take too much to be checked: let them have fewer screens, languages or notices, shorter values, or include less",
		}}}
	case len(c.issues) > 0:
		slices.SortStableFunc(c.issues, func(a, b Issue) int { return a.Line - b.Line })
		return &CheckError{Issues: slices.Compact(c.issues)}
	}
	return nil
}

// SyntaxError turns what the YAML reader says of a text, which begins on a line of the
// file, into an issue.
func SyntaxError(name string, from int, err error) error {
	issue := Issue{File: name, Line: from, Message: firstLine(err.Error())}
	if located, ok := errors.AsType[yaml.Error](err); ok {
		issue.Message = firstLine(located.GetMessage())
		if token := located.GetToken(); token != nil && token.Position != nil {
			issue.Line = from - 1 + token.Position.Line
		}
	}
	return &CheckError{Issues: []Issue{issue}}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// index remembers the line of every key and list item by its path.
func (c *checker) index(path string, node ast.Node) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			c.index(path, value)
		}
	case *ast.MappingValueNode:
		key := strings.Trim(n.Key.String(), `"'`)
		at := join(path, key)
		c.note(at, n.Key.GetToken().Position.Line)
		c.index(at, n.Value)
	case *ast.SequenceNode:
		for i, value := range n.Values {
			at := fmt.Sprintf("%s[%d]", path, i)
			c.note(at, value.GetToken().Position.Line)
			c.index(at, value)
		}
	case *ast.AnchorNode:
		c.index(path, n.Value)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// line returns the line of the path, or of its nearest ancestor in the file.
func (c *checker) line(path string) int {
	for path != "" {
		if line, ok := c.lines[path]; ok {
			return line
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			break
		}
		path = path[:cut]
	}
	return 1
}

// prepare fills defaults and cuts templates.
func (c *checker) prepare() {
	k := &c.src.Keys
	for _, def := range []struct {
		key  *string
		text string
	}{{&k.Back, "0"}, {&k.Exit, "*"}, {&k.Next, "98"}, {&k.Previous, "99"}} {
		if *def.key == "" {
			*def.key = def.text
		}
	}
	for id, s := range c.src.Screens {
		own := Screen{} // an alias in the file is the same screen in memory
		if s != nil {
			own = *s
		}
		s = &own
		c.src.Screens[id] = s
		s.id = id
		s.texts = c.templates("screens."+id+".text", s.Text)
		consult := func(n Next) {
			for _, t := range n {
				s.consults |= t.When.must | t.When.not
			}
		}
		consult(s.Back)
		if s.Input != nil {
			consult(s.Input.Next)
		}
		for i := range s.Options {
			s.consults |= s.Options[i].When.must | s.Options[i].When.not
			consult(s.Options[i].Next)
			s.Options[i].labels = c.templates(fmt.Sprintf("screens.%s.options[%d].label", id, i), s.Options[i].Label)
		}
	}
	for id, a := range c.src.Actions {
		own := Action{}
		if a != nil {
			own = *a
		}
		own.id = id
		c.src.Actions[id] = &own
	}
}

func (c *checker) templates(path string, text Text) map[string]template {
	out := make(map[string]template, len(text))
	for lang, s := range text {
		t, err := parseTemplate(s)
		if err != nil {
			c.report(join(path, lang), "%s", err)
		}
		for _, p := range t {
			if p.variable == "" {
				continue
			}
			if _, ok := c.src.Variables[p.variable]; !ok {
				c.report(join(path, lang), "unknown variable %q", p.variable)
			}
		}
		out[lang] = t
	}
	return out
}
