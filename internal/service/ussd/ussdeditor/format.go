package ussdeditor

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// width is how long a line with a map or a list on it may get.
const width = 110

// The order of the fields of each thing; others follow in the order of the file.
var (
	menuOrder   = []string{"shared", "name", "codes", "include", "languages", "start", "exit", "resume", "login", "language", "labels", "keys", "variables", "forms", "lists", "webhooks", "screens", "actions"}
	screenOrder = []string{"state", "private", "paged", "text", "options", "input", "back", "exit", "end"}
	optionOrder = []string{"key", "when", "label", "hidden", "set", "next"}
	inputOrder  = []string{"var", "kind", "min", "max", "skip", "errors", "next"}
	targetOrder = []string{"when", "to", "notice"}
	actionOrder = []string{"run", "form", "list", "webhook", "state", "on"}
)

// containers have each of their entries on lines of its own.
var containers = []string{"labels", "variables", "forms", "lists", "webhooks", "screens", "actions"}

// errLong is a text that is larger than a draft may be.
var errLong = errors.New("in the form of the editor it is larger than 1 MiB")

// writer writes a part in the one form that Format gives it. It stops at maxText.
type writer struct {
	out      strings.Builder
	full     bool
	comments map[string][]string
	paths    []string // of the comments that are not written yet, sorted
}

func (w *writer) add(text string) {
	if w.full = w.full || w.out.Len()+len(text) > maxText; !w.full {
		w.out.WriteString(text)
	}
}

// writeTree is the text of a part.
func writeTree(tree Map, comments map[string][]string) ([]byte, error) {
	w := &writer{comments: comments, paths: slices.Sorted(maps.Keys(comments))}
	for i, p := range ordered(tree, menuOrder) {
		value, isMap := p.Value.(Map)
		spread := isMap && len(value) > 0 && slices.Contains(containers, p.Key)
		if spread && i > 0 {
			w.add("\n")
		}
		if !spread {
			w.field(p, "", "")
			continue
		}
		w.note(p.Key, "", false)
		w.add(p.Key + ":\n")
		for k, entry := range value {
			apart := p.Key == "screens" || p.Key == "actions"
			if apart && k > 0 {
				w.add("\n")
			}
			if thing, ok := entry.Value.(Map); ok && apart && len(thing) > 0 {
				path := p.Key + "." + entry.Key
				w.note(path, "  ", false)
				w.add("  " + scalar(entry.Key, true) + ":\n")
				order := screenOrder
				if p.Key == "actions" {
					order = actionOrder
				}
				for _, f := range ordered(thing, order) {
					w.field(f, path, "    ")
				}
				continue
			}
			w.field(entry, p.Key, "  ")
		}
	}
	w.note(afterAll, "", false)
	if w.full {
		return nil, errLong
	}
	return []byte(w.out.String()), nil
}

// field writes a key and its value.
func (w *writer) field(p Pair, path, indent string) {
	at := p.Key
	if path != "" {
		at = path + "." + p.Key
	}
	head := indent + scalar(p.Key, true) + ":"
	v := arranged(p.Key, p.Value)
	if !w.opens(p.Key, v) && (!compound(v) || least(v, width) >= 0) {
		if line := head + " " + flow(v); !compound(v) || len(line) <= width {
			w.note(at, indent, true)
			w.add(line + "\n")
			return
		}
	}
	_, isList := v.([]any)
	w.note(at, indent, isList)
	w.add(head + "\n")
	w.block(v, at, indent+"  ")
}

// opens reports whether a value has lines of its own however short it is: what people
// read on a screen.
func (w *writer) opens(key string, v any) bool {
	switch v := v.(type) {
	case Map:
		return key == "text" && len(v) > 0
	case []any:
		return key == "options" && len(v) > 0
	}
	return false
}

