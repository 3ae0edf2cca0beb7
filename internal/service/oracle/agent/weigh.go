package agent

import (
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/pattern"
)

// Bounds of the work of checking arguments: the weight of a schema, and that
// times the bytes of the arguments.
const (
	maxWeight = 100_000
	maxWork   = 50_000_000
)

// weigh counts the rules of a schema, with each reference replaced by what it
// names, and the steps of its patterns, each of which a byte of a text may visit.
// It fails for a schema that refers to itself, to more than can be
// counted, or to what only a validator could find: schemas come from pages and
// from other people's servers, and the validator follows them wherever they lead,
// until the program's stack is full.
func weigh(schema json.RawMessage) (weight int, ok bool) {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return 0, false
	}
	s := &scale{root: root, known: map[uintptr]int{}}
	return s.weigh(root, true)
}

// scale weighs one schema.
type scale struct {
	root any
	// known are the weights of objects; open ones are negative.
	known map[uintptr]int
}

func (s *scale) weigh(v any, top bool) (int, bool) {
	switch v := v.(type) {
	case []any:
		return s.sum(v)
	case map[string]any:
		at := reflect.ValueOf(v).Pointer()
		if weight, seen := s.known[at]; seen {
			return weight, weight > 0
		}
		s.known[at] = -1
		weight, ok := s.object(v, top)
		if ok {
			s.known[at] = weight
		}
		return weight, ok
	}
	return 0, true
}

func (s *scale) sum(list []any) (total int, ok bool) {
	for _, v := range list {
		weight, ok := s.weigh(v, false)
		if total += weight; !ok || total > maxWeight {
			return total, false
		}
	}
	return total, true
}

func (s *scale) object(v map[string]any, top bool) (int, bool) {
	parts := make([]any, 0, len(v))
	patterns := 0
	for name, value := range v {
		switch name {
		case "$dynamicRef", "$recursiveRef":
			return 0, false
		case "$id":
			if !top { // references below it would begin there
				return 0, false
			}
		case "$ref":
			target, ok := s.find(value)
			if !ok {
				return 0, false
			}
			parts = append(parts, target)
		default:
			size, ok := weighPatterns(name, value)
			if patterns += size; !ok || patterns > maxWeight {
				return 0, false
			}
			parts = append(parts, value)
		}
	}
	weight, ok := s.sum(parts)
	return weight + patterns + 1, ok && weight+patterns <= maxWeight
}

// patternsFit reports whether the patterns of a schema can be compiled in a
// moment, wherever they stand.
func patternsFit(schema json.RawMessage) bool {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return true // there are none
	}
	total := 0
	var walk func(v any) bool
	walk = func(v any) bool {
		switch v := v.(type) {
		case []any:
			return !slices.ContainsFunc(v, func(v any) bool { return !walk(v) })
		case map[string]any:
			for name, value := range v {
				steps, ok := weighPatterns(name, value)
				if total += steps; !ok || total > maxWeight || !walk(value) {
					return false
				}
			}
		}
		return true
	}
	return walk(root)
}

// Bounds of how deep a schema's text stands inside objects: on average, and for a small one
// altogether.
const (
	maxMeanDepth = 10
	smallSpans   = 8 << 10
)

// isShallow reports whether a schema can be decoded in a moment. The decoder reads an object
// again for each object around it, so what it costs is the length of all of them together.
// It counts braces and needs no valid JSON.
func isShallow(schema json.RawMessage) bool {
	spans, depth := 0, 0
	inText, escaped := false, false
	for _, c := range schema {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped, inText = c == '\\', c != '"'
		case c == '"':
			inText = true
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		spans += depth
	}
	return spans <= max(maxMeanDepth*len(schema), smallSpans)
}

// weighPatterns counts the steps of the patterns that a rule has. It fails for
// one that cannot be used.
func weighPatterns(rule string, value any) (steps int, ok bool) {
	switch rule {
	case "pattern":
		expr, isText := value.(string)
		if !isText {
			return 0, true // not a rule but a property of that name, or no schema at all
		}
		return weighPattern(expr)
	case "patternProperties":
		rules, _ := value.(map[string]any)
		for expr := range rules {
			size, ok := weighPattern(expr)
			if steps += size; !ok || steps > maxWeight {
				return steps, false
			}
		}
	}
	return steps, true
}

// weighPattern counts the steps of one pattern. What is no pattern weighs
// nothing: whoever resolves the schema says so.
func weighPattern(expr string) (steps int, ok bool) {
	steps, err := pattern.Size(expr)
	if errors.Is(err, pattern.ErrTooLarge) {
		return 0, false
	}
	return steps, true
}

// find follows a reference from the root of the schema.
func (s *scale) find(ref any) (any, bool) {
	text, _ := ref.(string)
	path, ok := strings.CutPrefix(text, "#")
	if !ok {
		return nil, false
	}
	path, err := url.PathUnescape(path)
	if err != nil || path != "" && path[0] != '/' {
		return nil, false
	}
	at := s.root
	if path == "" {
		return at, true
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for step := range strings.SplitSeq(path[1:], "/") {
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[unescape.Replace(step)]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}
