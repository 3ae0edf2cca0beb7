package httpserver

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// plainAddr is an address as it is compared: not wrapped in IPv6, without a zone.
func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// peerAddr is the address at the other end of the connection.
func peerAddr(r *http.Request, conn *trackedConn) netip.Addr {
	if conn != nil && conn.peer.IsValid() {
		return conn.peer
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return plainAddr(ap.Addr())
}

// clientAddr is the address of the client. The peer is the client unless it
// is a trusted proxy; then the right-most forwarded hop that is a public
// address is, or the left-most hop when all are inside.
func clientAddr(r *http.Request, conn *trackedConn, trustProxy bool) netip.Addr {
	peer := peerAddr(r, conn)
	if !trustProxy {
		return peer
	}
	lines := r.Header["X-Forwarded-For"]
	leftmost := netip.Addr{}
	for _, line := range slices.Backward(lines) {
		for line != "" {
			hop := line
			if j := strings.LastIndexByte(line, ','); j >= 0 {
				line, hop = line[:j], line[j+1:]
			} else {
				line = ""
			}
			addr, ok := parseHop(strings.TrimSpace(hop))
			if !ok {
				// Garbage can not be vouched for, nor can what is left of it.
				if leftmost.IsValid() {
					return leftmost
				}
				return peer
			}
			if !addr.IsLoopback() && !addr.IsLinkLocalUnicast() && !addr.IsPrivate() {
				return addr
			}
			leftmost = addr
		}
	}
	if leftmost.IsValid() {
		return leftmost
	}
	return peer
}

// parseHop reads an address as proxies write it: with or without a port or brackets.
func parseHop(s string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return plainAddr(addr), true
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return plainAddr(ap.Addr()), true
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
