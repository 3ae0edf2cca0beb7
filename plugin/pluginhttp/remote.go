package pluginhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Remote is a JSON service at an address that the operator chose. It is not for
// addresses that users name: nothing keeps it from private networks.
type Remote struct {
	base   *url.URL
	header http.Header
	client *http.Client
}

const (
	remoteTimeout = 10 * time.Second
	maxRemote     = 1 << 20
)

// NewRemote checks an address. header goes with every call; no call follows a
// redirect, so that what it carries stays with the service.
func NewRemote(address string, header http.Header) (*Remote, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, fmt.Errorf("it must be an http or https address without a password, a query or a fragment")
	}
	return &Remote{base: u, header: header, client: &http.Client{
		Timeout:       remoteTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Host is the service's host and port.
func (r *Remote) Host() string { return r.base.Host }

// StatusError is an answer other than 2xx.
type StatusError struct {
	Status int
	// RetryAfter is what the service asked for; zero when it did not.
	RetryAfter time.Duration
}

// Error names the status. What the service said is not repeated: it may hold
// what nobody else should read.
func (e *StatusError) Error() string {
	return "the service answered " + strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
}

// Call is one request to a Remote.
type Call struct {
	Method string
	// Path is added to the address, escaped by segment.
	Path   []string
	Query  url.Values
	Header http.Header
	// In becomes the JSON body; nil sends none.
	In any
}

// Do sends a call and decodes the answer into out, unless out is nil. Answers
// other than 2xx are a *StatusError.
func (r *Remote) Do(ctx context.Context, c Call, out any) error {
	var body io.Reader = http.NoBody
	if c.In != nil {
		data, err := json.Marshal(c.In)
		if err != nil {
			return fmt.Errorf("encode call: %w", err)
		}
		body = bytes.NewReader(data)
	}
	u := r.base.JoinPath(escaped(c.Path)...)
	u.RawQuery = c.Query.Encode()
	req, err := http.NewRequestWithContext(ctx, c.Method, u.String(), body)
	if err != nil {
		return fmt.Errorf("make call: %w", err)
	}
	maps.Copy(req.Header, r.header)
	maps.Copy(req.Header, c.Header)
	if c.In != nil {
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("call %s: %w", r.base.Host, withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRemote+1))
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", r.base.Host, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &StatusError{resp.StatusCode, RetryAfter(resp.Header, time.Now())}
	}
	if len(data) > maxRemote {
		return fmt.Errorf("the answer of %s is too large", r.base.Host)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("the answer of %s is not the JSON that was expected", r.base.Host)
	}
	return nil
}

func escaped(path []string) []string {
	out := make([]string, len(path))
	for i, p := range path {
		out[i] = url.PathEscape(p)
	}
	return out
}

// withoutURL drops the address, which a path or a query may make private.
func withoutURL(err error) error {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // the client returns it bare
		return e.Err
	}
	return err
}

// maxRetryAfter bounds what a service may ask for.
const maxRetryAfter = time.Hour

// RetryAfter is the pause that an answer asks for, in seconds or by a date: zero when it
// asks for none, and an hour at most.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
