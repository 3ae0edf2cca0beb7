// Package sse writes and reads event streams (text/event-stream) as the WHATWG
// standard defines them.
//
// The encoder writes `event`, `id`, `data` in this order and one `data` line for
// each line of the payload, so that both conforming readers and simple ones
// understand it. The decoder is conforming: byte order mark, all three line
// ends, comments, multi-line data, `id` with NUL ignored, `retry`. It refuses
// lines and events over a limit instead of growing. No connection is opened or
// renewed here.
package sse

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// Event is one dispatched event.
type Event struct {
	// Name is the event's type. Empty means "message", for the encoder and from
	// the decoder alike.
	Name string
	// ID is the last event id: the decoder repeats it until the stream sets
	// another, as the standard says. The encoder writes it when it is not empty.
	ID string
	// Data is the payload without its final line end.
	Data []byte
}

// The errors of this package.
var (
	// ErrTooLarge says that a line or an event passed the decoder's limit.
	ErrTooLarge = errors.New("sse: event is larger than allowed")
	// ErrField says that an event name or id cannot be written.
	ErrField = errors.New("sse: name and id must be valid UTF-8 without line ends or NUL")
)

// Append adds the wire form of an event to dst. It fails, without adding
// anything, when the name or the id would break the framing or get lost.
func Append(dst []byte, e Event) ([]byte, error) {
	if !plain(e.Name) || !plain(e.ID) {
		return dst, ErrField
	}
	if e.Name != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, e.Name...)
		dst = append(dst, '\n')
	}
	if e.ID != "" {
		dst = append(dst, "id: "...)
		dst = append(dst, e.ID...)
		dst = append(dst, '\n')
	}
	rest := e.Data
	for {
		dst = append(dst, "data: "...)
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			break
		}
		dst = append(dst, rest[:end]...)
		dst = append(dst, '\n')
		if rest[end] == '\r' && end+1 < len(rest) && rest[end+1] == '\n' {
			end++
		}
		rest = rest[end+1:]
	}
	dst = append(dst, rest...)
	return append(dst, "\n\n"...), nil
}

// AppendComment adds a comment, which readers ignore: a heartbeat. Line ends in
// the text become spaces.
func AppendComment(dst []byte, text string) []byte {
	dst = append(dst, ": "...)
	for i := range len(text) {
		if c := text[i]; c == '\r' || c == '\n' {
			dst = append(dst, ' ')
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, "\n\n"...)
}

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsAny(s, "\r\n\x00")
}
