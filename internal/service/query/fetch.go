package query

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/castalia-org/castalia/internal/service/query/httprule"
)

// asked is one bound request on its way to an answer.
type asked struct {
	g       *Gateway
	route   *httprule.Route
	chain   Chain
	call    Call
	timeout time.Duration
}

// direct asks the chain and keeps nothing.
func (q *asked) direct(ctx context.Context) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	buf, _ := q.g.buffers.Get().(*buffer)
	height, whole, err := q.fetch(ctx, buf)
	if err != nil {
		q.g.recycle(buf)
		return Answer{}, err
	}
	return Answer{Body: buf.b, State: Bypass, Height: height, Pinned: whole && q.pinned(height), buffer: buf}, nil
}

// pinned reports whether a reply of this height can never change.
func (q *asked) pinned(height int64) bool {
	return q.call.Height > 0 && height == q.call.Height && q.route.Cacheable()
}

// cached answers from the cache, or asks once for all who wait.
func (q *asked) cached(ctx context.Context) (Answer, error) {
	c := q.g.cache
	head := q.chain.Head()
	now := time.Now()
	var array [256]byte
	key := q.key(array[:0])
	old := c.get(key)
	if old != nil && q.fresh(old, head, now) {
		c.hits.Add(1)
		return q.answer(old, Hit, head, now), nil
	}
	c.misses.Add(1)
	miss := *q // which may outlive this request; a hit keeps q off the heap
	entry, err := miss.fetchOnce(ctx, bytes.Clone(key))
	if err == nil && q.call.Height == 0 && entry.Head < head.Height && entry.Height < head.Height {
		// Others asked before the block that is known here; the next call did not.
		if later, err := miss.fetchOnce(ctx, bytes.Clone(key)); err == nil {
			entry = later
		}
	}
	if err != nil {
		if old != nil && now.Sub(old.Fetched) < q.g.cfg.StaleFor && nodeFailed(err) {
			c.stale.Add(1)
			return q.answer(old, Stale, Head{}, now), nil
		}
		return Answer{}, err
	}
	return q.answer(entry, Miss, head, now), nil
}

// fetchOnce asks the chain, or waits for whoever asks it the same already.
func (q *asked) fetchOnce(ctx context.Context, key []byte) (*Entry, error) {
	// The call has the gateway's own time, since others may wait for it; who is
	// in a hurry leaves earlier.
	if q.timeout < q.g.cfg.Timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.timeout)
		defer cancel()
	}
	return q.g.cache.once(ctx, key, q.g.cfg.Timeout, func(work context.Context) (*Entry, error) {
		return q.fill(work, key)
	})
}

// nodeFailed tells a node that does not answer from one that answers no.
func nodeFailed(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Code == codes.Unavailable || status.Code == codes.DeadlineExceeded
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// fresh reports whether a kept reply is what the chain would say now.
func (q *asked) fresh(e *Entry, head Head, now time.Time) bool {
	if q.call.Height > 0 {
		return true // kept only when the height was confirmed
	}
	if head.Height == 0 || e.Height < head.Height || now.Sub(head.Seen) >= q.g.cfg.HeadTrust {
		return false
	}
	// A node may be ahead of what is known of it. Further ahead than the next
	// block that is seen it was not: it lies, or the chain began anew.
	return e.Height == head.Height || e.Head == head.Height
}

func (q *asked) answer(e *Entry, state CacheState, head Head, now time.Time) Answer {
	a := Answer{Body: e.Body, State: state, Entry: e, Height: e.Height, Pinned: e.Whole && q.pinned(e.Height)}
	if !a.Pinned && head.Interval > 0 && e.Height >= head.Height {
		a.MaxAge = min(max(0, head.Interval-now.Sub(head.Since)), head.Interval)
	}
	return a
}

// fill asks the chain, and keeps the reply when it is known to which block it
// belongs.
func (q *asked) fill(ctx context.Context, key []byte) (*Entry, error) {
	buf, _ := q.g.buffers.Get().(*buffer)
	defer q.g.recycle(buf)
	head := q.chain.Head().Height
	height, whole, err := q.fetch(ctx, buf)
	if err != nil {
		return nil, err
	}
	e := newEntry(bytes.Clone(buf.b), height, time.Now())
	e.Head, e.Whole = head, whole
	if height > 0 && (q.call.Height == 0 || q.call.Height == height && whole) {
		q.g.cache.put(key, e)
	}
	return e, nil
}

// key names the reply: the same method, request and height, as described by
// the same descriptors.
func (q *asked) key(dst []byte) []byte {
	dst = append(dst, q.route.Catalog.Digest...)
	dst = append(dst, q.route.Method...)
	if q.route.Response != nil {
		dst = binary.AppendVarint(dst, int64(q.route.Response.Number()))
	}
	dst = append(dst, 0)
	dst = binary.AppendVarint(dst, q.call.Height)
	return append(dst, q.call.Wire...)
}

// maxLearned is how deep types that were not known may lie in each other.
const maxLearned = 8

// fetch asks the chain and writes the reply into the buffer. whole is false when
// a part of it is of a type that nobody could describe.
func (q *asked) fetch(ctx context.Context, buf *buffer) (height int64, whole bool, err error) {
	if q.route.InFlight.Add(1) > int64(q.g.cfg.Concurrency) {
		q.route.InFlight.Add(-1)
		return 0, false, Statusf(codes.ResourceExhausted, "too many calls of %s at a time; try again", q.route.Method)
	}
	defer q.route.InFlight.Add(-1)
	reply, err := q.chain.Invoke(ctx, q.call)
	if err != nil {
		return 0, false, err
	}
	if reply.Release != nil {
		defer reply.Release()
	}
	var unknown []string
	buf.b, unknown, err = q.route.Encode(buf.b[:0], reply.Wire, q.g.cfg.MaxJSON)
	// What lies inside of a type comes to light when that one is known.
	for n := 0; n < maxLearned && err == nil && len(unknown) > 0 && q.learn(ctx, unknown); n++ {
		buf.b, unknown, err = q.route.Encode(buf.b[:0], reply.Wire, q.g.cfg.MaxJSON)
	}
	return reply.Height, len(unknown) == 0, err
}

// learn looks for types that only occur inside Any.
func (q *asked) learn(ctx context.Context, names []string) bool {
	learned := false
	for _, name := range names {
		if q.route.Catalog.Types.Knows(name) {
			learned = true // somebody else was faster
			continue
		}
		files, err := q.chain.Describe(ctx, name)
		if err != nil || len(files) == 0 {
			continue
		}
		q.route.Catalog.Types.Learn(files)
		learned = learned || q.route.Catalog.Types.Knows(name)
	}
	return learned
}
