package httprule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// Bounds of what a client may send.
const (
	// MaxQueryBytes is the longest query string.
	MaxQueryBytes = 32 << 10

	maxParameters  = 512
	maxParamLevels = 16
)

// ErrParameter marks a parameter that does not fit its field. Its text may be
// shown to the client.
var ErrParameter = errors.New("invalid parameter")

func badParameter(name, format string, args ...any) error {
	return fmt.Errorf("%w %q: %s", ErrParameter, name, fmt.Sprintf(format, args...))
}

// errNoField marks a parameter that names no field.
var errNoField = errors.New("no such field")

// Request is what a match and a query string become.
type Request struct {
	// Wire is the request message. Equal requests have equal bytes, whatever
	// the order and spelling of their parameters.
	Wire []byte
	// PageLimit is the page size that was put in place of a larger one, or 0.
	PageLimit uint64
}

// Bind turns the variables of the path and the query parameters into a request
// message, without building a message object. Parameters that name no field
// are ignored, as chains ignore them. maxPage caps the page size; 0 does not.
func (m Match) Bind(query url.Values, maxPage uint64) (Request, error) {
	b := binder{maxPage: maxPage}
	if len(query) > maxParameters {
		return Request{}, fmt.Errorf("%w: more than %d", ErrParameter, maxParameters)
	}
	for i, v := range m.Route.Template.variables {
		text, err := v.value(m.segments)
		if err != nil {
			return Request{}, badParameter(v.path, "bad escape")
		}
		if err := b.set(&b.root, m.Route.Variables[i], v.path, []string{text}, true); err != nil {
			return Request{}, err
		}
	}
	if len(query) == 0 || m.Route.WholeBody() {
		return Request{Wire: b.root.wire()}, nil
	}
	// The order of a map is random; that of the error texts must not be.
	names := make([]string, 0, 8) // on the stack, as long as they are few
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if m.Route.HeightQuery && name == HeightParameter {
			continue
		}
		if err := b.parameter(m.Route, name, query[name]); err != nil {
			return Request{}, err
		}
	}
	return Request{Wire: b.root.wire(), PageLimit: b.capped}, nil
}

// BindBody is Bind with the JSON body of the few routes that have one. What the
// path and the query say stands behind it: of two values of one field the later
// one counts.
func (m Match) BindBody(query url.Values, body []byte, maxPage uint64) (Request, error) {
	request, err := m.Bind(query, maxPage)
	if err != nil || !m.Route.TakesBody() || len(body) == 0 {
		return request, err
	}
	wire, err := m.Route.bodyWire(body)
	if err != nil {
		return Request{}, fmt.Errorf("%w: %w", ErrParameter, err)
	}
	request.Wire = append(wire, request.Wire...)
	return request, nil
}

// boundField is one field of a request in the making.
type boundField struct {
	fd       protoreflect.FieldDescriptor
	data     []byte        // tags and values, ready for the wire
	child    *boundMessage // &message when it has fields of its own
	message  boundMessage
	fromPath bool
}

type boundMessage struct {
	fields []*boundField
	room   [2]*boundField // of fields, as long as they are few
}

func (m *boundMessage) add(f *boundField) {
	if m.fields == nil {
		m.fields = m.room[:0]
	}
	m.fields = append(m.fields, f)
}

func (m *boundMessage) find(fd protoreflect.FieldDescriptor) *boundField {
	for _, f := range m.fields {
		if f.fd.Number() == fd.Number() {
			return f
		}
	}
	return nil
}

// wire returns the message; one field alone is ready as it is.
func (m *boundMessage) wire() []byte {
	if len(m.fields) == 1 && m.fields[0].child == nil {
		return m.fields[0].data
	}
	return m.append(nil)
}

