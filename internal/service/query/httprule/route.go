package httprule

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// HeightParameter pins the block height, unless the request has such a field.
const HeightParameter = "height"

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

	// Input and Output are the messages of the method.
	Input, Output protoreflect.MessageDescriptor
	// Variables are the fields of Input that the template's variables fill,
	// each as the way there.
	Variables [][]protoreflect.FieldDescriptor
	// BodyField is the field of Input that the body fills, nil for all of it.
	BodyField protoreflect.FieldDescriptor
	// Response is the field of Output that is written in place of the whole, or nil.
	Response protoreflect.FieldDescriptor
	// HeightQuery says that HeightParameter pins the block height.
	HeightQuery bool
	// Catalog is where the route comes from.
	Catalog *Catalog
	// InFlight counts the calls of this moment, by whoever makes them.
	InFlight atomic.Int64

	writer     wirejson.Writer
	parameters resolved
	body       string
}

// Cacheable reports whether a reply stays right for as long as the chain's
// state does. Only queries of the state are: a node's own affairs, its mempool
// and its transaction index are not.
func (r *Route) Cacheable() bool {
	return r.HTTPMethod == "GET" && strings.HasSuffix(r.Service, ".Query")
}

// Dialect returns how the route's replies are written.
func (r *Route) Dialect() wirejson.Dialect { return r.Catalog.Types.Dialect }

// TakesBody reports whether the route reads the body of the HTTP request.
func (r *Route) TakesBody() bool { return r.body != "" }

// WholeBody reports whether the body is the whole request, and the query nothing.
func (r *Route) WholeBody() bool { return r.body == "*" }

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
		Catalog: c, Input: md.Input(), Output: md.Output(),
		body: rule.GetBody(),
	}
	r.Disabled = verb != "GET" && !c.allowed[strings.TrimPrefix(r.Method, "/")]
	r.HeightQuery = md.Input().Fields().ByName(HeightParameter) == nil
	for _, v := range t.variables {
		fields, err := fieldPath(md.Input(), v.path)
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", v.path, err)
		}
		if leaf := fields[len(fields)-1]; leaf.IsMap() || leaf.IsList() && leaf.Message() != nil {
			return nil, fmt.Errorf("variable %q cannot hold the field", v.path)
		}
		r.Variables = append(r.Variables, fields)
	}
	if r.body != "" && r.body != "*" {
		if r.BodyField = md.Input().Fields().ByTextName(r.body); r.BodyField == nil {
			return nil, fmt.Errorf("body %q is no field", r.body)
		}
	}
	if name := rule.GetResponseBody(); name != "" {
		if r.Response = md.Output().Fields().ByTextName(name); r.Response == nil {
			return nil, fmt.Errorf("response_body %q is no field", name)
		}
	}
	r.writer = c.Types.Writer(md.Output(), r.Response)
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
	return r.writer.Encode(dst, reply, limit)
}

// bodyWire reads the JSON body of a request into its wire form.
func (r *Route) bodyWire(body []byte) ([]byte, error) {
	md := r.Input
	if r.BodyField != nil {
		if md = r.BodyField.Message(); md == nil || r.BodyField.IsList() || r.BodyField.IsMap() {
			return nil, errors.New("the body of this method cannot be read")
		}
	}
	wire, err := r.Catalog.Types.Decode(md, body)
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if r.BodyField != nil {
		wire = protowire.AppendBytes(protowire.AppendTag(nil, r.BodyField.Number(), protowire.BytesType), wire)
	}
	return wire, nil
}
