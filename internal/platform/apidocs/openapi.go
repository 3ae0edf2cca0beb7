package apidocs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// OpenAPI returns the OpenAPI 3.1 document of these surfaces, as JSON. What
// dynamic ones serve at this moment is part of it.
func OpenAPI(opt Options, surfaces []httpserver.Surface) ([]byte, error) {
	b := docBuilder{paths: map[string]map[string]any{}, schemas: map[string]any{}, names: map[reflect.Type]string{}}
	for _, sf := range surfaces {
		for i := range sf.Routes {
			if !sf.Routes[i].Hidden {
				b.add(&sf, &sf.Routes[i])
			}
		}
	}
	for _, sf := range surfaces {
		if sf.Dynamic == nil || sf.Dynamic.Paths == nil {
			continue
		}
		paths, schemas := sf.Dynamic.Paths()
		for path, item := range paths {
			if ours, ok := item.(map[string]any); ok && b.paths[path] == nil { // fixed paths win
				b.paths[path] = dynamicItem(ours, &sf)
			}
		}
		for name, schema := range schemas {
			if _, taken := b.schemas[name]; !taken {
				b.schemas[name] = schema
			}
		}
	}
	doc := map[string]any{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info":              map[string]any{"title": cmp.Or(opt.Title, "Castalia"), "version": cmp.Or(opt.Version, "0.0.0")},
		"paths":             b.paths,
		"tags":              tagList(surfaces),
		"components":        map[string]any{"schemas": b.schemas, "securitySchemes": securitySchemes()},
	}
	out, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return out, nil
}

// tagList names the groups of routes in the order of mounting, the
// documentation's own last. A surface's text stands at its first group.
func tagList(surfaces []httpserver.Surface) []any {
	var tags []any
	seen := map[string]bool{}
	ordered := slices.Clone(surfaces)
	slices.SortStableFunc(ordered, func(a, b httpserver.Surface) int { return rank(a) - rank(b) })
	for _, sf := range ordered {
		doc := sf.Doc
		for i := range sf.Routes {
			name := tagOf(&sf, &sf.Routes[i])
			if seen[name] || sf.Routes[i].Hidden {
				continue
			}
			seen[name] = true
			item := map[string]any{"name": name}
			if doc != "" {
				item["description"], doc = doc, ""
			}
			tags = append(tags, item)
		}
	}
	return tags
}

func rank(sf httpserver.Surface) int {
	if sf.Name == surfaceName {
		return 1
	}
	return 0
}

// tagOf is the group of a route: its own first tag, or the surface's name.
func tagOf(sf *httpserver.Surface, r *httpserver.Route) string {
	if len(r.Tags) > 0 {
		return r.Tags[0]
	}
	return sf.Name
}

// rightOf is what a credential must open for a route; empty where none is asked for.
func rightOf(sf *httpserver.Surface, auth httpserver.Auth) httpserver.Right {
	switch auth {
	case httpserver.Operator:
		return httpserver.RightOperator
	case httpserver.Principal, httpserver.Optional:
		return cmp.Or(sf.Right, httpserver.RightOracle)
	case httpserver.Public:
	}
	return ""
}

// rightsOf is what a credential must open for a route, and of operators with which role:
// whoever signs a request for it needs to sign no more.
func rightsOf(sf *httpserver.Surface, r *httpserver.Route) map[string]any {
	said := map[string]any{}
	right := rightOf(sf, r.Auth)
	if right != "" {
		said["x-right"] = right
	}
	if right == httpserver.RightOperator {
		said["x-role"] = max(r.LeastRole(), r.InnerRole).String()
	}
	return said
}

// dynamicItem is a path item of a dynamic surface with what its route says of all of them.
func dynamicItem(item map[string]any, sf *httpserver.Surface) map[string]any {
	out := map[string]any{}
	for verb, op := range item {
		if own, ok := op.(map[string]any); ok {
			said := map[string]any{"x-auth": sf.Dynamic.Route.Auth.String(), "security": security(&sf.Dynamic.Route)}
			maps.Copy(said, rightsOf(sf, &sf.Dynamic.Route))
			maps.Copy(said, own)
			op = said
		}
		out[verb] = op
	}
	return out
}

func securitySchemes() map[string]any {
	return map[string]any{
		"ucan":        map[string]any{"type": "http", "scheme": "bearer", "description": "A UCAN invocation; send X-Auth-Type: ucan with it."},
		"delegation":  map[string]any{"type": "apiKey", "in": "header", "name": "x-ucan-delegation", "description": "A UCAN delegation to this service."},
		"appKey":      map[string]any{"type": "http", "scheme": "bearer", "description": "An app key (cak_…)."},
		"appKeyBasic": map[string]any{"type": "http", "scheme": "basic", "description": "Any name, and an app key as the password."},
		"operator":    map[string]any{"type": "http", "scheme": "bearer", "description": "OPERATOR_TOKEN; without one, in development, this machine only."},
	}
}

// security says in the document's words who may call a route.
func security(r *httpserver.Route) []any {
	if len(r.Security) > 0 {
		var own []any
		for _, scheme := range r.Security {
			own = append(own, map[string]any{scheme: []any{}})
		}
		return own
	}
	none := map[string]any{}
	ucan, delegation := map[string]any{"ucan": []any{}}, map[string]any{"delegation": []any{}}
	switch r.Auth {
	case httpserver.Operator:
		return []any{map[string]any{"operator": []any{}}}
	case httpserver.Principal:
		return []any{ucan, delegation}
	case httpserver.Optional:
		return []any{ucan, delegation, none}
	case httpserver.Public:
	}
	return []any{}
}

