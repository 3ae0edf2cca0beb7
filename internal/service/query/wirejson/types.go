package wirejson

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Types are the message types that can be written. A set is safe for
// concurrent use and never loses a type; Learn adds more.
type Types struct {
	// Dialect is how messages are written.
	Dialect Dialect

	encoders sync.Pool
	find     func(name string) *messagePlan // lookup, made a value once

	mu      sync.Mutex // guards planner and files
	planner *planner
	files   *protoregistry.Files
	types   atomic.Pointer[map[protoreflect.FullName]*messagePlan]
}

// NewTypes returns an empty set.
func NewTypes(d Dialect) *Types {
	t := &Types{Dialect: d, planner: newPlanner(d), files: new(protoregistry.Files)}
	t.encoders.New = func() any { return new(encoder) }
	t.find = t.lookup
	t.types.Store(&map[protoreflect.FullName]*messagePlan{})
	return t
}

// Learn links the files as far as they can be linked, and makes their types
// ready. What cannot be linked is left out and reported: one broken file must
// not take the others away.
func (t *Types) Learn(files []*descriptorpb.FileDescriptorProto) (warnings []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	warnings = t.link(files)
	for _, fd := range t.sortedFiles() {
		t.planMessages(fd.Messages())
	}
	types := maps.Clone(t.planner.types)
	t.types.Store(&types)
	return warnings
}

// Files returns all files that were linked, by their paths.
func (t *Types) Files() []protoreflect.FileDescriptor {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sortedFiles()
}

func (t *Types) sortedFiles() []protoreflect.FileDescriptor {
	var files []protoreflect.FileDescriptor
	t.files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		files = append(files, fd)
		return true
	})
	slices.SortFunc(files, func(a, b protoreflect.FileDescriptor) int {
		if a.Path() < b.Path() {
			return -1
		}
		return 1
	})
	return files
}

// link registers the files, dependencies first, and returns what was wrong.
func (t *Types) link(files []*descriptorpb.FileDescriptorProto) (warnings []string) {
	byName := make(map[string]*descriptorpb.FileDescriptorProto, len(files))
	for _, f := range files {
		byName[f.GetName()] = f
	}
	seen := make(map[string]bool, len(files))
	var visit func(f *descriptorpb.FileDescriptorProto)
	visit = func(f *descriptorpb.FileDescriptorProto) {
		if seen[f.GetName()] {
			return
		}
		seen[f.GetName()] = true
		for _, dep := range f.GetDependency() {
			if d := byName[dep]; d != nil {
				visit(d)
			}
		}
		if _, err := t.files.FindFileByPath(f.GetName()); err == nil {
			return
		}
		fd, err := protodesc.FileOptions{AllowUnresolvable: true}.New(f, t.files)
		if err == nil {
			err = t.files.RegisterFile(fd)
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("file %s: %v", f.GetName(), err))
		}
	}
	for _, f := range files {
		visit(f)
	}
	return warnings
}

func (t *Types) planMessages(mds protoreflect.MessageDescriptors) {
	for i := range mds.Len() {
		t.planner.message(mds.Get(i))
		t.planMessages(mds.Get(i).Messages())
	}
}

// Knows reports whether the set has the message type.
func (t *Types) Knows(name string) bool { return t.lookup(name) != nil }

func (t *Types) lookup(name string) *messagePlan {
	return (*t.types.Load())[protoreflect.FullName(name)]
}

func (t *Types) encoder(limit int) *encoder {
	e, ok := t.encoders.Get().(*encoder)
	if !ok {
		e = new(encoder)
	}
	e.reset(t.Dialect, limit, t.find)
	return e
}

// Encode writes a message of the named type as JSON behind dst.
func (t *Types) Encode(dst []byte, typeName string, wire []byte, limit int) ([]byte, error) {
	p := t.lookup(typeName)
	if p == nil {
		return dst, fmt.Errorf("encode %s: unknown type", typeName)
	}
	e := t.encoder(limit)
	defer t.encoders.Put(e)
	return e.reply(dst, func(e *encoder) error { return e.message(p, wire) })
}

// Writer writes the replies of one method.
type Writer struct {
	types *Types
	plan  *messagePlan
	field int // written in place of the whole message, when it is not negative
}

// Writer returns what writes messages of a type, or one field of them when
// field is not nil.
func (t *Types) Writer(md protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor) Writer {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := Writer{types: t, plan: t.planner.message(md), field: -1}
	if field != nil {
		w.field = w.plan.index(field.Number())
	}
	return w
}

// Encode writes a reply as JSON behind dst. The names of types inside Any that
// nobody knew come back too: those parts are base64.
func (w Writer) Encode(dst, reply []byte, limit int) (out []byte, unknown []string, err error) {
	e := w.types.encoder(limit)
	defer w.types.encoders.Put(e)
	out, err = e.reply(dst, func(e *encoder) error {
		if w.field < 0 {
			return e.message(w.plan, reply)
		}
		return e.only(w.plan, w.field, reply)
	})
	return out, e.unknown, err
}

// AppendAny writes the wire form of a google.protobuf.Any behind dst, or null
// when it cannot be written within the limit. t may be nil: then no type is
// known.
func AppendAny(dst []byte, t *Types, wire []byte, limit int) []byte {
	mark := len(dst)
	e := encoder{limit: limit}
	if t != nil {
		e.dialect, e.lookup = t.Dialect, t.find
	}
	out, err := e.reply(dst, func(e *encoder) error { return e.anyMessage(anyPlan(), wire) })
	if err != nil {
		return append(out[:mark], "null"...)
	}
	return out
}

// anyPlan is the plan of google.protobuf.Any, needed where no descriptor is at hand.
func anyPlan() *messagePlan {
	p := &messagePlan{name: "google.protobuf.Any", known: Any, fields: []fieldPlan{
		{number: 1, kind: kindString, wire: kindString.wireType(), oneof: -1},
		{number: 2, kind: kindBytes, wire: kindBytes.wireType(), oneof: -1},
	}}
	p.dense[1], p.dense[2] = 1, 2
	return p
}

// Decode reads the JSON of a message of a type in the set and returns its wire
// form. JSON from clients is rare, so that this is the one place where a
// message object is built.
func (t *Types) Decode(md protoreflect.MessageDescriptor, text []byte) ([]byte, error) {
	t.mu.Lock() // Learn may be adding files
	defer t.mu.Unlock()
	m := dynamicpb.NewMessage(md)
	options := protojson.UnmarshalOptions{DiscardUnknown: true, Resolver: dynamicpb.NewTypes(t.files)}
	if err := options.Unmarshal(text, m); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}
