package facehttp

import (
	"io"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// maxValues bounds the values of a body: members, elements, objects and lists. An
// empty object is three bytes and becomes a hundred times that when it is read, so
// bytes alone bound nothing. A full request has a few thousand.
const maxValues = 100_000

// ReadBody decodes a request.
func ReadBody(w http.ResponseWriter, r *http.Request, into any) error {
	r.Body = &crowd{under: r.Body, left: maxValues}
	return httpserver.ReadJSON(w, r, into, httpserver.AnyMedia)
}

// crowd counts the values of JSON while it is read, and ends it when they are too
// many. It knows texts from what stands between them, and leaves all else to the
// decoder behind it.
type crowd struct {
	under   io.ReadCloser
	left    int
	text    bool // inside a string
	escaped bool // behind a backslash in one
}

// Read reads on while there is room.
func (c *crowd) Read(p []byte) (int, error) {
	n, err := c.under.Read(p)
	for _, b := range p[:n] {
		switch {
		case c.escaped:
			c.escaped = false
		case c.text:
			c.escaped, c.text = b == '\\', b != '"'
		case b == '"':
			c.text = true
		case b == '{', b == '[', b == ',':
			c.left--
		}
	}
	if c.left < 0 {
		return 0, fault.New(fault.Invalid, "The request has more than 100,000 values.").WithCode("context_length_exceeded")
	}
	return n, err
}

// Close closes the body.
func (c *crowd) Close() error { return c.under.Close() }
