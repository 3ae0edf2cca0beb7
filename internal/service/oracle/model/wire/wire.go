// Package wire is how the oracle talks to model endpoints that stream over HTTP.
//
// It promises what the usual clients leave out: a request is tried again only
// while nothing of its answer has been seen, with jitter and within Retry-After;
// a stream that does not begin, or falls silent, is cut after a time that
// keep-alive comments do not extend; a stream that ends without saying so, or does
// not end, is an error; the operator's key goes to the configured host alone. Failures come
// back as *model.Error.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
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
	// FirstChunk is how long the first event may take: 60s.
	FirstChunk time.Duration
	// Idle is how long a stream may be silent: 45s.
	Idle time.Duration
	// Backoff is the pause before the first retry: 500ms.
	Backoff time.Duration
	// Transport is for tests; nil means a transport of its own.
	Transport http.RoundTripper
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
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&cfg.FirstChunk, time.Minute)
	set(&cfg.Idle, 45*time.Second)
	set(&cfg.Backoff, 500*time.Millisecond)
	if cfg.Retries == 0 {
		cfg.Retries = 2
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	return &Client{cfg: cfg, http: &http.Client{
		Transport: cfg.Transport,
		// A redirect would carry the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
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
		seen, after, err := c.once(ctx, url, header, body, fresh())
		if err == nil {
			return nil
		}
		failure := c.classify(ctx, err)
		if seen || try >= c.cfg.Retries || !failure.Kind.Retryable() || ctx.Err() != nil {
			return failure
		}
		pause := c.cfg.Backoff << try
		pause += time.Duration(rand.Int64N(int64(pause))) //nolint:gosec // jitter, not a secret
		if after > 0 {
			pause = min(after, maxRetryAfter)
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

// once makes one try. seen says that something of the answer was handed on.
func (c *Client) once(ctx context.Context, url string, header http.Header, body []byte, h Handler) (seen bool, after time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(c.cfg.FirstChunk, func() { cancel(errSilent) })
	defer watchdog.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return false, 0, &model.Error{Kind: model.Unknown, Provider: c.cfg.Provider, Cause: err}
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return false, 0, cause(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return false, retryAfter(resp.Header), c.refused(resp, data)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch media {
	case "application/json":
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxWholeBody))
		if err != nil {
			return false, 0, cause(ctx, err)
		}
		return true, 0, h.Whole(data)
	case "text/html":
		return false, 0, &model.Error{Kind: model.Server, Provider: c.cfg.Provider, Status: resp.StatusCode, Detail: "the endpoint sent a web page"}
	}
	events, left := sse.NewDecoder(resp.Body, maxEvent), maxStream
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return seen, 0, h.End()
		}
		if err != nil {
			return seen, 0, cause(ctx, err)
		}
		if left -= len(e.Data); left < 0 {
			return seen, 0, &model.Error{Kind: model.Server, Provider: c.cfg.Provider, Detail: "the answer does not end"}
		}
		watchdog.Reset(c.cfg.Idle)
		seen = true
		done, err := h.Event(e)
		if done || err != nil {
			return seen, 0, err
		}
	}
}

// Truncated is the failure of a stream that ended too early.
func (c *Client) Truncated() *model.Error {
	return &model.Error{Kind: model.Network, Provider: c.cfg.Provider, Detail: "the stream ended early"}
}

// cause prefers why a context ended over what that broke.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// refused classifies an answer that is not 200.
func (c *Client) refused(resp *http.Response, body []byte) *model.Error {
	detail, code := errorText(body)
	e := &model.Error{Provider: c.cfg.Provider, Status: resp.StatusCode, Detail: detail}
	e.Kind = kindOf(resp.StatusCode, code, detail)
	return e
}

// Failure classifies an error that an endpoint reports inside its stream.
func (c *Client) Failure(status int, code, detail string) *model.Error {
	return &model.Error{Kind: kindOf(status, code, detail), Provider: c.cfg.Provider, Status: status, Detail: detail}
}

func kindOf(status int, code, detail string) model.Kind {
	all := strings.ToLower(code + " " + detail)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(all, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("context_length", "exceed_context", "prompt is too long", "maximum context", "request_too_large") || status == http.StatusRequestEntityTooLarge:
		return model.TooLong
	case has("insufficient_quota", "billing", "credit balance") || status == http.StatusPaymentRequired:
		return model.Billing
	case has("overloaded") || status == 529:
		return model.Server
	case status == http.StatusTooManyRequests || has("rate_limit"):
		return model.RateLimit
	case status == http.StatusUnauthorized || status == http.StatusForbidden || has("authentication", "permission_error", "invalid_api_key"):
		return model.Auth
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout || has("timeout_error"):
		return model.Timeout
	case status >= 500 || has("server_error", "api_error"):
		return model.Server
	}
	return model.Unknown
}

// errorText finds the message and the code in an error body. Pages of proxies
// are of no use to anybody.
func errorText(body []byte) (detail, code string) {
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		if text := strings.TrimSpace(string(body)); text != "" && !strings.HasPrefix(text, "<") {
			return text[:min(len(text), 500)], ""
		}
		return "", ""
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(e.Error, &inner) == nil && inner.Message != "" {
		return inner.Message, fmt.Sprint(inner.Type, " ", inner.Code)
	}
	var text string
	if json.Unmarshal(e.Error, &text) == nil && text != "" {
		return text, ""
	}
	return e.Message + e.Detail, ""
}

// classify turns any error into a *model.Error.
func (c *Client) classify(ctx context.Context, err error) *model.Error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	e := &model.Error{Kind: model.Network, Provider: c.cfg.Provider, Cause: err}
	switch {
	case errors.Is(err, errSilent), errors.Is(err, context.DeadlineExceeded):
		e.Kind = model.Timeout
	case ctx.Err() != nil:
		e.Kind = model.Unknown
	case errors.Is(err, sse.ErrTooLarge):
		e.Kind = model.Server
	}
	return e
}
