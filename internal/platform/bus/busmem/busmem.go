// Package busmem is the bus of a single process.
//
// It keeps the contract of bus, no more: hints go to queues, so that code that
// runs here in order and without loss must still not rely on either.
package busmem

import (
	"bytes"
	"context"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/bus"
)

// Bus is an in-process bus. The zero value is not usable; call New.
type Bus struct {
	mu      sync.RWMutex
	closed  bool
	exact   map[string]map[*subscription]struct{}
	pattern map[*subscription]struct{}
	pools   map[string][]*responder
	next    uint64
}

// New returns an empty bus.
func New() *Bus {
	return &Bus{
		exact:   make(map[string]map[*subscription]struct{}),
		pattern: make(map[*subscription]struct{}),
		pools:   make(map[string][]*responder),
	}
}

var _ bus.Bus = (*Bus)(nil)

// Publish implements bus.Bus.
func (b *Bus) Publish(ctx context.Context, subject string, data []byte) error {
	if err := ready(ctx, subject, data); err != nil {
		return err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return bus.ErrClosed
	}
	m := bus.Message{Subject: subject}
	put := func(s *subscription) {
		if m.Data == nil {
			m.Data = append([]byte{}, data...)
		}
		s.inbox.Put(m)
	}
	for s := range b.exact[subject] {
		put(s)
	}
	for s := range b.pattern {
		if bus.Match(s.subject, subject) {
			put(s)
		}
	}
	return nil
}

// Subscribe implements bus.Bus.
func (b *Bus) Subscribe(subject string, fn func(bus.Message)) (bus.Subscription, error) {
	if err := bus.CheckPattern(subject); err != nil {
		return nil, err
	}
	s := &subscription{bus: b, subject: subject, inbox: bus.NewInbox(fn)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, bus.ErrClosed
	}
	if bus.CheckSubject(subject) != nil {
		b.pattern[s] = struct{}{}
		return s, nil
	}
	if b.exact[subject] == nil {
		b.exact[subject] = make(map[*subscription]struct{})
	}
	b.exact[subject][s] = struct{}{}
	return s, nil
}

// Request implements bus.Bus.
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := ready(ctx, subject, data); err != nil {
		return nil, err
	}
	pool, err := b.pick(subject)
	if err != nil {
		return nil, err
	}
	type answer struct {
		data []byte
		err  error
	}
	got := make(chan answer, 1)
	//nolint:contextcheck // a responder's context is its own node's, as over a network
	pool.Serve(bytes.Clone(data), func(out []byte, err error) {
		got <- answer{bytes.Clone(out), err}
	})
	select {
	case a := <-got:
		return a.data, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pick takes the responders of a subject in turns.
func (b *Bus) pick(subject string) (*bus.Pool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, bus.ErrClosed
	}
	all := b.pools[subject]
	if len(all) == 0 {
		return nil, bus.ErrNoResponder
	}
	b.next++
	return all[b.next%uint64(len(all))].pool, nil
}

// Respond implements bus.Bus.
func (b *Bus) Respond(subject string, fn bus.Responder) (bus.Subscription, error) {
	if err := bus.CheckSubject(subject); err != nil {
		return nil, err
	}
	r := &responder{bus: b, subject: subject, pool: bus.NewPool(fn)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, bus.ErrClosed
	}
	b.pools[subject] = append(b.pools[subject], r)
	return r, nil
}

// Lapses implements bus.Bus: there is no connection that could break.
func (b *Bus) Lapses() uint64 { return 0 }

// Ping implements bus.Bus: a process always reaches itself.
func (b *Bus) Ping(context.Context) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return bus.ErrClosed
	}
	return nil
}

// Close implements bus.Bus.
func (b *Bus) Close() error {
	b.mu.Lock()
	b.closed = true
	exact, pattern, pools := b.exact, b.pattern, b.pools
	b.exact, b.pattern, b.pools = nil, nil, nil
	b.mu.Unlock()
	var inboxes []*bus.Inbox
	for _, set := range exact {
		for s := range set {
			inboxes = append(inboxes, s.inbox)
		}
	}
	for s := range pattern {
		inboxes = append(inboxes, s.inbox)
	}
	for _, i := range inboxes {
		i.Close()
	}
	for _, all := range pools {
		for _, r := range all {
			r.pool.Close()
		}
	}
	for _, i := range inboxes {
		i.Wait()
	}
	for _, all := range pools {
		for _, r := range all {
			r.pool.Wait()
		}
	}
	return nil
}

func ready(ctx context.Context, subject string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := bus.CheckSubject(subject); err != nil {
		return err
	}
	return bus.CheckData(data)
}

type subscription struct {
	bus     *Bus
	subject string
	inbox   *bus.Inbox
}

func (s *subscription) Unsubscribe() error {
	s.inbox.Close()
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	delete(s.bus.pattern, s)
	if set := s.bus.exact[s.subject]; set != nil {
		delete(set, s)
		if len(set) == 0 {
			delete(s.bus.exact, s.subject)
		}
	}
	return nil
}

func (s *subscription) Dropped() uint64 { return s.inbox.Dropped() }

type responder struct {
	bus     *Bus
	subject string
	pool    *bus.Pool
}

func (r *responder) Unsubscribe() error {
	r.pool.Close()
	r.bus.mu.Lock()
	defer r.bus.mu.Unlock()
	all := r.bus.pools[r.subject]
	for i, other := range all {
		if other == r {
			kept := append(append([]*responder{}, all[:i]...), all[i+1:]...)
			if len(kept) == 0 {
				delete(r.bus.pools, r.subject)
			} else {
				r.bus.pools[r.subject] = kept
			}
			break
		}
	}
	return nil
}

func (r *responder) Dropped() uint64 { return r.pool.Refused() }
