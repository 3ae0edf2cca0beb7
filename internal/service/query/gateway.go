package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// Head is the newest block of a chain, as far as we know.
type Head struct {
	Height int64
	// Seen is when the height was last confirmed, Since when it was first seen.
	Seen, Since time.Time
	// Interval is about the time between blocks, 0 when it is not known yet.
	Interval time.Duration
}

// Call is one query. Height 0 asks for the newest state.
type Call struct {
	Method string
	Wire   []byte
	Height int64
	// Once says that the call may change something: it is sent to one node,
	// which may have carried it out even where it fails.
	Once bool
}

// Reply is what an upstream answered. Wire belongs to the caller until Release
// is called; Release may be nil. Height is 0 when the upstream did not say.
type Reply struct {
	Wire    []byte
	Height  int64
	Release func()
}

// Chain is one protocol behind any number of nodes. Implementations are safe
// for concurrent use. Failures come back as *StatusError.
type Chain interface {
	// Name is unique among the chains of a gateway.
	Name() string
	// Catalog is what the chain serves now, or nil while that is not known.
	Catalog() *httprule.Catalog
	// Head is the newest block, zero when the chain has none or is not reached.
	Head() Head
	// Invoke asks one node, and another when that fails in a way that allows it.
	Invoke(ctx context.Context, call Call) (Reply, error)
	// Describe returns the files that describe a message type which the
	// catalogue does not have; none when nobody knows it.
	Describe(ctx context.Context, typeName string) ([]*descriptorpb.FileDescriptorProto, error)
	// Ready reports why the chain cannot be asked, or nil.
	Ready() error
	// View is the chain as the operator sees it.
	View() ChainView
}

// Config bounds a gateway. The zero value has the defaults.
type Config struct {
	Prefixes    []Prefix
	CacheBytes  int64         // 64 MiB; negative switches the cache off
	MaxPage     uint64        // 1000 records
	MaxJSON     int           // 64 MiB for one reply
	Concurrency int           // 128 calls of one route at a time
	Timeout     time.Duration // 10 s for one answer
	StaleFor    time.Duration // 60 s, when no node answers
	HeadTrust   time.Duration // 15 s for which a head that nobody confirms counts as the newest
}

func (c Config) withDefaults() Config {
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.MaxPage = cmp.Or(c.MaxPage, 1000)
	c.MaxJSON = cmp.Or(c.MaxJSON, 64<<20)
	c.Concurrency = cmp.Or(c.Concurrency, 128)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.StaleFor = cmp.Or(c.StaleFor, time.Minute)
	c.HeadTrust = cmp.Or(c.HeadTrust, 15*time.Second)
	return c
}

// Gateway answers queries over the routes of its chains. It is safe for
// concurrent use; what it serves follows the chains' catalogues by itself.
type Gateway struct {
	cfg    Config
	chains []Chain
	cache  *cache // nil: off

	rebuild sync.Mutex
	table   atomic.Pointer[table]
	buffers sync.Pool // of *buffer
}

type buffer struct{ b []byte }

// maxPooled is the largest buffer that is kept for the next reply.
const maxPooled = 1 << 20

// recycle keeps a buffer for the next reply, unless it is a large one.
func (g *Gateway) recycle(b *buffer) {
	if cap(b.b) <= maxPooled {
		g.buffers.Put(b)
	}
}

// New returns a gateway. An earlier chain wins where two have the same route.
func New(chains []Chain, cfg Config) *Gateway {
	g := &Gateway{cfg: cfg.withDefaults(), chains: chains}
	g.buffers.New = func() any { return new(buffer) }
	if g.cfg.CacheBytes > 0 {
		g.cache = newCache(g.cfg.CacheBytes)
	}
	g.table.Store(newTable(nil, g.cfg.Prefixes, 0))
	return g
}

// current returns the table of the chains' present catalogues. Requests in
// flight keep the table that they started with.
func (g *Gateway) current() *table {
	t := g.table.Load()
	if g.upToDate(t) {
		return t
	}
	g.rebuild.Lock()
	defer g.rebuild.Unlock()
	if t = g.table.Load(); g.upToDate(t) {
		return t
	}
	catalogs := make([]*httprule.Catalog, len(g.chains))
	for i, c := range g.chains {
		catalogs[i] = c.Catalog()
	}
	t = newTable(catalogs, g.cfg.Prefixes, t.version+1)
	g.table.Store(t)
	return t
}

func (g *Gateway) upToDate(t *table) bool {
	if len(t.catalogs) != len(g.chains) {
		return false
	}
	for i, c := range g.chains {
		if c.Catalog() != t.catalogs[i] {
			return false
		}
	}
	return true
}

// Claims reports whether the first segment of a path belongs to the gateway.
func (g *Gateway) Claims(segment string) bool { return g.current().claims[segment] }

// Near names routes that resemble a path, the closest first.
func (g *Gateway) Near(escapedPath string) []string {
	t := g.current()
	path, _ := t.internalPath(httprule.CanonicalPath(escapedPath))
	return t.near(path)
}

