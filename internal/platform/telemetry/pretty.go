package telemetry

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pretty writes one line per record for people: time, level, message, then
// key=value. It redacts by itself, once, while it writes.
type pretty struct {
	mu     *sync.Mutex
	w      io.Writer
	level  slog.Level
	colour bool
	prefix string // open groups: "http.request."
	attrs  string // rendered attributes of WithAttrs
}

func newPretty(w io.Writer, level slog.Level, colour bool) *pretty {
	return &pretty{mu: new(sync.Mutex), w: w, level: level, colour: colour}
}

const (
	dim    = "\x1b[2m"
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	plain  = "\x1b[0m"
)

func (h *pretty) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *pretty) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if !r.Time.IsZero() {
		h.paint(&b, dim, r.Time.Format("15:04:05.000"))
		b.WriteByte(' ')
	}
	switch {
	case r.Level >= slog.LevelError:
		h.paint(&b, red, "ERR")
	case r.Level >= slog.LevelWarn:
		h.paint(&b, yellow, "WRN")
	case r.Level >= slog.LevelInfo:
		h.paint(&b, cyan, "INF")
	default:
		h.paint(&b, dim, "DBG")
	}
	b.WriteByte(' ')
	shown := h.request(&b, r)
	if !shown {
		h.paint(&b, bold, oneLine(Redact(r.Message)))
	}
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != eventKey && (!shown || !inRequest(a.Key)) {
			h.write(&b, h.prefix, redactAttr(a))
		}
		return true
	})
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, b.String())
	return err
}

// eventKey names the attribute by which alerts know a line; people have its sentence.
const eventKey = "event"

// inRequest reports whether the request line shows the attribute already.
func inRequest(key string) bool {
	switch key {
	case "method", "path", "route", "status", "took":
		return true
	}
	return false
}

// request writes the access log's record as people read it: GET /path 200 1ms.
// It reports false, and writes nothing, when the record is another one.
func (h *pretty) request(b *strings.Builder, r slog.Record) bool {
	if r.Message != "request" {
		return false
	}
	var method, path string
	var status int64
	var took time.Duration
	r.Attrs(func(a slog.Attr) bool {
		switch v := a.Value; {
		case a.Key == "method" && v.Kind() == slog.KindString:
			method = v.String()
		case a.Key == "path" && v.Kind() == slog.KindString:
			path = v.String()
		case a.Key == "status" && v.Kind() == slog.KindInt64:
			status = v.Int64()
		case a.Key == "took" && v.Kind() == slog.KindDuration:
			took = v.Duration()
		}
		return true
	})
	if method == "" || path == "" || status == 0 {
		return false
	}
	h.paint(b, bold, oneLine(Redact(method))+" "+oneLine(Redact(path)))
	colour := green
	switch {
	case status >= 500:
		colour = red
	case status >= 400:
		colour = yellow
	}
	b.WriteByte(' ')
	h.paint(b, colour, strconv.FormatInt(status, 10))
	b.WriteByte(' ')
	h.paint(b, dim, took.Round(10*time.Microsecond).String())
	return true
}

func (h *pretty) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		h.write(&b, h.prefix, redactAttr(a))
	}
	c.attrs = b.String()
	return &c
}

func (h *pretty) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.prefix += name + "."
	return &c
}

func (h *pretty) write(b *strings.Builder, prefix string, a slog.Attr) {
	if a.Equal(slog.Attr{}) {
		return
	}
	if a.Value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range a.Value.Group() {
			h.write(b, prefix, inner)
		}
		return
	}
	b.WriteByte(' ')
	h.paint(b, dim, prefix+a.Key+"=")
	switch a.Value.Kind() {
	case slog.KindDuration:
		b.WriteString(a.Value.Duration().Round(time.Microsecond).String())
	case slog.KindTime:
		b.WriteString(a.Value.Time().Format(time.RFC3339Nano))
	default:
		b.WriteString(quoted(a.Value.String()))
	}
}

func (h *pretty) paint(b *strings.Builder, colour, text string) {
	if !h.colour {
		b.WriteString(text)
		return
	}
	b.WriteString(colour)
	b.WriteString(text)
	b.WriteString(plain)
}

// quoted is oneLine that also quotes spaces, so that key=value stays readable.
func quoted(s string) string {
	if strings.ContainsAny(s, " =") {
		return strconv.Quote(s)
	}
	return oneLine(s)
}

// oneLine quotes what would break the line or fool a terminal.
func oneLine(s string) string {
	if s == "" {
		return `""`
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == '"' || r == 0x9b || r == 0x85 {
			return strconv.Quote(s)
		}
	}
	return s
}
