package engineio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// Close codes of the WebSocket protocol that we send.
const (
	closeGoingAway   = 1001
	closeInvalidText = 1007
)

// Sizes up to which buffers are kept, and frames are copied into one write.
const (
	maxPooledBuffer = 64 << 10
	maxCopiedBatch  = 16 << 10
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

// prepare sets the limits of a fresh connection. Everything that goes out
// passes the session's queue, also the answer to a WebSocket ping.
func (e *Server) prepare(c *websocket.Conn, s *Session) {
	c.SetReadLimit(s.maxPayload())
	c.SetCloseHandler(func(int, string) error { return nil })
	c.SetPingHandler(func(data string) error {
		_ = s.enqueue([]Frame{newFrame(finalPong, data)}, false)
		return nil
	})
}

// move makes a WebSocket the transport. Call it with s.mu held; nil is polling.
func (s *Session) move(c *websocket.Conn) {
	s.conn = c
	if c == nil || s.base64 {
		return
	}
	if below, ok := c.NetConn().(syscall.Conn); ok {
		s.raw, _ = below.SyscallConn() // without it every write is one that may wait
	}
}

// readLoop receives from a session's WebSocket until it ends. It is the one
// goroutine of the session, and the one that closes the connection.
func (s *Session) readLoop(c *websocket.Conn) {
	defer s.server.running.Done()
	reason := s.read(c)
	s.end(reason, hard)
	_ = c.Close()
}

// read returns why it could not go on.
func (s *Session) read(c *websocket.Conn) Reason {
	for {
		c.SetReadLimit(s.maxPayload()) // it grows when the peer has shown who it is
		p, err := readPacket(c)
		switch {
		case errors.Is(err, ErrPacket):
			s.end(ParseError, broken)
		case errors.Is(err, websocket.ErrReadLimit):
			return TransportError
		case err != nil:
			return TransportClose
		default:
			s.receiving.Lock()
			s.receive(p)
			s.receiving.Unlock()
		}
		// A session that ended softly goes on being read, to nowhere, so that its
		// last frames are not lost to a connection reset.
	}
}

// readPacket reads one message into memory of its own size.
func readPacket(c *websocket.Conn) (Packet, error) {
	kind, r, err := c.NextReader()
	if err != nil {
		return Packet{}, err
	}
	b, _ := buffers.Get().(*bytes.Buffer)
	defer release(b)
	if _, err := b.ReadFrom(r); err != nil {
		return Packet{}, err
	}
	data := bytes.Clone(b.Bytes())
	if kind == websocket.BinaryMessage {
		return Packet{Type: Binary, Data: data}, nil
	}
	if !utf8.Valid(data) {
		writeClose(c, closeInvalidText)
		return Packet{}, ErrPacket
	}
	return DecodePacket(data)
}

// write sends the queue until it is empty. Only one goroutine does so at a
// time: s.writing is its claim.
func (s *Session) write(c *websocket.Conn) {
	defer s.server.running.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 && s.state != closed {
		batch := s.queue
		s.queue, s.spare = s.spare, nil
		err := s.writeBatch(c, batch)
		for _, f := range batch {
			s.queued -= len(f)
		}
		s.spare = s.reuse(batch)
		if err != nil {
			s.writing = false
			if s.state == closing {
				s.shut()
				return
			}
			s.mu.Unlock()
			s.end(TransportError, hard)
			s.mu.Lock()
			return
		}
	}
	s.writing = false
	if s.state == closing {
		writeClose(c, 0)
		_ = c.SetReadDeadline(time.Now().Add(lingerSocket))
	}
}

// writeBatch sends frames with one system call, without the lock.
func (s *Session) writeBatch(c *websocket.Conn, batch []Frame) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	conn := c.NetConn()
	if err := conn.SetWriteDeadline(time.Now().Add(s.server.cfg.IOTimeout)); err != nil {
		return err
	}
	if len(batch) == 1 && !s.base64 {
		_, err := conn.Write(batch[0])
		return err
	}
	size := 0
	for _, f := range batch {
		size += len(f)
	}
	if size > maxCopiedBatch {
		vector := make(net.Buffers, 0, len(batch))
		for _, f := range batch {
			vector = append(vector, s.forPeer(f))
		}
		_, err := vector.WriteTo(conn)
		return err
	}
	b, _ := buffers.Get().(*bytes.Buffer)
	defer release(b)
	for _, f := range batch {
		b.Write(s.forPeer(f))
	}
	_, err := conn.Write(b.Bytes())
	return err
}

