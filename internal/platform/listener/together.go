package listener

import (
	"net/http"
	"strconv"
	"sync"
)

// What of a body goes out together with its headers. net/http's own buffer has 4 KiB: what
// does not fit into it with the headers leaves in two pieces.
const (
	leastHeld = 2 << 10
	mostHeld  = 32 << 10
)

// holds are the buffers of together.
var holds = sync.Pool{New: func() any { return new([]byte) }}

// Pass writes p by the response writer of a request of the connection. A body that is whole,
// and promised as long as it is, leaves with its headers in one piece.
func (c *Conn) Pass(w http.ResponseWriter, p []byte, whole bool) (n int, err error) {
	if c == nil || !whole || c.covered || len(p) < leastHeld || len(p) > mostHeld {
		return w.Write(p)
	}
	if length := w.Header()["Content-Length"]; len(length) != 1 || length[0] != strconv.Itoa(len(p)) {
		return w.Write(p)
	}
	err = c.together(func() (err error) {
		if n, err = w.Write(p); err == nil {
			err = http.NewResponseController(w).Flush()
		}
		return err
	})
	return n, err
}

// together sends what do writes as one piece: each piece is a system call, and wakes who
// waits for it. Nobody else may write meanwhile, so it is not for connections with TLS. What
// cannot be sent closes the connection: a part of it may have gone.
func (c *Conn) together(do func() error) error {
	held := holds.Get().(*[]byte)
	defer func() {
		c.held = nil
		*held = (*held)[:0]
		holds.Put(held)
	}()
	c.held = held
	if err := do(); err != nil {
		return err
	}
	_, err := c.Conn.Write(*held)
	if err != nil {
		_ = c.Close()
	}
	return err
}

// Write sends p, or holds it for together.
func (c *Conn) Write(p []byte) (int, error) {
	if c.held != nil {
		*c.held = append(*c.held, p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}
