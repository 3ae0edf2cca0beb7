// Package oracleclient talks to an oracle over HTTP, as the command line does.
//
// It promises a fresh credential for every request, and that an answer which
// began is read to its end: a dropped line is taken up again where it broke,
// and the message is never sent twice.
package oracleclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
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
type Client struct {
	cfg Config
	aud did.DID
}

// maxReply bounds what is read of an answer that is no stream.
const maxReply = 16 << 20

// tokenTTL is how long a credential is good for: one request.
const tokenTTL = 5 * time.Minute

// New asks the server for its DID and makes a client.
func New(ctx context.Context, cfg Config) (*Client, error) {
	cfg.Server = strings.TrimRight(cfg.Server, "/")
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultClient
	}
	c := &Client{cfg: cfg}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Server+"/.well-known/did.json", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	resp, err := cfg.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach the server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	var doc struct{ ID string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&doc); err != nil ||
		resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server does not say its DID (status %d)", resp.StatusCode)
	}
	if c.aud, err = did.Parse(doc.ID); err != nil {
		return nil, fmt.Errorf("the server's DID: %w", err)
	}
	return c, nil
}

// open sends a request and returns a good response.
func (c *Client) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	token, err := ucan.Issue(c.cfg.Signer, ucan.Statement{
		Audience: c.aud, Capabilities: []ucan.Capability{ucan.NewCapability("*", "ixo:oracle", ipld.Node{})},
		Expires: time.Now().Add(tokenTTL), Nonce: rand.Text(),
	})
	if err != nil {
		return nil, fmt.Errorf("make credential: %w", err)
	}
	var in io.Reader = http.NoBody
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.cfg.Server+path, in)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token.Encode())
	req.Header.Set("X-Auth-Type", "ucan")
	resp, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach the server: %w", err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	var e struct{ Message any }
	_ = json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(&e) // without a message the status must do
	return nil, &StatusError{Status: resp.StatusCode, Message: fmt.Sprint(e.Message)}
}

// StatusError is a refusal of the server.
type StatusError struct {
	Status  int
	Message string
}

// Error is the server's text.
func (e *StatusError) Error() string { return fmt.Sprintf("%s (status %d)", e.Message, e.Status) }

// Do sends a request as the user and reads the answer; body and into may be nil.
func (c *Client) Do(ctx context.Context, method, path string, body, into any) error {
	resp, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
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
	resp, err := c.open(ctx, http.MethodPost, "/messages/"+escape(session),
		map[string]any{"message": text, "stream": true, "timezone": timezone})
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
		resp, err := c.open(ctx, http.MethodGet, "/runs/"+escape(run)+"?after="+strconv.FormatInt(after, 10), nil)
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
