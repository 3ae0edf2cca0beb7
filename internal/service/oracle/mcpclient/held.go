package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/castalia-org/castalia/internal/identity"
)

// maxHeld bounds what the answers under way of one person's servers hold in memory together:
// an answer is there until it is whole, and servers end it when they like.
const maxHeld = 4 * maxReply

var errHeld = errors.New("too much is held of what servers sent at once")

// holdings is what answers under way hold, by person.
type holdings struct {
	mu sync.Mutex
	by map[string]int64
}

// take counts bytes, or refuses those that are too many.
func (h *holdings) take(who string, n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[who]+n > maxHeld {
		return false
	}
	if h.by == nil {
		h.by = map[string]int64{}
	}
	h.by[who] += n
	return true
}

func (h *holdings) give(who string, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[who] -= n; h.by[who] <= 0 {
		delete(h.by, who)
	}
}

// held is the body of an answer, whose bytes count until it ends or is closed.
type held struct {
	io.ReadCloser
	of    *holdings
	who   string
	full  func() // hears that there was no room
	mu    sync.Mutex
	n     int64
	ended bool
}

// Read reads what there is room for.
func (h *held) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.mu.Lock()
	room := h.ended || h.of.take(h.who, int64(n))
	if room && !h.ended {
		h.n += int64(n)
	}
	h.mu.Unlock()
	if !room {
		h.full()
		err = errHeld
	}
	if err != nil {
		h.end()
	}
	if !room {
		return 0, err
	}
	return n, err
}

// Close closes the body.
func (h *held) Close() error {
	h.end()
	return h.ReadCloser.Close()
}

func (h *held) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n > 0 {
		h.of.give(h.who, h.n)
	}
	h.n, h.ended = 0, true
}

// ownerOf is whose answers count together: the person who asks, else those of the server.
func ownerOf(ctx context.Context, did, server string) string {
	p, _ := identity.FromContext(ctx)
	return cmp.Or(did, p.DID, server)
}
