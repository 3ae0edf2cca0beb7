package autohttps

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/publicaddr"
)

// challenges is where an authority looks whether a name is ours.
const challenges = "/.well-known/acme-challenge/"

// mayBePlain reports whether a path is served without TLS to anybody: probes, and
// gateways of telephones, which know no redirects.
func mayBePlain(path string) bool {
	return path == "/" || path == "/health" || strings.HasPrefix(path, "/api/ussd")
}

// Plain answers a request that came without TLS where it must not be served so, and
// reports whether it did. Requests for one of the names are sent to HTTPS. Requests
// for other names, such as those of other nodes or of a shell on this machine, are served to
// private networks alone: nobody else can be sent anywhere.
func (h *HTTPS) Plain(w http.ResponseWriter, r *http.Request) bool {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(host, ".")
	names := h.cfg.Names()
	ours := slices.Contains(names, host)
	switch {
	case len(names) == 0: // operators took the last one away: the port stays until the next start
		return false
	case ours && strings.HasPrefix(r.URL.Path, challenges):
		named := *r
		named.Host = host // the manager compares it as it is
		h.challenge.ServeHTTP(w, &named)
		return true
	case mayBePlain(r.URL.Path):
		return false
	case ours:
		if h.cfg.Port != 443 {
			host = net.JoinHostPort(host, strconv.Itoa(h.cfg.Port))
		}
		target := r.URL.RequestURI()
		if !strings.HasPrefix(target, "/") { // "x:.evil.example" would make another name of ours
			target = "/"
		}
		w.Header().Set("Location", "https://"+host+target)
		w.WriteHeader(http.StatusPermanentRedirect)
		return true
	case isPrivate(r.RemoteAddr):
		return false
	}
	http.Error(w, "This is served by HTTPS at "+names[0]+".", http.StatusMisdirectedRequest)
	return true
}

func isPrivate(remote string) bool {
	addr, err := netip.ParseAddrPort(remote)
	return err == nil && !publicaddr.Public(addr.Addr().Unmap())
}
