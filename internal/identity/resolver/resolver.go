// Package resolver looks DIDs up over HTTP: did:web at its own host, did:ixo and
// other methods at the resolver that the operator names.
//
// A did:web comes from a stranger's token, so fetching it is bounded in time
// and size, follows no redirect, uses no proxy, and never connects to a private
// address unless the operator allows it; the check is made on the address that
// is dialled, not on the name. A host that fails several times in a row is left
// alone for a few seconds, but for DIDs that it had not long ago: strangers make up as
// many as they like, and could have us ask somebody else's host about each. Answers are
// remembered for a minute, failures for a few seconds, and concurrent questions are asked once.
//
// Decision: ADR 0248.
package resolver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/recent"
	"github.com/castalia-org/castalia/internal/platform/publicaddr"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// Defaults of the configuration.
const (
	DefaultTimeout = 3 * time.Second
	DefaultTTL     = time.Minute
	failureTTL     = 5 * time.Second
	defaultEntries = 4096
)

// ErrPrivate is the cause of a look-up that was led to a private address.
var ErrPrivate = errors.New("address is private")

// Config says where DIDs are looked up.
type Config struct {
	// URL resolves did:ixo and other methods. An address that ends in /graphql
	// is asked by the query of IXO's indexer; any other gets the DID in place of
	// {did}, or at its end, and answers with a DID document. Empty resolves none.
	URL string
	// AllowPrivate lets did:web reach private addresses, and plain HTTP on
	// this machine.
	AllowPrivate bool
	Timeout      time.Duration // of one look-up; zero is DefaultTimeout
	TTL          time.Duration // of an answer; zero is DefaultTTL
}

// Resolver is an identity.Resolver over HTTP.
type Resolver struct {
	cfg     Config
	web     *http.Client // for hosts that strangers name
	own     *http.Client // for the operator's resolver
	known   *recent.Map[did.DID, answer]
	flights singleflight.Group
	hosts   *hosts
}

type answer struct {
	document did.Document
	err      error
}

var _ identity.Resolver = (*Resolver)(nil)

// New returns a resolver.
func New(cfg Config) (*Resolver, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.TTL <= 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.URL != "" {
		u, err := url.Parse(cfg.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("DID resolver: want an http or https URL")
		}
	}
	control := refusePrivate
	if cfg.AllowPrivate {
		control = nil
	}
	return &Resolver{
		cfg: cfg, web: client(control), own: client(nil), known: recent.New[did.DID, answer](defaultEntries),
		hosts: newHosts(),
	}, nil
}

func client(control func(network, address string, c syscall.RawConn) error) *http.Client {
	dialer := &net.Dialer{Control: control}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			MaxIdleConns: 16, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: 32 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirects are not followed") },
	}
}

// refusePrivate looks at the address that is about to be dialled, after the
// name was resolved, so that no DNS answer leads inside.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	if !publicaddr.Public(ap.Addr()) {
		return fmt.Errorf("dial %s: %w", address, ErrPrivate)
	}
	return nil
}

// Keys implements identity.Resolver.
func (r *Resolver) Keys(ctx context.Context, d did.DID) ([]did.Key, error) {
	document, err := r.resolve(ctx, d)
	return document.Keys, err
}

// Controllers implements identity.Resolver.
func (r *Resolver) Controllers(ctx context.Context, entity did.DID) ([]did.DID, error) {
	document, err := r.resolve(ctx, entity)
	return document.Controllers, err
}

// Remembers reports whether a question about the DID is answered without asking.
func (r *Resolver) Remembers(d did.DID) bool {
	_, ok := r.known.Get(d, time.Now())
	return ok || d.Method() == "key"
}

func (r *Resolver) resolve(ctx context.Context, d did.DID) (did.Document, error) {
	if a, ok := r.known.Get(d, time.Now()); ok {
		return a.document, a.err
	}
	flight := r.flights.DoChan(string(d), func() (any, error) {
		if a, ok := r.known.Get(d, time.Now()); ok { // another flight has landed meanwhile
			return a.document, a.err
		}
		// Others may wait for the same answer: only the time limit ends it.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Timeout)
		defer cancel()
		document, err := r.fetch(limited, d)
		ttl := r.cfg.TTL
		if err != nil {
			err = fmt.Errorf("resolve %s: %w", d, err)
			ttl = failureTTL
		}
		r.known.Put(d, answer{document, err}, time.Now().Add(ttl), 1)
		return document, err
	})
	select {
	case <-ctx.Done():
		return did.Document{}, ctx.Err()
	case result := <-flight:
		document, _ := result.Val.(did.Document)
		return document, result.Err
	}
}