// Version changes whenever what is served does.
func (g *Gateway) Version() uint64 { return g.current().version }

// Found is a path that the gateway serves, not yet answered.
type Found struct {
	// Route is the most specific route of the path.
	Route *httprule.Route
	// Path is the canonical path as it is today, under its public prefix: two
	// spellings of one path have the same.
	Path string
	// Successor is set when an older form of the path was asked.
	Successor string

	first httprule.Match   // of Route
	more  []httprule.Match // other ways to read the path
}

// Find resolves a method and an escaped path. HEAD is served as GET. Unknown
// paths are 404 and name what is near (503 while a chain was never reached), other methods 405, and methods that may
// not be called here 501.
func (g *Gateway) Find(method, escapedPath string) (Found, error) {
	if method == "HEAD" {
		method = "GET"
	}
	t := g.current()
	escapedPath = httprule.CanonicalPath(escapedPath)
	path, visible := t.internalPath(escapedPath)
	if !visible {
		return Found{}, notFound(t, escapedPath, path)
	}
	f := Found{Path: escapedPath}
	allow := f.match(t, method, path)
	if f.Route == nil && allow == nil {
		if today := t.legacy(path); today != "" {
			f.Path = t.publicPath(today)
			f.Successor = f.Path
			allow = f.match(t, method, today)
		}
	}
	switch {
	case f.Route == nil && allow == nil:
		return Found{}, notFound(t, escapedPath, path)
	case f.Route == nil:
		err := Statusf(codes.Unimplemented, "%s is not a method of %s", method, f.Path).withHTTP(405)
		err.Allow = allowed(allow)
		return Found{}, err
	case f.Route.Disabled:
		return Found{}, Statusf(codes.Unimplemented, "%s is disabled: this gateway answers queries only", f.Route.Method)
	}
	return f, nil
}

