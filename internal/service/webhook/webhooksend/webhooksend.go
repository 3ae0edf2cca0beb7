// Package webhooksend makes the requests of package webhook.
//
// It is given a client that refuses addresses which are not public at each
// connection; it follows no redirects, waits ten seconds at most, reads the first
// 512 bytes of an answer or what a caller wants of it, and says what went wrong without naming addresses: an
// owner must not learn from us what a name means in our network, nor whether it means
// anything.
package webhooksend

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/castalia-org/castalia/internal/service/webhook"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

const (
	answerLimit = 10 * time.Second
	resolving   = 5 * time.Second
	maxAnswer   = 512
	maxHeaders  = 16 << 10
	agent       = "Castalia-Webhooks/1 (+https://www.standardwebhooks.com)"
	errPrivate  = "the host cannot be reached on the public internet" // also of names that mean nothing
	errTooLate  = "no answer in time"
	errTLS      = "the host's certificate is not good"
	errNoAnswer = "no connection"
)

// Config says whom a Sender reaches.
type Config struct {
	// Client refuses what is not public by itself, with Refused.
	Client  *http.Client
	Refused error
	// Public reports whether an address is one of the public internet; nil takes all.
	Public func(netip.Addr) bool
	// LookUp resolves a host's name; nil asks the system.
	LookUp func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Sender implements webhook.Sender.
type Sender struct {
	cfg    Config
	client *http.Client
}

var _ webhook.Sender = (*Sender)(nil)

// New makes a sender.
func New(cfg Config) *Sender {
	if cfg.LookUp == nil {
		cfg.LookUp = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	client := *cfg.Client
	client.Timeout = answerLimit
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if t, ok := client.Transport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxResponseHeaderBytes = maxHeaders
		client.Transport = t
	}
	return &Sender{cfg: cfg, client: &client}
}

// CheckHost implements webhook.Sender.
func (s *Sender) CheckHost(ctx context.Context, host string) error {
	if s.cfg.Public == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolving)
	defer cancel()
	addresses, err := s.cfg.LookUp(ctx, host)
	if err != nil || len(addresses) == 0 || slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		return !s.cfg.Public(a)
	}) {
		return errors.New(errPrivate)
	}
	return nil
}

// Send implements webhook.Sender.
func (s *Sender) Send(ctx context.Context, r webhook.Request) (webhook.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return webhook.Answer{}, errors.New(errNoAnswer)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", agent)
	resp, err := s.client.Do(req)
	if err != nil {
		return webhook.Answer{}, s.explain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(max(maxAnswer, r.Read+1))))
	// the status is what counts
	answer := webhook.Answer{
		Status: resp.StatusCode, First: printable(body[:min(len(body), maxAnswer)]),
		RetryAfter: pluginhttp.RetryAfter(resp.Header, time.Now()),
	}
	if err == nil && len(body) <= r.Read {
		answer.Body = body
	}
	return answer, nil
}

// explain says what went wrong in words that an owner may see.
func (s *Sender) explain(err error) error {
	var (
		dns    *net.DNSError
		verify *tls.CertificateVerificationError
		late   net.Error
	)
	switch {
	case s.cfg.Refused != nil && errors.Is(err, s.cfg.Refused), errors.As(err, &dns):
		return errors.New(errPrivate)
	case errors.As(err, &verify):
		return errors.New(errTLS)
	case errors.As(err, &late) && late.Timeout():
		return errors.New(errTooLate)
	}
	return errors.New(errNoAnswer)
}

// printable keeps what can be shown and stored as text.
func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return -1
	}, strings.ToValidUTF8(string(b), ""))
}
