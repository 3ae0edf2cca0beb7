// Package outbound makes HTTP clients for addresses that users or servers name.
//
// A client refuses to connect to private, loopback, link-local and otherwise
// special addresses, checked on the address that is really dialled so that a
// name cannot change its mind, and follows redirects only within one host.
package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/internal/platform/publicaddr"
)

// Config says what a client may do.
type Config struct {
	// AllowPrivate lets the client reach private addresses, for tests and for
	// servers that the operator runs beside this one.
	AllowPrivate bool
	// MaxRedirects is how many redirects are followed; they stay on one host.
	MaxRedirects int
	Timeout      time.Duration
	// MaxConns is how many connections a host gets at once; zero is as many as it takes.
	MaxConns int
}

// maxHeaders bounds the header of an answer.
const maxHeaders = 64 << 10

// ErrPrivate is the refusal of an address.
var ErrPrivate = errors.New("the address is private")

// Dialer makes a dialer that refuses addresses which are not public, unless
// those are allowed.
func Dialer(allowPrivate bool) *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		if allowPrivate {
			return nil
		}
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("parse dialled address: %w", err)
		}
		if !publicaddr.Public(at.Addr()) {
			return ErrPrivate
		}
		return nil
	}}
}

// Client makes a client.
func Client(cfg Config) *http.Client {
	return &http.Client{
		Timeout: cfg.Timeout,
		Transport: &http.Transport{
			DialContext: Dialer(cfg.AllowPrivate).DialContext, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 4, MaxConnsPerHost: cfg.MaxConns, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute, MaxResponseHeaderBytes: maxHeaders,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > cfg.MaxRedirects {
				return errors.New("too many redirects")
			}
			if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
				return errors.New("a redirect leads to another host")
			}
			return nil
		},
	}
}
