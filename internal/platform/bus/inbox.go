package bus

import "sync"

// Bounds of one subscription's queue: whichever is reached first.
const (
	InboxMessages = 1024
	InboxBytes    = 4 << 20
)

// Inbox is the bounded queue between an implementation and one subscription's
// function. It costs no goroutine while it is empty, so that a node may hold
// many thousand quiet subscriptions.
type Inbox struct {
	fn func(Message)

	mu      sync.Mutex
	queue   []Message
	bytes   int
	running bool
	closed  bool
	dropped uint64
	idle    chan struct{} // closed when the running drain ends
}

// NewInbox returns an inbox in front of fn.
func NewInbox(fn func(Message)) *Inbox { return &Inbox{fn: fn} }

// Put queues a message and never blocks. When the queue is full the oldest
// messages make room, and are counted.
func (b *Inbox) Put(m Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.queue = append(b.queue, m)
	b.bytes += len(m.Data)
	for len(b.queue) > InboxMessages || (b.bytes > InboxBytes && len(b.queue) > 1) {
		b.bytes -= len(b.queue[0].Data)
		b.queue[0] = Message{}
		b.queue = b.queue[1:]
		b.dropped++
	}
	if !b.running {
		b.running = true
		b.idle = make(chan struct{})
		go b.drain()
	}
}

func (b *Inbox) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 && !b.closed {
		m := b.queue[0]
		b.queue[0] = Message{}
		b.queue = b.queue[1:]
		b.bytes -= len(m.Data)
		b.call(m)
	}
	b.queue, b.bytes = nil, 0
	b.running = false
	close(b.idle)
}

// call runs the function without the lock, and takes the lock back whatever
// the function does.
func (b *Inbox) call(m Message) {
	b.mu.Unlock()
	defer b.mu.Lock()
	b.fn(m)
}

// Dropped counts the messages that were discarded for want of room.
func (b *Inbox) Dropped() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

// Close discards what is queued and refuses more.
func (b *Inbox) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// Wait blocks until no function runs. Call Close first.
func (b *Inbox) Wait() {
	b.mu.Lock()
	running, idle := b.running, b.idle
	b.mu.Unlock()
	if running {
		<-idle
	}
}
