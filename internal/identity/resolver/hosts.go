package resolver

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/identity/recent"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

const (
	// perHost is how many look-ups one host has at a time; others wait.
	perHost = 4
	// maxFailures is how many of them in a row may fail before the host is left alone.
	maxFailures = 8
	// hadFor is how long it counts that a host had a DID.
	hadFor = time.Hour
)

// errTired is the cause of a look-up at a host that is left alone.
var errTired = errors.New("the host has failed too often just now")

// hosts is what is known of hosts that strangers name.
type hosts struct {
	had *recent.Map[did.DID, struct{}]

	mu     sync.Mutex
	lines  map[string]*line
	failed *recent.Map[string, int] // in a row, forgotten when none came for a while
}

// line is those who ask a host, or wait to.
type line struct {
	places chan struct{}
	here   int
}

func newHosts() *hosts {
	return &hosts{
		had: recent.New[did.DID, struct{}](defaultEntries), lines: map[string]*line{},
		failed: recent.New[string, int](defaultEntries),
	}
}

// ask asks about a did:web, unless its host is left alone.
func (h *hosts) ask(ctx context.Context, d did.DID, question func() (did.Document, error)) (did.Document, error) {
	host, _, _ := strings.Cut(strings.ToLower(d.ID()), ":")
	l := h.join(host)
	defer h.leave(host, l)
	select {
	case l.places <- struct{}{}:
	case <-ctx.Done():
		return did.Document{}, ctx.Err()
	}
	defer func() { <-l.places }()
	_, had := h.had.Get(d, time.Now())
	if !had && h.tired(host) {
		return did.Document{}, errTired
	}
	document, err := question()
	if err != nil {
		h.fail(host)
		return document, err
	}
	h.had.Put(d, struct{}{}, time.Now().Add(hadFor), 1)
	h.please(host)
	return document, nil
}

func (h *hosts) join(host string) *line {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[host]
	if l == nil {
		l = &line{places: make(chan struct{}, perHost)}
		h.lines[host] = l
	}
	l.here++
	return l
}

func (h *hosts) leave(host string, l *line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.here--; l.here == 0 {
		delete(h.lines, host)
	}
}

func (h *hosts) tired(host string) bool {
	n, _ := h.failed.Get(host, time.Now())
	return n >= maxFailures
}

func (h *hosts) fail(host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	n, _ := h.failed.Get(host, now)
	h.failed.Put(host, n+1, now.Add(failureTTL), 1)
}

func (h *hosts) please(host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed.Put(host, 0, time.Now(), 1)
}
