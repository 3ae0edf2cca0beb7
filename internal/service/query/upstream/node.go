package upstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/castalia-org/castalia/internal/service/query"
)

// heightHeader carries the block height, in both directions.
const heightHeader = "x-cosmos-block-height"

// How a node says how far it is. Nodes of other kinds have the health service.
const (
	syncingMethod = "/cosmos.base.tendermint.v1beta1.Service/GetSyncing"
	latestMethod  = "/cosmos.base.tendermint.v1beta1.Service/GetLatestBlock"
	healthMethod  = "/grpc.health.v1.Health/Check"
)

// node is one gRPC server.
type node struct {
	address  string
	conn     *grpc.ClientConn
	inFlight atomic.Int64
	calls    atomic.Int64
	latency  atomic.Int64 // moving average in nanoseconds
	dropped  atomic.Int64 // the highest height of which it had no state any more
	breaker  breaker

	mu    sync.Mutex
	state nodeState
}

// nodeState is what the last probe said.
type nodeState struct {
	probed  bool
	alive   bool
	syncing bool
	outlier bool // its height is not believed
	lagging bool
	height  int64
	seen    time.Time
	problem string
}

func newNode(t Target, options ...grpc.DialOption) (*node, error) {
	creds, err := t.credentials()
	if err != nil {
		return nil, err
	}
	pool := new(buffers)
	dial := append([]grpc.DialOption{
		experimental.WithBufferPool(pool),
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), // ours knows the other nodes
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{pool}), grpc.MaxCallRecvMsgSize(maxReply)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Minute, Timeout: 10 * time.Second}),
		grpc.WithInitialWindowSize(1 << 20),
		grpc.WithInitialConnWindowSize(4 << 20),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second,
			},
			MinConnectTimeout: 5 * time.Second,
		}),
	}, options...)
	conn, err := grpc.NewClient(t.Address, dial...)
	if err != nil {
		return nil, fmt.Errorf("upstream %s: %w", t.Address, err)
	}
	return &node{address: t.Address, conn: conn}, nil
}

func (n *node) load() (inFlight, latency int64) { return n.inFlight.Load(), n.latency.Load() }

func (n *node) snapshot() nodeState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

// invoke asks the node and judges it by the outcome.
func (n *node) invoke(ctx context.Context, call query.Call) (query.Reply, error) {
	n.inFlight.Add(1)
	n.calls.Add(1)
	start := time.Now()
	reply, height, err := n.raw(ctx, call.Method, call.Wire, call.Height)
	n.inFlight.Add(-1)
	if err == nil && call.Height > 0 && height > 0 && height != call.Height {
		reply.free()
		n.breaker.failure(time.Now())
		return query.Reply{}, &query.StatusError{
			Code: codes.Unavailable, HTTP: 502, Message: "the node answered for another height than the one that was asked for",
		}
	}
	if err != nil {
		n.judge(ctx, err, time.Since(start))
		failure := convert(err)
		if call.Height > n.dropped.Load() && pruned(failure) {
			n.dropped.Store(call.Height) // the loser of a race says it again
		}
		return query.Reply{}, failure
	}
	n.breaker.success()
	took := int64(time.Since(start))
	n.latency.Store((7*n.latency.Load() + took) / 8)
	return query.Reply{Wire: reply.data, Height: height, Release: reply.free}, nil
}

// slow is for how long a node must have been silent to be blamed for it: a
// client may allow a millisecond.
const slow = 2 * time.Second

// judge counts failures of the node, not those of the question.
func (n *node) judge(ctx context.Context, err error, took time.Duration) {
	switch code := status.Code(err); {
	case code == codes.Unavailable, code == codes.DeadlineExceeded && took >= slow:
		n.breaker.failure(time.Now())
	case code == codes.Canceled, code == codes.DeadlineExceeded:
		n.breaker.release()
	default:
		if ctx.Err() != nil {
			n.breaker.release()
			return
		}
		n.breaker.success() // it answered
	}
}

