package ratelimit

import (
	"crypto/sha256"
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Key is what a Limiter counts by. It is a hash or an address, never a name,
// so it may travel between nodes.
type Key [16]byte

// KeyOf is the key of a text, such as a DID.
func KeyOf(s string) Key {
	sum := sha256.Sum256([]byte(s))
	return Key(sum[:16])
}

// KeyOfAddr is the key of an address, or of the network that counts as one.
func KeyOfAddr(addr netip.Addr) Key {
	if !addr.IsValid() {
		return Key{}
	}
	return NetworkOf(addr).As16()
}

// LimiterConfig describes a limit.
type LimiterConfig struct {
	Name      string
	PerMinute int // 0 or less: no limit
	// Exempt addresses are never counted.
	Exempt []netip.Prefix
	// MaxKeys bounds memory; when it is reached the key that was quiet for
	// longest is forgotten. 0 is 65536.
	MaxKeys int
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// The window is a minute in slots of five seconds. A request counts until its
// whole slot has left the window, so that no minute ever holds more than the
// limit; the price is that a client may wait up to one slot longer.
const (
	window   = time.Minute
	slotTime = 5 * time.Second
	slots    = int64(window/slotTime) + 1
	shards   = 16
)

// Limiter counts events by key over a sliding minute. Asking it does no I/O
// and allocates nothing. It may be shared by any number of routes and
// surfaces. Other nodes' counts come in through Merge and go out through Share,
// a few times a second: a client that spreads over n nodes overshoots by what
// it can send in that time. Without them each node enforces alone.
//
// A nil Limiter allows everything.
type Limiter struct {
	cfg    LimiterConfig
	limit  int64
	seed   maphash.Seed
	shards [shards]limiterShard

	refused atomic.Uint64

	mergeMu sync.Mutex
	lastSeq map[string]uint64
}

type limiterShard struct {
	mu      sync.Mutex
	index   map[Key]int32
	entries []limiterEntry
	// newest and oldest end the list of entries by last use; -1 is none.
	newest, oldest int32
	dirty          []int32
	max            int
}

type limiterEntry struct {
	key        Key
	slot       int64 // the slot of the last count
	counts     [slots]uint32
	total      int64
	fresh      uint32 // counted here since the last publication
	prev, next int32
}

// NewLimiter returns a limiter, or nil when the configuration sets no limit.
func NewLimiter(cfg LimiterConfig) *Limiter {
	if cfg.PerMinute <= 0 {
		return nil
	}
	if cfg.MaxKeys <= 0 {
		cfg.MaxKeys = 1 << 16
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	l := &Limiter{cfg: cfg, limit: int64(cfg.PerMinute), seed: maphash.MakeSeed(), lastSeq: map[string]uint64{}}
	for i := range l.shards {
		s := &l.shards[i]
		s.index = map[Key]int32{}
		s.newest, s.oldest = -1, -1
		s.max = max(1, cfg.MaxKeys/shards)
		s.dirty = make([]int32, 0, maxDirty)
	}
	return l
}

// Name returns the name the limiter was made with.
func (l *Limiter) Name() string {
	if l == nil {
		return ""
	}
	return l.cfg.Name
}

// Allow counts one event of the key when it is within the limit. When it is
// not, nothing is counted and retryAfter says when to come back.
func (l *Limiter) Allow(key Key) (ok bool, retryAfter time.Duration) {
	if l == nil {
		return true, 0
	}
	now := l.cfg.Now().UnixNano()
	s := l.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, i := s.entry(key, now/int64(slotTime))
	if e.total >= l.limit {
		l.refused.Add(1)
		return false, e.wait(now, l.limit)
	}
	e.add(1)
	s.note(e, i)
	return true, 0
}

// AllowAddr is Allow by client address; exempt addresses are always allowed.
func (l *Limiter) AllowAddr(addr netip.Addr) (ok bool, retryAfter time.Duration) {
	if l == nil {
		return true, 0
	}
	for _, p := range l.cfg.Exempt {
		if p.Contains(addr) {
			return true, 0
		}
	}
	return l.Allow(KeyOfAddr(addr))
}

// LimiterStats are figures for operators.
type LimiterStats struct {
	// Refused counts what was beyond the limit.
	Refused uint64
	// Keys is how many keys are remembered.
	Keys int
}

// Stats returns the figures.
func (l *Limiter) Stats() LimiterStats {
	if l == nil {
		return LimiterStats{}
	}
	stats := LimiterStats{Refused: l.refused.Load()}
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		stats.Keys += len(s.entries)
		s.mu.Unlock()
	}
	return stats
}

func (l *Limiter) shard(key Key) *limiterShard {
	return &l.shards[maphash.Bytes(l.seed, key[:])%shards]
}

// entry returns the entry of a key at the given slot, and makes it the newest.
func (s *limiterShard) entry(key Key, slot int64) (*limiterEntry, int32) {
	i, ok := s.index[key]
	switch {
	case ok:
		s.unlink(i)
	case len(s.entries) < s.max:
		i = int32(len(s.entries)) //nolint:gosec // bounded by MaxKeys
		s.entries = append(s.entries, limiterEntry{key: key, slot: slot})
		s.index[key] = i
	default:
		i = s.oldest
		s.unlink(i)
		delete(s.index, s.entries[i].key)
		s.entries[i] = limiterEntry{key: key, slot: slot}
		s.index[key] = i
	}
	s.link(i)
	e := &s.entries[i]
	e.advance(slot)
	return e, i
}

func (s *limiterShard) link(i int32) {
	e := &s.entries[i]
	e.prev, e.next = -1, s.newest
	if s.newest >= 0 {
		s.entries[s.newest].prev = i
	} else {
		s.oldest = i
	}
	s.newest = i
}

func (s *limiterShard) unlink(i int32) {
	e := &s.entries[i]
	if e.prev >= 0 {
		s.entries[e.prev].next = e.next
	} else {
		s.newest = e.next
	}
	if e.next >= 0 {
		s.entries[e.next].prev = e.prev
	} else {
		s.oldest = e.prev
	}
}

// maxDirty bounds what one shard publishes at a time.
const maxDirty = 256

// note remembers that the entry has something to publish. When too many have,
// the others learn of it later or not at all.
func (s *limiterShard) note(e *limiterEntry, i int32) {
	if e.fresh == 0 {
		if len(s.dirty) == maxDirty {
			return
		}
		s.dirty = append(s.dirty, i)
	}
	e.fresh++
}

// advance forgets the slots that left the window. A clock that steps back
// counts into the newest slot.
func (e *limiterEntry) advance(slot int64) {
	if slot-e.slot >= slots {
		clear(e.counts[:])
		e.total, e.slot = 0, slot
		return
	}
	for e.slot < slot {
		e.slot++
		at := &e.counts[e.slot%slots]
		e.total -= int64(*at)
		*at = 0
	}
}

func (e *limiterEntry) add(n uint32) {
	e.counts[e.slot%slots] += n
	e.total += int64(n)
}

// wait is the time until enough slots have left the window.
func (e *limiterEntry) wait(now, limit int64) time.Duration {
	left := e.total
	for old := e.slot - slots + 1; old <= e.slot; old++ {
		left -= int64(e.counts[((old%slots)+slots)%slots])
		if left < limit {
			return time.Duration((old+slots)*int64(slotTime) - now)
		}
	}
	return window
}
