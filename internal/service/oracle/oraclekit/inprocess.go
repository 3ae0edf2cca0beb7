package oraclekit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/apidocs"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// inProcess calls a surface of this program as any client would, with the same
// checks, but without a socket. Its requests come from a documentation address,
// so that nothing mistakes them for the operator's.
type inProcess struct{ handler http.Handler }

// RoundTrip serves the request.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr, r.RequestURI = "192.0.2.1:1", r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &buffer{header: http.Header{}}
	p.handler.ServeHTTP(w, r)
	w.status = cmp.Or(w.status, http.StatusOK)
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// buffer is a whole response.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the headers.
func (b *buffer) Header() http.Header { return b.header }

// WriteHeader keeps the first status, and makes room for as much as is to come: a buffer
// that grows has twice that at its end, and more while it does.
func (b *buffer) WriteHeader(status int) {
	if b.status != 0 {
		return
	}
	b.status = status
	if n, err := strconv.Atoi(b.header.Get("Content-Length")); err == nil && n > 0 && n <= maxRoom {
		b.body = *bytes.NewBuffer(make([]byte, 0, n))
	}
}

// maxRoom bounds the room that is made before anything is there.
const maxRoom = 64 << 20

// Write keeps the body.
func (b *buffer) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}

// Flush does nothing: the response is read when it is whole.
func (b *buffer) Flush() {}

// alone serves one surface and nothing else. What is asked of it later is named
// here, so that a route that was renamed is an error at start.
func alone(s httpserver.Surface, needed ...string) (http.Handler, error) {
	for _, pattern := range needed {
		if !slices.ContainsFunc(s.Routes, func(r httpserver.Route) bool { return r.Pattern == pattern }) {
			return nil, fmt.Errorf("surface %s has no route %s", s.Name, pattern)
		}
	}
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		return nil, fmt.Errorf("serve surface: %w", err)
	}
	if err := server.Mount(apidocs.Surface(apidocs.Options{}, server.Surfaces)); err != nil {
		return nil, err
	}
	if err := server.Mount(s); err != nil {
		return nil, err
	}
	return server, nil
}

// FilesOverMCP makes Access.FilesFor of the file store's MCP surface: the
// oracle calls it with an invocation of its own that has the user's delegation
// as proof, so that the store itself decides what may be done.
func FilesOverMCP(surface httpserver.Surface,
	serviceDID string,
) (func(userDID string, authority plugin.Authority) plugin.Files, error) {
	handler, err := alone(surface, "/mcp")
	if err != nil {
		return nil, err
	}
	engine := mcpclient.New(nil, nil, mcpclient.Config{Transport: inProcess{handler}})
	return func(userDID string, authority plugin.Authority) plugin.Files {
		return &files{engine: engine, user: userDID, audience: serviceDID, authority: authority}
	}, nil
}

// files is plugin.Files of one user.
type files struct {
	engine    *mcpclient.Engine
	user      string
	audience  string
	authority plugin.Authority
}

// tokenTTL is how long an invocation of the file store is good for.
const tokenTTL = 5 * time.Minute

// abilities of the file store, the widest first.
var abilities = []string{"*", "fs/*", "fs/write", "fs/read", "fs/list"}

// maxTried bounds the capabilities that one call is tried with.
const maxTried = 4

// capabilities are what was granted of files, the widest ability first, without those that
// others among them have in themselves.
func (f *files) capabilities(ctx context.Context) ([]plugin.Capability, error) {
	granted, err := f.authority.Granted(ctx)
	if err != nil {
		return nil, err
	}
	byRank := make([][]plugin.Capability, len(abilities))
	for _, c := range granted {
		at := slices.Index(abilities, c.Can)
		onFiles := strings.HasPrefix(c.With, "vfs://") || strings.HasPrefix(c.With, "ixo:filesystem")
		if strings.HasPrefix(c.Can, "fs/") && at < 0 {
			at = len(abilities) - 1
		}
		if onFiles && at >= 0 {
			byRank[at] = append(byRank[at], c)
		}
	}
	var out []plugin.Capability
	for _, c := range slices.Concat(byRank...) {
		if !slices.ContainsFunc(out, func(wider plugin.Capability) bool { return covers(wider, c) }) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, plugin.ErrNoDelegation
	}
	return out[:min(len(out), maxTried)], nil
}

// covers reports whether a capability without caveats grants what another one does.
func covers(wider, c plugin.Capability) bool {
	if len(wider.NB) > 0 || !ucan.AbilityCovers(wider.Can, c.Can) {
		return false
	}
	all, err := ucan.ParseResource(wider.With)
	if err != nil {
		return false
	}
	part, err := ucan.ParseResource(c.With)
	return err == nil && all.Covers(part)
}

