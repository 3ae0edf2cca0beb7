package query

import (
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// heightParameter pins the block height, unless the request has such a field.
const heightParameter = "height"

// Route is one HTTP binding of one gRPC method.
type Route struct {
	// HTTPMethod is the verb of the binding, usually GET.
	HTTPMethod string
	// Template is the path of the binding.
	Template *Template
	// Method is the gRPC method, "/ixo.entity.v1beta1.Query/Entity".
	Method string
	// Service is the gRPC service, "ixo.entity.v1beta1.Query".
	Service string
	// Disabled says that the method is known and may not be called here.
	Disabled bool
	// Chain is the name of the upstream that answers.
	Chain string

	catalog     *Catalog
	input       protoreflect.MessageDescriptor
	output      protoreflect.MessageDescriptor
	plan        *messagePlan
	variables   [][]protoreflect.FieldDescriptor
	parameters  resolved
	body        string
	bodyField   protoreflect.FieldDescriptor
	response    protoreflect.FieldDescriptor
	heightQuery bool
	inFlight    atomic.Int64 // calls at this moment
}

// Cacheable reports whether a reply stays right for as long as the chain's
// state does. Only queries of the state are: a node's own affairs, its mempool
// and its transaction index are not.
func (r *Route) Cacheable() bool {
	return r.HTTPMethod == "GET" && strings.HasSuffix(r.Service, ".Query")
}

// Dialect returns how the route's replies are written.
func (r *Route) Dialect() Dialect { return r.catalog.Dialect }

// TakesBody reports whether the route reads the body of the HTTP request.
func (r *Route) TakesBody() bool { return r.body != "" }

func (r *Route) wholeBody() bool { return r.body == "*" }

// methodRoutes reads the google.api.http rule of a method and its additional
// bindings. A binding that cannot be served is reported and left out.
func (c *Catalog) methodRoutes(md protoreflect.MethodDescriptor) []*Route {
	if md.IsStreamingClient() || md.IsStreamingServer() {
		return nil
	}
	if md.Input().IsPlaceholder() || md.Output().IsPlaceholder() {
		c.warn("method %s: its messages are missing", md.FullName())
		return nil
	}
	rule, ok := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule == nil {
		return nil
	}
	var routes []*Route
	for _, binding := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		route, err := c.route(md, binding)
		if err != nil {
			c.warn("method %s: %v", md.FullName(), err)
			continue
		}
		routes = append(routes, route)
	}
	return routes
}

func (c *Catalog) route(md protoreflect.MethodDescriptor, rule *annotations.HttpRule) (*Route, error) {
	verb, path := rulePattern(rule)
	if path == "" {
		return nil, fmt.Errorf("rule without a path")
	}
	t, err := ParseTemplate(path)
	if err != nil {
		return nil, err
	}
	service := string(md.Parent().FullName())
	r := &Route{
		HTTPMethod: verb, Template: t, Service: service, Chain: c.Name,
		Method:  "/" + service + "/" + string(md.Name()),
		catalog: c, input: md.Input(), output: md.Output(), plan: c.planner.message(md.Output()),
		body: rule.GetBody(),
	}
	r.Disabled = verb != "GET" && !c.allowed[strings.TrimPrefix(r.Method, "/")]
	r.heightQuery = md.Input().Fields().ByName(heightParameter) == nil
	for _, v := range t.variables {
		fields, err := fieldPath(md.Input(), v.path)
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", v.path, err)
		}
		if leaf := fields[len(fields)-1]; leaf.IsMap() || leaf.IsList() && leaf.Message() != nil {
			return nil, fmt.Errorf("variable %q cannot hold the field", v.path)
		}
		r.variables = append(r.variables, fields)
	}
	if r.body != "" && r.body != "*" {
		if r.bodyField = md.Input().Fields().ByTextName(r.body); r.bodyField == nil {
			return nil, fmt.Errorf("body %q is no field", r.body)
		}
	}
	if name := rule.GetResponseBody(); name != "" {
		if r.response = md.Output().Fields().ByTextName(name); r.response == nil {
			return nil, fmt.Errorf("response_body %q is no field", name)
		}
	}
	return r, nil
}

func rulePattern(rule *annotations.HttpRule) (verb, path string) {
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return "GET", p.Get
	case *annotations.HttpRule_Put:
		return "PUT", p.Put
	case *annotations.HttpRule_Post:
		return "POST", p.Post
	case *annotations.HttpRule_Delete:
		return "DELETE", p.Delete
	case *annotations.HttpRule_Patch:
		return "PATCH", p.Patch
	case *annotations.HttpRule_Custom:
		return p.Custom.GetKind(), p.Custom.GetPath()
	default:
		return "", ""
	}
}

// Encode writes a reply of the route as JSON behind dst. The names of types
// inside Any that nobody knew come back too: those parts are base64.
func (r *Route) Encode(dst, reply []byte, limit int) (out []byte, unknown []string, err error) {
	e := r.catalog.encoder(limit)
	defer r.catalog.encoders.Put(e)
	out, err = e.reply(dst, func(e *encoder) error {
		if r.response == nil {
			return e.message(r.plan, reply)
		}
		return e.only(r.plan, r.plan.index(r.response.Number()), reply)
	})
	return out, e.unknown, err
}

// Encode writes a message of the named type as JSON behind dst. It is how the
// details of an error are written, which no route describes.
func (c *Catalog) Encode(dst []byte, typeName string, wire []byte, limit int) ([]byte, error) {
	p := c.lookup(typeName)
	if p == nil {
		return dst, fmt.Errorf("encode %s: unknown type", typeName)
	}
	e := c.encoder(limit)
	defer c.encoders.Put(e)
	return e.reply(dst, func(e *encoder) error { return e.message(p, wire) })
}

// only writes a single field of the message in place of the whole.
func (e *encoder) only(p *messagePlan, field int, data []byte) error {
	base, err := e.locate(p, data)
	if err != nil {
		return err
	}
	s := e.slots[base+field]
	if s.count == 0 && p.fields[field].absent == "" {
		e.out = append(e.out, "null"...)
		return nil
	}
	return e.field(&p.fields[field], data, s)
}
