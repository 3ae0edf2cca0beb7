package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
)

// Bounds of what a server may say while it is used in a turn. Each request of its own is a
// goroutine, a connection and a request of ours, which go to wherever it leads: a few
// megabytes of them were all connections of a node. Each message takes a tenth of a
// millisecond, whatever is in it.
const (
	maxAsks = 256
	maxSaid = 10_000
	// maxAsk bounds a message that is looked into: whatever is longer counts as a request.
	maxAsk = 64 << 10
)

var errAsks = errors.New("the server says too much while it is used")

// heard counts the messages of a server, and those of them that we have to answer.
type heard struct{ said, asked atomic.Int64 }

func (h *heard) tooMuch() bool { return h.asked.Load() > maxAsks || h.said.Load() > maxSaid }

// asks is the body of an answer. It fails at the message that is one too many of all that
// the connection brought.
type asks struct {
	io.ReadCloser
	had *heard
	// line is the beginning of the line under way.
	line []byte
}

// Read reads what does not ask too much.
func (a *asks) Read(p []byte) (int, error) {
	if a.had.tooMuch() {
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
		if a.count(); a.had.tooMuch() {
			return 0, errAsks
		}
		a.line = a.line[:0]
	}
	return n, err
}

// count counts the message on the line, and as a request what is none for certain. Messages stand
// in fields of events called data; names of members are told apart by their capitals, as
// whoever answers them does.
func (a *asks) count() {
	field, text, ok := bytes.Cut(a.line, []byte(":"))
	text = bytes.TrimSpace(text)
	if !ok || string(field) != "data" || len(text) == 0 {
		return
	}
	a.had.said.Add(1)
	var m map[string]json.RawMessage
	if len(a.line) <= maxAsk && json.Unmarshal(text, &m) == nil {
		_, asks := m["method"]
		_, answered := m["id"]
		if !asks || !answered {
			return
		}
	}
	a.had.asked.Add(1)
}
