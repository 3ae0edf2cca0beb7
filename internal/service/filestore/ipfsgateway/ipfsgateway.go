// Package ipfsgateway serves stored content by the IPFS trustless gateway
// specification: single blocks and CAR streams, which clients verify themselves.
//
// Everybody gets what is public; a token or an app key gets what it reaches besides.
// It promises the smallest set of blocks for a path, a scope and a range of bytes, in
// depth-first order, each checked against its hash before it leaves; a whole object is
// never opened for a part of it. It is strictly trustless: it refuses to unpack files
// (GET /api/fs/cid/{cid} does that), and it fetches nothing from elsewhere.
//
// Decision: ADR 0217.
package ipfsgateway

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/unixfs"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/blockstore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

const (
	prefix = "/ipfs"
	// held is how much of an answer is made before its status is sent.
	held = 1 << 20
	// maxCIDText is longer than every CID that is asked for, but for those that
	// contain their block.
	maxCIDText = 1 << 10
	// forever is how long a block may be kept: it cannot change.
	forever = "max-age=29030400, immutable"
)

// Deps are what the surface needs besides the service.
type Deps struct {
	Blocks *blockstore.Service
	// Authenticate puts the principal into the context when credentials came.
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
}

type api struct {
	Deps
	svc *filestore.Service
}

// Surface returns the routes.
func Surface(s *filestore.Service, d Deps) httpserver.Surface {
	a := &api{d, s}
	query := []httpserver.Param{
		{Name: "format", In: "query", Doc: "`raw` for the block, `car` for a stream of blocks. It goes before the Accept header."},
		{Name: "filename", In: "query", Doc: "The name under which browsers save the answer."},
	}
	carQuery := append([]httpserver.Param{
		{Name: "dag-scope", In: "query", Doc: "`block`, `entity` or `all` (which is usual) of what the path leads to."},
		{Name: "entity-bytes", In: "query", Doc: "`from:to`, both ends included; `*` is the end, negative numbers count from it."},
		{Name: "car-version", In: "query", Doc: "1."},
		{Name: "car-order", In: "query", Doc: "`dfs` or `unk`."},
		{Name: "car-dups", In: "query", Doc: "`y`: a block is sent each time that it is met."},
	}, query...)
	var routes []httpserver.Route
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, pattern := range []string{"/{cid}", "/{cid}/{path...}"} {
			params := []httpserver.Param{{Name: "cid", In: "path", Required: true, Doc: "The CID of a file, or of any block."}}
			if pattern != "/{cid}" {
				params = append(params, httpserver.Param{Name: "path", In: "path", Required: true, Doc: "A path below it, for CAR alone."})
			}
			routes = append(routes, httpserver.Route{
				Method: method, Pattern: prefix + pattern, Summary: "Read verifiable blocks", Tags: []string{"IPFS"},
				Doc:  "IPFS trustless gateway: a block (`format=raw`) or a CARv1 stream (`format=car`). Public files need no credential.",
				Auth: httpserver.Optional, Limit: httpserver.LimitContent, Params: append(params, carQuery...),
				Stream: true, Hidden: method == http.MethodHead, Handler: a.serve,
				Replies: []httpserver.Reply{{Status: 200, Media: mediaRaw}},
			})
		}
	}
	return httpserver.Surface{
		Name: "ipfs", Doc: "Files as verifiable blocks, by the IPFS trustless gateway specification.",
		Routes: routes, Prefixes: []string{prefix}, Errors: contenthttp.Errors, Authenticate: d.Authenticate, CORS: d.CORS,
		Right: httpserver.RightFiles,
	}
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) error {
	id, err := parseCID(r.PathValue("cid"))
	if err != nil {
		return err
	}
	want, err := parse(r)
	if err != nil {
		return err
	}
	blocks, cache, err := a.reader(r)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Vary", "Accept, Authorization")
	h.Set("X-Content-Type-Options", "nosniff")
	described := []string{"Cache-Control", "X-Ipfs-Path", "X-Ipfs-Roots", "Content-Location", "Content-Type", "Content-Disposition", "Etag", "Accept-Ranges"}
	h.Set("Cache-Control", cache)
	h.Set("X-Ipfs-Path", r.URL.EscapedPath())
	if r.URL.Query().Get("format") == "" {
		h.Set("Content-Location", want.location(r.URL))
	}
	if want.car {
		err = a.sendCAR(w, r, blocks, id, want)
	} else {
		err = a.sendBlock(w, r, blocks, id)
	}
	if err != nil {
		for _, name := range described {
			h.Del(name)
		}
	}
	if fault.Is(err, fault.NotFound) && strings.Contains(r.Header.Get("Cache-Control"), "only-if-cached") {
		return fault.New(fault.Precondition, "the block is not here")
	}
	return err
}

