package wirejson_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/castalia-org/castalia/internal/service/query/protosource"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// knownTypes returns every message type that can be compared: extensions and
// message sets have no place in a reply.
func knownTypes(files *protoregistry.Files) []protoreflect.MessageDescriptor {
	var all []protoreflect.MessageDescriptor
	var walk func(mds protoreflect.MessageDescriptors)
	walk = func(mds protoreflect.MessageDescriptors) {
		for i := range mds.Len() {
			if md := mds.Get(i); !md.IsMapEntry() {
				all = append(all, md)
			}
			walk(mds.Get(i).Messages())
		}
	}
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		walk(fd.Messages())
		return true
	})
	slices.SortFunc(all, func(a, b protoreflect.MessageDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	return all
}

// TestPlainEqualsProtojson writes random messages of every type that the tests
// know, at least fifty thousand, and compares them with protojson.
func TestPlainEqualsProtojson(t *testing.T) {
	t.Parallel()
	sets := map[string][]*descriptorpb.FileDescriptorProto{"dialect": querytest.DialectFiles(t, vectorsDir), "linked in": linkedInFiles(t)}
	if dir := os.Getenv("QUERY_VECTORS"); dir != "" {
		sets["chain"] = descriptorSet(t, filepath.Join(dir, "chain.fds"))
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		files := sets[name]
		linked := querytest.Link(t, files)
		types := knownTypes(linked)
		c := typesOf(t, wirejson.Plain, files)
		rounds := 50000/(len(types)*len(sets)) + 1
		marshal := protojson.MarshalOptions{EmitUnpopulated: true, Resolver: dynamicpb.NewTypes(linked)}
		inAny := []protoreflect.MessageDescriptor{
			types[0], types[len(types)/2], types[len(types)-1],
			querytest.MessageType(t, linked, "google.protobuf.Any"),
			querytest.MessageType(t, linked, "google.protobuf.Timestamp"),
			querytest.MessageType(t, linked, "google.protobuf.Duration"),
		}
		r := rand.New(rand.NewPCG(1, uint64(len(name))))
		for _, md := range types {
			for range rounds {
				comparePlain(t, c, marshal, querytest.RandomMessage(r, md, inAny))
				total++
			}
			if t.Failed() {
				t.Fatalf("set %s", name)
			}
		}
	}
	if total < 50000 {
		t.Errorf("only %d messages were compared", total)
	}
}

func comparePlain(t *testing.T, c *wirejson.Types, marshal protojson.MarshalOptions, m *dynamicpb.Message) {
	t.Helper()
	wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	// What travelled is compared with what travelled: a message inside Any may
	// lose a required field on the way, which protojson refuses.
	marshal.AllowPartial = true
	want, err := marshal.Marshal(m)
	if err != nil {
		t.Fatalf("%s: protojson: %v", m.Descriptor().FullName(), err)
	}
	got, err := c.Encode(nil, string(m.Descriptor().FullName()), wire, 64<<20)
	if err != nil {
		t.Fatalf("%s: %v", m.Descriptor().FullName(), err)
	}
	if a, b := numbers(t, want), numbers(t, got); !reflect.DeepEqual(a, b) {
		t.Errorf("%s: -protojson +ours\n%s", m.Descriptor().FullName(), cmp.Diff(a, b))
	}
}

// numbers parses JSON and keeps numbers as they are written.
func numbers(t *testing.T, b []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v\n%.300s", err, b)
	}
	return v
}

func linkedInFiles(t testing.TB) []*descriptorpb.FileDescriptorProto {
	t.Helper()
	var closure protosource.Closure
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if err := closure.Add(fd); err != nil {
			t.Fatal(err)
		}
		return true
	})
	return closure.Files
}

func descriptorSet(t testing.TB, path string) []*descriptorpb.FileDescriptorProto {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	return set.GetFile()
}
