package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// fillers are the requests of one kind that are under way while the stores are
	// filled. Each waits for a synced commit that it shares with whoever else waits,
	// so that many at once cost hardly more than one.
	fillers = 64
	// fleetFillers are those of a fleet: in small tables PostgreSQL takes writes that
	// have nothing to do with each other for conflicts, and many of those at once for
	// more than it can order.
	fleetFillers  = 16
	progressEvery = 5 * time.Second
	// quietCPU is what a node that has nothing left to do uses at most in a second.
	quietCPU   = 50 * time.Millisecond
	quietLimit = 2 * time.Minute
)

// portion is one kind of record that is to be there before the run.
type portion struct {
	what string
	want int
	make func(ctx context.Context, i int) error
	made atomic.Int64
}

// fill brings the stores to the size that was asked for, by the same requests
// that people send: what is there then was acknowledged, and every index, feed
// and count that belongs to it is there too. All kinds are made at the same
// time, so that they share their commits.
func (w *world) fill(ctx context.Context, say func(string, ...any)) error {
	kinds := []*portion{
		{what: "files", want: max(w.s.preload, 20), make: w.preloadFile}, // a download needs something to fetch
		{what: "telephone sessions", want: w.s.preload, make: w.preloadCall},
		{what: "chats of ten messages", want: (w.s.preload + 9) / 10, make: w.preloadChat},
	}
	atOnce := fillers
	if w.s.shape == "fleet" {
		atOnce = fleetFillers
	}
	begin := time.Now()
	if w.s.preload > 0 {
		stop := progress(ctx, kinds, say)
		defer stop()
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, k := range kinds {
		var next atomic.Int64
		for range atOnce {
			g.Go(func() error {
				for {
					i := int(next.Add(1)) - 1
					if i >= k.want || ctx.Err() != nil {
						return ctx.Err()
					}
					if err := k.make(ctx, i); err != nil {
						return fmt.Errorf("preload %s: %w", k.what, err)
					}
					k.made.Add(1)
				}
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if w.s.preload > 0 {
		say("filled in %s: %s", time.Since(begin).Round(100*time.Millisecond), counts(kinds))
	}
	return nil
}

// progress says now and then how far the filling is, until it is stopped.
func progress(ctx context.Context, kinds []*portion, say func(string, ...any)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				say("filling: %s", counts(kinds))
			}
		}
	}()
	return func() { cancel(); <-ended }
}

func counts(kinds []*portion) string {
	parts := make([]string, 0, len(kinds))
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%d of %d %s", k.made.Load(), k.want, k.what))
	}
	return strings.Join(parts, ", ")
}

func (w *world) preloadFile(ctx context.Context, i int) error {
	return w.upload(ctx, i, w.people[i%len(w.people)], fmt.Sprintf("/preload/%d/%d.bin", i%100, i), 1024, uint64(i))
}

func (w *world) preloadCall(ctx context.Context, i int) error {
	err := w.hop(ctx, i, "*2233#", fmt.Sprintf("pre-%d", i), fmt.Sprintf("+2561%09d", i), "", "CON Welcome")
	w.calls.settle(err)
	return err
}

func (w *world) preloadChat(ctx context.Context, i int) error {
	p := w.people[i%len(w.people)]
	session, err := w.createSession(ctx, i, p)
	for n := 0; err == nil && n < 5; n++ {
		err = w.say(ctx, i, p, session, questions()[(i+n)%len(questions())])
	}
	return err
}

// renew starts the nodes of the run anew and returns when they rest, so that
// what is measured is the serving of full stores and not the filling of them:
// neither the memory that it took nor the work that it left behind.
func (w *world) renew(ctx context.Context, p *place, say func(string, ...any)) error {
	if len(p.nodes) == 0 {
		return nil // they are somebody else's
	}
	w.client.CloseIdleConnections()
	begin := time.Now()
	for _, n := range p.nodes {
		if err := n.again(ctx); err != nil {
			return err
		}
	}
	if err := p.awaitAll(ctx); err != nil {
		return err
	}
	rested := p.rest(ctx)
	say("started anew in %s, %s", time.Since(begin).Round(100*time.Millisecond), rested)
	return ctx.Err()
}

// rest waits until no node has anything to do, and says whether that came.
func (p *place) rest(ctx context.Context) string {
	used := func() (sum time.Duration) {
		for _, n := range p.nodes {
			sum += read(n.pids(), false).cpu
		}
		return sum
	}
	last := used()
	for deadline := time.Now().Add(quietLimit); time.Now().Before(deadline); {
		select {
		case <-ctx.Done():
			return "interrupted"
		case <-time.After(time.Second):
		}
		now := used()
		if now-last <= quietCPU*time.Duration(len(p.nodes)) {
			return "at rest"
		}
		last = now
	}
	return fmt.Sprintf("NOT at rest after %s: the figures have that work in them", quietLimit)
}

// takeStock notes what is there after copies were made, and what it costs to have it.
func (w *world) takeStock(ctx context.Context, on *place, say func(string, ...any)) error {
	var calls struct{ Total int64 }
	if _, err := w.get(ctx, request{path: "/api/ussd/sessions"}, &calls); err != nil {
		return err
	}
	w.calls.sure.Store(calls.Total)
	say("watching the database for %s while nobody asks anything", idleFor)
	idle, err := on.idle(ctx)
	w.atRest = &idle
	return err
}
