package ussd

import (
	"container/list"
	"context"
	"sync"
)

// desk keeps the sessions that were used last, and lets one request at a time
// work on a session. What it keeps is a hint: every commit compares with the
// store, and who loses looks there again.
type desk struct {
	mu    sync.Mutex
	most  int
	known map[string]*list.Element // of *Session
	order *list.List               // the last used first
	busy  map[string]*turn
}

// turn is the queue in front of one session.
type turn struct {
	token   chan struct{} // holds one token while nobody works on it
	waiting int
}

func newDesk(most int) *desk {
	return &desk{most: most, known: map[string]*list.Element{}, order: list.New(), busy: map[string]*turn{}}
}

// enter waits until nobody works on the session, and says whether it had to.
// Each success is followed by one leave.
func (d *desk) enter(ctx context.Context, id string) (waited bool, err error) {
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

// leave lets the next one in.
func (d *desk) leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pass(id, d.busy[id])
}

// pass hands the token to a waiting request; with none the queue goes away.
func (d *desk) pass(id string, t *turn) {
	if t.waiting == 0 {
		delete(d.busy, id)
		return
	}
	t.token <- struct{}{}
}

func (d *desk) get(id string) *Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[id]
	if e == nil {
		return nil
	}
	d.order.MoveToFront(e)
	return e.Value.(*Session)
}

func (d *desk) put(s *Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[s.ID]; e != nil {
		e.Value = s
		d.order.MoveToFront(e)
		return
	}
	d.known[s.ID] = d.order.PushFront(s)
	if d.order.Len() > d.most {
		last := d.order.Back()
		d.order.Remove(last)
		delete(d.known, last.Value.(*Session).ID)
	}
}

func (d *desk) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[id]; e != nil {
		d.order.Remove(e)
		delete(d.known, id)
	}
}
