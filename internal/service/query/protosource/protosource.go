// Package protosource turns .proto text into descriptors while the program
// runs, so that no generated code has to be kept in step with it: that would need
// protoc and plugins on every machine that changes a field, and a committed
// descriptor set is a binary that reviewers cannot read. Starting costs a few
// milliseconds; the embedded node that stands on it serves a trial, not a chain.
//
// Files may import google/api/annotations.proto and google/protobuf/…; those
// come with the program. What it returns has its options as unknown bytes, just
// as if it had come from another process.
package protosource

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	_ "google.golang.org/genproto/googleapis/api/annotations" // linked in, so that files may import it
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Compile reads every .proto file of the file system, by its path, and returns
// them with all that they import, imports first.
func Compile(ctx context.Context, sources fs.FS) ([]*descriptorpb.FileDescriptorProto, error) {
	texts := make(map[string]string)
	var names []string
	err := fs.WalkDir(sources, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".proto") {
			return err
		}
		text, err := fs.ReadFile(sources, path)
		if err != nil {
			return err
		}
		texts[path] = string(text)
		names = append(names, path)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read .proto files: %w", err)
	}
	slices.Sort(names)
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(texts)},
			protocompile.ResolverFunc(linkedIn),
		}),
	}
	compiled, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("compile .proto files: %w", err)
	}
	var closure Closure
	for _, file := range compiled {
		if err := closure.Add(file); err != nil {
			return nil, err
		}
	}
	return closure.Files, nil
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

// Add takes a file and what it imports, each once.
func (c *Closure) Add(file protoreflect.FileDescriptor) error {
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	if c.seen[file.Path()] {
		return nil
	}
	c.seen[file.Path()] = true
	for i := range file.Imports().Len() {
		if err := c.Add(file.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	wire, err := proto.Marshal(protodesc.ToFileDescriptorProto(file))
	if err != nil {
		return fmt.Errorf("describe %s: %w", file.Path(), err)
	}
	fresh := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(wire, fresh); err != nil {
		return fmt.Errorf("describe %s: %w", file.Path(), err)
	}
	c.Files = append(c.Files, fresh)
	return nil
}