// try does something with an invocation of each file capability in turn, for as long as next
// says that the one before did not reach: what a page brings is often narrower than what its
// user stored, or about other files (ADR 0270). The next one may be of somebody else's files,
// so whatever else went wrong is the answer. Where none reaches, it says why the first did not.
func (f *files) try(ctx context.Context, do func(token string) error, next func(error) bool) error {
	tried, err := f.capabilities(ctx)
	if err != nil {
		return err
	}
	var first error
	for _, c := range tried {
		token, err := f.authority.Invoke(ctx, f.audience, c, tokenTTL)
		if err == nil {
			err = do(token)
		}
		if err == nil || !next(err) {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}

// refused reports that a capability does not open what was asked for.
func refused(err error) bool {
	e, ok := errors.AsType[*plugin.Error](err)
	return errors.Is(err, plugin.ErrNoDelegation) ||
		ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// elsewhere reports that content is not among what a capability opens.
func elsewhere(err error) bool {
	e, ok := errors.AsType[*plugin.Error](err)
	return refused(err) || ok && e.Status == http.StatusNotFound
}

func server(token string) plugin.MCPServer {
	return plugin.MCPServer{
		Name: "files", URL: "http://castalia.internal/mcp", Headers: map[string]string{"Authorization": "Bearer " + token},
	}
}

// Tools lists what the delegations open: a wider ability has the tools of a narrower one.
func (f *files) Tools(ctx context.Context) ([]plugin.ToolSpec, error) {
	var out []plugin.ToolSpec
	err := f.try(ctx, func(token string) error {
		list, done := f.engine.Tools(ctx, []plugin.MCPServer{server(token)}, turn.MCPUser{DID: f.user})
		defer done()
		for _, t := range list {
			out = append(out, plugin.ToolSpec{
				Name: strings.TrimPrefix(t.Name, "files__"), Description: t.Description, Schema: t.Schema,
			})
		}
		return nil
	}, refused)
	return out, err
}

// Call runs one of them, in the files of the first capability that reaches what it names.
func (f *files) Call(ctx context.Context, tool string, args json.RawMessage) (out plugin.Result, err error) {
	err = f.try(ctx, func(token string) error {
		var err error
		out, err = f.engine.Call(ctx, server(token), tool, args)
		return err
	}, refused)
	return out, err
}

// QueryOverHTTP makes Access.QueryFor of the query gateway's surface.
func QueryOverHTTP(surface httpserver.Surface) (func(userDID string) plugin.Query, error) {
	handler, err := alone(surface)
	if err != nil {
		return nil, err
	}
	q := query{
		client:   &http.Client{Transport: inProcess{handler}, Timeout: 30 * time.Second},
		surfaces: handler.(*httpserver.Server).Surfaces,
	}
	return func(string) plugin.Query { return q }, nil
}

type query struct {
	client   *http.Client
	surfaces func() []httpserver.Surface
}

// maxAnswer bounds what a query may return.
const maxAnswer = 4 << 20

// Get asks the gateway.
func (q query) Get(ctx context.Context, path string, values url.Values) (json.RawMessage, error) {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u := url.URL{Scheme: "http", Host: "castalia.internal", Path: path, RawQuery: values.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, plugin.Errorf(http.StatusBadRequest, "that is not a path")
	}
	resp, err := q.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read query: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		var e struct{ Message string }
		_ = json.Unmarshal(body, &e) // without a message the status must do
		if e.Message == "" {
			e.Message = http.StatusText(resp.StatusCode)
		}
		return nil, plugin.Errorf(resp.StatusCode, "%s", e.Message)
	}
	return body, nil
}

// OpenAPI describes the routes.
func (q query) OpenAPI(context.Context) (json.RawMessage, error) {
	return apidocs.OpenAPI(apidocs.Options{}, q.surfaces())
}

// Surfaces are what the oracle may use of the other services of this process.
type Surfaces struct {
	FilesMCP *httpserver.Surface
	Files    *httpserver.Surface
	Query    *httpserver.Surface
}

// NewAccess puts together what may be done in users' names.
func NewAccess(id *identity.Service, s Surfaces) (Access, error) {
	a := Access{Identity: id}
	var err error
	if s.FilesMCP != nil {
		if a.FilesFor, err = FilesOverMCP(*s.FilesMCP, id.DID()); err != nil {
			return a, err
		}
	}
	if s.Files != nil {
		if a.BytesFor, err = BytesOverHTTP(*s.Files, id.DID()); err != nil {
			return a, err
		}
	}
	if s.Query != nil {
		a.QueryFor, err = QueryOverHTTP(*s.Query)
	}
	return a, err
}
