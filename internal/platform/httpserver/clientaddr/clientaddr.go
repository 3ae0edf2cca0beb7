// Package clientaddr says from which address a request comes.
//
// A proxy's word is believed only when the proxy's own address is in a network
// that the operator named; everybody else is whoever their connection says.
//
// Decision: ADR 0147.
package clientaddr

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/listener"
)

// OfPeer is the address at the other end of the connection.
func OfPeer(r *http.Request, conn *listener.Conn) netip.Addr {
	if peer := conn.Peer(); peer.IsValid() {
		return peer
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return listener.PlainAddr(ap.Addr())
}

// include reports whether one of the networks has the address.
func include(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// Of is the address of the client, and whether a proxy in the trusted networks
// told it. The peer is the client unless it is such a proxy; then the nearest
// forwarded hop that is none is, or the farthest hop when all are.
func Of(r *http.Request, conn *listener.Conn, trusted []netip.Prefix) (client netip.Addr, proxied bool) {
	nearest := OfPeer(r, conn)
	if !include(trusted, nearest) {
		return nearest, false
	}
	for _, line := range slices.Backward(r.Header["X-Forwarded-For"]) {
		for end := len(line); end >= 0; {
			comma := strings.LastIndexByte(line[:end], ',')
			addr, ok := parseHop(strings.TrimSpace(line[comma+1 : end]))
			end = comma
			if !ok {
				return nearest, true // nobody vouches for garbage, nor for what is left of it
			}
			if nearest = addr; !include(trusted, addr) {
				return addr, true
			}
		}
	}
	return nearest, true
}

// parseHop reads an address as proxies write it: with or without a port or brackets.
func parseHop(s string) (netip.Addr, bool) {
	bare := s
	if inner, ok := strings.CutPrefix(s, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			bare = inner
		}
	}
	if addr, err := netip.ParseAddr(bare); err == nil {
		return listener.PlainAddr(addr), true
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return listener.PlainAddr(ap.Addr()), true
	}
	return netip.Addr{}, false
}

// IsForwarded reports whether the request says that it came through a proxy.
func IsForwarded(h http.Header) bool {
	for name := range h {
		switch name {
		case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip":
			return true
		}
		if strings.HasPrefix(name, "X-Forwarded") {
			return true
		}
	}
	return false
}
