package ussdmenu

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Part is a part of a menu's text, and the line of the file on which it begins.
type Part struct {
	Text []byte
	Line int
}

// Split cuts a text at its lines of ---.
func Split(text []byte) []Part {
	parts := []Part{{Line: 1}}
	line := 0
	for chunk := range bytes.Lines(text) {
		line++
		if bytes.Equal(bytes.TrimRight(chunk, " \t\r\n"), []byte("---")) {
			parts = append(parts, Part{Line: line + 1})
			continue
		}
		last := &parts[len(parts)-1]
		last.Text = append(last.Text, chunk...)
	}
	if len(parts) > 1 && len(bytes.TrimSpace(parts[0].Text)) == 0 {
		parts = parts[1:] // a line of --- may stand in front
	}
	return parts
}

// joinParts is the text that Split cuts into the parts.
func joinParts(parts []Part) []byte {
	if len(parts) == 1 {
		return parts[0].Text
	}
	texts := make([][]byte, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, slices.Concat(bytes.TrimRight(p.Text, "\n"), []byte("\n")))
	}
	return bytes.Join(texts, []byte("---\n"))
}

// note remembers the line of a path; the menu itself speaks before what it includes.
func (c *checker) note(path string, line int) {
	if _, known := c.lines[path]; !known {
		c.lines[path] = c.offset + line
	}
}

// include adds a shared part to the menu. What the menu says of its own stays; nothing
// else may be in both.
func (c *checker) include(part *Source) {
	s := c.src
	if part.Name != "" || part.Languages != nil || part.Start != "" || part.Codes != nil || part.Include != nil {
		c.report("shared", "a shared part has no name, languages, start, codes or include: those are the menu's")
	}
	for _, head := range []struct{ own, other *string }{
		{&s.Exit, &part.Exit},
		{&s.Resume, &part.Resume},
		{&s.Login, &part.Login},
		{&s.Language, &part.Language},
		{&s.Keys.Back, &part.Keys.Back},
		{&s.Keys.Exit, &part.Keys.Exit},
		{&s.Keys.Next, &part.Keys.Next},
		{&s.Keys.Previous, &part.Keys.Previous},
	} {
		*head.own = cmp.Or(*head.own, *head.other)
	}
	for _, label := range []struct {
		name       string
		own, other *Text
	}{
		{"back", &s.Labels.Back, &part.Labels.Back},
		{"exit", &s.Labels.Exit, &part.Labels.Exit},
		{"next", &s.Labels.Next, &part.Labels.Next},
		{"previous", &s.Labels.Previous, &part.Labels.Previous},
		{"invalid", &s.Labels.Invalid, &part.Labels.Invalid},
	} {
		if *label.own == nil && *label.other != nil {
			*label.own = *label.other
			c.shared["labels."+label.name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(part.Variables)) {
		if own, both := s.Variables[name]; both && own != part.Variables[name] {
			c.report("variables."+name, "the variable %q is declared twice, and not the same", name)
		}
	}
	s.Variables = joined(s.Variables, part.Variables)
	s.Screens = addShared(c, "screens", s.Screens, part.Screens)
	s.Actions = addShared(c, "actions", s.Actions, part.Actions)
	s.Forms = addShared(c, "forms", s.Forms, part.Forms)
	s.Lists = addShared(c, "lists", s.Lists, part.Lists)
	s.Webhooks = addShared(c, "webhooks", s.Webhooks, part.Webhooks)
}

// joined is both maps in one; a nil map may be the own one.
func joined[V any](own, other map[string]V) map[string]V {
	if own == nil {
		own = map[string]V{}
	}
	maps.Copy(own, other)
	return own
}

// addShared adds what a part has of a kind, and refuses names that are taken.
func addShared[V any](c *checker, kind string, own, other map[string]V) map[string]V {
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if _, both := own[name]; both {
			c.report(kind+"."+name, "%q is among the %s of the menu and of what it includes", name, kind)
		}
		c.shared[kind+"."+name] = true
	}
	return joined(own, other)
}

// isShared reports whether a path is of an included part, which may speak more
// languages than the menu.
func (c *checker) isShared(path string) bool {
	kind, rest, _ := strings.Cut(path, ".")
	name, _, _ := strings.Cut(rest, ".")
	return c.shared[kind+"."+name]
}

// prune leaves out the screens and actions of included parts that nothing in this menu
// leads to: others have use for them.
func (c *checker) prune() {
	if len(c.shared) == 0 {
		return
	}
	callers := c.callers()
	reached := c.closure([]string{c.src.Start, c.src.Exit, c.src.Resume, c.src.Login, c.src.Language},
		func(id string) []string { return c.ways(id, callers) })
	maps.DeleteFunc(c.src.Screens, func(id string, _ *Screen) bool { return c.shared["screens."+id] && !reached[id] })
	maps.DeleteFunc(c.src.Actions, func(id string, _ *Action) bool { return c.shared["actions."+id] && !reached[id] })
}
