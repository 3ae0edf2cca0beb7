package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

const (
	// ringFrames is how many frames of a run a node keeps for its readers; who
	// is further behind reads from the database.
	ringFrames = 512
	// readFrames is how many frames one look into the database returns.
	readFrames = 512
	// readPause is between two looks of who waits for the end of a run.
	readPause = 200 * time.Millisecond
	// settling is how long an abort waits for what it stops.
	settling = time.Second
)

// Why Next has nothing, although the run goes on.
var (
	// ErrIdle says that nothing happened within the time that a reader wanted to wait.
	ErrIdle = errors.New("nothing happened")
	// ErrLeaving says that the reader is to go on elsewhere: see Reader.Until.
	ErrLeaving = errors.New("the reader is to leave")
)

// tail is one run as seen by the readers of one node. Lock order: hub, tail.
type tail struct {
	id  string
	hub *hub

	readers int // guarded by hub.mu

	mu sync.Mutex
	// ring holds the newest frames; base is the number of the frame before them.
	ring []oracle.Frame
	base int64
	last int64
	// ended is set with the last frame; gone when the run itself disappeared.
	ended bool
	gone  bool
	// dirty says that the database may know more than the ring.
	dirty    bool
	fetching bool
	// wake is closed and replaced whenever a reader may find something new.
	wake chan struct{}
	stop func() // ends the subscription to hints, for runs of other nodes
}

// hub owns the tails of one node.
type hub struct {
	store Store
	// subscribe asks to be told about frames of a run of another node.
	subscribe func(id string, fn func()) func()
	// local tells whether this node works on a run.
	local func(id string) bool

	mu    sync.Mutex
	tails map[string]*tail
}

func newHub(store Store, subscribe func(string, func()) func(), local func(string) bool) *hub {
	return &hub{store: store, subscribe: subscribe, local: local, tails: map[string]*tail{}}
}

// open returns a reader of the run's frames after a number. A tail that is made
// for it starts at known; it looks into the database first unless the caller
// itself pushes everything from there on.
func (h *hub) open(id string, after, known int64, pushed bool) *Reader {
	h.mu.Lock()
	t := h.tails[id]
	if t == nil {
		t = &tail{id: id, hub: h, base: known, last: known, dirty: !pushed, wake: make(chan struct{})}
		h.tails[id] = t
	}
	t.readers++
	h.mu.Unlock()
	t.follow()
	return &Reader{tail: t, cursor: after}
}

// follow makes sure that hints reach a tail whose run is elsewhere.
func (t *tail) follow() {
	if t.hub.local(t.id) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == nil && !t.ended {
		t.stop = t.hub.subscribe(t.id, t.markDirty)
	}
}

func (h *hub) release(t *tail) {
	h.mu.Lock()
	t.readers--
	last := t.readers == 0
	if last {
		delete(h.tails, t.id)
	}
	h.mu.Unlock()
	if !last {
		return
	}
	t.mu.Lock()
	stop := t.stop
	t.stop = nil
	t.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// push hands committed frames to the readers of this node, if there are any.
func (h *hub) push(id string, frames []oracle.Frame) {
	h.mu.Lock()
	t := h.tails[id]
	h.mu.Unlock()
	if t != nil {
		t.push(frames)
	}
}

// remote names the tails that must look into the database to learn anything.
func (h *hub) remote() []*tail {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*tail
	for id, t := range h.tails {
		if !h.local(id) {
			out = append(out, t)
		}
	}
	return out
}

// reconcile compares the tails of other nodes' runs with the database, so that
// a lost hint delays a reader and nothing more.
func (h *hub) reconcile(ctx context.Context) error {
	far := h.remote()
	if len(far) == 0 {
		return nil
	}
	for chunk := range slices.Chunk(far, 256) {
		ids := make([]string, len(chunk))
		for i, t := range chunk {
			ids[i] = t.id
		}
		heads, err := h.store.Heads(ctx, ids)
		if err != nil {
			return fmt.Errorf("reconcile tails: %w", err)
		}
		for _, t := range chunk {
			t.compare(heads[t.id])
		}
	}
	return nil
}

// compare marks the tail dirty when the database knows more. A zero head means
// that the run is gone, which the next look will find out.
func (t *tail) compare(head Head) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || head.LastSeq == t.last && head.Status.Live() {
		return
	}
	t.dirty = true
	t.broadcast()
}

func (t *tail) markDirty() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.dirty = true
		t.broadcast()
	}
}

// broadcast wakes the readers; t.mu is held.
func (t *tail) broadcast() {
	close(t.wake)
	t.wake = make(chan struct{})
}

func (t *tail) push(frames []oracle.Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(frames)
}

// add appends what is new and skips repeats; t.mu is held. After a gap the ring
// begins anew, and readers fetch from the database what lies between.
func (t *tail) add(frames []oracle.Frame) {
	grew := false
	for _, f := range frames {
		if f.Seq <= t.last {
			continue
		}
		if f.Seq != t.last+1 {
			t.ring, t.base = nil, f.Seq-1
		}
		t.ring = append(t.ring, f)
		t.last = f.Seq
		t.ended = t.ended || f.Ends()
		grew = true
	}
	if over := len(t.ring) - ringFrames; over > 0 {
		t.base = t.ring[over-1].Seq
		t.ring = slices.Delete(t.ring, 0, over)
	}
	if grew {
		t.broadcast()
	}
}