func (s *Session) forPeer(f Frame) Frame {
	if s.base64 {
		return f.asText()
	}
	return f
}

// writeClose sends a close frame if the connection takes it within a second.
// Each frame is one write, so that it cannot come inside another.
func writeClose(c *websocket.Conn, status uint16) {
	f := newFrame(finalClose, "")
	if status != 0 {
		f = newFrame(finalClose, "", binary.BigEndian.AppendUint16(nil, status))
	}
	conn := c.NetConn()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write(f)
}

// named is what an upgrade answers with beside its own headers: the id that the request was given. Of the others
// that were set for an ordinary answer some would contradict it (Connection).
func named(w http.ResponseWriter) http.Header {
	return http.Header{"X-Request-Id": w.Header()["X-Request-Id"]}
}

// serveProbe takes a WebSocket for a session that lives on polling.
func (e *Server) serveProbe(w http.ResponseWriter, r *http.Request, s *Session) {
	c, err := e.upgrader.Upgrade(hijacker{w}, r, named(w))
	if err != nil { // Upgrade has answered
		e.stats.refused.Add(1)
		return
	}
	e.prepare(c, s)
	s.mu.Lock()
	if s.state != open || s.conn != nil || s.probe != nil || !e.enter() {
		s.mu.Unlock()
		writeClose(c, 0)
		_ = c.Close()
		return
	}
	s.probe = c
	s.mu.Unlock()
	go s.probeLoop(c)
}

// enter claims a place in running, unless the server stops.
func (e *Server) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping {
		return false
	}
	e.running.Add(1)
	return true
}

// probeLoop takes a WebSocket through the upgrade, and then is its read loop.
// Whatever goes wrong before that harms only the WebSocket.
func (s *Session) probeLoop(c *websocket.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(s.server.cfg.UpgradeTimeout))
	if !s.answerProbe(c) || !s.completeUpgrade(c) {
		s.mu.Lock()
		s.probe, s.upgrading = nil, false
		s.mu.Unlock()
		writeClose(c, 0)
		_ = c.Close()
		s.server.running.Done()
		return
	}
	s.readLoop(c)
}

// answerProbe waits for the probe and answers it, and ends the held poll. From
// then on polls end soon, each of them: a client may poll again before it has
// seen our answer, and waits for that poll before it goes on. They do not end at
// once, because a poll may also overtake the word that completes the upgrade,
// and is to be refused then.
func (s *Session) answerProbe(c *websocket.Conn) bool {
	p, err := readPacket(c)
	if err != nil || p.Type != Ping || string(p.Data) != "probe" {
		return false
	}
	s.mu.Lock()
	if s.state != open {
		s.mu.Unlock()
		return false
	}
	s.upgrading = true // before the answer: who ends the session now must not cut a client that has read it
	held := s.poll     // a client that has read the answer may poll before we go on
	s.mu.Unlock()
	conn := c.NetConn()
	_ = conn.SetWriteDeadline(time.Now().Add(s.server.cfg.IOTimeout))
	if _, err := conn.Write(newFrame(finalText, "3probe")); err != nil {
		return false
	}
	s.release(held)
	return true
}

// completeUpgrade waits for the client's word and moves the session. One that
// ended meanwhile says its last words on the WebSocket. A client that says the
// word has no poll under way, so one that is held came too late.
func (s *Session) completeUpgrade(c *websocket.Conn) bool {
	p, err := readPacket(c)
	if err != nil || p.Type != Upgrade {
		return false
	}
	_ = c.SetReadDeadline(time.Time{})
	s.receiving.Lock() // a body that is being handed up comes first
	defer s.receiving.Unlock()
	s.mu.Lock()
	switch s.state {
	case closed:
		s.mu.Unlock()
		return false
	case closing:
		s.timer.Stop()
		s.server.forget(s)
	case open:
	}
	if s.poll != nil {
		s.answerPoll(nil)
	}
	s.move(c)
	s.probe, s.upgrading = nil, false
	s.server.stats.upgraded.Add(1)
	s.flush(false)
	return true
}

// hijacker finds the connection also behind wrapped response writers.
type hijacker struct{ http.ResponseWriter }

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(h.ResponseWriter).Hijack()
}
