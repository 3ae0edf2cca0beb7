// Package knowledgeclient speaks to a server's knowledge over HTTP, as the command
// line does. It promises a fresh token for every request, with no more rights than
// the request needs.
package knowledgeclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
)

// Answer is what the documents say.
type Answer = knowledgehttp.AnswerBody

// Collection is a collection as its owner sees it.
type Collection = knowledgehttp.CollectionEntry

// Document is a document and how far it is.
type Document = knowledgehttp.DocumentEntry

// Config says which server, and as whom.
type Config struct {
	Server string
	Signer did.Signer
	// Operator is the operators' token, for what is theirs; empty where the server
	// takes whoever is on its own machine for one.
	Operator string
	HTTP     *http.Client // nil is the default client
}

// Client is one person at one server.
type Client struct {
	cfg Config
	aud did.DID
}

const (
	tokenTTL = 5 * time.Minute
	maxReply = 16 << 20
)

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

// StatusError is a refusal of the server.
type StatusError struct {
	Status  int
	Message string
}

// Error is the server's text.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s (status %d)", strings.TrimSuffix(e.Message, "."), e.Status)
}

// token is good for one request, and for nothing that the request does not need.
func (c *Client) token(path string) (string, error) {
	resource := identity.FileResource(string(c.cfg.Signer.DID()), "/")
	if strings.HasPrefix(path, "/knowledge/") {
		resource = identity.OracleResource
	}
	token, err := ucan.Issue(c.cfg.Signer, ucan.Statement{
		Audience: c.aud, Capabilities: []ucan.Capability{ucan.NewCapability("*", resource, ipld.Node{})},
		Expires: time.Now().Add(tokenTTL), Nonce: rand.Text(),
	})
	if err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return token.Encode(), nil
}

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	token, kind := c.cfg.Operator, ""
	if !strings.HasPrefix(path, "/operator/") {
		var err error
		if token, err = c.token(path); err != nil {
			return err
		}
		kind = "ucan"
	}
	var in io.Reader = http.NoBody
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.cfg.Server+path, in)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if kind != "" {
		req.Header.Set("X-Auth-Type", kind)
	}
	resp, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("reach the server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusMultipleChoices {
		var e struct{ Message any }
		_ = json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(&e) // without a message the status must do
		return &StatusError{Status: resp.StatusCode, Message: fmt.Sprint(e.Message)}
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// Ask asks the documents that the caller may read.
func (c *Client) Ask(ctx context.Context, question string) (Answer, error) {
	var a Answer
	err := c.call(ctx, http.MethodPost, "/knowledge/search", knowledgehttp.AskBody{Query: question}, &a)
	return a, err
}

// Passages reads a passage and those around it.
func (c *Client) Passages(ctx context.Context, collection, document string, number,
	around int,
) ([]knowledgehttp.PassageEntry, error) {
	var l knowledgehttp.PassageList
	path := fmt.Sprintf("/knowledge/passages/%s/%s/%d?around=%d", url.PathEscape(collection), url.PathEscape(document), number, around)
	err := c.call(ctx, http.MethodGet, path, nil, &l)
	return l.Passages, err
}

const collectionsPath = "/api/knowledge/collections"

// Collections lists the caller's own collections.
func (c *Client) Collections(ctx context.Context) ([]Collection, error) {
	var l knowledgehttp.CollectionList
	err := c.call(ctx, http.MethodGet, collectionsPath, nil, &l)
	return l.Collections, err
}

// Create makes a collection.
func (c *Client) Create(ctx context.Context, body knowledgehttp.CollectionBody) (Collection, error) {
	var made Collection
	err := c.call(ctx, http.MethodPost, collectionsPath, body, &made)
	return made, err
}

// Change renames a collection or chooses its readers.
func (c *Client) Change(ctx context.Context, id string, body knowledgehttp.ChangeBody) (Collection, error) {
	var changed Collection
	err := c.call(ctx, http.MethodPatch, collectionsPath+"/"+url.PathEscape(id), body, &changed)
	return changed, err
}

// Delete forgets a collection.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, collectionsPath+"/"+url.PathEscape(id), nil, nil)
}

// Documents lists all documents of a collection.
func (c *Client) Documents(ctx context.Context, id string) ([]Document, error) {
	var all []Document
	for after := ""; ; {
		var l knowledgehttp.DocumentList
		path := collectionsPath + "/" + url.PathEscape(id) + "/documents?after=" + url.QueryEscape(after)
		if err := c.call(ctx, http.MethodGet, path, nil, &l); err != nil {
			return nil, err
		}
		all = append(all, l.Documents...)
		if after = l.Next; after == "" {
			return all, nil
		}
	}
}

const offeredPath = "/operator/knowledge/collections"

// Offered lists, to an operator, all collections for everybody or members.
func (c *Client) Offered(ctx context.Context) ([]knowledgehttp.OfferedEntry, error) {
	var all []knowledgehttp.OfferedEntry
	for after := ""; ; {
		var l knowledgehttp.OfferedList
		if err := c.call(ctx, http.MethodGet, offeredPath+"?after="+url.QueryEscape(after), nil, &l); err != nil {
			return nil, err
		}
		all = append(all, l.Collections...)
		if after = l.Next; after == "" {
			return all, nil
		}
	}
}

// Publish lets, as an operator, a collection be read by everybody or members.
func (c *Client) Publish(ctx context.Context, id, readers string) error {
	return c.call(ctx, http.MethodPut, offeredPath+"/"+url.PathEscape(id)+"/published",
		knowledgehttp.PublishBody{Readers: readers}, nil)
}

// Unpublish takes that back.
func (c *Client) Unpublish(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, offeredPath+"/"+url.PathEscape(id)+"/published", nil, nil)
}
