// Package upstream reaches the gRPC nodes behind the query gateway.
//
// A Pool is one chain: it learns the chain's services from a node's reflection
// or from a descriptor set, watches how far each node is, and asks the one
// that is in step and has least to do. It promises that a node which fails,
// lags, lies about its height or is still catching up does not answer while a
// better one can. It refuses to show a node's address or transport errors to
// clients.
//
// Decision: ADR 0038.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// Config describes one chain. Name and Targets are needed, the rest has defaults.
type Config struct {
	Name        string
	Targets     []Target
	Dialect     wirejson.Dialect
	Descriptors string   // file with a FileDescriptorSet; "" asks the nodes
	Methods     []string // that may be called by another verb than GET

	Probe      time.Duration // 1 s between looks at a node
	Rediscover time.Duration // 5 min between looks at the descriptors
	Logger     *slog.Logger  // nil: silent
	// Dial is added to the options of every connection.
	Dial []grpc.DialOption
}

const (
	maxReply = 16 << 20 // bytes on the wire
	maxLag   = 10       // blocks behind the others
)

func (c Config) withDefaults() Config {
	c.Probe = cmp.Or(c.Probe, time.Second)
	c.Rediscover = cmp.Or(c.Rediscover, 5*time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// maxAttempts bounds how many nodes one call may visit.
const maxAttempts = 3

// Pool is one chain behind its nodes. It implements query.Chain. Run keeps it
// up to date; Close ends its connections.
type Pool struct {
	cfg     Config
	nodes   []*node
	budget  *budget
	catalog atomic.Pointer[httprule.Catalog]
	head    atomic.Pointer[query.Head]
	again   chan struct{} // asks for a new look at the descriptors

	mu      sync.Mutex
	unknown map[string]time.Time // types that no node knows, until when
	problem string               // of the last discovery
}

var _ query.Chain = (*Pool)(nil)

// New makes the connections, which dial when they are needed. A descriptor
// file is read at once, so that a bad one stops the start.
func New(ctx context.Context, cfg Config) (*Pool, error) {
	p := &Pool{
		cfg: cfg.withDefaults(), budget: newBudget(), again: make(chan struct{}, 1),
		unknown: make(map[string]time.Time),
	}
	p.head.Store(new(query.Head))
	if len(cfg.Targets) == 0 {
		return nil, errors.New("upstream: a chain needs a node")
	}
	for _, t := range cfg.Targets {
		n, err := newNode(t, cfg.Dial...)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.nodes = append(p.nodes, n)
	}
	if p.cfg.Descriptors != "" {
		if err := p.discoverFile(ctx); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// Close ends the connections.
func (p *Pool) Close() error {
	var errs []error
	for _, n := range p.nodes {
		errs = append(errs, n.conn.Close())
	}
	return errors.Join(errs...)
}

// Name returns the chain's name.
func (p *Pool) Name() string { return p.cfg.Name }

// Catalog returns what the chain serves, or nil while no node has said.
func (p *Pool) Catalog() *httprule.Catalog { return p.catalog.Load() }

// Head returns the newest block that a believable node has.
func (p *Pool) Head() query.Head { return *p.head.Load() }

// Ready reports why the chain cannot be asked, or nil.
func (p *Pool) Ready() error {
	if p.Catalog() == nil {
		return trouble.New("health.chainUnknown", words.Values{"chain": p.cfg.Name})
	}
	for _, n := range p.nodes {
		if s := n.snapshot(); s.alive && !s.syncing && !s.outlier {
			return nil
		}
	}
	return trouble.New("health.chainApart", words.Values{"chain": p.cfg.Name})
}

// Invoke asks the best node, and others when it fails and the call may be
// repeated.
func (p *Pool) Invoke(ctx context.Context, call query.Call) (query.Reply, error) {
	p.budget.deposit()
	var last error
	var visited [maxAttempts]*node
	for attempt := range maxAttempts {
		n := p.pick(call.Height, visited[:attempt])
		if n == nil {
			break
		}
		if attempt > 0 && !p.budget.withdraw() {
			n.breaker.release()
			break
		}
		visited[attempt] = n
		reply, err := n.invoke(ctx, call)
		if err == nil {
			return reply, nil
		}
		last = err
		if ctx.Err() != nil || call.Once || !retryable(err, call.Height) {
			break
		}
	}
	if last == nil {
		last = query.Statusf(codes.Unavailable, "no node of the chain can answer now")
	}
	return query.Reply{}, last
}

// retryable reports whether another node may answer better.
func retryable(err error, height int64) bool {
	var s *query.StatusError
	if !errors.As(err, &s) {
		return false
	}
	return s.Code == codes.Unavailable || height > 0 && pruned(s)
}

// pruned recognises a node that has dropped the state of the height. One that
// misses a record has the state, and repeats a name that the client gave.
func pruned(s *query.StatusError) bool {
	return s.Code != codes.NotFound && (strings.Contains(s.Message, "version does not exist") ||
		strings.Contains(s.Message, "failed to load state at height") || strings.Contains(s.Message, "pruned"))
}

// pick chooses among the nodes that may be asked, the ones first that are in
// step, have the height and did not fail just now, and of these the one with
// least to do. A node that was visited is asked again only when there is no
// other.
func (p *Pool) pick(height int64, visited []*node) *node {
	now := time.Now()
	var best *node
	bestRank, bestLoad, bestLatency := 0, int64(0), int64(0)
	for _, n := range p.nodes {
		s := n.snapshot()
		if s.outlier || s.probed && s.alive && s.syncing || n.breaker.open(now) {
			continue
		}
		rank := 3
		switch {
		case slices.Contains(visited, n):
			if len(visited) > 1 {
				continue // once more is enough
			}
			rank = 0
		case s.probed && !s.alive:
			rank = 1
		case s.lagging, height > 0 && s.height > 0 && s.height < height, height > 0 && height <= n.dropped.Load(),
			n.breaker.poor(now):
			rank = 2
		}
		load, latency := n.load()
		if best == nil || rank > bestRank || rank == bestRank &&
			(load < bestLoad || load == bestLoad && latency < bestLatency) {
			best, bestRank, bestLoad, bestLatency = n, rank, load, latency
		}
	}
	if best == nil || !best.breaker.allow(now) {
		return nil
	}
	return best
}

// describeTimeout and unknownFor bound the search for types inside Any.
const (
	describeTimeout = 2 * time.Second
	unknownFor      = time.Minute
	maxUnknown      = 1000
)

// Describe looks for a message type that the catalogue does not have. A type
// that no node knows is not asked for again for a while.
func (p *Pool) Describe(ctx context.Context, typeName string) ([]*descriptorpb.FileDescriptorProto, error) {
	p.mu.Lock()
	until, miss := p.unknown[typeName]
	p.mu.Unlock()
	if p.cfg.Descriptors != "" || miss && time.Now().Before(until) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	n := p.pick(0, nil)
	if n == nil {
		return nil, query.Statusf(codes.Unavailable, "no node of the chain can answer now")
	}
	n.breaker.release()
	files, err := describe(ctx, n.conn, typeName)
	if err == nil {
		return files, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unknown) >= maxUnknown {
		clear(p.unknown)
	}
	p.unknown[typeName] = time.Now().Add(unknownFor)
	return nil, err
}
