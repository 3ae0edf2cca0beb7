package upstream

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/httprule"
)

// Bounds of discovery.
const (
	discoverTimeout = 30 * time.Second
	discoverMin     = 200 * time.Millisecond
	discoverMax     = 30 * time.Second
)

// Run watches the nodes and the descriptors until ctx ends. It returns nil
// then; nothing else ends it.
func (p *Pool) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, n := range p.nodes {
		group.Go(func() { p.watchNode(ctx, n) })
		group.Go(func() { p.watchConnection(ctx, n) })
	}
	group.Go(func() { p.watchDescriptors(ctx) })
	group.Wait()
	return nil
}

// watchNode probes a node and draws the conclusions.
func (p *Pool) watchNode(ctx context.Context, n *node) {
	ticker := time.NewTicker(p.cfg.Probe)
	defer ticker.Stop()
	for {
		n.probe(ctx, max(2*time.Second, p.cfg.Probe))
		if ctx.Err() != nil {
			return
		}
		p.compare()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// watchConnection asks for a new look at the descriptors when a node comes
// back: it may have been upgraded.
func (p *Pool) watchConnection(ctx context.Context, n *node) {
	lost := false
	for state := n.conn.GetState(); ; state = n.conn.GetState() {
		switch state {
		case connectivity.Ready:
			if lost {
				p.rediscover()
			}
			lost = false
		case connectivity.TransientFailure, connectivity.Shutdown:
			lost = true
		case connectivity.Idle:
			n.conn.Connect()
			lost = true
		case connectivity.Connecting:
		}
		if !n.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

func (p *Pool) rediscover() {
	select {
	case p.again <- struct{}{}:
	default: // it is asked for already
	}
}

// compare finds the height that the nodes agree on, and marks those that are
// out of step. With three or more nodes, one that is far ahead of the middle
// one is not believed; with two the higher one is.
func (p *Pool) compare() {
	var heights []int64
	for _, n := range p.nodes {
		if s := n.snapshot(); s.alive && !s.syncing && s.height > 0 {
			heights = append(heights, s.height)
		}
	}
	slices.Sort(heights)
	ceiling := int64(0)
	switch len(heights) {
	case 0:
	case 1, 2:
		ceiling = heights[len(heights)-1]
	default:
		ceiling = heights[len(heights)/2] + maxLag
	}
	newest := int64(0)
	for _, h := range heights {
		if h <= ceiling {
			newest = h
		}
	}
	for _, n := range p.nodes {
		n.mu.Lock()
		n.state.outlier = n.state.height > ceiling && ceiling > 0
		n.state.lagging = n.state.height > 0 && n.state.height+maxLag < newest
		n.mu.Unlock()
	}
	if newest > 0 {
		p.advance(newest, time.Now())
	}
}

// advance moves the head, and learns how long blocks take.
func (p *Pool) advance(newest int64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.head.Load()
	next := &query.Head{Height: newest, Seen: now, Since: old.Since, Interval: old.Interval}
	if newest != old.Height {
		next.Since = now
		if blocks := newest - old.Height; blocks > 0 && old.Height > 0 {
			took := now.Sub(old.Since) / time.Duration(blocks)
			if next.Interval == 0 {
				next.Interval = took
			} else {
				next.Interval = (3*next.Interval + took) / 4
			}
		}
	}
	p.head.Store(next)
}

// watchDescriptors keeps the catalogue right: at the start until it works, on
// a timer, and when a node came back.
func (p *Pool) watchDescriptors(ctx context.Context) {
	wait := discoverMin
	for {
		err := p.discover(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := p.cfg.Rediscover
		if err != nil {
			p.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "query services not discovered", slog.String("event", "query.discovery_failed"),
				slog.String("chain", p.cfg.Name), slog.Any("error", err))
			pause = min(wait, p.cfg.Rediscover)
			wait = min(2*wait, discoverMax)
		} else {
			wait = discoverMin
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-p.again:
			timer.Stop()
		}
	}
}

func (p *Pool) discover(ctx context.Context) error {
	err := p.discoverOnce(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = ""
	if err != nil {
		p.problem = convert(err).Error()
	}
	return err
}

func (p *Pool) discoverOnce(ctx context.Context) error {
	if p.cfg.Descriptors != "" {
		return p.discoverFile(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	var visited []*node
	var last error
	for range p.nodes {
		n := p.pick(0, visited)
		if n == nil || slices.Contains(visited, n) {
			break
		}
		n.breaker.release()
		visited = append(visited, n)
		files, services, err := discover(ctx, n.conn)
		if err == nil {
			return p.install(ctx, files, services)
		}
		last = err
	}
	if last == nil {
		last = query.Statusf(14, "no node of the chain can answer now")
	}
	return last
}

func (p *Pool) discoverFile(ctx context.Context) error {
	files, err := readDescriptors(p.cfg.Descriptors)
	if err != nil {
		return err
	}
	return p.install(ctx, files, nil)
}

// install swaps the catalogue when the descriptors differ. One without routes
// never replaces one that has some: a node that just starts may say nothing.
func (p *Pool) install(ctx context.Context, files []*descriptorpb.FileDescriptorProto, services []string) error {
	next, err := httprule.NewCatalog(files, httprule.CatalogOptions{
		Name: p.cfg.Name, Dialect: p.cfg.Dialect, Services: services, Methods: p.cfg.Methods,
	})
	if err != nil {
		return err
	}
	old := p.catalog.Load()
	if old != nil && (old.Digest == next.Digest || len(next.Routes) == 0) {
		return nil
	}
	p.catalog.Store(next)
	p.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "query services discovered", slog.String("event", "query.discovered"), slog.String("chain", p.cfg.Name),
		slog.Int("routes", len(next.Routes)), slog.Int("warnings", len(next.Warnings)), slog.String("digest", next.Digest))
	for _, warning := range next.Warnings {
		p.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "query descriptor left out", slog.String("event", "query.descriptor_refused"),
			slog.String("chain", p.cfg.Name), slog.String("reason", warning))
	}
	return nil
}

// View returns the state of the chain and its nodes.
func (p *Pool) View() query.ChainView {
	head := p.Head()
	v := query.ChainView{
		Name: p.cfg.Name, Dialect: p.cfg.Dialect.String(), Ready: p.Ready() == nil,
		Height: head.Height, BlockTime: head.Interval, Warnings: []string{},
	}
	if c := p.Catalog(); c != nil {
		v.Discovered, v.Digest, v.Routes = true, c.Digest, len(c.Routes)
		v.Warnings = append(v.Warnings, c.Warnings...)
	}
	p.mu.Lock()
	v.Problem = p.problem
	p.mu.Unlock()
	now := time.Now()
	for _, n := range p.nodes {
		s := n.snapshot()
		v.Nodes = append(v.Nodes, query.NodeView{
			Address: n.address, State: s.word(n.breaker.open(now)), Height: s.height, InFlight: n.inFlight.Load(),
			Calls: n.calls.Load(), LatencyMS: float64(n.latency.Load()) / 1e6, Seen: s.seen, Problem: s.problem,
		})
	}
	return v
}

func (s nodeState) word(broken bool) string {
	switch {
	case !s.probed:
		return "unknown"
	case broken:
		return "broken"
	case !s.alive:
		return "down"
	case s.outlier:
		return "not believed"
	case s.syncing:
		return "catching up"
	case s.lagging:
		return "lagging"
	default:
		return "in step"
	}
}