func (r *Resolver) fetch(ctx context.Context, d did.DID) (did.Document, error) {
	switch method := d.Method(); {
	case method == "key":
		key, err := did.ParseKey(d)
		if err != nil {
			return did.Document{}, err
		}
		return did.Document{ID: d, Keys: []did.Key{key}}, nil
	case method == "web":
		address, err := webURL(d, r.cfg.AllowPrivate)
		if err != nil {
			return did.Document{}, err
		}
		return r.hosts.ask(ctx, d, func() (did.Document, error) { return r.get(ctx, r.web, address, d) })
	case r.cfg.URL == "":
		return did.Document{}, identity.ErrNoResolver
	case strings.HasSuffix(strings.TrimSuffix(r.cfg.URL, "/"), "/graphql"):
		return r.ask(ctx, d)
	}
	return r.get(ctx, r.own, resolverURL(r.cfg.URL, d), d)
}

func resolverURL(template string, d did.DID) string {
	escaped := url.PathEscape(string(d))
	if strings.Contains(template, "{did}") {
		return strings.ReplaceAll(template, "{did}", escaped)
	}
	return strings.TrimSuffix(template, "/") + "/" + escaped
}

// webURL returns where a did:web keeps its document.
func webURL(d did.DID, allowPrivate bool) (string, error) {
	parts := strings.Split(d.ID(), ":")
	host, err := url.PathUnescape(parts[0])
	if err != nil || host == "" || strings.ContainsAny(host, "/?#@\\ ") {
		return "", errors.New("did:web has no usable host")
	}
	path := "/.well-known"
	if len(parts) > 1 {
		var b strings.Builder
		for _, segment := range parts[1:] {
			decoded, err := url.PathUnescape(segment)
			if err != nil || decoded == "" || decoded == "." || decoded == ".." || strings.ContainsAny(decoded, "/?#\\") {
				return "", errors.New("did:web has an unusable path")
			}
			b.WriteString("/" + url.PathEscape(decoded))
		}
		path = b.String()
	}
	scheme := "https"
	if allowPrivate && localName(host) {
		scheme = "http"
	}
	return scheme + "://" + host + path + "/did.json", nil
}

func localName(hostPort string) bool {
	host := hostPort
	if h, _, err := net.SplitHostPort(hostPort); err == nil {
		host = h
	}
	return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == "[::1]"
}

func (r *Resolver) get(ctx context.Context, c *http.Client, address string, d did.DID) (did.Document, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return did.Document{}, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Accept", "application/did+json, application/did+ld+json, application/json")
	body, err := send(c, request)
	if err != nil {
		return did.Document{}, err
	}
	return did.ParseDocument(d, body)
}

// The questions that IXO's indexer answers.
const iidQuery = `query($id:String!){iids(filter:{id:{equalTo:$id}}){nodes{id verificationMethod controller}}}`

func (r *Resolver) ask(ctx context.Context, d did.DID) (did.Document, error) {
	question, err := json.Marshal(map[string]any{"query": iidQuery, "variables": map[string]string{"id": string(d)}})
	if err != nil {
		return did.Document{}, fmt.Errorf("encode query: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.cfg.URL, bytes.NewReader(question))
	if err != nil {
		return did.Document{}, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	body, err := send(r.own, request)
	if err != nil {
		return did.Document{}, err
	}
	var reply struct {
		Errors []json.RawMessage `json:"errors"`
		Data   struct {
			IIDs struct {
				Nodes []json.RawMessage `json:"nodes"`
			} `json:"iids"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return did.Document{}, fmt.Errorf("parse answer: %w", err)
	}
	if len(reply.Errors) > 0 || reply.Data.IIDs.Nodes == nil {
		return did.Document{}, errors.New("the indexer failed") // which is no answer
	}
	if len(reply.Data.IIDs.Nodes) == 0 {
		return did.Document{}, fmt.Errorf("ask the indexer: %w", identity.ErrUnknownDID)
	}
	return did.ParseDocument(d, reply.Data.IIDs.Nodes[0])
}

// send returns the body of a good answer, up to the size of a DID document.
func send(c *http.Client, request *http.Request) (_ []byte, err error) {
	response, err := c.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("fetch: status %d: %w", response.StatusCode, identity.ErrUnknownDID)
	default:
		return nil, fmt.Errorf("fetch: status %d", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, did.MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if len(body) > did.MaxDocument {
		return nil, errors.New("answer is too long")
	}
	return body, nil
}
