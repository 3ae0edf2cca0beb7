package httpserver

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// FromHTTP is the Handler of an http.Handler that others wrote. What it says
// with http.Error, in plain text, comes back as an error instead, so that the
// surface's table writes it like any other; all other answers pass as they are.
func FromHTTP(h http.Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		f := &foreign{ResponseWriter: w}
		h.ServeHTTP(f, r)
		return f.fault()
	}
}

// foreign holds back an error in plain text.
type foreign struct {
	http.ResponseWriter
	begun  bool
	status int // of an error that is held back
	text   bytes.Buffer
}

// maxForeign bounds how much of somebody's error is repeated.
const maxForeign = 500

// Unwrap lets http.ResponseController reach the connection.
func (f *foreign) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *foreign) WriteHeader(status int) {
	if f.begun {
		return
	}
	if status >= http.StatusBadRequest && strings.HasPrefix(f.Header().Get("Content-Type"), "text/plain") {
		f.begun, f.status = true, status
		return
	}
	f.begun = status >= http.StatusOK || status == http.StatusSwitchingProtocols
	f.ResponseWriter.WriteHeader(status)
}

func (f *foreign) Write(b []byte) (int, error) {
	f.begun = true
	if f.status == 0 {
		return f.ResponseWriter.Write(b)
	}
	f.text.Write(b[:min(len(b), maxForeign-f.text.Len())])
	return len(b), nil
}

func (f *foreign) fault() error {
	if f.status == 0 {
		return nil
	}
	f.Header().Del("Content-Length")
	text := strings.ToValidUTF8(strings.TrimSpace(f.text.String()), "")
	kind := KindOf(f.status)
	if kind == fault.Internal {
		return fault.Wrap(kind, "Internal server error", errors.New(text)) // it is not meant for clients
	}
	return fault.New(kind, text)
}
