package identity

import (
	"crypto/sha256"
	"sync"
	"time"
)

// cache remembers verified tokens by hash until they expire. It holds at most
// two generations of entries: when the young one is full it becomes the old one
// and the old one is forgotten, so that memory is bounded and what is in use
// stays.
type cache struct {
	half int

	mu    sync.Mutex
	young map[[sha256.Size]byte]entry
	old   map[[sha256.Size]byte]entry
}

type entry struct {
	p     Principal
	until time.Time // zero: for ever
}

func newCache(entries int) *cache {
	half := max(entries/2, 1)
	return &cache{half: half, young: make(map[[sha256.Size]byte]entry)}
}

func (c *cache) get(key [sha256.Size]byte, now time.Time) (Principal, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.young[key]
	if !ok {
		if e, ok = c.old[key]; !ok {
			return Principal{}, false
		}
		c.store(key, e)
	}
	if !e.until.IsZero() && !now.Before(e.until) {
		delete(c.young, key)
		delete(c.old, key)
		return Principal{}, false
	}
	return e.p, true
}

func (c *cache) put(key [sha256.Size]byte, p Principal, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(key, entry{p: p, until: until})
}

func (c *cache) store(key [sha256.Size]byte, e entry) {
	if len(c.young) >= c.half {
		c.old, c.young = c.young, make(map[[sha256.Size]byte]entry)
	}
	c.young[key] = e
}
