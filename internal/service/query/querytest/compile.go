// Package querytest holds what tests of the query gateway share: a compiler
// for .proto text, random messages, and a gRPC node that replays recorded
// replies and can be told to misbehave.
package querytest

import (
	"context"
	"fmt"
	"testing"

	"github.com/bufbuild/protocompile"
	_ "google.golang.org/genproto/googleapis/api/annotations" // linked in, so that tests may import its file
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Compile turns .proto text, by file name, into descriptors with all that they
// import. google/api/annotations.proto and google/protobuf/… may be imported.
func Compile(t testing.TB, files map[string]string) []*descriptorpb.FileDescriptorProto {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(files)},
			protocompile.ResolverFunc(linkedIn),
		}),
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	compiled, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		t.Fatalf("compile .proto: %v", err)
	}
	var closure Closure
	for _, file := range compiled {
		closure.Add(file)
	}
	return closure.Files
}

func linkedIn(path string) (protocompile.SearchResult, error) {
	fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
	if err != nil {
		return protocompile.SearchResult{}, fmt.Errorf("find %s: %w", path, err)
	}
	return protocompile.SearchResult{Desc: fd}, nil
}

// Closure collects files with their imports, imports first.
type Closure struct {
	Files []*descriptorpb.FileDescriptorProto
	seen  map[string]bool
}

// Add takes a file and what it imports, each once. Options are turned into
// unknown bytes, as they arrive from another process.
func (c *Closure) Add(file protoreflect.FileDescriptor) {
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	if c.seen[file.Path()] {
		return
	}
	c.seen[file.Path()] = true
	for i := range file.Imports().Len() {
		c.Add(file.Imports().Get(i).FileDescriptor)
	}
	wire, err := proto.Marshal(protodesc.ToFileDescriptorProto(file))
	if err != nil {
		return
	}
	fresh := new(descriptorpb.FileDescriptorProto)
	if proto.Unmarshal(wire, fresh) == nil {
		c.Files = append(c.Files, fresh)
	}
}
