// Package busnats is the bus of a fleet, over core NATS.
//
// It starts without a server and finds it later, reconnects for ever, and keeps
// a bounded amount of hints while it is away; what does not fit is refused. A
// server that does not read for two seconds is left for a new connection. All
// subscriptions of a node share one channel and one goroutine, which only sorts
// messages into the bounded inboxes of the subscriptions. Nothing is persisted:
// JetStream is not needed.
package busnats

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Config says where the servers are. Only URL is required.
type Config struct {
	// URL is one server or a comma list of them, as nats://user:password@host:4222.
	URL string
	// Prefix is the first word of all subjects, so that deployments may share a
	// server. The default is "castalia".
	Prefix string
	// Name is shown in the server's connection list.
	Name string
	// Logger hears of lost and regained connections.
	Logger *slog.Logger
	// ReconnectWait is the pause between attempts. The default is 250 ms.
	ReconnectWait time.Duration
	// dial, when set, replaces the line to the server, for tests of this package.
	dial nats.CustomDialer
}

// Bounds of one connection.
const (
	intakeMessages  = 16 << 10 // read from the server, not yet sorted into inboxes
	reconnectBuffer = 1 << 20  // published while the server is away
	pingTimeout     = 2 * time.Second
	writeTimeout    = 2 * time.Second // everybody who uses the bus waits behind a write
	defaultRequest  = 30 * time.Second
	group           = "responders"
)

// Headers that carry a responder's error.
const (
	headerKind = "Castalia-Fault"
	headerCode = "Castalia-Fault-Code"
)

// Bus is a bus over NATS. Call New.
type Bus struct {
	conn   *nats.Conn
	prefix string
	log    *slog.Logger
	intake chan *nats.Msg
	done   chan struct{}
	sorted chan struct{}
	lapses atomic.Uint64

	mu     sync.RWMutex
	closed bool
	subs   map[*nats.Subscription]receiver
}

// receiver takes the messages of one subscription off the sorting goroutine. It
// must not block.
type receiver interface {
	receive(*nats.Msg)
	close()
	wait()
}

var _ bus.Bus = (*Bus)(nil)

// New returns a bus that connects in the background. It fails only when the
// configuration can never work.
func New(cfg Config) (*Bus, error) {
	if cfg.Prefix == "" {
		cfg.Prefix = "castalia"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.ReconnectWait <= 0 {
		cfg.ReconnectWait = 250 * time.Millisecond
	}
	if err := bus.CheckSubject(cfg.Prefix); err != nil {
		return nil, err
	}
	b := &Bus{
		prefix: cfg.Prefix + ".",
		log:    cfg.Logger,
		intake: make(chan *nats.Msg, intakeMessages),
		done:   make(chan struct{}),
		sorted: make(chan struct{}),
		subs:   make(map[*nats.Subscription]receiver),
	}
	conn, err := nats.Connect(cfg.URL,
		func(o *nats.Options) error { o.CustomDialer = cfg.dial; return nil },
		nats.Name(cfg.Name),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(cfg.ReconnectWait),
		nats.ReconnectJitter(cfg.ReconnectWait/2, cfg.ReconnectWait/2),
		nats.ReconnectBufSize(reconnectBuffer),
		nats.Timeout(2*time.Second),
		nats.FlusherTimeout(writeTimeout),
		nats.ReconnectOnFlusherError(),
		nats.PingInterval(10*time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(b.disconnected),
		nats.ReconnectHandler(func(*nats.Conn) { // the subscriptions are in force again
			b.lapses.Add(1)
			b.log.Info("the bus is connected again", slog.String("event", "bus.back"))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) { // the intake was full
				b.lapses.Add(1)
			}
			b.log.Warn("the bus reports an error", slog.String("event", "bus.error"), slog.Any("error", err))
		}),
	)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "NATS_URL is not usable.", err)
	}
	b.conn = conn
	go b.sort()
	return b, nil
}

func (b *Bus) disconnected(_ *nats.Conn, err error) {
	if err != nil {
		b.log.Warn("the bus is away; readers go on by themselves", slog.String("event", "bus.away"), slog.Any("error", err))
	}
}

// sort hands each message to its subscription. The read lock also orders it
// after the registration of a subscription whose first message is already here.
func (b *Bus) sort() {
	defer close(b.sorted)
	for {
		select {
		case m := <-b.intake:
			b.mu.RLock()
			r := b.subs[m.Sub]
			b.mu.RUnlock()
			if r != nil {
				r.receive(m)
			}
		case <-b.done:
			return
		}
	}
}

// Publish implements bus.Bus.
func (b *Bus) Publish(ctx context.Context, subject string, data []byte) error {
	if err := b.ready(ctx, subject, data); err != nil {
		return err
	}
	err := b.conn.Publish(b.prefix+subject, data)
	if _, failed := errors.AsType[net.Error](err); failed {
		// More than this message was not written, subscriptions perhaps: only a new
		// line makes them good.
		_ = b.conn.ForceReconnect()
	}
	return translate(err)
}