func parseCID(text string) (string, error) {
	if len(text) > maxCIDText {
		return "", fault.New(fault.Invalid, "the CID is too long")
	}
	id, err := ipld.ParseCID(text)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, "this is no CID", err)
	}
	return id, nil
}

// reader reads for who asks, and says who may keep the answer.
func (a *api) reader(r *http.Request) (*blockstore.Reader, string, error) {
	p, ok := identity.FromContext(r.Context())
	if !ok {
		return a.Blocks.Public(r.Context()), "public, " + forever, nil
	}
	access, err := filestore.AccessOf(p)
	if err != nil {
		return nil, "", err
	}
	if err := a.svc.Admit(r.Context(), access); err != nil {
		return nil, "", err
	}
	blocks, err := a.Blocks.For(r.Context(), access)
	return blocks, "private, " + forever, err
}

func (a *api) sendBlock(w http.ResponseWriter, r *http.Request, blocks *blockstore.Reader, id string) error {
	if strings.Trim(r.PathValue("path"), "/") != "" {
		return fault.New(fault.Invalid, "a block has no path: ask for format=car")
	}
	block, err := blocks.Block(id)
	if err != nil {
		return err
	}
	if r.Method != http.MethodHead {
		if err := blocks.Use(); err != nil {
			return err
		}
	}
	text := ipld.CIDText(id)
	h := w.Header()
	h.Set("Content-Type", mediaRaw)
	h.Set("Content-Disposition", disposition(r, text+".bin"))
	h.Set("Etag", `"`+text+`.raw"`)
	h.Set("X-Ipfs-Roots", text)
	http.ServeContent(w, contenthttp.FewRanges(r, int64(len(block))), "", time.Time{}, bytes.NewReader(block))
	return nil
}

func (a *api) sendCAR(w http.ResponseWriter, r *http.Request, blocks *blockstore.Reader, id string, want wanted) error {
	segments := strings.FieldsFunc(r.PathValue("path"), func(c rune) bool { return c == '/' })
	at, err := unixfs.Resolve(blocks.Block, id, segments)
	if err != nil {
		return graphError(err)
	}
	roots := make([]string, len(at.Roots))
	for i, root := range at.Roots {
		roots[i] = ipld.CIDText(root)
	}
	h := w.Header()
	h.Set("Content-Type", want.media())
	h.Set("Content-Disposition", disposition(r, roots[len(roots)-1]+".car"))
	h.Set("X-Ipfs-Roots", strings.Join(roots, ","))
	h.Set("Accept-Ranges", "none")
	tag := want.tag(r, roots)
	h.Set("Etag", `W/"`+tag+`"`)
	if known, err := contenthttp.HasTag(r, tag); err != nil || known {
		if known {
			w.WriteHeader(http.StatusNotModified)
		}
		return err
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if err := blocks.Use(); err != nil {
		return err
	}
	answer := &contenthttp.Late{ResponseWriter: w, Room: held}
	if _, err := answer.Write(car.AppendHeader(nil, at.Last())); err != nil {
		return err
	}
	walk := unixfs.Walk{Get: blocks.Block, Twice: want.twice, Visit: func(id string, block []byte) error {
		if _, err := answer.Write(car.AppendSection(nil, id, len(block))); err != nil {
			return err
		}
		_, err := answer.Write(block)
		return err
	}}
	return graphError(answer.Finish(walk.Run(at, want.scope, want.bytes)))
}

// graphError gives what is wrong with a graph its kind.
func graphError(err error) error {
	switch {
	case errors.Is(err, unixfs.ErrNoPath):
		return fault.Wrap(fault.NotFound, "there is no such path below this CID", err)
	case errors.Is(err, unixfs.ErrMalformed), errors.Is(err, ipld.ErrMalformed):
		return fault.Wrap(fault.Invalid, "a block on the way cannot be read", err)
	case errors.Is(err, unixfs.ErrTooLarge):
		return fault.Wrap(fault.TooLarge, "the graph is too large or too deep", err)
	}
	return err
}

// disposition keeps browsers from showing what they get.
func disposition(r *http.Request, name string) string {
	if given := r.URL.Query().Get("filename"); given != "" && len(given) <= 255 {
		name = given
	}
	plain := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return '_'
		}
		return c
	}, name)
	if plain == name {
		return `attachment; filename="` + name + `"`
	}
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + url.PathEscape(name)
}
