package httpserver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// inside are the networks of the proxies in these tests: loopback and private.
var inside = func() (all []netip.Prefix) {
	for _, text := range []string{"127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10"} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}()

// hop is an entry of X-Forwarded-For as a model knows it.
type hop struct {
	text    string
	addr    string // empty: garbage
	trusted bool
}

func randomHop(dice *rand.Rand) hop {
	pick := func(list ...string) string { return list[dice.IntN(len(list))] }
	if dice.IntN(8) == 0 {
		return hop{text: pick("unknown", "", "_hidden", "300.1.1.1", "1.2.3.4.5", "10.0.0.1:port", "[::1", "::1]", "[[::1]]",
			"8.8.8.8;", "\"8.8.8.8\"", "for=8.8.8.8", "010.0.0.1", "8.8.8.8/32", "☃")}
	}
	h := hop{trusted: dice.IntN(2) == 0}
	if h.trusted {
		h.addr = pick("127.0.0.1", "10.1.2.3", "172.31.255.255", "192.168.0.9", "169.254.3.3", "fd00::7", "fe80::1", "::1")
	} else {
		h.addr = pick("8.8.8.8", "172.32.0.1", "100.64.0.1", "203.0.113.7", "2001:db8::1", "2606:4700::1111", "0.0.0.0", "::")
	}
	six := strings.Contains(h.addr, ":")
	switch form := dice.IntN(4); {
	case six && form == 0:
		h.text = "[" + h.addr + "]"
	case six && form == 1:
		h.text = "[" + h.addr + "]:4711"
	case six && form == 2 && strings.HasPrefix(h.addr, "fe80"):
		h.text = h.addr + "%eth0"
	case !six && form == 0:
		h.text = h.addr + ":80"
	case !six && form == 1:
		h.text = "::ffff:" + h.addr
	default:
		h.text = h.addr
	}
	h.text = pick("", " ", "\t ") + h.text + pick("", " ")
	return h
}

// lay writes hops into one or several header lines.
func lay(dice *rand.Rand, hops []hop) (lines []string) {
	for i, h := range hops {
		if i == 0 || dice.IntN(4) == 0 {
			lines = append(lines, h.text)
		} else {
			lines[len(lines)-1] += "," + h.text
		}
	}
	return lines
}

// seen is who the server takes for the client.
func seen(t *testing.T, s *httpserver.Server, peer string, lines []string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = net.JoinHostPort(peer, "9")
	r.Header["X-Forwarded-For"] = lines
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Body.String()
}

// TestNearestHopThatIsNoProxy tries random chains: the client is the nearest hop
// that is no proxy, and nothing that stands left of it changes that.
func TestNearestHopThatIsNoProxy(t *testing.T) {
	t.Parallel()
	s := newServer(t, httpserver.Config{Proxies: inside}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/", func(w http.ResponseWriter, r *http.Request) error {
			_, err := fmt.Fprint(w, httpserver.ClientIP(r.Context()))
			return err
		}),
	}})
	dice := rand.New(rand.NewPCG(17, 4))
	for range 20_000 {
		peer := randomHop(dice)
		for peer.addr == "" {
			peer = randomHop(dice)
		}
		var hops []hop
		for range dice.IntN(6) {
			hops = append(hops, randomHop(dice))
		}
		lines := lay(dice, hops)
		want, settled := peer.addr, !peer.trusted
		for i := len(hops) - 1; i >= 0 && !settled; i-- {
			if hops[i].addr == "" {
				break // nobody vouches for what stands left of garbage
			}
			want, settled = hops[i].addr, !hops[i].trusted
		}
		if got := seen(t, s, peer.addr, lines); got != want {
			t.Fatalf("peer %s, forwarded %q: got %s, want %s", peer.addr, lines, got, want)
		}
	}
}

