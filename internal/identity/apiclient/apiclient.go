// Package apiclient sends requests to a Castalia server as somebody with a key: what the
// clients of files, knowledge and the oracle share.
//
// It promises that every request carries a token of its own, made for that server alone, that
// who is told to come again later does, and that a refusal is a *StatusError with the server's
// own words.
package apiclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Config says which server, and as whom.
type Config struct {
	Server string // such as http://127.0.0.1:3000
	Signer did.Signer
	// Proof, when set, is a delegation to the signer that tokens are made under.
	Proof *ucan.Token
	HTTP  *http.Client // nil is a client without a total time limit
	// Waiting, when set, is told before a request is held back that came too soon.
	Waiting func(time.Duration)
}

// Client is somebody at one server. It is safe for concurrent use.
type Client struct {
	cfg Config
	mu  sync.Mutex
	aud did.DID
}

const (
	tokenTTL = 5 * time.Minute
	maxReply = 16 << 20
	// waits is how often a request is held back that came too soon, each time for at most longestWait.
	waits       = 5
	longestWait = 90 * time.Second
)

// New returns a client. It asks nothing yet.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("server address %q: want http(s)://host[:port]", cfg.Server)
	}
	cfg.Server = strings.TrimRight(cfg.Server, "/")
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{}
	}
	return &Client{cfg: cfg}, nil
}

// DID is who asks.
func (c *Client) DID() did.DID { return c.cfg.Signer.DID() }

// Audience is the server's DID. It is asked for once.
func (c *Client) Audience(ctx context.Context) (did.DID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aud != "" {
		return c.aud, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.cfg.Server+"/.well-known/did.json", http.NoBody)
	if err != nil {
		return "", fmt.Errorf("server address: %w", err)
	}
	res, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return "", fmt.Errorf("reach the server: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	var doc struct{ ID string }
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&doc); err != nil ||
		res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server does not say its DID (status %d)", res.StatusCode)
	}
	if c.aud, err = did.Parse(doc.ID); err != nil {
		return "", fmt.Errorf("the server's DID: %w", err)
	}
	return c.aud, nil
}

// Token makes a token for the server with the capabilities.
func (c *Client) Token(ctx context.Context, ttl time.Duration, caps ...ucan.Capability) (string, error) {
	aud, err := c.Audience(ctx)
	if err != nil {
		return "", err
	}
	s := ucan.Statement{Audience: aud, Capabilities: caps, Expires: time.Now().Add(ttl), Nonce: rand.Text()}
	if c.cfg.Proof != nil {
		s.Proofs = []*ucan.Token{c.cfg.Proof}
	}
	t, err := ucan.Issue(c.cfg.Signer, s)
	if err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return t.Encode(), nil
}

// All is the capability to do everything with a resource.
func All(resource string) ucan.Capability { return ucan.NewCapability("*", resource, ipld.Node{}) }

// Request is one call.
type Request struct {
	Method, Path string // Path may also be a whole address of the server
	// JSON, when set, is the body; otherwise Body is, of Length bytes (-1: unknown).
	JSON   any
	Body   io.Reader
	Length int64
	Header map[string]string
	// Can is what the token of this request allows. Without any, the request carries Bearer, if
	// that is set.
	Can    []ucan.Capability
	Bearer string
}

// Send sends a request and returns a good response, whose body the caller closes. What the
// server does not take now (429) is sent again when it says, if the body can be read again.
func (c *Client) Send(ctx context.Context, q Request) (*http.Response, error) {
	if q.JSON != nil {
		data, err := json.Marshal(q.JSON)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		q.Body, q.Length = bytes.NewReader(data), int64(len(data))
	}
	rewind := rewinder(q.Body)
	for tries := 0; ; tries++ {
		res, err := c.once(ctx, q)
		if err != nil || res.StatusCode < http.StatusBadRequest {
			return res, err
		}
		refused := refusal(res)
		wait, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		_ = res.Body.Close()
		hold := time.Duration(max(wait, 1)) * time.Second
		if res.StatusCode != http.StatusTooManyRequests || tries == waits || hold > longestWait || rewind == nil {
			return nil, refused
		}
		if c.cfg.Waiting != nil {
			c.cfg.Waiting(hold)
		}
		if err := pace.Sleep(ctx, hold); err != nil {
			return nil, err
		}
		if err := rewind(); err != nil {
			return nil, fmt.Errorf("send again: %w", err)
		}
	}
}

// rewinder brings a body back to where it stands now; nil where that cannot be done.
func rewinder(body io.Reader) func() error {
	if body == nil {
		return func() error { return nil }
	}
	seeker, ok := body.(io.Seeker)
	if !ok {
		return nil
	}
	at, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	return func() error { _, err := seeker.Seek(at, io.SeekStart); return err }
}

func (c *Client) once(ctx context.Context, q Request) (*http.Response, error) {
	target := q.Path
	if !strings.HasPrefix(target, "http") {
		target = c.cfg.Server + target
	}
	body, length := io.Reader(http.NoBody), int64(0)
	if q.Body != nil {
		body, length = io.NopCloser(q.Body), q.Length // what is closed cannot be sent again
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, target, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.ContentLength = length
	if rewind := rewinder(q.Body); q.Body != nil && rewind != nil {
		// A line that the server closed while nothing was sent yet is taken up by another.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(q.Body), rewind() }
	}
	if err := c.sign(ctx, req, q); err != nil {
		return nil, err
	}
	if q.JSON != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range q.Header {
		req.Header.Set(name, value)
	}
	res, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach the server: %w", err)
	}
	return res, nil
}

func (c *Client) sign(ctx context.Context, req *http.Request, q Request) error {
	token := q.Bearer
	if len(q.Can) > 0 {
		var err error
		if token, err = c.Token(ctx, tokenTTL, q.Can...); err != nil {
			return err
		}
		req.Header.Set("X-Auth-Type", "ucan")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// Do sends a request and decodes the JSON answer into out, which may be nil.
func (c *Client) Do(ctx context.Context, q Request, out any) error {
	res, err := c.Send(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(out); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// StatusError is a refusal of the server.
type StatusError struct {
	Status  int
	Message string
	Code    string // the kind of error, where the server names one
}

// Error is the server's text.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s (status %d)", strings.TrimSuffix(e.Message, "."), e.Status)
}

// IsStatus reports whether err is a refusal with the status.
func IsStatus(err error, status int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Status == status
}

// refusal reads what the server says. Without a message the status must do.
func refusal(res *http.Response) *StatusError {
	e := &StatusError{Status: res.StatusCode, Message: http.StatusText(res.StatusCode)}
	var said struct {
		Message any
		Error   any
	}
	if json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&said) == nil && said.Message != nil {
		e.Message = fmt.Sprint(said.Message)
		e.Code, _ = said.Error.(string)
	}
	return e
}
