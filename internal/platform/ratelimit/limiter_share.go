package ratelimit

import (
	"context"
	"encoding/binary"
	"errors"
	"time"
)

// Counts is what one node counted since its last message. It is a hint: it
// may be lost or come twice; Merge drops what it has seen.
type Counts struct {
	Node string
	Seq  uint64
	Keys map[Key]uint32
}

// Limits on a message from another node.
const (
	maxNodeName = 255
	maxCounts   = shards * maxDirty
	maxNodes    = 1024
)

// AppendBinary encodes the counts for the bus.
func (c Counts) AppendBinary(b []byte) ([]byte, error) {
	if len(c.Node) > maxNodeName || len(c.Keys) > maxCounts {
		return nil, errors.New("encode counts: too large")
	}
	b = append(b, byte(len(c.Node))) //nolint:gosec // checked above
	b = append(b, c.Node...)
	b = binary.BigEndian.AppendUint64(b, c.Seq)
	for key, n := range c.Keys {
		b = append(b, key[:]...)
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b, nil
}

// ParseCounts decodes what AppendBinary wrote.
func ParseCounts(b []byte) (Counts, error) {
	const record = len(Key{}) + 4
	bad := errors.New("parse counts: malformed")
	if len(b) == 0 || len(b) < 1+int(b[0])+8 {
		return Counts{}, bad
	}
	name := int(b[0])
	c := Counts{Node: string(b[1 : 1+name])}
	b = b[1+name:]
	c.Seq = binary.BigEndian.Uint64(b)
	b = b[8:]
	if len(b)%record != 0 || len(b)/record > maxCounts {
		return Counts{}, bad
	}
	c.Keys = make(map[Key]uint32, len(b)/record)
	for ; len(b) > 0; b = b[record:] {
		key := Key(b)
		if _, twice := c.Keys[key]; twice {
			return Counts{}, bad
		}
		c.Keys[key] = binary.BigEndian.Uint32(b[len(key):])
	}
	return c, nil
}

// PublishCounts sends a node's counts to the others.
type PublishCounts func(context.Context, Counts) error

// Share publishes what this node counted, every interval, until ctx ends. A
// publication that fails is lost: the next one carries what came after it.
// node must differ between nodes and between starts of one node.
func (l *Limiter) Share(ctx context.Context, node string, interval time.Duration, publish PublishCounts) {
	if l == nil {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for seq := uint64(1); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if keys := l.takeFresh(); len(keys) > 0 {
			_ = publish(ctx, Counts{Node: node, Seq: seq, Keys: keys}) // a hint
			seq++
		}
	}
}

// takeFresh returns what was counted here since the last call.
func (l *Limiter) takeFresh() map[Key]uint32 {
	var keys map[Key]uint32
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for _, at := range s.dirty {
			// An entry may have been given to another key since; then what it
			// held is forgotten anyway.
			if e := &s.entries[at]; e.fresh > 0 {
				if keys == nil {
					keys = map[Key]uint32{}
				}
				keys[e.key] = e.fresh
				e.fresh = 0
			}
		}
		s.dirty = s.dirty[:0]
		s.mu.Unlock()
	}
	return keys
}

// Merge adds another node's counts to ours. A message that came before, or
// was overtaken by a later one, is dropped.
func (l *Limiter) Merge(c Counts) {
	if l == nil {
		return
	}
	l.mergeMu.Lock()
	stale := c.Seq <= l.lastSeq[c.Node]
	if !stale {
		if len(l.lastSeq) >= maxNodes {
			clear(l.lastSeq) // nodes come and go; doubles are rare
		}
		l.lastSeq[c.Node] = c.Seq
	}
	l.mergeMu.Unlock()
	if stale {
		return
	}
	slot := l.cfg.Now().UnixNano() / int64(slotTime)
	for key, n := range c.Keys {
		s := l.shard(key)
		s.mu.Lock()
		e, _ := s.entry(key, slot)
		// What is far beyond the limit changes nothing; it must not overflow.
		e.add(min(n, uint32(l.limit)+1)) //nolint:gosec // limits are small
		s.mu.Unlock()
	}
}
