package identity

import (
	"crypto/sha256"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// revocations is the set of what was withdrawn, and who waits for it.
type revocations struct {
	began time.Time    // the times below count from here
	asOf  atomic.Int64 // when the last reading began that saw the whole feed, in nanoseconds

	mu      sync.RWMutex
	feed    int64
	targets map[nameHash]int64 // until when, in Unix milliseconds, or ever; by CIDs and DIDs, which never look alike
	watches map[*watch]struct{}

	boundFeed int64
	keys      *bindings // nil: there are none
}

// nameHash stands for the name of what was withdrawn: half of its SHA-256, which nobody can
// find another name for. A million names in full would take four times the memory.
type nameHash [sha256.Size / 2]byte

func hashOf(name string) nameHash {
	sum := sha256.Sum256([]byte(name))
	return nameHash(sum[:len(nameHash{})])
}

// ever is the end of a revocation that has none.
const ever = 0

func untilOf(r Revocation) int64 {
	if r.Until.IsZero() {
		return ever
	}
	return max(r.Until.UnixMilli(), 1)
}

type watch struct {
	chain []ucan.Link
	fire  func()
}

func newRevocations() *revocations {
	r := &revocations{began: time.Now(), targets: make(map[nameHash]int64), watches: make(map[*watch]struct{})}
	r.asOf.Store(math.MinInt64) // nothing is known yet
	return r
}

// clock does not follow the wall clock, which can be set.
func (r *revocations) clock() int64 { return int64(time.Since(r.began)) }

// saw notes that everything up to a time is known.
func (r *revocations) saw(at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asOf.Store(max(r.asOf.Load(), at))
}

// has is ucan.Query's Revoked.
func (r *revocations) has(cid string, issuer did.DID) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.hasLocked(cid, string(issuer))
}

func (r *revocations) hasLocked(cid, issuer string) bool {
	if issuer != "" && r.keys.lost(did.DID(issuer)) {
		return true
	}
	if len(r.targets) == 0 {
		return false
	}
	if _, ok := r.targets[hashOf(cid)]; ok {
		return true
	}
	if issuer == "" {
		return false
	}
	_, ok := r.targets[hashOf(issuer)]
	return ok
}

// hits reports whether a part of the chain was withdrawn, or signs in another's name than
// when it was judged.
func (r *revocations) hits(chain []ucan.Link) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.hitsLocked(chain)
}

func (r *revocations) hitsLocked(chain []ucan.Link) bool {
	for i := range chain {
		if r.hasLocked(chain[i].CID, string(chain[i].Issuer)) {
			return true
		}
		if judged := chain[i].Person; judged != "" && judged != r.keys.person(chain[i].Issuer) {
			return true
		}
		if twin := chain[i].Twin; twin != "" && r.hasLocked(twin, "") {
			return true
		}
	}
	return false
}

// add takes news from the feed and wakes the watches that they concern.
func (r *revocations) add(news []Revocation) {
	names := make([]nameHash, len(news)) // made before the lock, for which those who ask wait
	for i := range news {
		names[i] = hashOf(nameOf(news[i].Target))
	}
	r.mu.Lock()
	for i, n := range news {
		name, until := names[i], untilOf(n)
		if old, known := r.targets[name]; !known || old != ever && (until == ever || until > old) {
			r.targets[name] = until
		}
		r.feed = max(r.feed, n.Feed)
	}
	r.wakeAndUnlock()
}

// bind takes news of bindings and wakes the watches that they concern.
func (r *revocations) bind(news []Binding) {
	if len(news) == 0 {
		return
	}
	r.mu.Lock()
	r.keys = r.keys.with(news)
	for i := range news {
		r.boundFeed = max(r.boundFeed, news[i].Feed)
	}
	r.wakeAndUnlock()
}

func (r *revocations) bound() *bindings {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.keys
}

func (r *revocations) boundUpTo() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.boundFeed
}

// wakeAndUnlock ends the watches whose chains do not hold any more. They are called
// without the lock.
func (r *revocations) wakeAndUnlock() {
	var hit []*watch
	for w := range r.watches {
		if r.hitsLocked(w.chain) {
			delete(r.watches, w)
			hit = append(hit, w)
		}
	}
	r.mu.Unlock()
	for _, w := range hit {
		w.fire()
	}
}

// nameOf returns the one name of what a revocation or a question is about. Rows
// of earlier releases name a token by the CID under which it then travelled.
func nameOf(target string) string {
	if strings.HasPrefix(target, "did:") {
		return target
	}
	if name, ok := ucan.NameOf(target); ok {
		return name
	}
	return target // nothing that a token could be called
}

func (r *revocations) size() (targets, watches int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.targets), len(r.watches)
}

func (r *revocations) cursor() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.feed
}

// forget drops what ended before the time, in slices, so that nobody who asks
// waits long. A map keeps the room that it once took, so one that was mostly
// dropped is made anew.
func (r *revocations) forget(before time.Time) {
	limit := before.UnixMilli()
	over := r.endedBefore(limit)
	for slice := range slices.Chunk(over, forgetPage) {
		r.mu.Lock()
		for _, name := range slice {
			if until, known := r.targets[name]; known && until != ever && until < limit {
				delete(r.targets, name)
			}
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(over) > len(r.targets) {
		targets := make(map[nameHash]int64, len(r.targets))
		maps.Copy(targets, r.targets)
		r.targets = targets
	}
}

const forgetPage = 1000

func (r *revocations) endedBefore(limit int64) []nameHash {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var over []nameHash
	for name, until := range r.targets {
		if until != ever && until < limit {
			over = append(over, name)
		}
	}
	return over
}
