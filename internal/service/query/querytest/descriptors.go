package querytest

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// DialectFiles compiles dialect.proto of a folder of vectors.
func DialectFiles(t testing.TB, vectors string) []*descriptorpb.FileDescriptorProto {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(vectors, "dialect.proto"))
	if err != nil {
		t.Fatal(err)
	}
	return Compile(t, map[string]string{"dialect.proto": string(source)})
}

// Link joins descriptors that are whole.
func Link(t testing.TB, files []*descriptorpb.FileDescriptorProto) *protoregistry.Files {
	t.Helper()
	linked, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	return linked
}

// MessageType finds a message type by its full name.
func MessageType(t testing.TB, files *protoregistry.Files, name string) protoreflect.MessageDescriptor {
	t.Helper()
	d, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatal(err)
	}
	md, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		t.Fatalf("%s is no message", name)
	}
	return md
}
