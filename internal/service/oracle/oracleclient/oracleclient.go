// Package oracleclient talks to an oracle over HTTP, as the command line does.
//
// It promises a fresh credential for every request, and that an answer which
// began is read to its end: a dropped line is taken up again where it broke,
// and the message is never sent twice.
package oracleclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/apiclient"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Config says which oracle, and as whom.
type Config struct {
	Server string
	Signer did.Signer
	HTTP   *http.Client // nil is the default client
}

// Client is one user at one oracle.
type Client struct{ api *apiclient.Client }

// New asks the server for its DID and makes a client.
func New(ctx context.Context, cfg Config) (*Client, error) {
	api, err := apiclient.New(apiclient.Config{Server: cfg.Server, Signer: cfg.Signer, HTTP: cfg.HTTP})
	if err != nil {
		return nil, err
	}
	if _, err := api.Audience(ctx); err != nil {
		return nil, err
	}
	return &Client{api}, nil
}

// StatusError is a refusal of the server.
type StatusError = apiclient.StatusError

func request(method, path string, body any) apiclient.Request {
	return apiclient.Request{
		Method: method, Path: path, JSON: body, Can: []ucan.Capability{apiclient.All(identity.OracleResource)},
	}
}

// Do sends a request as the user and reads the answer; body and into may be nil.
func (c *Client) Do(ctx context.Context, method, path string, body, into any) error {
	return c.api.Do(ctx, request(method, path, body), into)
}

// CreateSession makes a session and returns its id.
func (c *Client) CreateSession(ctx context.Context) (string, error) {
	var s struct {
		SessionID string `json:"sessionId"`
	}
	err := c.Do(ctx, http.MethodPost, "/sessions", nil, &s)
	return s.SessionID, err
}

// Entry is a message of a transcript.
type Entry struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

// History returns the newest turns of a session.
func (c *Client) History(ctx context.Context, session string) ([]Entry, error) {
	var page struct {
		Messages []Entry `json:"messages"`
	}
	err := c.Do(ctx, http.MethodGet, "/sessions/"+escape(session)+"/messages?limit=10", nil, &page)
	return page.Messages, err
}

// Abort stops what is going on in a session.
func (c *Client) Abort(ctx context.Context, session string) error {
	var ok struct{ Success bool }
	return c.Do(ctx, http.MethodPost, "/messages/abort", map[string]string{"sessionId": session}, &ok)
}

// escape is a session id as a path segment.
func escape(s string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F", "?", "%3F", "#", "%23", " ", "%20").Replace(s)
}

// rejoins is how often a stream that makes no progress is taken up again.
const rejoins = 8

// Ask sends a message and hands each frame of the answer to show. When the line
// drops it goes on where it broke.
func (c *Client) Ask(ctx context.Context, session, text, timezone string, show func(f oracle.Frame)) error {
	//nolint:bodyclose // read closes it
	resp, err := c.api.Send(ctx, request(http.MethodPost, "/messages/"+escape(session),
		map[string]any{"message": text, "stream": true, "timezone": timezone}))
	if err != nil {
		return err
	}
	run, last := resp.Header.Get("X-Run-Id"), int64(0)
	for tries := 0; ; tries++ {
		before := last
		done := read(resp, &last, show)
		if done {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if last > before {
			tries = 0
		}
		if resp, err = c.rejoin(ctx, run, last, tries); err != nil { //nolint:bodyclose // read closes it
			return err
		}
	}
}

// rejoin opens the run again, with patience.
func (c *Client) rejoin(ctx context.Context, run string, after int64, tries int) (*http.Response, error) {
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 4*time.Second) {
		resp, err := c.api.Send(ctx, request(http.MethodGet, "/runs/"+escape(run)+"?after="+strconv.FormatInt(after, 10), nil))
		if err == nil {
			return resp, nil
		}
		refused, ok := errors.AsType[*StatusError](err)
		if ok && refused.Status < 500 || tries >= rejoins || ctx.Err() != nil {
			return nil, fmt.Errorf("the answer broke off: %w", err)
		}
		tries++
		if pace.Sleep(ctx, wait) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// read hands frames on until the stream ends; true after the last frame.
func read(resp *http.Response, last *int64, show func(oracle.Frame)) bool {
	defer func() { _ = resp.Body.Close() }()
	for d := sse.NewDecoder(resp.Body, 0); ; {
		e, err := d.Next()
		if err != nil {
			return false
		}
		seq, err := strconv.ParseInt(e.ID, 10, 64)
		if err != nil || seq <= *last {
			continue
		}
		*last = seq
		f := oracle.Frame{Seq: seq, Event: e.Name, Data: e.Data}
		if f.Event == "" {
			f.Event = oracle.FrameMessage
		}
		show(f)
		if f.Ends() {
			return true
		}
	}
}
