package agent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

// maxSchema bounds a schema that a page or a server declares.
const maxSchema = 64 << 10

// CheckSchema reports whether a schema can be used. A schema that does not
// describe an object counts as "any object", because some clients send such; so
// does one whose patterns are too large to be compiled, or that nests too deep to be
// decoded in a moment.
func CheckSchema(raw json.RawMessage) error {
	if len(raw) > maxSchema {
		return fmt.Errorf("the schema has more than %d bytes", maxSchema)
	}
	if !patternsFit(raw) {
		return nil
	}
	_, err := resolve(raw)
	return err
}

// maxKnownSchemas bounds what Schemas remembers.
const maxKnownSchemas = 4096

// Schemas checks schemas and remembers those that can be used: the same tools
// are offered turn after turn. The zero value is ready; it is safe for
// concurrent use.
type Schemas struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]struct{}
}

// Check is CheckSchema.
func (s *Schemas) Check(raw json.RawMessage) error {
	sum := sha256.Sum256(raw)
	s.mu.Lock()
	_, ok := s.known[sum]
	s.mu.Unlock()
	if ok {
		return nil
	}
	if err := CheckSchema(raw); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxKnownSchemas {
		s.known = make(map[[sha256.Size]byte]struct{})
	}
	s.known[sum] = struct{}{}
	return nil
}

// IsObjectSchema reports whether a schema describes an object.
func IsObjectSchema(raw json.RawMessage) bool {
	var s struct {
		Type any             `json:"type"`
		Ref  string          `json:"$ref"`
		Prop json.RawMessage `json:"properties"`
		Any  json.RawMessage `json:"anyOf"`
		One  json.RawMessage `json:"oneOf"`
		All  json.RawMessage `json:"allOf"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return false
	}
	if s.Type == nil {
		return s.Ref != "" || s.Prop != nil || s.Any != nil || s.One != nil || s.All != nil
	}
	return s.Type == "object"
}

// resolve prepares a schema; nil means that any object will do.
func resolve(raw json.RawMessage) (*jsonschema.Resolved, error) {
	if len(raw) == 0 || !isShallow(raw) || !IsObjectSchema(raw) {
		return nil, nil //nolint:nilnil // no schema is a valid answer here
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("decode schema: %w", err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		return nil, fmt.Errorf("resolve schema: %w", err)
	}
	return r, nil
}

// validate says what is wrong with arguments, or nothing.
func validate(schema, args json.RawMessage) string {
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return "they are not JSON"
	}
	// What a person approves, a schema judges and a tool reads must be one thing.
	if err := strictjson.Check(args, &struct{}{}); err != nil {
		return err.Error()
	}
	if text, ok := v.(string); ok {
		return fmt.Sprintf("they are not a JSON object but %q", Cap(text, 200))
	}
	if _, ok := v.(map[string]any); !ok {
		return "they are not a JSON object"
	}
	if weight, ok := weigh(schema); !ok || weight*len(args) > maxWork {
		return "" // to check it could take for ever
	}
	resolved, err := resolve(schema)
	if err != nil || resolved == nil {
		return "" // the tool was accepted with this schema; let it judge
	}
	if err := resolved.Validate(v); err != nil {
		return Cap(strings.ReplaceAll(err.Error(), "\n", "; "), 500)
	}
	return ""
}
