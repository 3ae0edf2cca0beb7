package engineio

import (
	"container/list"
	"log/slog"
	"net/url"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// Linger times of a session that ended while the peer was not listening.
const (
	lingerServer = 30 * time.Second       // polling: until a poll fetches the last packets
	lingerClient = 250 * time.Millisecond // polling: for a poll that raced with the peer's close
	lingerSocket = 2 * time.Second        // WebSocket: for the peer's close frame
)

type state uint8

const (
	open    state = iota
	closing       // ended, but something may still have to reach the peer
	closed
)

// ending says how a session is ended.
type ending uint8

const (
	soft   ending = iota // what is queued goes out first
	hard                 // cut
	peer                 // the peer asked for it
	broken               // the peer broke the protocol: cut, but with a close frame on WebSocket
)

// Session is one peer's session, whatever its transport. Its methods are safe
// for concurrent use.
type Session struct {
	server   *Server
	id       string
	query    string
	remote   string
	info     any
	receiver Receiver
	base64   bool // the peer takes no binary frames
	origin   string
	shown    atomic.Bool   // the peer has shown who it is
	place    *list.Element // among the unproven of its origin, while it is; guarded by server.mu

	receiving sync.Mutex // held while packets are handed up, so that transports do not overlap

	mu        sync.Mutex
	state     state
	posting   bool
	writing   bool // a goroutine writes to conn
	upgrading bool // the probe is being, or was, answered; polls are to end soon
	awaiting  bool // a ping is unanswered
	extended  bool // the deadline of that ping was moved once
	farewell  Frame
	queue     []Frame
	spare     []Frame // small, to be the next queue
	queued    int     // bytes in the queue and in the hands of the writer
	poll      chan []byte
	conn      *websocket.Conn // nil while the transport is polling
	raw       syscall.RawConn // below conn, if it can be written to without waiting
	probe     *websocket.Conn
	timer     *time.Timer
	due       time.Time // when the timer fires next
}

// ID is the secret that names the session to its peer.
func (s *Session) ID() string { return s.id }

// Info is what Config.Info said of the handshake request.
func (s *Session) Info() any { return s.info }

// Query returns the query of the handshake request.
func (s *Session) Query() url.Values {
	q, _ := url.ParseQuery(s.query) // the bad parts are left out, as net/http does
	return q
}

// RemoteAddr is the peer's network address.
func (s *Session) RemoteAddr() string { return s.remote }

// Prove says that the peer has shown who it is: see Config.MaxUnproven and
// Config.MaxUnprovenPayload.
func (s *Session) Prove() {
	s.shown.Store(true)
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.proven(s)
}

// maxPayload bounds the next message or body.
func (s *Session) maxPayload() int64 {
	if s.shown.Load() {
		return s.server.cfg.MaxPayload
	}
	return s.server.cfg.MaxUnprovenPayload
}

// Transport names the current transport: "polling" or "websocket".
func (s *Session) Transport() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return "websocket"
	}
	return "polling"
}

// start opens the session to its upper layer and to the network, unless the
// server is full or stops.
func (s *Session) start(conn *websocket.Conn) bool {
	s.receiver = s.server.accept(s)
	s.mu.Lock()
	displaced, ok := (*Session)(nil), s.state == open
	if ok {
		displaced, ok = s.server.register(s, conn != nil)
	}
	if !ok {
		s.mu.Unlock()
		s.end(ServerShutdown, hard)
		return false
	}
	if displaced != nil {
		defer displaced.end(ForcedClose, hard) // when s is not locked any more
	}
	s.move(conn)
	first := s.server.firstPing()
	s.due = time.Now().Add(first)
	s.timer = time.AfterFunc(first, s.beat)
	if conn != nil {
		go s.readLoop(conn)
	}
	s.flush(false)
	return true
}

// Send queues frames as one batch: nothing comes between them.
func (s *Session) Send(frames ...Frame) error { return s.enqueue(frames, false) }

// SendVolatile sends the batch if the peer could take it at once, and drops it
// otherwise.
func (s *Session) SendVolatile(frames ...Frame) error {
	s.mu.Lock()
	writable := s.state == open && len(s.queue) == 0 && !s.writing && (s.conn != nil || s.poll != nil)
	s.mu.Unlock()
	if !writable {
		return ErrNotWritable
	}
	return s.enqueue(frames, false)
}

// Close sends what is queued and ends the session.
func (s *Session) Close() { s.end(ForcedClose, soft) }

// enqueue takes a batch. With inline the caller itself may do the writing: only
// the session's own read loop does so, because it may block.
func (s *Session) enqueue(frames []Frame, inline bool) error {
	size := 0
	for _, f := range frames {
		size += len(f)
	}
	s.mu.Lock()
	if s.state != open {
		s.mu.Unlock()
		return ErrClosed
	}
	if s.queued+size > s.server.cfg.MaxQueueBytes {
		s.mu.Unlock()
		s.server.stats.overflowed.Add(1)
		s.end(TransportError, hard)
		return ErrOverflow
	}
	if s.queue == nil {
		s.queue, s.spare = s.spare, nil
	}
	s.queue = append(s.queue, frames...)
	s.queued += size
	s.flush(inline)
	return nil
}

