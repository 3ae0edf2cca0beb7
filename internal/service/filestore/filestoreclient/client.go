// Package filestoreclient speaks to a file store over HTTP, as the command line
// does.
//
// It promises a fresh token for every request, large files by resumable upload,
// and that what it stored or fetched has the CID that the store says: anything
// else is an error, not a file.
package filestoreclient

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/apiclient"
	"github.com/castalia-org/castalia/internal/protocol/did"
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
	// Waiting, when set, is told before a request is held back that came too soon.
	Waiting func(time.Duration)
}

// Client is a caller of one store. It is safe for concurrent use.
type Client struct {
	cfg  Config
	api  *apiclient.Client
	caps []ucan.Capability
}

// New returns a client. It asks nothing yet.
func New(cfg Config) (*Client, error) {
	api, err := apiclient.New(apiclient.Config(cfg))
	if err != nil {
		return nil, err
	}
	cfg.Server = strings.TrimRight(cfg.Server, "/")
	c := &Client{
		cfg: cfg, api: api, caps: []ucan.Capability{apiclient.All(identity.FileResource(string(cfg.Signer.DID()), "/"))},
	}
	if cfg.Proof != nil {
		c.caps = cfg.Proof.Leaf.Capabilities
	}
	return c, nil
}

// Token makes a token of the caller for the store.
func (c *Client) Token(ctx context.Context, ttl time.Duration) (string, error) {
	return c.api.Token(ctx, ttl, c.caps...)
}

// StatusError is an answer that is no success.
type StatusError = apiclient.StatusError

// IsStatus reports whether err is an answer with the status.
func IsStatus(err error, status int) bool { return apiclient.IsStatus(err, status) }

// request is one call.
type request struct {
	method, path string
	query        url.Values
	json         any
	body         io.Reader
	length       int64 // -1: unknown
	header       map[string]string
}

// send is the request as the server gets it.
func (c *Client) send(q request) apiclient.Request {
	target := q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	return apiclient.Request{
		Method: q.method, Path: target, JSON: q.json, Body: q.body, Length: q.length, Header: q.header, Can: c.caps,
	}
}

// do sends a request with a fresh token. The caller closes the body.
func (c *Client) do(ctx context.Context, q request) (*http.Response, error) {
	return c.api.Send(ctx, c.send(q))
}

// call sends a request and decodes the JSON answer into out, which may be nil.
func (c *Client) call(ctx context.Context, q request, out any) error {
	return c.api.Do(ctx, c.send(q), out)
}

func (c *Client) post(ctx context.Context, path string, body, out any) error {
	return c.call(ctx, request{method: http.MethodPost, path: path, json: body}, out)
}
