package apidocs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The bounds of one example. Types may refer to each other without end.
const (
	exampleDepth  = 6
	exampleValues = 200
)

// withExamples fills in what the document leaves open: a value for every parameter, a
// request and an answer for every body of JSON or of a form. What a route gives itself stays.
// Requests have what is required, or all when nothing is; answers have everything.
func withExamples(document []byte) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	s := sampler{schemas: object(object(doc["components"])["schemas"])}
	for _, item := range object(doc["paths"]) {
		for _, op := range object(item) {
			s.operation(object(op))
		}
	}
	return json.Marshal(doc)
}

// object is a JSON object, or an empty one for anything else.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func (s sampler) operation(op map[string]any) {
	params, _ := op["parameters"].([]any)
	for _, p := range params {
		if p := object(p); p != nil && p["example"] == nil {
			name, _ := p["name"].(string)
			p["example"] = s.sample(name, p["schema"], false)
		}
	}
	s.contents(object(op["requestBody"]), false)
	for _, reply := range object(op["responses"]) {
		s.contents(object(reply), true)
	}
}

func (s sampler) contents(body map[string]any, whole bool) {
	for media, c := range object(body["content"]) {
		c := object(c)
		structured := strings.Contains(media, "json") || media == "application/x-www-form-urlencoded"
		if c == nil || c["schema"] == nil || c["example"] != nil || !structured {
			continue
		}
		c["example"] = s.sample("", c["schema"], whole)
	}
}

// sampler makes values that fit schemas.
type sampler struct {
	schemas map[string]any
	left    *int // values that may still be made
	whole   bool // with what is not required
}

// sample makes the example of one place.
func (s sampler) sample(name string, schema any, whole bool) any {
	left := exampleValues
	s.left, s.whole = &left, whole
	return s.value(name, schema, 0)
}

// resolved follows references.
func (s sampler) resolved(schema any) map[string]any {
	m := object(schema)
	for range exampleDepth {
		to, ok := m["$ref"].(string)
		if !ok {
			break
		}
		m = object(s.schemas[to[strings.LastIndexByte(to, '/')+1:]])
	}
	return m
}

func (s sampler) value(name string, schema any, depth int) any {
	m := s.resolved(schema)
	if *s.left--; *s.left < 0 || depth > exampleDepth {
		return nil
	}
	for _, key := range []string{"example", "default", "const"} {
		if v, given := m[key]; given {
			return v
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if list, ok := m[key].([]any); ok && len(list) > 0 {
			return list[0]
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := m[key].([]any); ok && len(list) > 0 {
			return s.value(name, list[0], depth+1)
		}
	}
	switch typeOf(m) {
	case "object":
		return s.members(m, depth)
	case "array":
		if m["items"] == nil {
			return []any{}
		}
		if item := s.value(singular(name), m["items"], depth+1); item != nil {
			return []any{item}
		}
		return []any{}
	case "integer", "number":
		return number(name, m)
	case "boolean":
		return true
	case "string":
		return text(name, m)
	}
	return nil
}

// typeOf is a schema's type, apart from null.
func typeOf(schema map[string]any) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if word, _ := one.(string); word != "null" {
				return word
			}
		}
	}
	if schema["properties"] != nil {
		return "object"
	}
	return ""
}

func (s sampler) members(schema map[string]any, depth int) any {
	out := map[string]any{}
	properties := object(schema["properties"])
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		needed := slices.Contains(required, any(name))
		if !needed && !s.whole && (len(required) > 0 || depth > 0) {
			continue
		}
		if v := s.value(name, properties[name], depth+1); v != nil || needed {
			out[name] = v
		}
	}
	if extra := object(schema["additionalProperties"]); len(properties) == 0 && len(extra) > 0 && extra["not"] == nil {
		out["name"] = s.value("", extra, depth+1)
	}
	return out
}