func (w *writer) block(v any, path, indent string) {
	switch v := v.(type) {
	case Map:
		for _, p := range v {
			w.field(p, path, indent)
		}
	case []any:
		for _, one := range v {
			m, isMap := one.(Map)
			if !isMap || least(m, width) >= 0 {
				if line := indent + "- " + flow(one); !isMap || len(line) <= width || len(m) == 0 {
					w.add(line + "\n")
					continue
				}
			}
			inner := &writer{}
			for _, p := range m {
				inner.field(p, "", indent+"  ")
			}
			w.full = w.full || inner.full
			w.add(indent + "- " + strings.TrimPrefix(inner.out.String(), indent+"  "))
		}
	}
}

// note writes the comments of a field, and with all those of what is in it. Each is
// written once.
func (w *writer) note(path, indent string, all bool) {
	if i, found := slices.BinarySearch(w.paths, path); found {
		w.remark(indent, i, i+1)
	}
	if all {
		from, _ := slices.BinarySearch(w.paths, path+".")
		to := from
		for to < len(w.paths) && strings.HasPrefix(w.paths[to], path+".") {
			to++
		}
		w.remark(indent, from, to)
	}
}

// remark writes the comments of some paths.
func (w *writer) remark(indent string, from, to int) {
	for _, p := range w.paths[from:to] {
		for _, line := range w.comments[p] {
			w.add(strings.TrimRight(indent+"# "+strings.Join(strings.Fields(line), " "), " ") + "\n")
		}
	}
	if from < to {
		w.paths = slices.Delete(w.paths, from, to)
	}
}

// arranged puts the fields of options, inputs and targets in order.
func arranged(key string, v any) any {
	order := targetOrder
	switch key {
	case "options":
		order = optionOrder
	case "input":
		order = inputOrder
	case "next", "back":
	case "on":
		outcomes, isMap := v.(Map)
		if !isMap {
			return v
		}
		out := Map{}
		for _, p := range outcomes {
			out = append(out, Pair{p.Key, arranged("next", p.Value)})
		}
		return out
	default:
		return v
	}
	switch v := v.(type) {
	case Map:
		out := ordered(v, order)
		for i := range out {
			out[i].Value = arranged(out[i].Key, out[i].Value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = arranged(key, v[i])
		}
		return out
	}
	return v
}

// ordered puts known fields first, in their order.
func ordered(m Map, order []string) Map {
	out := slices.Clone(m)
	rank := func(p Pair) int {
		if i := slices.Index(order, p.Key); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(out, func(a, b Pair) int { return rank(a) - rank(b) })
	return out
}

func compound(v any) bool {
	switch v := v.(type) {
	case Map:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// least is what is left of the room on a line when a value is written there in the
// shortest way: when it is less than nothing, nobody need write it to see that.
func least(v any, room int) int {
	switch v := v.(type) {
	case Map:
		for _, p := range v {
			if room = least(p.Value, room-len(p.Key)-2); room < 0 {
				break
			}
		}
	case []any:
		for _, one := range v {
			if room = least(one, room-1); room < 0 {
				break
			}
		}
	case string:
		room -= len(v)
	}
	return room
}

// flow writes a value on one line.
func flow(v any) string { return inline(v, false) }

func inline(v any, within bool) string {
	switch v := v.(type) {
	case Map:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = scalar(p.Key, true) + ": " + inline(p.Value, true)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = inline(v[i], true)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return scalar(v, within)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	}
	return `""`
}

// reserved are words that YAML, or people who know an older one, read as something else.
var reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}

// scalar writes a string, quoted unless every reader takes it for one.
func scalar(s string, within bool) string {
	plain := s != "" && s == strings.TrimSpace(s) && !slices.Contains(reserved, strings.ToLower(s))
	for i, r := range s {
		letter := unicode.IsLetter(r)
		rest := unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune(" _-./'()!?;", r) || r == ',' && !within
		if !letter && (i == 0 || !rest) {
			plain = false
		}
	}
	if plain {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // what JSON quotes, YAML reads
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // a string never fails
		return `""`
	}
	return strings.TrimRight(b.String(), "\n")
}
