package filestoremcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

// Bounds of resources: files on a page, bytes of one that is read, and bytes that it may
// have in the answer, which is more for what JSON writes as numbers.
const (
	resourcePage = 100
	maxResource  = 4 << 20
	maxWritten   = 8 << 20
)

var errLargeResource = errors.New("the file is too large for a resource: read it in windows with vfs_read")

// methodNotFound is JSON-RPC's code for what is not offered.
const methodNotFound = -32601

// addResources offers files as resources to tokens that can read paths, and
// refuses the methods that others cannot use.
func (h *handler) addResources(s *mcp.Server, o shown) {
	if o.resources() {
		s.AddResourceTemplate(&mcp.ResourceTemplate{
			Name: "file", Title: "File", Description: "A file of the namespace, by path.", URITemplate: "vfs://{ns}/{+path}",
		}, h.readResource)
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			group, _, _ := strings.Cut(method, "/")
			switch {
			case group == "logging", !o.part && (group == "prompts" || group == "completion"),
				!o.resources() && (group == "subscriptions" || group == "resources" && !o.part):
				return nil, &jsonrpc.Error{Code: methodNotFound, Message: "method not found: " + method}
			case method == "resources/subscribe", method == "resources/unsubscribe":
				return nil, &jsonrpc.Error{Code: methodNotFound, Message: "method not found: " + method + ": listen with subscriptions/listen (2026-07-28)"}
			case method == "initialize":
				return withoutSubscriptions(next(ctx, method, req))
			case method == "resources/list":
				return h.listResources(ctx, req, o)
			case method == "subscriptions/listen":
				return h.listen(ctx, req, func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) })
			}
			return next(ctx, method, req)
		}
	})
}

// ofPart begins the cursors of the part's resources, which follow the files. No path
// begins so.
const ofPart = "part:"

// listResources pages through the files that the token sees, by path, and then through
// what the part has.
func (h *handler) listResources(ctx context.Context, req mcp.Request, o shown) (mcp.Result, error) {
	after := ""
	if p, ok := req.GetParams().(*mcp.ListResourcesParams); ok && p != nil && p.Cursor != "" {
		b, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		if err != nil || !utf8.Valid(b) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "bad cursor"}
		}
		after = string(b)
	}
	out := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
	out.CacheScope, out.TTLMs = "private", 5000
	next := ofPart
	if rest, isPart := strings.CutPrefix(after, ofPart); o.part && (isPart || !o.resources()) {
		list, further, err := h.deps.Part.ListResources(ctx, rest)
		if err != nil {
			return nil, err
		}
		if out.Resources = append(out.Resources, list...); further != "" {
			out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(ofPart + further))
		}
		return out, nil
	}
	a, err := accessFrom(req.GetExtra().TokenInfo)
	if err != nil {
		return nil, err
	}
	files, err := h.svc.ListAfter(ctx, a, after, resourcePage)
	if err != nil {
		return nil, advise(a, err)
	}
	for _, f := range files {
		out.Resources = append(out.Resources, &mcp.Resource{
			URI: identity.FileResource(a.Namespace, f.Path), Name: f.Path, Title: f.Name, MIMEType: f.MimeType, Size: f.Size,
		})
	}
	if full := len(files) == resourcePage; full {
		next = files[len(files)-1].Path
	} else if !o.part {
		return out, nil
	}
	out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(next))
	return out, nil
}

func (h *handler) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	a, err := accessFrom(req.Extra.TokenInfo)
	if err != nil {
		return nil, err
	}
	path, ok := resourcePath(req.Params.URI, a.Namespace)
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	f, o, err := h.svc.OpenPath(ctx, a, path)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	if err != nil {
		return nil, advise(a, err)
	}
	if f.Size > maxResource {
		return nil, errLargeResource
	}
	hold := ratelimit.HoldingOf(ctx)
	if err := hold.Take(ctx, min(6*f.Size, maxWritten)); err != nil {
		return nil, err
	}
	body, err := o.Range(0, -1)
	if err != nil {
		return nil, advise(a, err)
	}
	defer func() { _ = body.Close() }()
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, advise(a, err)
	}
	c := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: f.MimeType}
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		c.Text = string(b)
		written := filetext.Written(c.Text)
		if written > maxWritten {
			return nil, errLargeResource
		}
		hold.Keep(written)
	} else {
		c.Blob = b
		hold.Keep(int64(base64.StdEncoding.EncodedLen(len(b))))
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
}

// resourcePath reads the path of a URI in the caller's own namespace.
func resourcePath(uri, namespace string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, "vfs://")
	if !ok {
		return "", false
	}
	ns, path, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(ns)
	if err != nil || name != namespace {
		return "", false
	}
	path, err = url.PathUnescape(path)
	return "/" + path, err == nil
}
