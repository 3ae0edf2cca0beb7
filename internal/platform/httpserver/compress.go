package httpserver

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// minCompress is the size below which compression costs more than it saves.
const minCompress = 1400

// gzipBlock is how much is compressed at a time. The compressor keeps no state
// between blocks, so that ten thousand slow readers of compressed answers do
// not cost a window each; for JSON it loses a few per cent of size.
const gzipBlock = 16 << 10

// gzipState is the body of one compressible response. Bytes are held back
// until it is clear whether there are enough of them, and then in blocks.
type gzipState struct {
	held    []byte
	gz      *gzip.Writer
	decided bool // the header went out
}

// gzipPool keeps writers.
type gzipPool struct{ pool sync.Pool }

func (p *gzipPool) get(w io.Writer) *gzip.Writer {
	if gz, ok := p.pool.Get().(*gzip.Writer); ok {
		gz.Reset(w)
		return gz
	}
	gz, _ := gzip.NewWriterLevel(w, gzip.StatelessCompression)
	return gz
}

func (p *gzipPool) put(gz *gzip.Writer) { p.pool.Put(gz) }

// compresses decides whether the response may be compressed and arms the
// state. A strong ETag names these very bytes, so such responses are left
// alone; so are ranges, streams and what is encoded already.
func (w *response) compresses(status int, h http.Header) bool {
	if w.stream || w.head || status == http.StatusNoContent || status == http.StatusNotModified ||
		status == http.StatusPartialContent || status < 200 || h["Content-Encoding"] != nil || h["Content-Range"] != nil {
		return false
	}
	if !compressible(h.Get("Content-Type")) || w.x.mounted != nil && w.x.mounted.route.Stream {
		return false
	}
	if tag := h.Get("Etag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return false
	}
	if v := h["Cache-Control"]; len(v) > 0 && strings.Contains(v[0], "no-transform") {
		return false
	}
	addVaryEncoding(h)
	if !w.x.gzip {
		return false
	}
	if v := h["Content-Length"]; len(v) == 1 {
		if n, err := strconv.Atoi(v[0]); err == nil && n < minCompress {
			return false
		}
	}
	w.zip = &gzipState{}
	return true
}

// varyEncoding is the whole header of most answers; appending to it copies it.
var varyEncoding = []string{"Accept-Encoding"}

func addVaryEncoding(h http.Header) {
	switch have := h["Vary"]; {
	case len(have) == 0:
		h["Vary"] = varyEncoding
	case !slices.Contains(have, varyEncoding[0]):
		h["Vary"] = append(slices.Clip(have), varyEncoding[0])
	}
}

func compressible(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.TrimSpace(media)
	switch media {
	case "text/event-stream":
		return false
	case "application/json", "application/javascript", "application/xml", "application/manifest+json", "image/svg+xml", "application/wasm":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml")
}

// AcceptsEncoding reads Accept-Encoding; q=0 refuses, and a name counts more
// than the star.
func AcceptsEncoding(h http.Header, encoding string) bool {
	others := false
	for _, line := range h["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
			if name != encoding && name != "*" {
				continue
			}
			q, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
			v, err := strconv.ParseFloat(q, 32)
			accepted := !ok || err != nil || v > 0
			if name == encoding {
				return accepted
			}
			others = accepted
		}
	}
	return others
}

func (z *gzipState) write(w *response, p []byte) (int, error) {
	switch {
	case !z.decided && len(z.held)+len(p) < minCompress && w.w.Header()["Content-Length"] == nil:
		z.held = append(z.held, p...)
		return len(p), nil
	case !z.decided:
		if err := z.decide(w, true); err != nil {
			return 0, err
		}
	}
	switch {
	case z.gz == nil:
		return w.send(p)
	case len(z.held) == 0 && len(p) >= gzipBlock:
		return z.gz.Write(p)
	}
	z.held = append(z.held, p...)
	if len(z.held) < gzipBlock {
		return len(p), nil
	}
	if err := z.compress(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// compress passes on what is held back.
func (z *gzipState) compress() error {
	if len(z.held) == 0 {
		return nil
	}
	_, err := z.gz.Write(z.held)
	z.held = z.held[:0]
	return err
}

// decide sends the header and, when the answer is not to be compressed, what
// was held back.
func (z *gzipState) decide(w *response, compress bool) error {
	z.decided = true
	h := w.w.Header()
	if compress {
		h.Del("Content-Length")
		h.Del("Accept-Ranges")
		h.Set("Content-Encoding", "gzip")
		z.gz = w.x.server.gzip.get(sender{w})
		w.w.WriteHeader(w.status)
		return nil
	}
	w.w.WriteHeader(w.status)
	if len(z.held) == 0 {
		return nil
	}
	_, err := w.send(z.held)
	z.held = nil
	return err
}

// flush is for handlers that want their bytes out now.
func (z *gzipState) flush(w *response) error {
	if !z.decided {
		if err := z.decide(w, len(z.held) >= minCompress); err != nil {
			return err
		}
	}
	if z.gz == nil {
		return nil
	}
	if err := z.compress(); err != nil {
		return err
	}
	return z.gz.Flush()
}

func (z *gzipState) close(w *response) {
	if !z.decided {
		if w.w.Header()["Content-Length"] == nil {
			w.w.Header().Set("Content-Length", strconv.Itoa(len(z.held)))
		}
		_ = z.decide(w, false) // the client is gone when this fails
	}
	if z.gz != nil && z.compress() == nil {
		_ = z.gz.Close()
	}
	z.release(w)
}

func (z *gzipState) release(w *response) {
	if z.gz != nil {
		z.gz.Reset(io.Discard)
		w.x.server.gzip.put(z.gz)
		z.gz = nil
	}
}

// sender is the connection side of a response, below compression.
type sender struct{ w *response }

func (s sender) Write(p []byte) (int, error) { return s.w.send(p) }
