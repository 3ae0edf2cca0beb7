package query

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxParamDepth is how deep the documentation follows nested parameters.
const maxParamDepth = 3

// OpenAPI describes what is served at this moment: path items and the schemas
// that they refer to, as OpenAPI 3.1 wants them.
func (g *Gateway) OpenAPI() (paths, schemas map[string]any) {
	d := document{table: g.current(), paths: make(map[string]any), schemas: make(map[string]any), shapes: make(map[string]bool)}
	for _, r := range d.table.router.routes {
		if !r.Disabled {
			d.add(r)
		}
	}
	return d.paths, d.schemas
}

type document struct {
	table   *table
	paths   map[string]any
	schemas map[string]any
	shapes  map[string]bool // method and path with unnamed variables
}

func (d *document) add(r *Route) {
	path := d.table.publicPath(r.Template.pattern())
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
				"description": "A gRPC status.", "content": jsonContent(ref(d.status())),
			},
		},
	}
	if r.TakesBody() {
		body := r.input
		if r.bodyField != nil && r.bodyField.Message() != nil {
			body = r.bodyField.Message()
		}
		operation["requestBody"] = map[string]any{"content": jsonContent(d.message(r.catalog.Dialect, body))}
	}
	item[verb] = operation
}

// suffix keeps the operation ids of additional bindings apart.
func suffix(shapes map[string]bool, r *Route) string {
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
	}, r.Template.source), "_")
}

// pattern writes the template without the shapes of its variables.
func (t *Template) pattern() string {
	var b strings.Builder
	rest := t.source
	for {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			return b.String() + rest
		}
		end := open + strings.IndexByte(rest[open:], '}')
		name, _, _ := strings.Cut(rest[open+1:end], "=")
		b.WriteString(rest[:open] + "{" + name + "}")
		rest = rest[end+1:]
	}
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

func ref(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }

func (d *document) parameters(r *Route) []any {
	params := []any{}
	bound := make(map[string]bool)
	for i, v := range r.Template.variables {
		bound[v.path] = true
		leaf := r.variables[i][len(r.variables[i])-1]
		params = append(params, map[string]any{"name": v.path, "in": "path", "required": true, "schema": d.scalar(leaf)})
	}
	if !r.wholeBody() {
		params = d.queryParameters(params, r, r.input, "", bound, 0)
	}
	if r.Cacheable() {
		params = append(params, map[string]any{
			"name": "x-cosmos-block-height", "in": "header", "schema": map[string]any{"type": "string"},
			"description": "State at this block; ?height= means the same.",
		})
	}
	return params
}

func (d *document) queryParameters(params []any, r *Route, md protoreflect.MessageDescriptor, prefix string, bound map[string]bool, depth int) []any {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		name := prefix + fieldName(r.catalog.Dialect, fd)
		if bound[prefix+fd.TextName()] || fd.IsMap() || fd == r.bodyField {
			continue
		}
		if sub := fd.Message(); sub != nil && wellKnownOf(sub) == ordinary {
			if !fd.IsList() && depth+1 < maxParamDepth && !sub.IsPlaceholder() {
				params = d.queryParameters(params, r, sub, name+".", bound, depth+1)
			}
			continue
		}
		schema := d.scalar(fd)
		if fd.IsList() {
			schema = map[string]any{"type": "array", "items": schema}
		}
		params = append(params, map[string]any{"name": name, "in": "query", "schema": schema})
	}
	return params
}

func fieldName(dialect Dialect, fd protoreflect.FieldDescriptor) string {
	if dialect == Plain {
		return fd.JSONName()
	}
	return fd.TextName()
}

func (d *document) reply(r *Route) map[string]any {
	if r.response != nil {
		return d.field(r.catalog.Dialect, r.response)
	}
	return d.message(r.catalog.Dialect, r.output)
}

