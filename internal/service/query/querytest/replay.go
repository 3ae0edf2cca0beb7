package querytest

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Recorded is one reply of a real chain: what its own gateway answered, and
// what went over gRPC for it.
type Recorded struct {
	Path   string `json:"path"`
	Status int    `json:"status"`
	Body   string `json:"body"`
	GRPC   *struct {
		Method      string
		Request     []byte
		Response    []byte
		GRPCCode    int
		GRPCMessage string
	} `json:"grpc"`
}

// Height is the block at which the replies were recorded.
const Height = 984

// LoadRecorded reads the replies and the descriptors from a folder.
func LoadRecorded(t testing.TB, dir string) ([]Recorded, []*descriptorpb.FileDescriptorProto) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "chain.fds"))
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, "chain-replies.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var all []Recorded
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r Recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all, set.GetFile()
}

// Replay answers calls with recorded replies. Requests are compared after
// they were encoded anew, since the order of fields is free.
func Replay(t testing.TB, recorded []Recorded, files *protoregistry.Files) func(context.Context, Call) (Answer, error) {
	t.Helper()
	replies := make(map[string]Recorded)
	for _, r := range recorded {
		if r.GRPC != nil {
			replies[r.GRPC.Method+"\x00"+string(canonical(files, r.GRPC.Method, r.GRPC.Request))] = r
		}
	}
	return func(_ context.Context, call Call) (Answer, error) {
		r, ok := replies[call.Method+"\x00"+string(canonical(files, call.Method, call.Wire))]
		if !ok {
			return Answer{}, status.Errorf(codes.FailedPrecondition, "nothing was recorded for %s", call.Method)
		}
		if r.GRPC.GRPCCode != 0 {
			return Answer{}, status.Error(codes.Code(r.GRPC.GRPCCode), r.GRPC.GRPCMessage)
		}
		return Answer{Wire: r.GRPC.Response, Height: Height}, nil
	}
}

func canonical(files *protoregistry.Files, method string, wire []byte) []byte {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	d, err := files.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return wire
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok || sd.Methods().ByName(protoreflect.Name(name)) == nil {
		return wire
	}
	m := dynamicpb.NewMessage(sd.Methods().ByName(protoreflect.Name(name)).Input())
	if proto.Unmarshal(wire, m) != nil {
		return wire
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return wire
	}
	return out
}
