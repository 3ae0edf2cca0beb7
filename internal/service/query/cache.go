package query

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/castalia-org/castalia/internal/platform/pace"
)

// Entry is a reply that is kept: its bytes do not change.
type Entry struct {
	Body    []byte
	ETag    string // without quotes
	Height  int64
	Fetched time.Time
	// Head is the newest block that was known when the reply was asked for.
	Head int64
	// Whole says that every part of the reply could be read: without a
	// description a part is base64, for as long as nobody has one.
	Whole bool
	// Headers are values of headers, made once for all who get the reply.
	Headers, PackedHeaders Headers

	once   sync.Once
	packed []byte
}

// Headers are what an entry says of itself in headers; each has one value.
type Headers struct{ Tag, Length, Height []string }

func newHeaders(tag string, length int, height int64) Headers {
	values := []string{`"` + tag + `"`, strconv.Itoa(length), strconv.FormatInt(height, 10)}
	return Headers{Tag: values[0:1:1], Length: values[1:2:2], Height: values[2:3:3]}
}

// PackedMark tells the tag of the compressed form from that of the plain one.
const PackedMark = "-gz"

func newEntry(body []byte, height int64, now time.Time) *Entry {
	sum := sha256.Sum256(body)
	tag := hex.EncodeToString(sum[:12])
	return &Entry{Body: body, ETag: tag, Height: height, Fetched: now, Headers: newHeaders(tag, len(body), height)}
}

// minGzip is the size below which compression costs more than it saves.
const minGzip = 1400

// Gzip returns the compressed body, made once and kept, or nil when the body
// is too small or does not shrink. PackedHeaders belong to it.
func (e *Entry) Gzip() []byte {
	if len(e.Body) < minGzip {
		return nil
	}
	e.once.Do(func() {
		w := &sliceWriter{b: make([]byte, 0, len(e.Body)/4)}
		z, err := gzip.NewWriterLevel(w, gzip.DefaultCompression)
		if err != nil {
			return
		}
		if _, err := z.Write(e.Body); err != nil {
			return
		}
		if z.Close() == nil && len(w.b) < len(e.Body) {
			e.packed = w.b
			e.PackedHeaders = newHeaders(e.ETag+PackedMark, len(w.b), e.Height)
		}
	})
	return e.packed
}

type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// cacheShards spreads the locks.
const cacheShards = 16

// entryOverhead is what an entry costs beside its bytes.
const entryOverhead = 512

// CacheStats are counted since the start.
type CacheStats struct {
	Hits      int64 `json:"hits"`
	Misses    int64 `json:"misses"`
	Coalesced int64 `json:"coalesced"`
	Stale     int64 `json:"stale"`
	Evicted   int64 `json:"evicted"`
	Entries   int64 `json:"entries"`
	Bytes     int64 `json:"bytes"`
	MaxBytes  int64 `json:"maxBytes"`
}

// cache keeps replies up to a number of bytes; what was not used for longest
// goes first. A reply pays for its compressed form in advance.
type cache struct {
	seed   maphash.Seed
	shards [cacheShards]cacheShard
	limit  int64 // per shard

	hits, misses, coalesced, stale, evicted atomic.Int64
}

type cacheShard struct {
	mu      sync.Mutex
	byKey   map[string]*list.Element
	order   list.List // front is newest; holds *cacheItem
	bytes   int64
	flights map[string]*flight
}

type cacheItem struct {
	key   string
	entry *Entry
	cost  int64
}

func newCache(maxBytes int64) *cache {
	c := &cache{seed: maphash.MakeSeed(), limit: maxBytes / cacheShards}
	for i := range c.shards {
		c.shards[i].byKey = make(map[string]*list.Element)
		c.shards[i].flights = make(map[string]*flight)
	}
	return c
}

func (c *cache) shard(key []byte) *cacheShard {
	return &c.shards[maphash.Bytes(c.seed, key)%cacheShards]
}

func (c *cache) get(key []byte) *Entry {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	element := s.byKey[string(key)]
	if element == nil {
		return nil
	}
	s.order.MoveToFront(element)
	item, _ := element.Value.(*cacheItem)
	return item.entry
}

func (c *cache) put(key []byte, e *Entry) {
	cost := int64(len(e.Body)+len(key)) + entryOverhead
	if len(e.Body) >= minGzip {
		cost += int64(len(e.Body)) // at most: it is kept only when it is smaller
	}
	if cost > c.limit {
		return
	}
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byKey[string(key)]; old != nil {
		c.drop(s, old)
	}
	item := &cacheItem{string(key), e, cost}
	s.byKey[item.key] = s.order.PushFront(item)
	s.bytes += cost
	for s.bytes > c.limit {
		c.drop(s, s.order.Back())
		c.evicted.Add(1)
	}
}

func (c *cache) drop(s *cacheShard, element *list.Element) {
	item, _ := s.order.Remove(element).(*cacheItem)
	delete(s.byKey, item.key)
	s.bytes -= item.cost
}

// Stats counts what the cache did and holds.
func (c *cache) Stats() CacheStats {
	st := CacheStats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), Coalesced: c.coalesced.Load(),
		Stale: c.stale.Load(), Evicted: c.evicted.Load(), MaxBytes: c.limit * cacheShards,
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		st.Entries += int64(len(s.byKey))
		st.Bytes += s.bytes
		s.mu.Unlock()
	}
	return st
}

// guarded turns a panic into an error: the call runs on a goroutine of its own,
// where one bad reply would otherwise end the program.
func guarded(ctx context.Context, fetch func(context.Context) (*Entry, error)) (e *Entry, err error) {
	err = pace.Guard(func() error {
		e, err = fetch(ctx)
		return err
	})
	return e, err
}

// flight is one upstream call on which any number of equal requests wait.
type flight struct {
	done    chan struct{}
	started time.Time
	entry   *Entry
	err     error
	waiting int // guarded by the shard
	cancel  context.CancelFunc
}

// joinable is for how long others may join a call. One that takes longer may
// have been sent to a node that fell silent, which is known by then.
const joinable = 3 * time.Second

// once runs fetch for the key unless it is under way already, and waits. The
// call goes on while anybody waits; the one who started it may leave.
func (c *cache) once(ctx context.Context, key []byte, timeout time.Duration,
	fetch func(context.Context) (*Entry, error),
) (*Entry, error) {
	s := c.shard(key)
	s.mu.Lock()
	f := s.flights[string(key)]
	if f == nil || time.Since(f.started) > joinable {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		f = &flight{done: make(chan struct{}), started: time.Now(), cancel: cancel}
		name := string(key)
		s.flights[name] = f
		go func() {
			defer cancel()
			f.entry, f.err = guarded(work, fetch)
			s.mu.Lock()
			if s.flights[name] == f {
				delete(s.flights, name)
			}
			s.mu.Unlock()
			close(f.done)
		}()
	} else {
		c.coalesced.Add(1)
	}
	f.waiting++
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.entry, f.err
	case <-ctx.Done():
		s.mu.Lock()
		if f.waiting--; f.waiting == 0 {
			f.cancel()
			if s.flights[string(key)] == f {
				delete(s.flights, string(key))
			}
		}
		s.mu.Unlock()
		return nil, ctx.Err()
	}
}
