package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// recentAge and recentBytes bound what is remembered of the log.
	recentAge   = time.Hour
	recentBytes = 4 << 20
)

// Recent remembers the lines of a log for an hour, in their redacted form as JSON, as
// long as there is room. It is an io.Writer that takes a whole line at a time.
type Recent struct {
	mu    sync.Mutex
	ring  []byte
	next  int  // where the next byte goes, once the ring is full
	whole bool // the ring is as long as it gets
}

// Write remembers a line.
func (c *Recent) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := line
	if !c.whole {
		n := min(len(rest), recentBytes-len(c.ring))
		c.ring, rest = append(c.ring, rest[:n]...), rest[n:]
		c.whole = len(c.ring) == recentBytes
	}
	for len(rest) > 0 {
		n := copy(c.ring[c.next:], rest)
		c.next, rest = (c.next+n)%recentBytes, rest[n:]
	}
	return len(line), nil
}

// text is what is remembered, in order, from the first line that is whole.
func (c *Recent) text() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.whole {
		return bytes.Clone(c.ring)
	}
	all := append(bytes.Clone(c.ring[c.next:]), c.ring[:c.next]...)
	_, rest, _ := bytes.Cut(all, []byte("\n"))
	return rest
}

// Wanted chooses lines.
type Wanted struct {
	Level    slog.Level // the least
	Contains string     // a part of the line, in any case; empty is every line
	Limit    int
}

// Lines returns the newest lines that are wanted, oldest first, and whether earlier
// ones were left out.
func (c *Recent) Lines(w Wanted, now time.Time) (lines []json.RawMessage, more bool) {
	text, part := c.text(), strings.ToLower(w.Contains)
	oldest := now.Add(-recentAge)
	for len(text) > 0 {
		text = bytes.TrimSuffix(text, []byte("\n"))
		line := text[bytes.LastIndexByte(text, '\n')+1:]
		text = text[:len(text)-len(line)]
		var head struct {
			Time  time.Time  `json:"time"`
			Level slog.Level `json:"level"`
		}
		if json.Unmarshal(line, &head) != nil || head.Level < w.Level ||
			!strings.Contains(strings.ToLower(string(line)), part) {
			continue
		}
		if head.Time.Before(oldest) {
			break
		}
		if len(lines) == w.Limit {
			more = true
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return lines, more
}

// both sends records to two handlers of one level.
type both struct{ first, second slog.Handler }

func (b both) Enabled(ctx context.Context, level slog.Level) bool { return b.first.Enabled(ctx, level) }

func (b both) Handle(ctx context.Context, r slog.Record) error {
	return errors.Join(b.first.Handle(ctx, r.Clone()), b.second.Handle(ctx, r))
}

func (b both) WithAttrs(attrs []slog.Attr) slog.Handler {
	return both{b.first.WithAttrs(attrs), b.second.WithAttrs(attrs)}
}

func (b both) WithGroup(name string) slog.Handler {
	return both{b.first.WithGroup(name), b.second.WithGroup(name)}
}
