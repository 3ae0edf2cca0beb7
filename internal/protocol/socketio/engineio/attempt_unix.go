//go:build unix

package engineio

import (
	"errors"
	"sync"
	"syscall"
)

// attempt is one write that does not wait. It is reused with its bound
// function, so that an attempt allocates nothing.
type attempt struct {
	frame []byte
	sent  int
	do    func(fd uintptr)
}

var attempts = sync.Pool{New: func() any {
	a := new(attempt)
	a.do = a.write
	return a
}}

func (a *attempt) write(fd uintptr) {
	n, err := syscall.Write(int(fd), a.frame)
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Write(int(fd), a.frame)
	}
	a.sent = max(n, 0)
}

// writeNow sends as much of the frame as the system takes at once, and returns
// how much that was. A broken connection takes nothing: the write that waits
// will find out. Sockets are in non-blocking mode, and Control, unlike
// RawConn.Write, waits for no lock and no deadline.
func writeNow(conn syscall.RawConn, frame []byte) int {
	a, _ := attempts.Get().(*attempt)
	a.frame, a.sent = frame, 0
	err := conn.Control(a.do)
	sent := a.sent
	a.frame = nil
	attempts.Put(a)
	if err != nil {
		return 0
	}
	return sent
}
