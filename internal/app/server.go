package app

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"github.com/castalia-org/castalia/internal/app/autohttps"
	"github.com/castalia-org/castalia/internal/app/causes"
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
	cfg := httpserver.Config{
		Addr: net.JoinHostPort(s.Host, strconv.Itoa(s.Port)), Logger: a.opt.Log, Metrics: a.res.metrics, Traces: a.res.traces,
		Proxies: a.proxies(), PublicURL: s.PublicURL.Reveal(), OperatorToken: s.OperatorToken.Reveal(),
		LocalOperator: ownMachine(s), SignedOperator: a.signedOperator, Audit: a.recordAct, FailedAuth: a.limits.operator,
		Limits:   a.limits.classes,
		CORS:     a.openCORS(),
		MaxConns: s.OpenConnections, DrainDelay: s.DrainDelay, DrainTimeout: s.DrainLimit,
	}
	if len(s.HTTPSDomains) > 0 {
		if a.https, err = autohttps.New(autohttps.Config{
			Domains: s.HTTPSDomains, Email: s.ACMEEmail, Directory: s.ACMEDirectory.Reveal(), CAFile: s.ACMECAFile,
			Port: s.HTTPSPort, Key: a.opt.Settings.Identity.OracleKey, Log: a.opt.Log,
		}); err != nil {
			return nil, err
		}
		cfg.TLS, cfg.TLSAddr, cfg.Plain = a.https.TLS(), net.JoinHostPort(s.Host, strconv.Itoa(s.HTTPSPort)), a.https.Plain
	}
	server, err := httpserver.New(cfg)
	if err != nil {
		return nil, err
	}
	return server, server.Mount(a.docs(server))
}

// certificates are what the program has for HTTPS by itself: nil without HTTPS_DOMAINS.
type certificates struct{ https *autohttps.HTTPS }

// httpsPart keeps the certificates, where the program has them by itself.
func (a *App) httpsPart() []part {
	if a.https == nil {
		return nil
	}
	a.https.Use(a.res.db, a.res.leases)
	return []part{{
		name: "https", workers: map[string]func(context.Context) error{"certificates": a.https.Run},
		causes: &causes.Part{Name: "https", Look: a.https.Troubles},
	}}
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