// TestWhoIsNoProxyIsNotBelieved tells a stranger's headers from a proxy's.
func TestWhoIsNoProxyIsNotBelieved(t *testing.T) {
	t.Parallel()
	serve := func(cfg httpserver.Config) *httpserver.Server {
		return newServer(t, cfg, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			get("/", func(w http.ResponseWriter, r *http.Request) error {
				_, err := fmt.Fprint(w, httpserver.ClientIP(r.Context()), " ", httpserver.PublicBase(r))
				return err
			}),
		}})
	}
	narrow := []netip.Prefix{netip.MustParsePrefix("10.0.0.5/32")}
	for _, test := range []struct {
		name    string
		proxies []netip.Prefix
		public  string
		peer    string
		own     string
		host    string
		header  []string
		want    string
		secure  bool
	}{
		{name: "nobody is trusted", peer: "10.0.0.5", header: []string{"X-Forwarded-For: 8.8.8.8", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https"}, want: "10.0.0.5 "},
		{name: "a stranger", proxies: narrow, peer: "10.0.0.6", header: []string{"X-Forwarded-For: 8.8.8.8", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https"}, want: "10.0.0.6 "},
		{name: "a stranger's Host", proxies: narrow, peer: "8.8.8.8", host: "evil.example", want: "8.8.8.8 "},
		{name: "the proxy", proxies: narrow, peer: "10.0.0.5", header: []string{"X-Forwarded-For: 8.8.8.8", "X-Forwarded-Host: castalia.example", "X-Forwarded-Proto: https"}, want: "8.8.8.8 https://castalia.example", secure: true},
		{name: "the proxy, with a port", proxies: narrow, peer: "10.0.0.5", header: []string{"X-Forwarded-Host: castalia.example:8443", "X-Forwarded-Proto: HTTPS"}, want: "10.0.0.5 https://castalia.example:8443", secure: true},
		{name: "the proxy passed Host on and nothing else", proxies: narrow, peer: "10.0.0.5", host: "evil.example", header: []string{"X-Forwarded-For: 8.8.8.8"}, want: "8.8.8.8 "},
		{name: "what the client wrote stands left of it", proxies: narrow, peer: "10.0.0.5", header: []string{"X-Forwarded-Host: evil.example, castalia.example", "X-Forwarded-Proto: http"}, want: "10.0.0.5 http://castalia.example"},
		{name: "no host at all", proxies: narrow, peer: "10.0.0.5", header: []string{"X-Forwarded-Host: evil.example/x?"}, want: "10.0.0.5 "},
		{name: "credentials in the host", proxies: narrow, peer: "10.0.0.5", header: []string{"X-Forwarded-Host: castalia.example@evil.example"}, want: "10.0.0.5 "},
		{name: "a wider chain", proxies: narrow, peer: "10.0.0.5", header: []string{"X-Forwarded-For: 9.9.9.9, 10.0.0.7"}, want: "10.0.0.7 "},
		{name: "the setting", public: "https://castalia.example/", peer: "8.8.8.8", host: "evil.example", want: "8.8.8.8 https://castalia.example"},
		{name: "the setting wins", public: "https://castalia.example", proxies: narrow, peer: "10.0.0.5", header: []string{"X-Forwarded-Host: other.example"}, want: "10.0.0.5 https://castalia.example"},
		{name: "on this machine", peer: "127.0.0.1", own: "127.0.0.1:3000", host: "localhost:9", want: "127.0.0.1 http://localhost:3000"},
		{name: "by address", peer: "127.0.0.1", own: "127.0.0.1:3000", host: "127.0.0.1:3000", want: "127.0.0.1 http://127.0.0.1:3000"},
		{name: "by address, IPv6", peer: "::1", own: "[::1]:3000", host: "[::1]:3000", want: "::1 http://[::1]:3000"},
		{name: "a name that leads here", peer: "127.0.0.1", own: "127.0.0.1:3000", host: "evil.example:3000", want: "127.0.0.1 "},
		{name: "through a proxy that nobody trusts", peer: "127.0.0.1", own: "127.0.0.1:3000", host: "localhost", header: []string{"X-Forwarded-For: 8.8.8.8"}, want: "127.0.0.1 "},
		{name: "from another machine", peer: "192.168.1.9", own: "192.168.1.5:3000", host: "192.168.1.5:3000", want: "192.168.1.9 "},
	} {
		s := serve(httpserver.Config{Proxies: test.proxies, PublicURL: func() string { return test.public }})
		ctx := t.Context()
		if test.own != "" {
			ctx = context.WithValue(ctx, http.LocalAddrContextKey,
				net.Addr(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(test.own))))
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		r.RemoteAddr = net.JoinHostPort(test.peer, "9")
		r.Host = test.host
		for _, line := range test.header {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Add(name, value)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if got := w.Body.String(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if secure := w.Header().Get("Strict-Transport-Security") != ""; secure != test.secure {
			t.Errorf("%s: taken for TLS is %t", test.name, secure)
		}
	}
}
