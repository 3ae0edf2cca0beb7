package feed

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/quiet"
)

// Seen is what one statement tells of a database.
type Seen struct {
	// Last has the last number of each feed that has one.
	Last map[string]int64
	// Visible is a name of all that the statement could see, for quiet.Watch; nothing where
	// the database has no such names.
	Visible string
}

// Heads tell a node which feeds have moved, by one statement for all of them: most of the
// time none has, and a node that asked each would keep the database busy for nothing.
type Heads struct {
	// Read looks at the feeds of these names.
	Read func(ctx context.Context, names []string) (Seen, error)
	// Quiet, if there is one, is told what is visible by the same statement.
	Quiet  *quiet.Watch
	Logger *slog.Logger

	mu    sync.Mutex
	all   []*Head
	names []string
}

// Head is where some feeds that are read together have come to.
type Head struct {
	heads *Heads
	names []string
	told  func(began time.Time, head int64)

	mu sync.Mutex
	// heard is what was told last, and read what was heard before the last whole reading.
	heard, read int64
}

// Of returns the head of feeds, by the names under which they take their numbers.
func (h *Heads) Of(names ...string) *Head {
	one := &Head{heads: h, names: names, heard: -1, read: -1}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		if !slices.Contains(h.names, name) {
			h.names = append(slices.Clip(h.names), name)
		}
	}
	return one
}

// Follow has same told when the feeds were looked at and had not moved since the last
// reading: whoever has read them knew all at that time. Else moved is told. Both return
// at once. A nil Head tells nothing.
func (h *Head) Follow(same func(began time.Time), moved func()) {
	if h == nil {
		return
	}
	h.told = func(began time.Time, head int64) {
		h.mu.Lock()
		h.heard = head
		unread := h.read != head
		h.mu.Unlock()
		if unread {
			moved()
			return
		}
		same(began)
	}
	h.heads.mu.Lock()
	defer h.heads.mu.Unlock()
	h.heads.all = append(slices.Clip(h.heads.all), h)
}

// Reading returns what is to be called when a reading that begins now has seen all.
func (h *Head) Reading() (done func()) {
	if h == nil {
		return func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	heard := h.heard
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.read = heard
	}
}

// lateFor is how old what is known of a feed may become before its follower does not wait
// for the heads any longer, and reads.
const lateFor = 3 * pollInterval / 2

// Waits says whether a follower that knows all up to a time, in nanoseconds of its own
// clock, leaves it to the heads to look again.
func (h *Head) Waits(now, asOf int64) bool { return h != nil && asOf > now-int64(lateFor) }

// Run looks twice a second until the context ends. When it cannot, followers look themselves.
func (h *Heads) Run(ctx context.Context) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		if err := h.Look(ctx); err != nil && ctx.Err() == nil && h.Logger != nil {
			h.Logger.LogAttrs(ctx, slog.LevelDebug, "heads of feeds cannot be read", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		}
	}
}

// Look tells all followers once.
func (h *Heads) Look(ctx context.Context) error {
	h.mu.Lock()
	names, all := h.names, h.all
	h.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	seen, err := h.Read(limited, names)
	h.Quiet.Told(began, seen.Visible) // nothing when that failed
	if err != nil {
		return err
	}
	for _, one := range all {
		sum := int64(0) // numbers only grow: it is the same when each is
		for _, name := range one.names {
			sum += seen.Last[name]
		}
		one.told(began, sum)
	}
	return nil
}