// flush moves the queue on if the transport can take it. It is called with
// s.mu held, and releases it.
func (s *Session) flush(inline bool) {
	switch {
	case s.conn == nil:
		if s.poll != nil && len(s.queue) > 0 {
			s.answerPoll(s.takePayload())
		}
	case !s.writing && (len(s.queue) > 0 || s.state == closing):
		if s.sentAtOnce() {
			break
		}
		s.writing = true
		conn := s.conn
		s.server.running.Add(1)
		s.mu.Unlock()
		if inline {
			s.write(conn)
		} else {
			go s.write(conn)
		}
		return
	}
	s.mu.Unlock()
}

// sentAtOnce sends a single frame, if the connection takes it without waiting:
// that is nearly always so, and costs no goroutine and no deadline. What is left
// stays in the queue. Call it with s.mu held.
func (s *Session) sentAtOnce() bool {
	if s.raw == nil || len(s.queue) != 1 {
		return false
	}
	sent := writeNow(s.raw, s.queue[0])
	s.queued -= sent
	s.queue[0] = s.queue[0][sent:]
	if len(s.queue[0]) > 0 {
		return false
	}
	s.queue, s.spare = nil, s.reuse(s.queue)
	return s.state == open // else the close frame is still to come
}

// reuse empties a small queue for the next frames; it drops a large one.
func (s *Session) reuse(queue []Frame) []Frame {
	if s.spare != nil || cap(queue) > 4 {
		return s.spare
	}
	clear(queue)
	return queue[:0]
}

// takePayload empties the queue into a polling body; without anything to say it
// is a noop. Call it with s.mu held.
func (s *Session) takePayload() []byte {
	body := appendPayload(nil, s.queue)
	s.queue, s.queued = nil, 0
	if len(body) == 0 {
		body = []byte{byte(Noop)}
	}
	return body
}

// answerPoll ends the held poll; nil refuses it. Call it with s.mu held.
func (s *Session) answerPoll(body []byte) {
	s.poll <- body // buffered, and one answer per poll
	s.poll = nil
}

// receive hands one packet up. It reports whether the transport may go on.
func (s *Session) receive(p Packet) bool {
	switch p.Type {
	case Text, Binary:
		s.heard()
		s.dispatch(Message{Data: p.Data, Binary: p.Type == Binary})
	case Pong:
		s.pong()
	case Close:
		s.end(TransportClose, peer)
		return false
	case Ping: // only the server pings in protocol 4
		s.end(TransportError, broken)
		return false
	case Open, Upgrade, Noop:
	}
	return true
}

// dispatch calls the upper layer. A panic there costs this session only.
func (s *Session) dispatch(m Message) {
	defer func() {
		if p := recover(); p != nil {
			s.server.cfg.Logger.Error("a message handler panicked", slog.String("event", "socket.panicked"), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			s.end(ForcedClose, hard)
		}
	}()
	if reply := s.deliver(m); len(reply) > 0 {
		_ = s.enqueue(reply, true) // the session's end is told by Closed
	}
}

func (s *Session) deliver(m Message) []Frame {
	s.mu.Lock()
	alive := s.state == open
	s.mu.Unlock()
	if !alive {
		return nil
	}
	return s.receiver.Message(m)
}

// end ends the session once.
func (s *Session) end(reason Reason, how ending) {
	s.mu.Lock()
	if s.state != open {
		s.mu.Unlock()
		return
	}
	s.state = closing
	if s.timer != nil {
		s.timer.Stop()
	}
	// A client whose probe was answered may have stopped polling for good: then
	// the probing WebSocket alone can tell it of the end.
	moving := s.upgrading && (how == soft || how == hard)
	if s.probe != nil && !moving {
		_ = s.probe.Close()
	}
	switch {
	case moving:
		if how == hard {
			s.queue, s.queued = nil, 0
		}
		if s.poll != nil { // its client goes on, and hears of the end on the way
			s.answerPoll([]byte{byte(Noop)})
		}
		s.lingerPolling(soft)
		s.mu.Unlock()
	case s.conn != nil:
		s.server.forget(s)
		if how == soft || how == broken {
			s.flush(false) // releases s.mu; the writer sends the close frame at last
		} else {
			s.shut()
			s.mu.Unlock()
		}
	case s.poll != nil:
		s.server.forget(s)
		body := []byte{byte(Noop)}
		if how != peer {
			s.queue = append(s.queue, newFrame(finalText, "1"))
			body = s.takePayload()
		}
		s.answerPoll(body)
		s.shut()
		s.mu.Unlock()
	default:
		s.lingerPolling(how)
		s.mu.Unlock()
	}
	s.receiver.Closed(reason)
}

// lingerPolling keeps an ended session until a poll, or a WebSocket that
// completes its upgrade, has fetched its last words. Call it with s.mu held.
func (s *Session) lingerPolling(how ending) {
	wait := lingerServer
	switch how {
	case hard, broken:
		s.server.forget(s)
		s.shut()
		return
	case peer:
		wait = lingerClient
		s.queue = nil
		s.farewell = newFrame(finalText, "6")
	case soft:
		s.farewell = newFrame(finalText, "1")
	}
	s.timer = time.AfterFunc(wait, s.cut)
}

// shut lets go of everything. Call it with s.mu held.
func (s *Session) shut() {
	s.state = closed
	s.queue, s.spare, s.queued = nil, nil, 0
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// cut ends what lingers.
func (s *Session) cut() {
	s.server.forget(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.state != open {
		s.shut()
		if s.probe != nil {
			_ = s.probe.Close()
		}
	}
}
