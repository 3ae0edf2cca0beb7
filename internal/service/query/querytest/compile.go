// Package querytest holds what tests of the query gateway share: a compiler
// for .proto text, random messages, and a gRPC node that replays recorded
// replies and can be told to misbehave.
package querytest

import (
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query/protosource"
)

// Compile turns .proto text, by file name, into descriptors with all that they
// import.
func Compile(t testing.TB, files map[string]string) []*descriptorpb.FileDescriptorProto {
	t.Helper()
	sources := make(fstest.MapFS)
	for name, text := range files {
		sources[name] = &fstest.MapFile{Data: []byte(text)}
	}
	compiled, err := protosource.Compile(t.Context(), sources)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