// number is a plausible one within the bounds.
func number(name string, schema map[string]any) any {
	value := 1.0
	for _, known := range numbers {
		if endsWith(name, known.end) {
			value = known.value
			break
		}
	}
	if low, ok := schema["minimum"].(float64); ok {
		value = max(value, low)
	}
	if high, ok := schema["maximum"].(float64); ok {
		value = min(value, high)
	}
	return value
}

// text is a plausible one by the format, else by the name of what it stands for.
func text(name string, schema map[string]any) any {
	switch format, _ := schema["format"].(string); format {
	case "date-time":
		if endsWith(name, "expiresat") || endsWith(name, "until") {
			return exampleEnd
		}
		return exampleTime
	case "date":
		return exampleTime[:len("2026-01-31")]
	case "uri":
		return "https://example.org/"
	case "byte":
		return "SGVsbG8="
	case "int64", "uint64":
		return "1"
	}
	for _, known := range texts {
		if endsWith(name, known.end) {
			return known.value
		}
	}
	return "text"
}

// endsWith reports whether a name is the word or has it as its last one: userDid, user_did,
// but not threadId for did.
func endsWith(name, word string) bool {
	at := len(name) - len(word)
	if at < 0 || !strings.EqualFold(name[at:], word) {
		return false
	}
	return at == 0 || name[at] < 'a' || strings.ContainsRune("_-.", rune(name[at-1]))
}

// singular is how one of several is called.
func singular(name string) string { return strings.TrimSuffix(name, "s") }

const (
	exampleTime = "2026-01-31T09:30:00Z"
	exampleEnd  = "2036-01-31T09:30:00Z"
	exampleDID  = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
	exampleCID  = "bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e" // hello world
)

// numbers and texts say what names mostly stand for, by how they end. The first fits.
var numbers = []struct {
	end   string
	value float64
}{
	{"limit", 20},
	{"size", 1024},
	{"bytes", 1024},
	{"seconds", 60},
	{"tokens", 120},
	{"ms", 40},
	{"created", 1769851800},
	{"offset", 0},
}

var texts = []struct{ end, value string }{
	{"did", exampleDID},
	{"audience", exampleDID},
	{"issuer", exampleDID},
	{"owner", exampleDID},
	{"cid", exampleCID},
	{"folder", "/notes"},
	{"prefix", "/notes"},
	{"path", "/notes/hello.txt"},
	{"from", "/notes/hello.txt"},
	{"to", "/notes/again.txt"},
	{"pattern", "*.txt"},
	{"filename", "hello.txt"},
	{"file", "hello.txt"},
	{"contenttype", "text/plain"},
	{"mimetype", "text/plain"},
	{"media", "text/plain"},
	{"mime", "text/plain"},
	{"url", "https://example.org/hook"},
	{"uri", "https://example.org/"},
	{"home", "https://example.org/"},
	{"phonenumber", "+254700000001"},
	{"telephone", "+254700000001"},
	{"msisdn", "254700000001"},
	{"servicecode", "*2233#"},
	{"shortcode", "*2233#"},
	{"tus-resumable", "1.0.0"},
	{"if-match", `"1"`},
	{"hash", "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"},
	{"expiresat", exampleEnd},
	{"expires", exampleEnd},
	{"at", exampleTime},
	{"time", exampleTime},
	{"since", exampleTime},
	{"until", exampleEnd},
	{"message", "Hello"},
	{"content", "Hello"},
	{"question", "When is the market?"},
	{"answer", "On Saturdays."},
	{"query", "market"},
	{"q", "market"},
	{"title", "Notes"},
	{"description", "What it is for"},
	{"summary", "In one line"},
	{"timezone", "Africa/Nairobi"},
	{"language", "en"},
	{"locale", "en"},
	{"version", "1"},
	{"status", "ok"},
	{"model", "oracle"},
	{"name", "example"},
	{"role", "user"},
	{"cursor", "next"},
	{"sessionid", "example-session"},
	{"id", "example-id"},
}
