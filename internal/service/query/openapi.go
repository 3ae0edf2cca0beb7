package query

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// maxParamDepth is how deep the documentation follows nested parameters.
const maxParamDepth = 3

// OpenAPI describes what is served at this moment: path items and the schemas
// that they refer to, as OpenAPI 3.1 wants them.
func (g *Gateway) OpenAPI() (paths, schemas map[string]any) {
	d := document{
		table: g.current(), paths: make(map[string]any), schemas: wirejson.Schemas{Named: make(map[string]any)},
		shapes: make(map[string]bool),
	}
	for _, r := range d.table.router.Routes() {
		if !r.Disabled {
			d.add(r)
		}
	}
	return d.paths, d.schemas.Named
}

type document struct {
	table   *table
	paths   map[string]any
	schemas wirejson.Schemas
	shapes  map[string]bool // method and path with unnamed variables
}

func (d *document) add(r *httprule.Route) {
	path := d.table.publicPath(r.Template.Pattern())
	verb := strings.ToLower(r.HTTPMethod)
	switch verb {
	case "get", "post", "put", "patch", "delete":
	default:
		return
	}
	shape := verb + unnamed(path)
	if d.shapes[shape] {
		return // a twin: the first one is described
	}
	d.shapes[shape] = true
	item, _ := d.paths[path].(map[string]any)
	if item == nil {
		item = make(map[string]any)
		d.paths[path] = item
	}
	operation := map[string]any{
		"operationId": strings.ReplaceAll(strings.TrimPrefix(r.Method, "/"), "/", "_") + suffix(d.shapes, r),
		"summary":     string(protoreflect.FullName(strings.ReplaceAll(r.Method[1:], "/", ".")).Name()),
		"description": "Calls " + r.Method[1:] + " of chain " + r.Chain + ".",
		"tags":        []string{r.Service},
		"parameters":  d.parameters(r),
		"responses": map[string]any{
			"200": map[string]any{"description": "The reply.", "content": jsonContent(d.reply(r))},
			"default": map[string]any{
				"description": "A gRPC status.", "content": jsonContent(wirejson.Ref(d.status())),
			},
		},
	}
	if r.TakesBody() {
		body := r.Input
		if r.BodyField != nil && r.BodyField.Message() != nil {
			body = r.BodyField.Message()
		}
		operation["requestBody"] = map[string]any{"content": jsonContent(d.schemas.Message(r.Dialect(), body))}
	}
	item[verb] = operation
}

// suffix keeps the operation ids of additional bindings apart.
func suffix(shapes map[string]bool, r *httprule.Route) string {
	key := "rpc " + r.Method
	if !shapes[key] {
		shapes[key] = true
		return ""
	}
	return "_" + strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, r.Template.String()), "_")
}

func unnamed(path string) string {
	var b strings.Builder
	inside := false
	for _, c := range path {
		switch {
		case c == '{':
			inside = true
			b.WriteString("{}")
		case c == '}':
			inside = false
		case !inside:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func jsonContent(schema map[string]any) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": schema}}
}

func (d *document) parameters(r *httprule.Route) []any {
	params := []any{}
	bound := make(map[string]bool)
	for i, name := range r.Template.Variables() {
		bound[name] = true
		leaf := r.Variables[i][len(r.Variables[i])-1]
		params = append(params, map[string]any{"name": name, "in": "path", "required": true, "schema": d.schemas.Scalar(leaf)})
	}
	if !r.WholeBody() {
		params = d.queryParameters(params, r, r.Input, "", bound, 0)
	}
	if r.Cacheable() {
		params = append(params, map[string]any{
			"name": "x-cosmos-block-height", "in": "header", "schema": map[string]any{"type": "string"},
			"description": "State at this block; ?height= means the same.",
		})
	}
	return params
}

func (d *document) queryParameters(params []any, r *httprule.Route, md protoreflect.MessageDescriptor, prefix string,
	bound map[string]bool, depth int,
) []any {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		name := prefix + r.Dialect().FieldName(fd)
		if bound[prefix+fd.TextName()] || fd.IsMap() || fd == r.BodyField {
			continue
		}
		if sub := fd.Message(); sub != nil && wirejson.FormOf(sub) == wirejson.Ordinary {
			if !fd.IsList() && depth+1 < maxParamDepth && !sub.IsPlaceholder() {
				params = d.queryParameters(params, r, sub, name+".", bound, depth+1)
			}
			continue
		}
		schema := d.schemas.Scalar(fd)
		if fd.IsList() {
			schema = map[string]any{"type": "array", "items": schema}
		}
		params = append(params, map[string]any{"name": name, "in": "query", "schema": schema})
	}
	return params
}

func (d *document) reply(r *httprule.Route) map[string]any {
	if r.Response != nil {
		return d.schemas.Field(r.Dialect(), r.Response)
	}
	return d.schemas.Message(r.Dialect(), r.Output)
}

// status describes error bodies.
func (d *document) status() string {
	const name = "query.Status"
	if _, ok := d.schemas.Named[name]; !ok {
		d.schemas.Named[name] = map[string]any{
			"type": "object", "required": []any{"code", "message", "details"},
			"properties": map[string]any{
				"code":    map[string]any{"type": "integer", "description": "The gRPC status code."},
				"message": map[string]any{"type": "string"},
				"details": map[string]any{"type": "array", "items": map[string]any{"type": "object"}},
			},
		}
	}
	return name
}
