package httpserver

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/listener"
)

// peerAddr is the address at the other end of the connection.
func peerAddr(r *http.Request, conn *listener.Conn) netip.Addr {
	if peer := conn.Peer(); peer.IsValid() {
		return peer
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return listener.PlainAddr(ap.Addr())
}

// proxies are the networks whose word about their clients is believed.
type proxies []netip.Prefix

func (p proxies) include(addr netip.Addr) bool {
	for _, network := range p {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// clientAddr is the address of the client, and whether a proxy that we believe
// told it. The peer is the client unless it is such a proxy; then the nearest
// forwarded hop that is none is, or the farthest hop when all are.
func clientAddr(r *http.Request, conn *listener.Conn, trusted proxies) (client netip.Addr, proxied bool) {
	nearest := peerAddr(r, conn)
	if !trusted.include(nearest) {
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
			if nearest = addr; !trusted.include(addr) {
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

// forwarded reports whether the request says that it came through a proxy.
func forwarded(h http.Header) bool {
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
