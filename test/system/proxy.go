package system

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy stands between the program and one of its stores, so that a test can
// take that store away without harming other tests.
type Proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   bool
	admit int           // when positive, so many connections come in before it is cut
	gate  chan struct{} // while not nil, nothing passes until it is closed
	conns map[net.Conn]struct{}
}

// NewProxy forwards to target, a host and port, until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, target: target, conns: map[net.Conn]struct{}{}}
	t.Cleanup(func() {
		_ = listener.Close()
		p.Cut()
		p.Flow()
	})
	go p.accept()
	return p
}

// Through returns the address with its host replaced by a proxy to it.
func Through(t testing.TB, address string) (string, *Proxy) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := NewProxy(t, u.Host)
	u.Host = p.listener.Addr().String()
	return u.String(), p
}

// Cut ends every connection and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// Admit lets n more connections in, which stay, and refuses those that follow.
func (p *Proxy) Admit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.admit = false, n
}

// Restore lets connections through again.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.admit = false, 0
}

// Stall lets connections be and passes nothing on, as a network that swallows
// packets does.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate == nil {
		p.gate = make(chan struct{})
	}
}

// Flow passes on again, what was held up first.
func (p *Proxy) Flow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate != nil {
		close(p.gate)
		p.gate = nil
	}
}

// pump copies until either side is gone.
func (p *Proxy) pump(dst, src net.Conn) {
	defer func() { _, _ = dst.Close(), src.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := src.Read(buffer)
		p.mu.Lock()
		gate := p.gate
		p.mu.Unlock()
		if gate != nil {
			<-gate
		}
		if _, failed := dst.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(near)
	}
}

func (p *Proxy) forward(near net.Conn) {
	far, err := net.Dial("tcp", p.target)
	if err != nil || !p.track(near, far) {
		_ = near.Close()
		if far != nil {
			_ = far.Close()
		}
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(far, near) })
	both.Go(func() { p.pump(near, far) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, near)
	delete(p.conns, far)
}

func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	if p.admit > 0 {
		p.admit--
		p.cut = p.admit == 0
	}
	return true
}
