package filestoremcp

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// maxWatched is how many resources one listener may name.
const maxWatched = 100

// withoutSubscriptions takes the promise of subscriptions back from clients of
// the older protocols: they would need a session, and requests here have none.
func withoutSubscriptions(r mcp.Result, err error) (mcp.Result, error) {
	if i, ok := r.(*mcp.InitializeResult); ok && i != nil && i.Capabilities != nil && i.Capabilities.Resources != nil {
		i.Capabilities.Resources = &mcp.ResourceCapabilities{}
	}
	return r, err
}

// listen tells a client when the files it names change, until it leaves, its
// token or its share link ends or this node stops. A URI that ends in a slash is a folder with all
// that lies below. What is out of the token's reach is left out of what the
// acknowledgement names, whether or not it exists.
func (h *handler) listen(ctx context.Context, req mcp.Request,
	serve func(context.Context) (mcp.Result, error),
) (mcp.Result, error) {
	info := req.GetExtra().TokenInfo
	a, err := accessFrom(info)
	if err != nil {
		return nil, err
	}
	p, ok := req.GetParams().(*mcp.SubscriptionsListenParams)
	if !ok || p == nil || p.Notifications == nil || len(p.Notifications.ResourceSubscriptions) > maxWatched {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "notifications must name at most 100 resources"}
	}
	wanted := *p.Notifications
	wanted.ResourceSubscriptions = reachable(a, wanted.ResourceSubscriptions)
	p.Notifications = &wanted
	if len(wanted.ResourceSubscriptions) == 0 {
		return serve(ctx)
	}
	release, err := h.watches.add(ctx, a.Namespace, wanted.ResourceSubscriptions)
	if err != nil {
		return nil, advise(a, err)
	}
	defer release()
	request, _ := info.Extra[extraRequest].(context.Context)
	ctx, end := identity.UntilEnded(ctx, request)
	defer end()
	draining := httpserver.Draining(request) //nolint:contextcheck // the request's own
	go func() {
		defer end()
		select {
		case <-draining:
		case <-h.over(ctx, a):
		case <-ctx.Done():
		}
	}()
	return serve(ctx)
}

// linkCheck is how often an open stream looks whether its share link still is.
const linkCheck = 500 * time.Millisecond

// over returns a channel that is closed when a share link in the access's chain
// is over. Without one it never is, and nobody looks.
func (h *handler) over(ctx context.Context, a filestore.Access) <-chan struct{} {
	if len(a.Chain) == 0 {
		return nil
	}
	over := make(chan struct{})
	go pace.Every(ctx, linkCheck, func() bool {
		if fault.Is(h.svc.Admit(ctx, a), fault.Forbidden) {
			close(over)
			return false
		}
		return true
	})
	return over
}

// reachable keeps the resources of the caller's namespace that its token reaches.
func reachable(a filestore.Access, uris []string) []string {
	var out []string
	for _, uri := range uris {
		path, ok := resourcePath(uri, a.Namespace)
		if !ok {
			continue
		}
		probe := path
		if strings.HasSuffix(path, "/") {
			probe = path + "x" // a folder is reached when what lies in it is
		}
		if clean, err := filename.CleanPath(probe); err == nil && clean == probe && a.Reaches(filestore.Read, probe) {
			out = append(out, uri)
		}
	}
	return out
}

// updated tells whoever listens to a resource that it changed.
func (h *handler) updated(ctx context.Context, uri string) {
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.servers))
	h.mu.Unlock()
	for _, s := range all {
		// listeners that left are not there to be told
		_ = s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
	}
}

// watches follow the change feeds of the namespaces that have listeners, one
// reader for each.
type watches struct {
	svc  *filestore.Service
	tell func(ctx context.Context, uri string)
	mu   sync.Mutex
	by   map[string]*watch
}

type watch struct {
	namespace string
	refs      int
	uris      map[string]int // how many listeners name each
	cancel    context.CancelFunc
}

// add follows resources of a namespace until release is called. Whatever changes
// after add has returned is told.
func (w *watches) add(ctx context.Context, namespace string, uris []string) (release func(), err error) {
	last, err := w.svc.LastChange(ctx, namespace)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.by[namespace]
	if !ok {
		n = &watch{namespace: namespace, uris: map[string]int{}}
		w.by[namespace] = n
		running, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it serves later listeners too
		n.cancel = cancel
		go w.follow(running, n, last)
	}
	n.refs++
	for _, uri := range uris {
		n.uris[uri]++
	}
	return func() { w.release(n, uris) }, nil
}

func (w *watches) release(n *watch, uris []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uri := range uris {
		if n.uris[uri]--; n.uris[uri] == 0 {
			delete(n.uris, uri)
		}
	}
	if n.refs--; n.refs == 0 {
		n.cancel()
		delete(w.by, n.namespace)
	}
}

// follow reads the feed and tells of what listeners named.
func (w *watches) follow(ctx context.Context, n *watch, after int64) {
	const page = 200
	for ctx.Err() == nil {
		events, next, err := w.svc.WaitChanges(ctx, filestore.Owner(n.namespace), after, page)
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // the database is away; the feed keeps what happens
			}
			continue
		}
		after = next
		for _, uri := range w.touched(n, events) {
			w.tell(ctx, uri)
		}
	}
}

// touched returns the named resources that the events are about, each once.
func (w *watches) touched(n *watch, events []filestore.Event) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for uri := range n.uris {
		path, _ := resourcePath(uri, n.namespace)
		for _, e := range events {
			if covers(path, e.Path) || covers(path, e.From) {
				out = append(out, uri)
				break
			}
		}
	}
	return out
}

// covers reports whether a watched path is the changed one, or a folder of it.
func covers(watched, changed string) bool {
	return watched == changed || strings.HasSuffix(watched, "/") && vfspath.Root(watched).Contains(changed)
}
