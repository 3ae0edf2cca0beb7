// Package wire is how the oracle talks to model endpoints that stream over HTTP.
//
// It promises what the usual clients leave out: a request is tried again only
// while nothing of its answer has been seen, with jitter and not before its
// endpoint wants it; a stream that does not begin is cut after a time that
// comments extend up to a limit, and one that falls silent after a time that they
// do not extend; a stream that ends without saying so, or does
// not end, is an error; the operator's key goes to the configured host alone. Failures come
// back as *model.Error.
//
// Decision: ADR 0041.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
)

// Config tunes a Client. The zero value is what production uses.
type Config struct {
	Provider string
	// Retries is how often a request is repeated: 2.
	Retries int
	// Connect is how long a connection may take: 30s.
	Connect time.Duration
	// FirstChunk is how long the first event may take: 300s. Reasoners think for
	// minutes. Signs of life extend it, up to Queue.
	FirstChunk time.Duration
	// Queue is how long the first event may take while the endpoint sends comments:
	// 10m.
	Queue time.Duration
	// Idle is how long a stream may be silent: 120s.
	Idle time.Duration
	// Backoff is the pause before the first retry: 500ms.
	Backoff time.Duration
	// Transport is for tests; nil means a transport of its own.
	Transport http.RoundTripper
	// Log hears what operators should know; nil means nobody.
	Log *slog.Logger
}

// The bounds of what is read from an endpoint. A stream says a word with some
// hundred bytes.
const (
	maxEvent      = 4 << 20
	maxStream     = 64 << 20
	maxErrorBody  = 64 << 10
	maxWholeBody  = 16 << 20
	maxRetryAfter = 20 * time.Second
)

// Client sends streaming requests.
type Client struct {
	cfg  Config
	http *http.Client
}

// New makes a client.
func New(cfg Config) *Client {
	cfg.Connect = cmp.Or(cfg.Connect, 30*time.Second)
	cfg.FirstChunk = cmp.Or(cfg.FirstChunk, 300*time.Second)
	cfg.Queue = cmp.Or(cfg.Queue, max(10*time.Minute, cfg.FirstChunk))
	cfg.Idle = cmp.Or(cfg.Idle, 120*time.Second)
	cfg.Backoff = cmp.Or(cfg.Backoff, 500*time.Millisecond)
	cfg.Retries = cmp.Or(cfg.Retries, 2)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Transport == nil {
		cfg.Transport = NewTransport(cfg.Connect)
	}
	return &Client{cfg: cfg, http: &http.Client{
		Transport: cfg.Transport,
		// A redirect would carry the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// NewTransport is the usual one, which gives up connecting in time; zero is 30s.
func NewTransport(connect time.Duration) http.RoundTripper {
	usual, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	connect = cmp.Or(connect, 30*time.Second)
	t := usual.Clone()
	t.DialContext = (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = connect
	return t
}

// Handler reads the events of a stream.
type Handler interface {
	// Event takes one event and reports whether the answer is complete.
	Event(e sse.Event) (done bool, err error)
	// End is called when the stream ends by itself, and fails if that is too early.
	End() error
	// Whole takes the body of an endpoint that answered without streaming.
	Whole(body []byte) error
}

// errSilent is why a watchdog cut a request.
var errSilent = errors.New("the endpoint fell silent")

// Post sends a request and hands the answer to h. fresh is asked for a handler
// before each try, so that a try starts with nothing.
func (c *Client) Post(ctx context.Context, url string, header http.Header, body []byte, fresh func() Handler) error {
	for try := 0; ; try++ {
		seen, asked, err := c.once(ctx, url, header, body, fresh())
		if err == nil {
			return nil
		}
		failure := c.classify(ctx, err)
		if failure.Status != 0 && asked.after > maxRetryAfter && failure.Kind != model.TooLong {
			failure.Kind = model.RateLimit // earlier would be too early, and nobody waits so long
			return failure
		}
		if seen || try >= c.cfg.Retries || !again(failure, asked) || ctx.Err() != nil {
			return failure
		}
		pause := c.cfg.Backoff << try
		pause += time.Duration(rand.Int64N(int64(pause))) //nolint:gosec // jitter, not a secret
		if asked.after > 0 {
			pause = asked.after
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return c.classify(ctx, context.Cause(ctx))
		}
	}
}

// again reports whether a request is worth another try. A model that thought for
// as long as it may would do so again.
func again(failure *model.Error, asked retryAdvice) bool {
	switch {
	case errors.Is(failure, errSilent), asked.verdict == "false":
		return false
	case asked.verdict == "true":
		return true
	}
	return failure.Kind.Retryable()
}

// once makes one try. seen says that something of the answer was handed on.
func (c *Client) once(ctx context.Context, url string, header http.Header, body []byte,
	h Handler,
) (seen bool, asked retryAdvice, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	watchdog := time.AfterFunc(c.cfg.FirstChunk, func() { cancel(errSilent) })
	defer watchdog.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false, asked, &model.Error{Kind: model.Unknown, Provider: c.cfg.Provider, Cause: err}
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return false, asked, cause(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return false, retryAdviceOf(resp.Header, time.Now()), c.refused(resp, data)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch media {
	case "application/json":
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxWholeBody))
		if err != nil {
			return false, asked, cause(ctx, err)
		}
		return true, asked, h.Whole(data)
	case "text/html":
		return false, asked, &model.Error{
			Kind: model.Server, Provider: c.cfg.Provider, Status: resp.StatusCode, Detail: "the endpoint sent a web page",
		}
	}
	alive := reader{resp.Body, func() {
		if left := c.cfg.Queue - time.Since(began); !seen && left > 0 {
			watchdog.Reset(min(left, c.cfg.FirstChunk))
		}
	}}
	events, left := sse.NewDecoder(alive, maxEvent), maxStream
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return seen, asked, h.End()
		}
		if err != nil {
			return seen, asked, cause(ctx, err)
		}
		if left -= len(e.Data); left < 0 {
			return seen, asked, &model.Error{Kind: model.Server, Provider: c.cfg.Provider, Detail: "the answer does not end"}
		}
		watchdog.Reset(c.cfg.Idle)
		seen = true
		done, err := h.Event(e)
		if done || err != nil {
			return seen, asked, err
		}
	}
}

// reader tells of each piece that was read.
type reader struct {
	io.Reader
	read func()
}

// Read reads.
func (r reader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		r.read()
	}
	return n, err
}

// cause prefers why a context ended over what that broke.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// retryAdvice is what an endpoint says about asking again.
type retryAdvice struct {
	after time.Duration
	// verdict is whether it wants to be asked again, if it says so.
	verdict string
}

// retryAdviceOf reads retry headers in all their forms: milliseconds or seconds, with
// fractions, or a date.
func retryAdviceOf(h http.Header, now time.Time) retryAdvice {
	out := retryAdvice{verdict: strings.ToLower(strings.TrimSpace(h.Get("X-Should-Retry")))}
	number := func(name string, unit time.Duration) bool {
		n, err := strconv.ParseFloat(strings.TrimSpace(h.Get(name)), 64)
		if err != nil || !(n >= 0 && n < maxRetryHeader) {
			return false
		}
		out.after = time.Duration(n * float64(unit))
		return true
	}
	if number("Retry-After-Ms", time.Millisecond) || number("Retry-After", time.Second) {
		return out
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		out.after = max(0, at.Sub(now))
	}
	return out
}

// maxRetryHeader is the largest number that is believed.
const maxRetryHeader = 1e9
