// Package localchain is a small gRPC query node inside the program.
//
// It serves the entity, claims, token and identifier queries of an ixo chain,
// and what a node says about itself, from the records of a seed file and with
// the oracle's own entity. It has server reflection and HTTP rules like any
// node, on .proto files of our own (spec/proto): the gateway does not know that
// it is not a chain.
//
// It promises that what it answers at a block height stays what it answers at
// that height, and that a seed file which cannot be read does not take away
// what was served before. It refuses to write: records change by the seed file.
package localchain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/castalia-org/castalia/internal/service/query/upstream"
)

// Name is the chain's name in the gateway, and the chain id of its blocks.
const Name = "local"

// Blocks come by the clock, so that every node of a fleet counts alike.
const (
	blockTime = 2 * time.Second
	genesis   = 1767225600 // 2026-01-01, in Unix seconds
)

// Config describes the node.
type Config struct {
	// Seed is the file with the records; it need not exist.
	Seed string
	// Oracle is registered beside the records when it has a DID.
	Oracle Oracle
	Logger *slog.Logger     // nil: silent
	Now    func() time.Time // nil is time.Now
}

// Chain is the node. Run serves it; it is asked through the connection options
// of Upstream.
type Chain struct {
	cfg      Config
	schema   *schema
	listener *bufconn.Listener
	server   *grpc.Server

	mu     sync.RWMutex
	states []*state // by the height from which they count; the last is newest
	stamp  string   // of the seed file that was read last
}

// keepStates is how many former states can still be asked by height.
const keepStates = 16

// New compiles the interface and reads the seed. A seed that cannot be read
// stops the start.
func New(ctx context.Context, cfg Config) (*Chain, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s, err := loadSchema(ctx)
	if err != nil {
		return nil, err
	}
	c := &Chain{
		cfg: cfg, schema: s, listener: bufconn.Listen(1 << 20),
		server: grpc.NewServer(grpc.ForceServerCodecV2(orderedCodec{})),
	}
	if err := c.reload(ctx); err != nil {
		return nil, err
	}
	c.register()
	return c, nil
}

// Upstream returns how the gateway reaches the node.
func (c *Chain) Upstream() upstream.Config {
	return upstream.Config{
		Name:    Name,
		Targets: []upstream.Target{{Address: "passthrough:///" + Name}},
		Dial: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return c.listener.DialContext(ctx)
		})},
	}
}

// Run serves until ctx ends and takes over changes of the seed file.
func (c *Chain) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- c.server.Serve(c.listener) }()
	ticker := time.NewTicker(blockTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			c.server.Stop()
			<-served
			return nil
		case err := <-served:
			return fmt.Errorf("serve the embedded chain: %w", err)
		case <-ticker.C:
			if err := c.reload(ctx); err != nil {
				c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "seed of the embedded chain not read; the former records stay", slog.String("event", "chain.seed_unreadable"),
					slog.String("file", c.cfg.Seed), slog.Any("error", err))
			}
		}
	}
}

// height is the newest block at a time.
func height(now time.Time) int64 { return max(1, (now.Unix()-genesis)/int64(blockTime/time.Second)) }

// reload reads the seed when it changed. New records count from the next block
// on, since the present one was seen without them.
func (c *Chain) reload(ctx context.Context) error {
	stamp, err := fileStamp(c.cfg.Seed)
	if err != nil {
		return err
	}
	c.mu.RLock()
	unchanged := len(c.states) > 0 && stamp == c.stamp
	c.mu.RUnlock()
	if unchanged {
		return nil
	}
	seed, err := ReadSeed(c.cfg.Seed)
	if err != nil {
		return c.remember(stamp, err)
	}
	next, warnings, err := c.schema.state(seed.with(c.cfg.Oracle))
	if err != nil {
		return c.remember(stamp, fmt.Errorf("seed %s: %w", c.cfg.Seed, err))
	}
	for _, w := range warnings {
		c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "seed of the embedded chain", slog.String("event", "chain.seed_warning"), slog.String("warning", w))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next.from = height(c.cfg.Now())
	if len(c.states) > 0 {
		next.from++
	}
	c.states = append(c.states, next)
	c.states = c.states[max(0, len(c.states)-keepStates):]
	c.stamp = stamp
	return nil
}

// remember keeps a broken file from being read, and reported, at every block.
func (c *Chain) remember(stamp string, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.states) > 0 {
		c.stamp = stamp
	}
	return err
}

// fileStamp changes when the file does; "" is no file.
func fileStamp(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at the seed: %w", err)
	}
	return fmt.Sprintf("%d %d", info.ModTime().UnixNano(), info.Size()), nil
}

// at returns the state at a height; 0 is the newest.
func (c *Chain) at(wanted int64) (*state, int64, error) {
	newest := height(c.cfg.Now())
	if wanted == 0 {
		wanted = newest
	}
	if wanted > newest {
		return nil, 0, status.Errorf(codes.Unknown, "codespace sdk code 26: invalid height: cannot query with height in the future; newest is %d", newest)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, s := range slices.Backward(c.states) {
		if s.from <= wanted {
			return s, wanted, nil
		}
	}
	return nil, 0, status.Errorf(codes.InvalidArgument, "height %d is older than this node: its first block is %d", wanted, c.states[0].from)
}

// register offers every service of the interface, with reflection.
func (c *Chain) register() {
	c.schema.files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			sd := fd.Services().Get(i)
			desc := &grpc.ServiceDesc{ServiceName: string(sd.FullName()), HandlerType: (*any)(nil), Metadata: fd.Path()}
			for j := range sd.Methods().Len() {
				desc.Methods = append(desc.Methods, c.method(sd.Methods().Get(j)))
			}
			c.server.RegisterService(desc, c)
		}
		return true
	})
	options := reflection.ServerOptions{
		Services: c.server, DescriptorResolver: c.schema.files, ExtensionResolver: protoregistry.GlobalTypes,
	}
	reflectionv1.RegisterServerReflectionServer(c.server, reflection.NewServerV1(options))
	reflectionv1alpha.RegisterServerReflectionServer(c.server, reflection.NewServer(options))
}

const heightHeader = "x-cosmos-block-height"

func (c *Chain) method(md protoreflect.MethodDescriptor) grpc.MethodDesc {
	return grpc.MethodDesc{
		MethodName: string(md.Name()),
		Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := dynamicpb.NewMessage(md.Input())
			if err := decode(request); err != nil {
				return nil, err
			}
			return c.answer(ctx, md, request)
		},
	}
}

func (c *Chain) answer(ctx context.Context, md protoreflect.MethodDescriptor,
	request protoreflect.Message,
) (proto.Message, error) {
	wanted := int64(0)
	incoming, _ := metadata.FromIncomingContext(ctx)
	if v := incoming.Get(heightHeader); len(v) > 0 {
		h, err := strconv.ParseInt(v[0], 10, 64)
		if err != nil || h < 0 {
			return nil, status.Error(codes.Unknown, "codespace sdk code 26: invalid height: not a block height")
		}
		wanted = h
	}
	s, at, err := c.at(wanted)
	if err != nil {
		return nil, err
	}
	reply := dynamicpb.NewMessage(md.Output())
	if err := s.answer(md, request, reply, blockOf(at)); err != nil {
		return nil, err
	}
	return reply, grpc.SetHeader(ctx, metadata.Pairs(heightHeader, strconv.FormatInt(at, 10)))
}

// block is what the node says of a block.
type block struct {
	height int64
	time   time.Time
}

func blockOf(h int64) block {
	return block{h, time.Unix(genesis+h*int64(blockTime/time.Second), 0)}
}