func (n *node) raw(ctx context.Context, method string, wire []byte, height int64) (*rawMessage, int64, error) {
	if height > 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, heightHeader, strconv.FormatInt(height, 10))
	}
	var header metadata.MD
	reply := new(rawMessage)
	if err := n.conn.Invoke(ctx, method, &rawMessage{data: wire}, reply, grpc.Header(&header)); err != nil {
		return nil, 0, err
	}
	answered := int64(0)
	if v := header.Get(heightHeader); len(v) > 0 {
		if h, err := strconv.ParseInt(v[0], 10, 64); err == nil && h > 0 {
			answered = h
		}
	}
	return reply, answered, nil
}

// convert makes our status of gRPC's. What the transport says names addresses
// and is not for clients.
func convert(err error) *query.StatusError {
	s := status.Convert(err)
	out := &query.StatusError{Code: s.Code(), Message: s.Message()}
	switch {
	case s.Code() == codes.Unavailable:
		out.Message = "the node is not reachable"
	case s.Code() == codes.DeadlineExceeded:
		out.Message = "the node did not answer in time"
	case s.Code() == codes.Canceled:
		out.Message = "cancelled"
	case s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max"):
		out.HTTP = 502
		out.Message = "the reply is too large; ask for a smaller page"
	}
	for _, detail := range s.Proto().GetDetails() {
		if wire, err := proto.Marshal(detail); err == nil {
			out.Details = append(out.Details, wire)
		}
	}
	return out
}

// probe asks the node how far it is, and remembers the answer.
func (n *node) probe(ctx context.Context, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	next := nodeState{probed: true, seen: time.Now()}
	height, syncing, err := n.progress(ctx)
	if err == nil {
		next.alive, next.height, next.syncing = true, height, syncing
		n.breaker.revive()
	} else {
		next.problem = convert(err).Error()
		if n.conn.GetState() == connectivity.Ready && status.Code(err) == codes.Unimplemented {
			next.alive, next.problem = true, ""
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		next.height = n.state.height
	} else if !n.state.alive {
		n.dropped.Store(0) // it may have come back with more
	}
	next.outlier, next.lagging = n.state.outlier, n.state.lagging
	n.state = next
}

// progress reads the height and whether the node is still catching up. The
// small query carries the height in its header on Cosmos nodes.
func (n *node) progress(ctx context.Context) (height int64, syncing bool, err error) {
	reply, height, err := n.raw(ctx, syncingMethod, nil, 0)
	if status.Code(err) == codes.Unimplemented {
		reply, _, err = n.raw(ctx, healthMethod, nil, 0)
		if err != nil {
			return 0, false, err
		}
		defer reply.free()
		const serving = 1
		v, _ := varintField(reply.data, 1)
		return 0, v != serving, nil
	}
	if err != nil {
		return 0, false, err
	}
	v, _ := varintField(reply.data, 1)
	reply.free()
	if height > 0 {
		return height, v != 0, nil
	}
	latest, height, err := n.raw(ctx, latestMethod, nil, 0)
	if err != nil {
		return 0, v != 0, err
	}
	defer latest.free()
	if height == 0 {
		height = blockHeight(latest.data)
	}
	return height, v != 0, nil
}

// blockHeight reads block.header.height of a GetLatestBlockResponse.
func blockHeight(reply []byte) int64 {
	const block, header, heightField = 2, 1, 3
	h, ok := varintField(bytesField(bytesField(reply, block), header), heightField)
	if !ok || h > 1<<62 {
		return 0
	}
	return int64(h)
}

func varintField(b []byte, want protowire.Number) (uint64, bool) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, false
		}
		if num == want && typ == protowire.VarintType {
			v, m := protowire.ConsumeVarint(b[n:])
			return v, m > 0
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return 0, false
		}
		b = b[n+m:]
	}
	return 0, false
}

func bytesField(b []byte, want protowire.Number) []byte {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return nil
		}
		if num == want && typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b[n:])
			return v
		}
		b = b[n+m:]
	}
	return nil
}