// allowed is the value of an Allow header: HEAD comes with GET, OPTIONS always.
func allowed(methods []string) string {
	all := append(slices.Clone(methods), "OPTIONS")
	if slices.Contains(all, "GET") {
		all = append(all, "HEAD")
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Methods returns what may be asked of a path, as the value of an Allow header;
// "" when nothing is served there.
func (g *Gateway) Methods(escapedPath string) string {
	_, err := g.Find("OPTIONS", escapedPath)
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Allow
	}
	return ""
}

// match collects the routes of the path, and returns the methods of the others.
func (f *Found) match(t *table, method, path string) (allow []string) {
	t.router.Find(path, func(m httprule.Match) bool {
		if m.Route.HTTPMethod != method {
			if !m.Route.Disabled && !slices.Contains(allow, m.Route.HTTPMethod) {
				allow = append(allow, m.Route.HTTPMethod)
			}
			return true
		}
		if f.Route == nil {
			f.Route, f.first = m.Route, m
		} else {
			f.more = append(f.more, m)
		}
		return true
	})
	return allow
}

// notFound is 404, or 503 as long as a chain that was never reached may have
// the route.
func notFound(t *table, asked, path string) error {
	if t.partial {
		return Statusf(codes.Unavailable, "no node has said yet what its chain serves")
	}
	const most = 200
	if len(asked) > most {
		asked = asked[:most] + "…"
	}
	text := "no route for " + asked
	if near := t.near(path); len(near) > 0 {
		text += "; near: " + strings.Join(near, ", ")
	}
	return Statusf(codes.NotFound, "%s", text)
}

// Ask is the rest of a request, beside its path.
type Ask struct {
	RawQuery string
	// Height is the x-cosmos-block-height header, "" when it is absent.
	Height string
	// Body is the JSON body of the few methods that have one.
	Body []byte
	// Timeout shortens the gateway's own when it is positive.
	Timeout time.Duration
}

// CacheState says where an answer came from.
type CacheState string

// Where an answer can come from.
const (
	Bypass CacheState = "BYPASS" // this kind of reply is never kept
	Miss   CacheState = "MISS"
	Hit    CacheState = "HIT"
	Stale  CacheState = "STALE" // kept from before, because no node answers
)

// Answer is a reply in JSON. Close gives its memory back.
type Answer struct {
	Body  []byte
	State CacheState
	// Entry is set for replies that are kept; Body is then its body.
	Entry  *Entry
	Height int64
	// Pinned says that the reply is the state at the height that was asked
	// for: it never changes.
	Pinned bool
	// MaxAge is how long a reply on the newest state is expected to hold.
	MaxAge time.Duration
	// PageLimit is the page size that replaced a larger one, or 0.
	PageLimit uint64

	gateway *Gateway
	buffer  *buffer
}

// Close must be called once the body was sent.
func (a *Answer) Close() {
	if a.buffer == nil {
		return
	}
	a.gateway.recycle(a.buffer)
	a.buffer, a.Body = nil, nil
}

// Answer asks the chain, or the cache.
func (g *Gateway) Answer(ctx context.Context, f Found, ask Ask) (Answer, error) {
	if len(ask.RawQuery) > httprule.MaxQueryBytes {
		return Answer{}, Statusf(codes.InvalidArgument, "the query string is longer than %d bytes", httprule.MaxQueryBytes).withHTTP(414)
	}
	var values url.Values
	if ask.RawQuery != "" {
		var err error
		if values, err = url.ParseQuery(ask.RawQuery); err != nil {
			return Answer{}, Statusf(codes.InvalidArgument, "bad query string")
		}
	}
	route, request, err := g.bind(f, values, ask.Body)
	if err != nil {
		return Answer{}, err
	}
	chain := g.chain(route)
	height, err := wantedHeight(route, values, ask.Height, chain.Head())
	if err != nil {
		return Answer{}, err
	}
	timeout := g.cfg.Timeout
	if ask.Timeout > 0 {
		timeout = min(timeout, ask.Timeout)
	}
	q := asked{
		g: g, route: route, chain: chain, timeout: timeout,
		call: Call{Method: route.Method, Wire: request.Wire, Height: height, Once: route.HTTPMethod != "GET"},
	}
	var a Answer
	if g.cache == nil || !route.Cacheable() {
		a, err = q.direct(ctx)
	} else {
		a, err = q.cached(ctx)
	}
	if err != nil {
		return Answer{}, q.explain(err)
	}
	a.gateway, a.PageLimit = g, request.PageLimit
	return a, nil
}

// Get answers a path with its query string in process, for callers that need
// no HTTP: the oracle's own tools. The bytes belong to the caller.
func (g *Gateway) Get(ctx context.Context, target string) ([]byte, error) {
	path, rawQuery, _ := strings.Cut(target, "?")
	found, err := g.Find("GET", path)
	if err != nil {
		return nil, err
	}
	a, err := g.Answer(ctx, found, Ask{RawQuery: rawQuery})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return bytes.Clone(a.Body), nil
}

// bind tries the routes of the path in turn: twins differ by what they parse.
func (g *Gateway) bind(f Found, values url.Values, body []byte) (*httprule.Route, httprule.Request, error) {
	request, failure := f.first.BindBody(values, body, g.cfg.MaxPage)
	if failure == nil {
		return f.Route, request, nil
	}
	for _, m := range f.more {
		if request, err := m.BindBody(values, body, g.cfg.MaxPage); err == nil {
			return m.Route, request, nil
		}
	}
	return nil, httprule.Request{}, Statusf(codes.InvalidArgument, "%s", failure)
}

func (g *Gateway) chain(r *httprule.Route) Chain {
	for _, c := range g.chains {
		if c.Name() == r.Chain {
			return c
		}
	}
	return g.chains[0]
}

// futureSlack is how far a height may lie ahead of the newest block that we
// know of, since nodes are ahead of our clock by a block or two.
const futureSlack = 1000

// wantedHeight reads the height from the header or the query.
func wantedHeight(r *httprule.Route, values url.Values, header string, head Head) (int64, error) {
	text := header
	if v := values.Get(httprule.HeightParameter); v != "" && r.HeightQuery {
		if header != "" && header != v {
			return 0, Statusf(codes.InvalidArgument, "the header and the query name different heights")
		}
		text = v
	}
	if text == "" {
		return 0, nil
	}
	height, err := strconv.ParseInt(text, 10, 64)
	if err != nil || height < 0 {
		return 0, Statusf(codes.InvalidArgument, "height %q is not a block height", clip(text))
	}
	if head.Height > 0 && height > head.Height+futureSlack {
		return 0, Statusf(codes.OutOfRange, "height %d is in the future: the newest block is %d", height, head.Height)
	}
	return height, nil
}

func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// explain makes a status of whatever went wrong.
func (q *asked) explain(err error) error {
	var status *StatusError
	switch {
	case errors.As(err, &status):
		if status.Catalog == nil && len(status.Details) > 0 {
			own := *status // all who waited for the call have the same one
			own.Catalog = q.route.Catalog
			status = &own
		}
		if q.call.Height > 0 && badHeight(status) {
			return Statusf(codes.OutOfRange, "height %d: %s", q.call.Height, status.Message)
		}
		return status
	case errors.Is(err, wirejson.ErrTooLarge):
		return tooLarge()
	case errors.Is(err, wirejson.ErrMalformed):
		return Statusf(codes.Internal, "the node sent a reply that does not fit its description").withHTTP(502)
	case errors.Is(err, context.DeadlineExceeded):
		return Statusf(codes.DeadlineExceeded, "no answer in time")
	case errors.Is(err, context.Canceled):
		return Statusf(codes.Canceled, "cancelled")
	default:
		return err
	}
}

func tooLarge() *StatusError {
	return Statusf(codes.ResourceExhausted, "the reply is too large; ask for a smaller page").withHTTP(502)
}

// badHeight recognises how chains complain about a height: they call it an
// unknown error.
func badHeight(e *StatusError) bool {
	return e.Code == codes.Unknown && strings.Contains(e.Message, "invalid height") ||
		e.Code == codes.Unknown && strings.Contains(e.Message, "cannot query with height in the future")
}
