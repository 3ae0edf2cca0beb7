package oraclesocket

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

// headerForwarded marks a request that another node sent on, so that it is not
// sent on again.
const headerForwarded = "X-Castalia-Forwarded"

const (
	whereTimeout = time.Second
	keepWhere    = 30 * time.Second
	maxPeers     = 1024
)

// peers knows where other nodes are. A polling session lives on one node: its
// id begins with that node's tag, and the node itself says over the bus where
// it is, so that an id made up by a client can point nowhere else.
type peers struct {
	transport *http.Transport

	mu    sync.Mutex
	known map[string]peer
}

type peer struct {
	proxy *httputil.ReverseProxy
	until time.Time
}

func (p *peers) init() {
	p.known = make(map[string]peer)
	p.transport = &http.Transport{
		DialContext:         (&net.Dialer{Timeout: whereTimeout}).DialContext,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     time.Minute,
	}
}

// announce answers other nodes that look for this one.
func (g *Gateway) announce() error {
	if g.cfg.Alone {
		return nil
	}
	if g.cfg.NodeURL == "" {
		g.deps.Logger.Warn("NODE_URL is not set: socket.io clients that poll must reach this node themselves", slog.String("event", "node_url.missing"))
		return nil
	}
	sub, err := g.deps.Bus.Respond(whereOf(g.tag), func(context.Context, []byte) ([]byte, error) {
		return []byte(g.cfg.NodeURL), nil
	})
	if err != nil {
		return err
	}
	g.keep(sub)
	return nil
}

// foreign serves a session of another node by sending the request on to it.
func (g *Gateway) foreign(r *http.Request, sid string) http.Handler {
	if g.cfg.Alone || len(sid) <= tagLength || sid[:tagLength] == g.tag || r.Header.Get(headerForwarded) != "" {
		return nil
	}
	tag := sid[:tagLength]
	if bus.CheckSubject(whereOf(tag)) != nil {
		return nil
	}
	proxy := g.peer(r.Context(), tag)
	if proxy == nil {
		return nil
	}
	return proxy
}

func (g *Gateway) peer(ctx context.Context, tag string) *httputil.ReverseProxy {
	now := g.deps.Now()
	g.peers.mu.Lock()
	known, ok := g.peers.known[tag]
	g.peers.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.proxy
	}
	ctx, cancel := context.WithTimeout(ctx, whereTimeout)
	defer cancel()
	raw, err := g.deps.Bus.Request(ctx, whereOf(tag), nil)
	if err != nil {
		return nil // gone, or never was
	}
	target, err := url.Parse(string(raw))
	if err != nil || target.Host == "" {
		g.deps.Logger.Warn("a node says that it is nowhere; check its NODE_URL", slog.String("event", "node_url.wrong"), slog.String("node", tag))
		return nil
	}
	found := peer{proxy: g.proxyTo(tag, target), until: now.Add(keepWhere)}
	g.peers.mu.Lock()
	defer g.peers.mu.Unlock()
	if len(g.peers.known) >= maxPeers {
		clear(g.peers.known)
	}
	g.peers.known[tag] = found
	return found.proxy
}

func (g *Gateway) proxyTo(tag string, target *url.URL) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: g.peers.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.URL.Path, r.Out.URL.RawPath = r.In.URL.Path, r.In.URL.RawPath
			r.Out.Host = r.In.Host
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
			r.Out.Header.Set(headerForwarded, g.tag)
		},
		ModifyResponse: func(r *http.Response) error {
			// The outer server sets these itself.
			for _, name := range []string{"X-Request-Id", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Allow-Credentials", "Vary"} {
				r.Header.Del(name)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			g.peers.mu.Lock()
			delete(g.peers.known, tag)
			g.peers.mu.Unlock()
			if r.Context().Err() == nil {
				g.deps.Logger.Warn("a polling session's node cannot be reached", slog.String("event", "socket.node_unreachable"), slog.Any("error", err))
			}
			engineio.Unknown(w, r)
		},
	}
}
