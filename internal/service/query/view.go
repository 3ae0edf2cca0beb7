package query

import (
	"errors"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/trouble"
)

// NodeView is a node as the operator sees it.
type NodeView struct {
	Address   string    `json:"address"`
	State     string    `json:"state"`
	Height    int64     `json:"height"`
	InFlight  int64     `json:"inFlight"`
	Calls     int64     `json:"calls"`
	LatencyMS float64   `json:"latencyMs"`
	Seen      time.Time `json:"seen"`
	Problem   string    `json:"problem,omitempty"`
}

// ChainView is a chain as the operator sees it.
type ChainView struct {
	Name       string        `json:"name"`
	Dialect    string        `json:"dialect"`
	Ready      bool          `json:"ready"`
	Height     int64         `json:"height"`
	BlockTime  time.Duration `json:"blockTimeNs"`
	Digest     string        `json:"digest,omitempty"`
	Routes     int           `json:"routes"`
	Warnings   []string      `json:"warnings"`
	Problem    string        `json:"problem,omitempty"`
	Nodes      []NodeView    `json:"nodes"`
	Discovered bool          `json:"discovered"`
}

// RouteView is a route as the operator sees it.
type RouteView struct {
	Method    string `json:"method"`
	Path      string `json:"path"`
	RPC       string `json:"rpc"`
	Chain     string `json:"chain"`
	Cacheable bool   `json:"cacheable"`
	Disabled  bool   `json:"disabled,omitempty"`
	InFlight  int64  `json:"inFlight"`
}

// View is the whole gateway as the operator sees it.
type View struct {
	Chains []ChainView `json:"chains"`
	Cache  CacheStats  `json:"cache"`
	Routes int         `json:"routes"`
}

// View returns the state of the chains, their nodes and the cache.
func (g *Gateway) View() View {
	v := View{Chains: make([]ChainView, 0, len(g.chains)), Routes: len(g.current().router.Routes())}
	for _, c := range g.chains {
		v.Chains = append(v.Chains, c.View())
	}
	v.Cache = g.CacheStats()
	return v
}

// Troubles says what is wrong with chains that cannot be asked.
func (g *Gateway) Troubles() []*trouble.Trouble {
	var all []*trouble.Trouble
	for _, c := range g.chains {
		err := c.Ready()
		if err == nil {
			continue
		}
		why, ok := errors.AsType[*trouble.Trouble](err)
		if !ok {
			why = trouble.New("health.unanswered", nil).With(err.Error())
		}
		var said []string
		for _, n := range c.View().Nodes {
			if n.Problem != "" {
				said = append(said, n.Address+": "+n.Problem)
			}
		}
		if len(said) > 0 {
			why = why.With(strings.Join(said, "; "))
		}
		all = append(all, why)
	}
	return all
}

// CacheStats counts what the cache did; all zero when it is off.
func (g *Gateway) CacheStats() CacheStats {
	if g.cache == nil {
		return CacheStats{}
	}
	return g.cache.Stats()
}

// Routes lists what is served now, under its public paths.
func (g *Gateway) Routes() []RouteView {
	t := g.current()
	views := make([]RouteView, 0, len(t.router.Routes()))
	for _, r := range t.router.Routes() {
		views = append(views, RouteView{
			Method: r.HTTPMethod, Path: t.publicPath(r.Template.String()), RPC: r.Method, Chain: r.Chain,
			Cacheable: r.Cacheable(), Disabled: r.Disabled, InFlight: r.InFlight.Load(),
		})
	}
	return views
}

// Ready reports why the gateway cannot answer, or nil when at least one node
// of every chain is in step.
func (g *Gateway) Ready() error {
	var errs []error
	for _, c := range g.chains {
		errs = append(errs, c.Ready())
	}
	return errors.Join(errs...)
}
