package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
)

// Bounds of what a server may want of us while it is used in a turn. Each request of its own
// is a goroutine, a connection and a request of ours, which go to wherever it leads: a
// few megabytes of them were all connections of a node.
const (
	maxAsks = 256
	// maxAsk bounds a message that is looked into: whatever is longer counts.
	maxAsk = 64 << 10
)

var errAsks = errors.New("the server wants too much while it is used")

// asks is the body of an answer. It fails at the message that is one request too many of all
// that the connection brought.
type asks struct {
	io.ReadCloser
	had *atomic.Int64
	// line is the beginning of the line under way.
	line []byte
}

// Read reads what does not ask too much.
func (a *asks) Read(p []byte) (int, error) {
	if a.had.Load() > maxAsks {
		return 0, errAsks
	}
	n, err := a.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		if part = part[:min(len(part), maxAsk+1-len(a.line))]; len(part) > 0 {
			a.line = append(a.line, part...)
		}
		if rest = after; !whole {
			break
		}
		if a.counts() && a.had.Add(1) > maxAsks {
			return 0, errAsks
		}
		a.line = a.line[:0]
	}
	return n, err
}

// counts reports whether the line has a message that is to be answered, or one of which that
// is not certain. Messages stand in fields of events called data; names of members are told
// apart by their capitals, as whoever answers them does.
func (a *asks) counts() bool {
	field, text, ok := bytes.Cut(a.line, []byte(":"))
	text = bytes.TrimSpace(text)
	if !ok || string(field) != "data" || len(text) == 0 {
		return false
	}
	if len(a.line) > maxAsk {
		return true
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil {
		return true
	}
	_, asks := m["method"]
	_, answered := m["id"]
	return asks && answered
}
