package guide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	shortReply   = 12  // lines of JSON that people read as they are
	outlineLines = 20  // of an outline
	outlineValue = 160 // bytes of one value in it
)

// outline says in a few lines what a long JSON reply has, in the reply's own
// order: nobody reads three screens of braces, and the tool's result has them.
func outline(raw json.RawMessage) string {
	raw = unwrap(raw)
	var lines []string
	total := 0
	add := func(line string) {
		if total++; len(lines) < outlineLines {
			lines = append(lines, line)
		}
	}
	if raw[0] == '[' {
		for _, entry := range entries(raw) {
			add("- " + row(entry))
		}
	} else {
		for _, f := range fields(raw) {
			if said := brief(f.value); said != "" {
				add(fmt.Sprintf("- **%s**: %s", f.name, said))
			}
		}
	}
	if more := total - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", more))
	}
	return strings.Join(lines, "\n") + "\n\nThat is an outline; the tool's result has the whole reply."
}

// unwrap takes off an object with a single object or list in it, as in
// {"entity": {…}}.
func unwrap(raw json.RawMessage) json.RawMessage {
	if raw[0] != '{' {
		return raw
	}
	inner := fields(raw)
	if len(inner) != 1 || inner[0].value[0] != '{' && inner[0].value[0] != '[' {
		return raw
	}
	return inner[0].value
}

// brief is a value in a few words; what is empty has none.
func brief(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		var names []string
		for _, f := range fields(raw) {
			names = append(names, f.name)
		}
		return cut(strings.Join(names, ", "), outlineValue, "…")
	case '[':
		list := entries(raw)
		if len(list) == 0 {
			return ""
		}
		if len(list) == 1 {
			return row(list[0])
		}
		return fmt.Sprintf("%d entries", len(list))
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s) // it was decoded as JSON before
		if s == "" {
			return ""
		}
		return code(s)
	case 'n':
		return ""
	}
	return code(string(raw))
}

// row is an entry of a list in one line: its plain values, or what it has.
func row(raw json.RawMessage) string {
	if raw[0] != '{' {
		if said := brief(raw); said != "" {
			return said
		}
		return "(nothing)"
	}
	var said []string
	for _, f := range fields(raw) {
		if v := brief(f.value); v != "" && f.value[0] != '{' && f.value[0] != '[' {
			said = append(said, f.name+" "+v)
		}
		if len(said) == 4 {
			break
		}
	}
	if len(said) > 0 {
		return strings.Join(said, ", ")
	}
	if said := brief(raw); said != "" {
		return said
	}
	return "(nothing)"
}

// code is a value as Markdown shows it to the letter.
func code(s string) string {
	s = cut(strings.Join(strings.Fields(s), " "), outlineValue, "…")
	if strings.Contains(s, "`") {
		return "`` " + strings.ReplaceAll(s, "``", "` `") + " ``"
	}
	return "`" + s + "`"
}

type field struct {
	name  string
	value json.RawMessage
}

// fields of an object, in its own order.
func fields(raw json.RawMessage) []field {
	var out []field
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token() // the brace; raw is an object that was decoded before
	for dec.More() {
		name, _ := dec.Token()
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return out
		}
		out = append(out, field{name: fmt.Sprint(name), value: value})
	}
	return out
}

func entries(raw json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	_ = json.Unmarshal(raw, &out) // a list that was decoded before
	return out
}