// Reader is a cursor over a run's frames. It is for one goroutine.
type Reader struct {
	tail   *tail
	cursor int64
	closed bool
	first  bool
	leave  <-chan struct{}

	requestID string
}

// RequestID is the id of the request that began the run, where the reader was opened
// by Follow: pages know the answer that they have shown so far by it.
func (r *Reader) RequestID() string { return r.requestID }

// First reports that this node was making the run's first attempt when the reader was
// opened: what the run has said so far holds for as long as the node lives.
func (r *Reader) First() bool { return r.first }

// Until makes Next return ErrLeaving, instead of waiting, once leave is closed.
func (r *Reader) Until(leave <-chan struct{}) { r.leave = leave }

// Next returns the frames that follow, as many as there are, and waits for some
// at most for idle (ErrIdle). After the last frame it returns io.EOF. The
// returned slice is the caller's.
func (r *Reader) Next(ctx context.Context, idle time.Duration) ([]oracle.Frame, error) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		if ctx.Err() != nil { // or a look that fails for this reason would be tried for ever
			return nil, context.Cause(ctx)
		}
		frames, wait, err := r.look(ctx)
		if err != nil || len(frames) > 0 {
			return frames, err
		}
		if wait == nil {
			continue
		}
		select {
		case <-wait:
		case <-timer.C:
			return nil, ErrIdle
		case <-r.leave:
			return nil, ErrLeaving
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close gives the reader up.
func (r *Reader) Close() {
	if !r.closed {
		r.closed = true
		r.tail.hub.release(r.tail)
	}
}

// look takes what is there. A nil channel means: look again.
func (r *Reader) look(ctx context.Context) ([]oracle.Frame, <-chan struct{}, error) {
	t := r.tail
	t.mu.Lock()
	if r.cursor < t.base {
		t.mu.Unlock()
		return r.catchUp(ctx)
	}
	if r.cursor < t.last {
		at, _ := slices.BinarySearchFunc(t.ring, r.cursor+1, func(f oracle.Frame, seq int64) int {
			return int(min(max(f.Seq-seq, -1), 1))
		})
		frames := slices.Clone(t.ring[at:])
		t.mu.Unlock()
		return r.take(frames), nil, nil
	}
	if t.ended || t.gone {
		t.mu.Unlock()
		return nil, nil, io.EOF
	}
	if t.dirty && !t.fetching {
		t.dirty, t.fetching = false, true
		last := t.last
		t.mu.Unlock()
		t.fetch(ctx, last)
		return nil, nil, nil
	}
	wait := t.wake
	t.mu.Unlock()
	return nil, wait, nil
}

func (r *Reader) take(frames []oracle.Frame) []oracle.Frame {
	if len(frames) > 0 {
		r.cursor = frames[len(frames)-1].Seq
	}
	return frames
}

// catchUp reads what the ring does not hold any more.
func (r *Reader) catchUp(ctx context.Context) ([]oracle.Frame, <-chan struct{}, error) {
	frames, head, err := r.tail.hub.store.Frames(ctx, r.tail.id, r.cursor, readFrames)
	if err != nil {
		return nil, nil, fmt.Errorf("read frames: %w", err)
	}
	if len(frames) == 0 {
		if head.Pruned {
			return nil, nil, ErrPruned
		}
		r.tail.mu.Lock()
		r.cursor = r.tail.base // the numbers between attempts were never used
		r.tail.mu.Unlock()
		return nil, nil, nil
	}
	return r.take(frames), nil, nil
}

// fetch asks the database for what follows last, for all readers of the node.
// Failures are left to the next reconciliation.
func (t *tail) fetch(ctx context.Context, last int64) {
	frames, head, err := t.hub.store.Frames(ctx, t.id, last, readFrames)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fetching = false
	switch {
	case err == nil:
		t.add(frames)
		if len(frames) == readFrames {
			t.dirty = true
		}
		if len(frames) == 0 && !head.Status.Live() {
			t.gone = true
		}
		t.broadcast()
	case fault.Is(err, fault.NotFound):
		t.lose()
	case ctx.Err() != nil: // this reader left; another must look
		t.dirty = true
		t.broadcast()
	}
}

// lose ends the tail of a run that was deleted: readers still get their done.
// t.mu is held.
func (t *tail) lose() {
	f, err := oracle.NewFrame(oracle.FrameDone, oracle.DoneFrame{RunID: t.id, Status: oracle.Aborted, Aborted: true})
	if err != nil || t.ended {
		return
	}
	f.Seq = t.last + 1
	t.add([]oracle.Frame{f})
}

// lost is lose by the engine, when it learns that a run of its own is gone.
func (h *hub) lost(id string) {
	h.mu.Lock()
	t := h.tails[id]
	h.mu.Unlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	t.dirty = true
	t.broadcast()
	t.mu.Unlock()
	t.follow()
}
