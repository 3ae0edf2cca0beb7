// Package filestoreclient speaks to a file store over HTTP, as the command line
// does.
//
// It promises a fresh token for every request, large files by resumable upload,
// and that what it stored or fetched has the CID that the store says: anything
// else is an error, not a file.
package filestoreclient

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
)

// File is a file as the store describes it.
type File = filestorehttp.FileMetadata

// Config says where the store is and who asks.
type Config struct {
	Server string // such as http://127.0.0.1:3000
	Signer did.Signer
	// Proof, when set, is a delegation to the signer: its namespace and abilities
	// are used instead of the signer's own.
	Proof *ucan.Token
	HTTP  *http.Client // nil is a client without a total time limit
}

// Client is a caller of one store. It is safe for concurrent use.
type Client struct {
	cfg  Config
	mu   sync.Mutex
	aud  did.DID
	caps []ucan.Capability
}

// New returns a client. It asks nothing yet.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("server address %q: want http(s)://host[:port]", cfg.Server)
	}
	cfg.Server = strings.TrimSuffix(cfg.Server, "/")
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{}
	}
	c := &Client{
		cfg:  cfg,
		caps: []ucan.Capability{ucan.NewCapability("*", identity.FileResource(string(cfg.Signer.DID()), "/"), ipld.Node{})},
	}
	if cfg.Proof != nil {
		c.caps = cfg.Proof.Leaf.Capabilities
	}
	return c, nil
}

// Token makes a token of the caller for the store.
func (c *Client) Token(ctx context.Context, ttl time.Duration) (string, error) {
	aud, err := c.audience(ctx)
	if err != nil {
		return "", err
	}
	s := ucan.Statement{Audience: aud, Capabilities: c.caps, Expires: time.Now().Add(ttl), Nonce: rand.Text()}
	if c.cfg.Proof != nil {
		s.Proofs = []*ucan.Token{c.cfg.Proof}
	}
	t, err := ucan.Issue(c.cfg.Signer, s)
	if err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return t.Encode(), nil
}

// audience asks the server for its DID, once.
func (c *Client) audience(ctx context.Context) (did.DID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aud != "" {
		return c.aud, nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.cfg.Server+"/.well-known/did.json", http.NoBody)
	if err != nil {
		return "", err
	}
	res, err := c.cfg.HTTP.Do(r)
	if err != nil {
		return "", fmt.Errorf("reach the server: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	var doc struct{ ID string }
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&doc); err != nil ||
		res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server does not say its DID (status %d)", res.StatusCode)
	}
	d, err := did.Parse(doc.ID)
	if err != nil {
		return "", fmt.Errorf("the server's DID: %w", err)
	}
	c.aud = d
	return d, nil
}

// StatusError is an answer that is no success.
type StatusError struct {
	Status  int
	Message string
	Code    string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s (status %d)", strings.TrimSuffix(e.Message, "."), e.Status)
}

// IsStatus reports whether err is an answer with the status.
func IsStatus(err error, status int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Status == status
}

// request is one call.
type request struct {
	method, path string
	query        url.Values
	body         io.Reader
	length       int64 // -1: unknown
	header       map[string]string
}

// do sends a request with a fresh token. The caller closes the body.
func (c *Client) do(ctx context.Context, q request) (*http.Response, error) {
	target := q.path
	if !strings.HasPrefix(target, "http") {
		target = c.cfg.Server + target
	}
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	body := q.body
	if body == nil {
		body = http.NoBody
	}
	r, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, err
	}
	if q.body != nil {
		r.ContentLength = q.length
	}
	token, err := c.Token(ctx, 5*time.Minute)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Auth-Type", "ucan")
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	res, err := c.cfg.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("reach the server: %w", err)
	}
	if res.StatusCode < 400 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	e := &StatusError{Status: res.StatusCode, Message: http.StatusText(res.StatusCode)}
	var said struct{ Message, Error string }
	if json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&said) == nil && said.Message != "" {
		e.Message, e.Code = said.Message, said.Error
	}
	return nil, e
}

// call sends a request and decodes the JSON answer into out, which may be nil.
func (c *Client) call(ctx context.Context, q request, out any) error {
	res, err := c.do(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

func (c *Client) post(ctx context.Context, path string, body, out any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.call(ctx, request{
		method: http.MethodPost, path: path, body: strings.NewReader(string(b)), length: int64(len(b)),
		header: map[string]string{"Content-Type": "application/json"},
	}, out)
}
