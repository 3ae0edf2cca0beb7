package httpserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/httpserver/clientaddr"
	"github.com/castalia-org/castalia/internal/platform/listener"
)

// PublicBase is the address under which clients reach this deployment, without a
// slash at its end: as the settings say, or the proxy that we believe, or this
// machine's own when the caller is on it. It is empty when nobody can say; then
// references have to be relative. It is never what a stranger wrote into Host: an
// address that we hand out would lead to his server.
func PublicBase(r *http.Request) string {
	x := exchangeOf(r.Context())
	if x == nil {
		return ""
	}
	if now := x.server.cfg.PublicURL; now != nil {
		if base := now(); base != "" {
			return strings.TrimSuffix(base, "/")
		}
	}
	if x.proxied {
		if host := nearestValue(r.Header, "X-Forwarded-Host"); isHost(host) {
			return x.scheme(r) + "://" + host
		}
		return ""
	}
	if own := ownAddr(r); own.Addr().IsLoopback() && !clientaddr.IsForwarded(r.Header) {
		switch name := hostName(r.Host); {
		case name == "localhost":
			return x.scheme(r) + "://" + net.JoinHostPort(name, strconv.Itoa(int(own.Port())))
		case isLoopback(name):
			return x.scheme(r) + "://" + own.String()
		}
	}
	return ""
}

// AbsoluteBase is PublicBase, or else the address of this machine at which the
// request came in: for what cannot be relative. It may lead nowhere from
// outside.
func AbsoluteBase(r *http.Request) string {
	if base := PublicBase(r); base != "" {
		return base
	}
	own := ownAddr(r)
	if x := exchangeOf(r.Context()); x != nil && own.IsValid() {
		return x.scheme(r) + "://" + own.String()
	}
	return "http://localhost"
}

// scheme is how the client reached us, as far as we are told.
func (x *exchange) scheme(r *http.Request) string {
	if r.TLS != nil || x.proxied && strings.EqualFold(nearestValue(r.Header, "X-Forwarded-Proto"), "https") {
		return "https"
	}
	return "http"
}

// nearestValue is what the nearest proxy wrote into a header that proxies may
// append to.
func nearestValue(h http.Header, name string) string {
	lines := h[name]
	if len(lines) == 0 {
		return ""
	}
	last := lines[len(lines)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

// isHost reports whether a text is a name or an address, with or without a port,
// and nothing that would be another part of a URL.
func isHost(s string) bool {
	if s == "" || len(s) > 255 || strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_:[]", r)
	}) {
		return false
	}
	u, err := url.Parse("http://" + s)
	return err == nil && u.Host == s && u.Hostname() != ""
}

// ownAddr is our own end of the connection; not valid when there is none.
func ownAddr(r *http.Request) netip.AddrPort {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.AddrPort{}
	}
	ap, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(listener.PlainAddr(ap.Addr()), ap.Port())
}

// hostName is a Host header without its port, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

func isLoopback(name string) bool {
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}