// append writes the fields in the order of their numbers.
func (m *boundMessage) append(dst []byte) []byte {
	slices.SortFunc(m.fields, func(a, b *boundField) int { return cmp.Compare(a.fd.Number(), b.fd.Number()) })
	for _, f := range m.fields {
		if f.child == nil {
			dst = append(dst, f.data...)
			continue
		}
		dst = protowire.AppendTag(dst, f.fd.Number(), protowire.BytesType)
		dst = protowire.AppendBytes(dst, f.child.append(nil))
	}
	return dst
}

type binder struct {
	root    boundMessage
	maxPage uint64
	capped  uint64
	first   boundField // most requests have no other
}

// field adds a field to a message.
func (b *binder) field(m *boundMessage, fd protoreflect.FieldDescriptor) *boundField {
	f := &b.first
	if f.fd != nil {
		f = new(boundField)
	}
	f.fd = fd
	m.add(f)
	return f
}

// parameter binds one query parameter by its proto or JSON name.
func (b *binder) parameter(r *Route, name string, values []string) error {
	path, mapKey, isMap := cutMapKey(name)
	fields, err := r.parameters.resolve(r.Input, path)
	switch {
	case errors.Is(err, errNoField):
		return nil
	case err != nil:
		return badParameter(name, "%s", err)
	}
	leaf := fields[len(fields)-1]
	if isMap != leaf.IsMap() {
		return badParameter(name, "a map is written as field[key]=value")
	}
	if isMap {
		return b.setMap(fields, name, mapKey, values[0])
	}
	return b.set(&b.root, fields, name, values, false)
}

func cutMapKey(name string) (path, key string, ok bool) {
	open := strings.IndexByte(name, '[')
	if open <= 0 || name[len(name)-1] != ']' {
		return name, "", false
	}
	return name[:open], name[open+1 : len(name)-1], true
}

// maxResolved bounds the paths that a route remembers.
const maxResolved = 64

// resolved remembers the paths that parameters of a route name. Only paths that
// exist are kept, so that nobody fills it with names of his own.
type resolved struct {
	paths atomic.Pointer[map[string][]protoreflect.FieldDescriptor]
}

func (r *resolved) resolve(md protoreflect.MessageDescriptor, path string) ([]protoreflect.FieldDescriptor, error) {
	known := r.paths.Load()
	if known != nil {
		if fields, ok := (*known)[path]; ok {
			return fields, nil
		}
	}
	fields, err := fieldPath(md, path)
	if err != nil || known != nil && len(*known) >= maxResolved {
		return fields, err
	}
	more := map[string][]protoreflect.FieldDescriptor{strings.Clone(path): fields}
	if known != nil {
		maps.Copy(more, *known)
	}
	r.paths.CompareAndSwap(known, &more) // whoever comes second tries again next time
	return fields, nil
}

// fieldPath resolves a dotted path; every step may use the proto name or the
// JSON name.
func fieldPath(md protoreflect.MessageDescriptor, path string) ([]protoreflect.FieldDescriptor, error) {
	var fields []protoreflect.FieldDescriptor
	for name := range strings.SplitSeq(path, ".") {
		if md == nil || len(fields) == maxParamLevels {
			return nil, errNoField
		}
		fd := md.Fields().ByTextName(name)
		if fd == nil {
			fd = md.Fields().ByJSONName(name)
		}
		if fd == nil {
			return nil, errNoField
		}
		if len(fields) > 0 && fields[len(fields)-1].Cardinality() == protoreflect.Repeated {
			return nil, errors.New("a list of messages cannot be a parameter")
		}
		fields = append(fields, fd)
		md = fd.Message()
		if md != nil && md.IsPlaceholder() {
			return nil, errNoField
		}
	}
	return fields, nil
}

// holder returns the message that holds the last field of the path.
func (b *binder) holder(m *boundMessage, fields []protoreflect.FieldDescriptor, name string) (*boundMessage, error) {
	for _, fd := range fields[:len(fields)-1] {
		f := m.find(fd)
		if f == nil {
			if err := m.checkOneof(fd, name); err != nil {
				return nil, err
			}
			f = b.field(m, fd)
			f.child = &f.message
		}
		if f.child == nil {
			return nil, badParameter(name, "the field is set as a whole already")
		}
		m = f.child
	}
	return m, nil
}