// Subscribe implements bus.Bus.
func (b *Bus) Subscribe(subject string, fn func(bus.Message)) (bus.Subscription, error) {
	if err := bus.CheckPattern(subject); err != nil {
		return nil, err
	}
	return b.register(&listener{strip: len(b.prefix), inbox: bus.NewInbox(fn)}, func() (*nats.Subscription, error) {
		return b.conn.ChanSubscribe(b.prefix+subject, b.intake)
	})
}

// Request implements bus.Bus.
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := b.ready(ctx, subject, data); err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultRequest)
		defer cancel()
	}
	reply, err := b.conn.RequestMsgWithContext(ctx, &nats.Msg{Subject: b.prefix + subject, Data: data})
	if err != nil {
		return nil, translate(err)
	}
	if kind := reply.Header.Get(headerKind); kind != "" {
		n, err := strconv.ParseUint(kind, 10, 8)
		if err != nil {
			n = uint64(fault.Internal)
		}
		return nil, fault.New(fault.Kind(n), string(reply.Data)).WithCode(reply.Header.Get(headerCode))
	}
	return reply.Data, nil
}

// Respond implements bus.Bus.
func (b *Bus) Respond(subject string, fn bus.Responder) (bus.Subscription, error) {
	if err := bus.CheckSubject(subject); err != nil {
		return nil, err
	}
	return b.register(&answerer{bus: b, pool: bus.NewPool(fn)}, func() (*nats.Subscription, error) {
		return b.conn.ChanQueueSubscribe(b.prefix+subject, group, b.intake)
	})
}

func (b *Bus) register(r subscriber, subscribe func() (*nats.Subscription, error)) (bus.Subscription, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, bus.ErrClosed
	}
	sub, err := subscribe()
	if err != nil {
		return nil, translate(err)
	}
	b.subs[sub] = r
	return &subscription{bus: b, sub: sub, subscriber: r}, nil
}

// Ping implements bus.Bus: it waits for the server's answer.
func (b *Bus) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if !b.conn.IsConnected() {
		return translate(nats.ErrConnectionReconnecting)
	}
	return translate(b.conn.FlushWithContext(ctx))
}

// Lapses implements bus.Bus.
func (b *Bus) Lapses() uint64 { return b.lapses.Load() }

// Close implements bus.Bus. What was published is flushed, within bounds.
func (b *Bus) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	subs := b.subs
	b.subs = nil
	b.mu.Unlock()
	for _, r := range subs {
		r.close()
	}
	for _, r := range subs {
		r.wait()
	}
	if b.conn.IsConnected() {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		_ = b.conn.FlushWithContext(ctx) // hints may be lost
	}
	b.conn.Close()
	close(b.done)
	<-b.sorted
	return nil
}

func (b *Bus) ready(ctx context.Context, subject string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := bus.CheckSubject(subject); err != nil {
		return err
	}
	return bus.CheckData(data)
}

func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, nats.ErrNoResponders):
		return bus.ErrNoResponder
	case errors.Is(err, nats.ErrConnectionClosed):
		return bus.ErrClosed
	}
	return fault.Wrap(fault.Unavailable, "The message bus is not reachable right now.", err)
}

// subscriber is a receiver that counts what it lost.
type subscriber interface {
	receiver
	Dropped() uint64
}

type subscription struct {
	subscriber
	bus *Bus
	sub *nats.Subscription
}

func (s *subscription) Unsubscribe() error {
	s.close()
	s.bus.mu.Lock()
	if s.bus.closed {
		s.bus.mu.Unlock()
		return nil
	}
	delete(s.bus.subs, s.sub)
	s.bus.mu.Unlock()
	err := translate(s.sub.Unsubscribe())
	if errors.Is(err, bus.ErrClosed) {
		return nil
	}
	return err
}

type listener struct {
	inbox *bus.Inbox
	strip int
}

func (l *listener) receive(m *nats.Msg) {
	l.inbox.Put(bus.Message{Subject: m.Subject[l.strip:], Data: m.Data})
}
func (l *listener) close()          { l.inbox.Close() }
func (l *listener) wait()           { l.inbox.Wait() }
func (l *listener) Dropped() uint64 { return l.inbox.Dropped() }

type answerer struct {
	bus  *Bus
	pool *bus.Pool
}

func (a *answerer) receive(m *nats.Msg) {
	a.pool.Serve(bytes.Clone(m.Data), func(out []byte, err error) {
		reply := &nats.Msg{Subject: m.Reply, Data: out}
		if err != nil {
			f := fault.From(err)
			reply.Data = []byte(f.Message)
			reply.Header = nats.Header{headerKind: {strconv.Itoa(int(f.Kind))}, headerCode: {f.Code}}
		}
		if err := a.bus.conn.PublishMsg(reply); err != nil {
			a.bus.log.Warn("an answer could not be sent over the bus", slog.String("event", "bus.answer_failed"), slog.Any("error", err))
		}
	})
}
func (a *answerer) close()          { a.pool.Close() }
func (a *answerer) wait()           { a.pool.Wait() }
func (a *answerer) Dropped() uint64 { return a.pool.Refused() }
