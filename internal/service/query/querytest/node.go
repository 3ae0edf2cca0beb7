package querytest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Call is what a node was asked.
type Call struct {
	Method string
	Wire   []byte
	Height int64
}

// Answer is what it says. A Height of 0 sends no height header.
type Answer struct {
	Wire   []byte
	Height int64
}

// NodeConfig says what a node is and knows.
type NodeConfig struct {
	Files []*descriptorpb.FileDescriptorProto
	// Services limits what reflection lists; nil is all of Files.
	Services []string
	// OldReflection has version v1alpha only, as Cosmos nodes do;
	// NoReflection has none.
	OldReflection, NoReflection bool
	// Height is the newest block at the start; 0 makes a node that is no chain.
	Height int64
	// Answer is asked for every method but those about the node itself. Nil
	// answers an empty message.
	Answer func(ctx context.Context, call Call) (Answer, error)
}

// Node is a gRPC server on loopback that answers what it is told.
type Node struct {
	Addr string

	cfg     NodeConfig
	server  *grpc.Server
	files   atomic.Pointer[protoregistry.Files]
	height  atomic.Int64
	syncing atomic.Bool
	mu      sync.Mutex
	counts  map[string]int
}

// StartNode runs a node until the test ends.
func StartNode(t testing.TB, cfg NodeConfig) *Node {
	t.Helper()
	n := &Node{cfg: cfg, counts: make(map[string]int)}
	n.height.Store(cfg.Height)
	n.SetFiles(t, cfg.Files)
	n.Start(t, "127.0.0.1:0")
	t.Cleanup(n.Stop)
	return n
}

// Start listens on the address; use it to bring a stopped node back.
func (n *Node) Start(t testing.TB, addr string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	n.Addr = listener.Addr().String()
	n.server = grpc.NewServer(grpc.ForceServerCodecV2(serverCodec{}), grpc.UnknownServiceHandler(n.serve),
		grpc.MaxSendMsgSize(128<<20))
	options := reflection.ServerOptions{Services: n, DescriptorResolver: n, ExtensionResolver: protoregistry.GlobalTypes}
	if !n.cfg.NoReflection {
		if !n.cfg.OldReflection {
			reflectionv1.RegisterServerReflectionServer(n.server, reflection.NewServerV1(options))
		}
		reflectionv1alpha.RegisterServerReflectionServer(n.server, reflection.NewServer(options))
	}
	server := n.server
	go func() { _ = server.Serve(listener) }()
}

// Stop breaks every connection, as a killed process does.
func (n *Node) Stop() { n.server.Stop() }

// SetFiles changes what the node describes from now on.
func (n *Node) SetFiles(t testing.TB, files []*descriptorpb.FileDescriptorProto) {
	t.Helper()
	linked, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	n.files.Store(linked)
}

// Height is the node's newest block.
func (n *Node) Height() int64 { return n.height.Load() }

// SetHeight moves the node's newest block.
func (n *Node) SetHeight(h int64) { n.height.Store(h) }

// SetSyncing says whether the node is catching up.
func (n *Node) SetSyncing(v bool) { n.syncing.Store(v) }

// Calls returns how often a method was called.
func (n *Node) Calls(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.counts[method]
}

// GetServiceInfo lists the services for reflection.
func (n *Node) GetServiceInfo() map[string]grpc.ServiceInfo {
	services := make(map[string]grpc.ServiceInfo)
	if n.cfg.Services != nil {
		for _, name := range n.cfg.Services {
			services[name] = grpc.ServiceInfo{}
		}
		return services
	}
	n.files.Load().RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			services[string(fd.Services().Get(i).FullName())] = grpc.ServiceInfo{}
		}
		return true
	})
	return services
}

// FindFileByPath serves reflection.
func (n *Node) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	return n.files.Load().FindFileByPath(path)
}

// FindDescriptorByName serves reflection.
func (n *Node) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	return n.files.Load().FindDescriptorByName(name)
}

const (
	syncingMethod = "/cosmos.base.tendermint.v1beta1.Service/GetSyncing"
	heightHeader  = "x-cosmos-block-height"
)

func (n *Node) serve(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	n.mu.Lock()
	n.counts[method]++
	n.mu.Unlock()
	var wire []byte
	if err := stream.RecvMsg(&wire); err != nil {
		return err
	}
	call := Call{Method: method, Wire: wire}
	md, _ := metadata.FromIncomingContext(stream.Context())
	if v := md.Get(heightHeader); len(v) > 0 {
		h, err := strconv.ParseInt(v[0], 10, 64)
		if err != nil {
			return status.Error(codes.Unknown, "invalid height")
		}
		call.Height = h
	}
	answer, err := n.answer(stream.Context(), call)
	if err != nil {
		return err
	}
	if answer.Height > 0 {
		if err := stream.SetHeader(metadata.Pairs(heightHeader, strconv.FormatInt(answer.Height, 10))); err != nil {
			return err
		}
	}
	return stream.SendMsg(&answer.Wire)
}

func (n *Node) answer(ctx context.Context, call Call) (Answer, error) {
	if strings.HasPrefix(call.Method, "/grpc.") {
		return Answer{}, status.Error(codes.Unimplemented, "unknown service")
	}
	if call.Method == syncingMethod && n.height.Load() > 0 && call.Height == 0 {
		var wire []byte
		if n.syncing.Load() {
			wire = protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
		}
		return Answer{Wire: wire, Height: n.height.Load()}, nil
	}
	if n.cfg.Answer != nil {
		return n.cfg.Answer(ctx, call)
	}
	height := call.Height
	if height == 0 {
		height = n.height.Load()
	}
	return Answer{Height: height}, nil
}

// serverCodec moves *[]byte as they are, and messages as protobuf.
type serverCodec struct{}

func (serverCodec) Name() string { return "proto" }

func (serverCodec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *[]byte:
		return mem.BufferSlice{mem.SliceBuffer(*m)}, nil
	case proto.Message:
		b, err := proto.Marshal(m)
		return mem.BufferSlice{mem.SliceBuffer(b)}, err
	default:
		return nil, fmt.Errorf("marshal %T", v)
	}
}

func (serverCodec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *[]byte:
		*m = data.Materialize()
		return nil
	case proto.Message:
		return proto.Unmarshal(data.Materialize(), m)
	default:
		return fmt.Errorf("unmarshal %T", v)
	}
}
