package app

import (
	"net"
	"net/netip"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/apidocs"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// newServer makes the one listener's server with everybody's limits.
func (a *App) newServer() (*httpserver.Server, error) {
	s := a.opt.Settings.Server
	a.sayIfClosed()
	if err := s.CheckPublicURL(); err != nil {
		return nil, err
	}
	var err error
	if a.gateways, err = readGateways(a.opt.Settings.USSD); err != nil {
		return nil, err
	}
	a.limits = newLimits(s, a.opt.Settings.Identity, a.opt.Settings.USSD.GatewayCIDRs)
	a.limits.measure(a.res.metrics)
	server, err := httpserver.New(httpserver.Config{
		Addr: net.JoinHostPort(s.Host, strconv.Itoa(s.Port)), Logger: a.opt.Log, Metrics: a.res.metrics, Traces: a.res.traces,
		Proxies: a.proxies(), PublicURL: a.publicURL, OperatorToken: s.OperatorToken.Reveal(),
		LocalOperator: ownMachine(s), SignedOperator: a.signedOperator, Audit: a.recordAct, FailedAuth: a.limits.operator,
		Limits: a.limits.classes, Open: a.limits.open,
		CORS:     a.openCORS(),
		MaxConns: s.OpenConnections, DrainDelay: s.DrainDelay, DrainTimeout: s.DrainLimit,
	})
	if err != nil {
		return nil, err
	}
	return server, server.Mount(a.docs(server))
}

// docs is the documentation of what a server has mounted.
func (a *App) docs(server *httpserver.Server) httpserver.Surface {
	return apidocs.Surface(apidocs.Options{Title: a.opt.Settings.Oracle.Name, Version: a.opt.Version}, server.Surfaces)
}

// proxies are the networks whose word about clients is believed.
func (a *App) proxies() []netip.Prefix {
	if !a.opt.Settings.Server.TrustProxy {
		return nil
	}
	return a.opt.Settings.Server.TrustedProxies
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