// message describes a type once and refers to it.
func (d *document) message(dialect Dialect, md protoreflect.MessageDescriptor) map[string]any {
	if md.IsPlaceholder() {
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	}
	if schema := d.known(md); schema != nil {
		return schema
	}
	name := string(md.FullName())
	if dialect == Plain {
		name += ".plain"
	}
	if _, ok := d.schemas[name]; !ok {
		properties := make(map[string]any)
		d.schemas[name] = map[string]any{"type": "object", "properties": properties}
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			properties[fieldName(dialect, fd)] = d.field(dialect, fd)
		}
	}
	return ref(name)
}

func (d *document) field(dialect Dialect, fd protoreflect.FieldDescriptor) map[string]any {
	if fd.IsMap() {
		return map[string]any{"type": "object", "additionalProperties": d.single(dialect, fd.MapValue())}
	}
	if fd.IsList() {
		return map[string]any{"type": "array", "items": d.single(dialect, fd)}
	}
	schema := d.single(dialect, fd)
	if fd.Message() != nil {
		return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
	}
	return schema
}

func (d *document) single(dialect Dialect, fd protoreflect.FieldDescriptor) map[string]any {
	if fd.Message() != nil {
		return d.message(dialect, fd.Message())
	}
	kind := protoKinds[fd.Kind()]
	if dialect == Cosmos {
		switch cosmosKind(fd, kind) {
		case kindDecimal:
			return map[string]any{"type": []any{"string", "null"}, "format": "decimal"}
		case kindNumeral:
			return map[string]any{"type": "string", "format": "integer"}
		case kindHex:
			return map[string]any{"type": "string", "format": "hex"}
		case kindRawJSON:
			return map[string]any{}
		case kindBytes:
			if !fd.IsList() && fd.ContainingOneof() == nil {
				return map[string]any{"type": []any{"string", "null"}, "contentEncoding": "base64"}
			}
		default:
		}
	}
	return d.scalar(fd)
}

// scalar describes a value as it stands in a path, a query or a reply.
func (d *document) scalar(fd protoreflect.FieldDescriptor) map[string]any {
	switch kind := protoKinds[fd.Kind()]; kind {
	case kindBool:
		return map[string]any{"type": "boolean"}
	case kindInt32, kindSint32, kindSfixed32, kindUint32, kindFixed32:
		return map[string]any{"type": "integer"}
	case kindInt64, kindSint64, kindSfixed64:
		return map[string]any{"type": "string", "format": "int64"}
	case kindUint64, kindFixed64:
		return map[string]any{"type": "string", "format": "uint64"}
	case kindFloat, kindDouble:
		return map[string]any{"type": "number"}
	case kindBytes:
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	case kindEnum:
		var names []any
		for i := range fd.Enum().Values().Len() {
			names = append(names, string(fd.Enum().Values().Get(i).Name()))
		}
		return map[string]any{"type": "string", "enum": names}
	case kindMessage:
		if schema := d.known(fd.Message()); schema != nil {
			return schema
		}
		return map[string]any{"type": "object"}
	default:
		return map[string]any{"type": "string"}
	}
}

// known describes the types with a JSON form of their own; nil for others.
func (d *document) known(md protoreflect.MessageDescriptor) map[string]any {
	switch wellKnownOf(md) {
	case wellKnownAny:
		return map[string]any{
			"type": "object", "properties": map[string]any{"@type": map[string]any{"type": "string"}}, "additionalProperties": true,
		}
	case wellKnownTimestamp:
		return map[string]any{"type": "string", "format": "date-time"}
	case wellKnownDuration:
		return map[string]any{"type": "string", "description": "Seconds, such as 1.500s."}
	case wellKnownFieldMask:
		return map[string]any{"type": "string"}
	case wellKnownStruct:
		return map[string]any{"type": "object", "additionalProperties": true}
	case wellKnownList:
		return map[string]any{"type": "array", "items": map[string]any{}}
	case wellKnownValue:
		return map[string]any{}
	case wellKnownWrapper:
		return d.scalar(md.Fields().Get(0))
	default:
		return nil
	}
}

// status describes error bodies.
func (d *document) status() string {
	const name = "query.Status"
	if _, ok := d.schemas[name]; !ok {
		d.schemas[name] = map[string]any{
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
