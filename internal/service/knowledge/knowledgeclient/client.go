// Package knowledgeclient speaks to a server's knowledge over HTTP, as the command
// line does. It promises a fresh token for every request, with no more rights than
// the request needs.
package knowledgeclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/apiclient"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/protocol/did"
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
	// Operator is the operators' token, for what is theirs; empty where the signer has a role, or
	// the server takes whoever is on its own machine for one.
	Operator string
	HTTP     *http.Client // nil is the default client
}

// Client is one person at one server.
type Client struct {
	api      *apiclient.Client
	operator string
	// staff is where questions are that wait for the caller.
	staff string
}

// New asks the server for its DID and makes a client.
func New(ctx context.Context, cfg Config) (*Client, error) {
	api, err := apiclient.New(apiclient.Config{Server: cfg.Server, Signer: cfg.Signer, HTTP: cfg.HTTP})
	if err != nil {
		return nil, err
	}
	if _, err := api.Audience(ctx); err != nil {
		return nil, err
	}
	return &Client{api: api, operator: cfg.Operator, staff: staffPath}, nil
}

// StatusError is a refusal of the server.
type StatusError = apiclient.StatusError

// call sends a request. Its token is good for nothing that the request does not need.
func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	q := apiclient.Request{Method: method, Path: path, JSON: body}
	switch {
	case strings.HasPrefix(path, "/operator/"):
		// Without the token it is the role of the signer that counts.
		if q.Bearer = c.operator; q.Bearer == "" {
			q.Can = []ucan.Capability{apiclient.All(operators.OperatorResource)}
		}
	case strings.HasPrefix(path, "/knowledge/"):
		q.Can = []ucan.Capability{apiclient.All(identity.OracleResource)}
	default:
		q.Can = []ucan.Capability{apiclient.All(identity.FileResource(string(c.api.DID()), "/"))}
	}
	return c.api.Do(ctx, q, into)
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
