package httpserver

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// minRate is the least progress, in bytes a second, that keeps a request body
// alive beyond the stall time-out. The slowest telephone line is faster.
const minRate = 256

// body bounds a request body in size and in time. Its deadline moves with
// progress: a slow upload lives, a dribble does not.
type body struct {
	under io.ReadCloser
	x     *exchange
	limit bool
	left  int64 // of the limit
	read  int64
	start time.Time
	set   time.Time // when the deadline was last moved
	ended bool
	last  bool // the client sends no other request on this connection
	// expects is that the client sends the body when it is asked to.
	expects bool
	// again, when set, judges the sender once more when the body is whole: its sender
	// decides when that is.
	again func() error
}

// limitBody puts the route's limits around the body. A body that announces
// itself as too large is refused before a byte of it is read.
func (x *exchange) limitBody(r *http.Request, m *mounted) error {
	if x.body == nil {
		return nil
	}
	most := m.route.MaxBody
	if most == 0 {
		most = x.server.cfg.MaxBody
	}
	if most > 0 && r.ContentLength > most {
		x.Header().Set("Connection", "close")
		return errTooLarge
	}
	x.body.left, x.body.limit = most, most > 0
	r.Body = x.body
	if x.body.expects {
		x.extend() // the 100 Continue is written before any byte of ours
	}
	return nil
}

var errTooLarge = fault.New(fault.TooLarge, "request entity too large")

// Read reads the body within its limits.
func (b *body) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	now := time.Now()
	b.extend(now)
	if b.limit && int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	b.waiting(now)
	n, err := b.under.Read(p)
	b.x.conn.Serving()
	b.read += int64(n)
	if b.limit {
		if int64(n) > b.left {
			n = int(b.left)
			if !b.x.wroteHeader {
				b.x.Header().Set("Connection", "close")
			}
			err = errTooLarge
		}
		b.left -= int64(n)
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.finish()
		if refused := b.judge(); refused != nil {
			return 0, refused
		}
	case errors.Is(err, errTooLarge):
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.x.trouble = errSlowBody
	default:
		b.x.trouble = errGone
	}
	// The error stays what it was: libraries compare it. What it means to the
	// client is in trouble.
	return n, err
}

// judge says why the sender of a body that is whole may not ask for this any more.
func (b *body) judge() error {
	if b.again == nil {
		return nil
	}
	err := b.again()
	if err != nil {
		b.x.trouble = fault.From(err) // whatever the handler makes of it
	}
	return err
}

// What may be wrong with the client rather than with us.
var (
	errSlowBody = fault.New(fault.Invalid, "The request body came too slowly").WithCode("slow_body")
	errGone     = fault.New(fault.Canceled, "The client went away")
)

// extend moves the read deadline to the end of the stall time-out, or to where
// the least rate has it, whichever is sooner.
func (b *body) extend(now time.Time) {
	if b.x.conn == nil {
		return
	}
	stall := b.x.server.cfg.StallTimeout
	if b.start.IsZero() {
		b.start = now
	} else if now.Sub(b.set) < stall/32 {
		return
	}
	b.set = now
	deadline := b.start.Add(stall + time.Duration(b.read/minRate)*time.Second)
	if latest := now.Add(stall); deadline.After(latest) {
		deadline = latest
	}
	_ = http.NewResponseController(b.x.w).SetReadDeadline(deadline)
}

// finish lifts the deadline: while the handler works, the server goes on
// reading to learn whether the client has left.
func (b *body) finish() {
	if !b.ended && !b.start.IsZero() {
		_ = http.NewResponseController(b.x.w).SetReadDeadline(time.Time{})
	}
	b.ended = true
}

// abandonTime is how long the server waits for the rest of a body that the
// handler did not read, before it gives the connection up.
const abandonTime = 2 * time.Second

// abandon is called when the answer is complete. The server now reads the rest
// of the body, to find the next request behind it, and may send the answer only
// then; a client that does not send the rest must not hold the connection.
//
// Where no request may follow, net/http would close at once, and what the client
// is still sending would make the system reset the connection and throw the
// answer away. So the answer goes out, and the rest is read and dropped.
func (b *body) abandon() {
	if b.ended || b.x.conn == nil {
		return
	}
	now := time.Now()
	wait := min(abandonTime, b.x.server.cfg.StallTimeout)
	ctl := http.NewResponseController(b.x.w)
	_ = ctl.SetReadDeadline(now.Add(wait))
	_ = ctl.SetWriteDeadline(now.Add(wait + b.x.server.cfg.StallTimeout))
	b.waiting(now)
	asked := !b.expects || !b.start.IsZero()
	if asked && (b.last || b.x.Header().Get("Connection") == "close") && ctl.Flush() == nil {
		_, _ = io.Copy(io.Discard, b.under) // the deadline ends it
	}
}

// waiting says that the client keeps us waiting, unless others of its requests on the
// connection may be worked on: who makes room must not take those along.
func (b *body) waiting(now time.Time) {
	if !b.x.shared {
		b.x.conn.Waiting(now)
	}
}

// Close closes the body.
func (b *body) Close() error { return b.under.Close() }