func (m *boundMessage) checkOneof(fd protoreflect.FieldDescriptor, name string) error {
	o := fd.ContainingOneof()
	if o == nil || o.IsSynthetic() {
		return nil
	}
	for _, f := range m.fields {
		if f.fd.Number() != fd.Number() && f.fd.ContainingOneof() == o {
			return badParameter(name, "%q is set already, and only one of them may be", f.fd.Name())
		}
	}
	return nil
}

// set binds the values to the field. The path wins over the query, and the
// first value of a singular field wins over the others.
func (b *binder) set(root *boundMessage, fields []protoreflect.FieldDescriptor, name string, values []string,
	fromPath bool,
) error {
	m, err := b.holder(root, fields, name)
	if err != nil {
		return err
	}
	fd := fields[len(fields)-1]
	if f := m.find(fd); f != nil && (f.fromPath || !fd.IsList()) {
		return nil
	}
	if err := m.checkOneof(fd, name); err != nil {
		return err
	}
	switch {
	case !fd.IsList():
		values = values[:1]
	case fromPath: // ibc: packet_commitments/{sequences}/… is written 1,2,3
		values = strings.Split(values[0], ",")
	}
	f := m.find(fd)
	if f == nil {
		f = b.field(m, fd)
		f.fromPath = fromPath
	}
	for _, text := range values {
		data, zero, err := b.value(f.data, fd, text, fromPath)
		if err != nil {
			return badParameter(name, "%s", err)
		}
		if zero && !fd.IsList() && !fd.HasPresence() {
			continue
		}
		f.data = data
	}
	return nil
}

func (b *binder) setMap(fields []protoreflect.FieldDescriptor, name, key, text string) error {
	m, err := b.holder(&b.root, fields, name)
	if err != nil {
		return err
	}
	fd := fields[len(fields)-1]
	entry, _, err := b.value(nil, fd.MapKey(), key, false)
	if err != nil {
		return badParameter(name, "key: %s", err)
	}
	entry, _, err = b.value(entry, fd.MapValue(), text, false)
	if err != nil {
		return badParameter(name, "%s", err)
	}
	f := m.find(fd)
	if f == nil {
		f = b.field(m, fd)
	}
	f.data = protowire.AppendTag(f.data, fd.Number(), protowire.BytesType)
	f.data = protowire.AppendBytes(f.data, entry)
	return nil
}

// pageLimit is the field whose value is capped.
const pageLimit = "cosmos.base.query.v1beta1.PageRequest.limit"

// value appends one value with its tag, and reports whether it is the default.
func (b *binder) value(dst []byte, fd protoreflect.FieldDescriptor, text string,
	fromPath bool,
) (data []byte, zero bool, err error) {
	kind := fd.Kind()
	if dst == nil {
		dst = make([]byte, 0, len(text)+8)
	}
	tag := protowire.AppendTag(dst, fd.Number(), wirejson.WireType(kind))
	switch kind {
	case protoreflect.MessageKind:
		payload, err := wellKnownParameter(fd.Message(), text, fromPath)
		if err != nil {
			return nil, false, err
		}
		return protowire.AppendBytes(tag, payload), false, nil
	case protoreflect.GroupKind:
		return nil, false, errors.New("a group cannot be a parameter")
	}
	scalar, err := parseScalar(fd, kind, text, fromPath)
	if err != nil {
		return nil, false, err
	}
	if fd.FullName() == pageLimit && b.maxPage > 0 && scalar.number > b.maxPage {
		scalar.number, b.capped = b.maxPage, b.maxPage
	}
	return scalar.append(tag, kind), scalar.number == 0 && scalar.text == "", nil
}
