// Package ussdmemory is what a node keeps of sessions and telephones in memory, for
// speed alone: whatever it says, the store decides.
package ussdmemory

import (
	"container/list"
	"context"
	"sync"
)

// Sessions keeps those that were used last, and lets one request at a time
// work on a session. What it keeps is a hint: every commit compares with the
// store, and who loses looks there again.
type Sessions[V any] struct {
	mu    sync.Mutex
	most  int
	known map[string]*list.Element // of *kept[V]
	order *list.List               // the last used first
	busy  map[string]*turn
}

// turn is the queue in front of one session.
type turn struct {
	token   chan struct{} // holds one token while nobody works on it
	waiting int
}

// NewSessions returns a memory for so many values.
func NewSessions[V any](most int) *Sessions[V] {
	return &Sessions[V]{most: most, known: map[string]*list.Element{}, order: list.New(), busy: map[string]*turn{}}
}

// Enter waits until nobody works on the session, and says whether it had to.
// Each success is followed by one leave.
func (d *Sessions[V]) Enter(ctx context.Context, id string) (waited bool, err error) {
	d.mu.Lock()
	t := d.busy[id]
	if t == nil {
		d.busy[id] = &turn{}
		d.mu.Unlock()
		return false, nil
	}
	if t.token == nil {
		t.token = make(chan struct{}, 1)
	}
	t.waiting++
	d.mu.Unlock()
	select {
	case <-t.token:
		d.mu.Lock()
		t.waiting--
		d.mu.Unlock()
		return true, nil
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t.waiting--
	select {
	case <-t.token: // it came in the same moment: pass it on
		d.pass(id, t)
	default:
	}
	return true, ctx.Err()
}

// Leave lets the next one in.
func (d *Sessions[V]) Leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pass(id, d.busy[id])
}

// pass hands the token to a waiting request; with none the queue goes away.
func (d *Sessions[V]) pass(id string, t *turn) {
	if t.waiting == 0 {
		delete(d.busy, id)
		return
	}
	t.token <- struct{}{}
}

type kept[V any] struct {
	id    string
	value *V
}

// Get returns what was put last under the id, or nil.
func (d *Sessions[V]) Get(id string) *V {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[id]
	if e == nil {
		return nil
	}
	d.order.MoveToFront(e)
	return e.Value.(*kept[V]).value
}

// Put keeps the value, and forgets the one that was used longest ago when there
// are too many.
func (d *Sessions[V]) Put(id string, value *V) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[id]; e != nil {
		e.Value.(*kept[V]).value = value
		d.order.MoveToFront(e)
		return
	}
	d.known[id] = d.order.PushFront(&kept[V]{id, value})
	if d.order.Len() > d.most {
		last := d.order.Back()
		d.order.Remove(last)
		delete(d.known, last.Value.(*kept[V]).id)
	}
}

// Drop forgets what is known under the id.
func (d *Sessions[V]) Drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[id]; e != nil {
		d.order.Remove(e)
		delete(d.known, id)
	}
}
