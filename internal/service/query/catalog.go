package query

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// CatalogOptions say how a chain's descriptors are read.
type CatalogOptions struct {
	// Name is the chain's name in logs and in the operator's view.
	Name string
	// Dialect is how its replies are written.
	Dialect Dialect
	// Services limits the catalogue to these; nil takes all that are described.
	Services []string
	// Methods lists methods ("pkg.Service/Method") that may be called by
	// another verb than GET.
	Methods []string
}

// Catalog is what one chain's descriptors say: its routes, and how its
// messages are written. It is safe for concurrent use and never loses a type;
// Learn adds those that only occur inside Any.
type Catalog struct {
	Name     string
	Dialect  Dialect
	Routes   []*Route
	Warnings []string
	// Digest names the content: equal descriptors and options, equal digest.
	Digest string

	allowed  map[string]bool
	encoders sync.Pool
	find     func(name string) *messagePlan // lookup, made a value once

	mu      sync.Mutex // guards planner and files after construction
	planner *planner
	files   *protoregistry.Files
	types   atomic.Pointer[map[protoreflect.FullName]*messagePlan]
}

// maxWarnings bounds what a broken descriptor set can put into the log.
const maxWarnings = 100

// NewCatalog links the files as far as they can be linked. What cannot be is
// reported in Warnings and left out: one broken file must not take the other
// services away.
func NewCatalog(files []*descriptorpb.FileDescriptorProto, opt CatalogOptions) (*Catalog, error) {
	c := &Catalog{
		Name: opt.Name, Dialect: opt.Dialect, allowed: make(map[string]bool),
		planner: newPlanner(opt.Dialect), files: new(protoregistry.Files),
	}
	c.encoders.New = func() any { return new(encoder) }
	c.find = c.lookup
	for _, m := range opt.Methods {
		c.allowed[m] = true
	}
	digest, err := digestOf(files, opt)
	if err != nil {
		return nil, err
	}
	c.Digest = digest
	for _, w := range c.link(files) {
		c.warn("%s", w)
	}
	c.plan(func(fd protoreflect.FileDescriptor) { c.addRoutes(fd, opt.Services) })
	return c, nil
}

func digestOf(files []*descriptorpb.FileDescriptorProto, opt CatalogOptions) (string, error) {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %d %q %q", opt.Name, opt.Dialect, slices.Sorted(slices.Values(opt.Services)), opt.Methods)
	byName := slices.SortedFunc(slices.Values(files), func(a, b *descriptorpb.FileDescriptorProto) int {
		if a.GetName() < b.GetName() {
			return -1
		}
		return 1
	})
	for _, f := range byName {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(f)
		if err != nil {
			return "", fmt.Errorf("digest descriptors: %w", err)
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func (c *Catalog) warn(format string, args ...any) {
	if len(c.Warnings) < maxWarnings {
		c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
	}
}

// link registers the files, dependencies first, and returns what was wrong.
func (c *Catalog) link(files []*descriptorpb.FileDescriptorProto) (warnings []string) {
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
		if _, err := c.files.FindFileByPath(f.GetName()); err == nil {
			return
		}
		fd, err := protodesc.FileOptions{AllowUnresolvable: true}.New(f, c.files)
		if err == nil {
			err = c.files.RegisterFile(fd)
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

// plan prepares every message type for the encoder, and publishes the result.
func (c *Catalog) plan(each func(protoreflect.FileDescriptor)) {
	var files []protoreflect.FileDescriptor
	c.files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		files = append(files, fd)
		return true
	})
	slices.SortFunc(files, func(a, b protoreflect.FileDescriptor) int {
		if a.Path() < b.Path() {
			return -1
		}
		return 1
	})
	for _, fd := range files {
		c.planMessages(fd.Messages())
	}
	for _, fd := range files {
		each(fd)
	}
	types := maps.Clone(c.planner.types)
	c.types.Store(&types)
}

func (c *Catalog) planMessages(mds protoreflect.MessageDescriptors) {
	for i := range mds.Len() {
		c.planner.message(mds.Get(i))
		c.planMessages(mds.Get(i).Messages())
	}
}

func (c *Catalog) addRoutes(fd protoreflect.FileDescriptor, only []string) {
	services := fd.Services()
	for i := range services.Len() {
		sd := services.Get(i)
		if only != nil && !slices.Contains(only, string(sd.FullName())) {
			continue
		}
		for j := range sd.Methods().Len() {
			c.Routes = append(c.Routes, c.methodRoutes(sd.Methods().Get(j))...)
		}
	}
}

// Knows reports whether the catalogue has the message type.
func (c *Catalog) Knows(name string) bool { return c.lookup(name) != nil }

func (c *Catalog) lookup(name string) *messagePlan {
	return (*c.types.Load())[protoreflect.FullName(name)]
}

// Learn adds the types of more files, for those that only occur inside Any.
func (c *Catalog) Learn(files []*descriptorpb.FileDescriptorProto) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link(files)
	c.plan(func(protoreflect.FileDescriptor) {})
}

func (c *Catalog) encoder(limit int) *encoder {
	e, ok := c.encoders.Get().(*encoder)
	if !ok {
		e = new(encoder)
	}
	e.reset(c.Dialect, limit, c.find)
	return e
}