// docBuilder collects path items and the schemas of named types.
type docBuilder struct {
	paths   map[string]map[string]any
	schemas map[string]any
	names   map[reflect.Type]string
}

func (b *docBuilder) add(sf *httpserver.Surface, r *httpserver.Route) {
	path := strings.ReplaceAll(r.Pattern, "...}", "}")
	op := map[string]any{
		"operationId": operationID(r.Method, path),
		"tags":        append([]string{tagOf(sf, r)}, r.Tags[min(1, len(r.Tags)):]...),
		"security":    security(r),
		"responses":   b.replies(r),
		"x-auth":      r.Auth.String(),
	}
	maps.Copy(op, rightsOf(sf, r))
	if r.Summary != "" {
		op["summary"] = r.Summary
	}
	if r.Doc != "" {
		op["description"] = r.Doc
	}
	if params := b.params(r); len(params) > 0 {
		op["parameters"] = params
	}
	if r.Body != nil || len(r.BodyMedia) > 0 {
		content := b.content(r.Body, r.BodyMedia...)
		if r.Example != nil {
			for _, media := range content {
				media.(map[string]any)["example"] = r.Example
			}
		}
		op["requestBody"] = map[string]any{"content": content}
	}
	if r.Stream {
		op["x-stream"] = true
	}
	if b.paths[path] == nil {
		b.paths[path] = map[string]any{}
	}
	b.paths[path][strings.ToLower(r.Method)] = op
}

func operationID(method, path string) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(method))
	upper := true
	for _, c := range path {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			if upper {
				c = []rune(strings.ToUpper(string(c)))[0]
			}
			id.WriteRune(c)
			upper = false
		default:
			upper = true
		}
	}
	return id.String()
}

// params lists the described parameters, and the path's own that nobody described.
func (b *docBuilder) params(r *httpserver.Route) []any {
	var out []any
	described := map[string]bool{}
	for _, p := range r.Params {
		schema := any(map[string]any{"type": "string"})
		if p.Schema != nil {
			schema = b.schema(p.Schema)
		}
		item := map[string]any{"name": p.Name, "in": p.In, "required": p.Required || p.In == "path", "schema": schema}
		if p.Doc != "" {
			item["description"] = p.Doc
		}
		if p.Example != nil {
			item["example"], item["x-shown"] = p.Example, true
		}
		out = append(out, item)
		described[p.In+p.Name] = true
	}
	for _, name := range httpserver.PathVariables(r.Pattern) {
		if !described["path"+name] {
			out = append(out, map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
		}
	}
	for _, p := range out { // slashes in a rest are the path's own
		if item := p.(map[string]any); item["in"] == "path" && strings.Contains(r.Pattern, "{"+item["name"].(string)+"...}") {
			item["x-rest"] = true
		}
	}
	return out
}

func (b *docBuilder) replies(r *httpserver.Route) map[string]any {
	out := map[string]any{}
	for _, reply := range r.Replies {
		item := map[string]any{"description": reply.Doc}
		if reply.Doc == "" {
			item["description"] = http.StatusText(reply.Status)
		}
		if reply.Body != nil || reply.Media != "" {
			var media []string
			if reply.Media != "" {
				media = []string{reply.Media}
			}
			item["content"] = b.content(reply.Body, media...)
		}
		key := strconv.Itoa(reply.Status)
		if before, ok := out[key].(map[string]any); ok { // one status in several media types
			if have, ok := before["content"].(map[string]any); ok && item["content"] != nil {
				maps.Copy(have, item["content"].(map[string]any))
				continue
			}
		}
		out[key] = item
	}
	if len(out) == 0 {
		out["default"] = map[string]any{"description": "The answer."}
	}
	return out
}

func (b *docBuilder) content(value any, media ...string) map[string]any {
	if len(media) == 0 {
		media = []string{"application/json"}
	}
	content := map[string]any{}
	for _, m := range media {
		item := map[string]any{}
		if value != nil {
			item["schema"] = b.schema(value)
		}
		content[m] = item
	}
	return content
}

// schema describes a value's type. A ready schema is taken as it is; a named
// structure is described once and referred to.
func (b *docBuilder) schema(value any) any {
	switch v := value.(type) {
	case *jsonschema.Schema, map[string]any, json.RawMessage:
		return v
	}
	t := reflect.TypeOf(value)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem().Name() != "" {
		return map[string]any{"type": "array", "items": b.typeSchema(t.Elem())}
	}
	return b.typeSchema(t)
}

// anyJSON are types that hold any JSON, although they are bytes to Go.
var anyJSON = map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}

func (b *docBuilder) typeSchema(t reflect.Type) any {
	if name, ok := b.names[t]; ok {
		return ref(name)
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{IgnoreInvalidTypes: true, TypeSchemas: anyJSON})
	if err != nil || schema == nil {
		return map[string]any{"description": t.String()} // recursive types have no inline form
	}
	if t.Kind() != reflect.Struct || t.Name() == "" || t.PkgPath() == "time" {
		return schema
	}
	name := b.freeName(t)
	b.names[t] = name
	b.schemas[name] = schema
	return ref(name)
}

func ref(name string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// freeName is the type's name, with the package's in front where two clash.
func (b *docBuilder) freeName(t reflect.Type) string {
	name := strings.NewReplacer("[", "_", "]", "", "/", "_", ".", "_", "*", "", ",", "_", " ", "").Replace(t.Name())
	if first := name[0]; first >= 'a' && first <= 'z' {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	if _, taken := b.schemas[name]; !taken {
		return name
	}
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	for i := 1; ; i++ {
		candidate := pkg + "." + name
		if i > 1 {
			candidate += strconv.Itoa(i)
		}
		if _, taken := b.schemas[candidate]; !taken {
			return candidate
		}
	}
}
