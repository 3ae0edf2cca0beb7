package httpserver

import (
	"bufio"
	"net"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/listener"
)

// response watches what a handler sends: it counts, keeps the write deadline
// moving and compresses where that helps.
type response struct {
	x           *exchange
	w           http.ResponseWriter
	status      int
	written     int64
	wroteHeader bool
	hijacked    bool
	stream      bool // the handler streams: no compression, deadlines per write
	abort       bool // end by breaking the connection
	head        bool // the request was HEAD
	shared      bool // other requests are served on the connection at the same time (HTTP/2)
	zip         *gzipState
	conn        *listener.Conn
	body        *body        // nil when the request has none
	trouble     *fault.Error // what went wrong on the client's side, if anything
}

func (w *response) begin(x *exchange, under http.ResponseWriter, r *http.Request) {
	w.x, w.w, w.head, w.shared = x, under, r.Method == http.MethodHead, r.ProtoMajor > 1
	w.conn = listener.FromContext(r.Context())
	w.conn.Begin()
	if r.Body != nil && r.Body != http.NoBody {
		w.body = &body{under: r.Body, x: x, last: r.Close, expects: r.Header.Get("Expect") != ""}
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.w }

// Header returns the headers that will be sent.
func (w *response) Header() http.Header { return w.w.Header() }

// strictCSP is for pages that did not say what they may do: nothing.
var strictCSP = []string{"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"}

// plainCSP is for everything that is no page: should a browser show it all the
// same, it may load nothing and be framed by nobody.
var plainCSP = []string{"default-src 'none'; frame-ancestors 'none'"}

var (
	noStore     = []string{"no-store"}
	revalidated = []string{"private, no-cache"}
)

// guard fills in the headers that keep browsers and caches in bounds, where the
// handler did not say something itself.
func (w *response) guard(h http.Header) {
	if h["Content-Security-Policy"] == nil {
		h["Content-Security-Policy"] = plainCSP
		if ct := h["Content-Type"]; len(ct) > 0 && strings.HasPrefix(ct[0], "text/html") {
			h["Content-Security-Policy"] = strictCSP
		}
	}
	// What needs a credential is for its holder alone.
	if m := w.x.mounted; m != nil && m.route.Auth != Public && h["Cache-Control"] == nil {
		h["Cache-Control"] = noStore
		if h["Etag"] != nil {
			h["Cache-Control"] = revalidated
		}
	}
}

// WriteHeader sends the status and headers.
func (w *response) WriteHeader(status int) {
	if w.wroteHeader || w.hijacked {
		return
	}
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		w.w.WriteHeader(status)
		return
	}
	w.status, w.wroteHeader = status, true
	h := w.w.Header()
	w.guard(h)
	w.extend()
	if w.compresses(status, h) {
		return // the header goes out with the first bytes
	}
	w.w.WriteHeader(status)
}

// maxChunk bounds what one write deadline covers, so that a large write on a
// slow line is judged by its progress.
const maxChunk = 64 << 10

// Write sends body bytes.
func (w *response) Write(p []byte) (int, error) {
	if !w.wroteHeader {
		if w.w.Header().Get("Content-Type") == "" && len(p) > 0 {
			w.w.Header().Set("Content-Type", http.DetectContentType(p))
		}
		w.WriteHeader(http.StatusOK)
	}
	if w.zip != nil {
		return w.zip.write(w, p)
	}
	return w.send(p)
}

// send passes bytes to the connection, a chunk per deadline.
func (w *response) send(p []byte) (sent int, err error) {
	for {
		chunk := p[sent:min(len(p), sent+maxChunk)]
		w.extend()
		if err = w.x.stillMay(); err != nil {
			w.trouble, w.abort = fault.From(err), true // also of a handler that does not look
			return sent, err
		}
		n, err := w.conn.Pass(w.w, chunk, w.written == 0 && !w.shared && len(chunk) == len(p))
		sent += n
		w.written += int64(n)
		if err != nil {
			w.trouble = errGone
			return sent, err
		}
		if sent == len(p) {
			return sent, nil
		}
	}
}

// extend gives the client until the stall time-out to take what is sent. On a
// connection that requests share, net/http sees to that: a deadline that is left behind would end
// it for all of them.
func (w *response) extend() {
	if !w.shared {
		w.conn.ExtendWriteDeadline(w.x.server.cfg.StallTimeout)
	}
}

// Flush sends what is buffered.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError sends what is buffered and says whether it went.
func (w *response) FlushError() error {
	if !w.wroteHeader {
		w.WriteHeader(http.StatusOK)
	}
	if w.zip != nil {
		if err := w.zip.flush(w); err != nil {
			return err
		}
	}
	w.extend()
	return http.NewResponseController(w.w).Flush()
}

// Hijack hands the connection to a protocol of its own, such as WebSocket.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.w).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.hijacked, w.wroteHeader, w.status = true, true, http.StatusSwitchingProtocols
	w.conn.Serving()
	return conn, rw, nil
}

// end completes the response after the handler returned.
func (w *response) end() {
	if w.hijacked {
		w.conn.Hijack()
		return
	}
	if w.abort {
		if !w.wroteHeader {
			w.status = StatusClientGone
		}
		if w.zip != nil {
			w.zip.release(w)
		}
		return
	}
	if !w.wroteHeader {
		w.WriteHeader(http.StatusOK)
	}
	if w.zip != nil {
		w.zip.close(w)
	}
	w.extend()
	if w.body != nil {
		w.body.abandon()
	}
}
