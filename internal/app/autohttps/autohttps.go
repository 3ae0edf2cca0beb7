// Package autohttps gets the certificates of a deployment by ACME, renews them, and
// says which requests may come without TLS.
//
// It promises that in a fleet one node at a time speaks with the certificate
// authority, and that every node serves what that one got: the cache is in the database, its
// writes are fenced by a lease, and answers to challenges are there too, so that any
// node may be asked. It refuses names that it was not given: strangers who make up names would use up what
// the authority allows.
//
// Decision: ADR 0246.
package autohttps

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
)

const (
	leaseName = "https certificates"
	leaseTTL  = 30 * time.Second
	// Authorities allow a handful of failures an hour, so tries are far apart.
	firstRetry, lastRetry = time.Minute, time.Hour
	// lookInterval is how often a holder looks whether its certificates are good. It
	// renews none by that: timers do, a third of their life before they end.
	lookInterval = time.Hour
	requestLimit = 30 * time.Second
	// lookNames is how soon a name that operators added is asked for.
	lookNames = time.Second
)

// MaxNames is how many names a deployment may have.
const MaxNames = 20

// errNotHeld says that another node of the fleet has the lease.
var errNotHeld = errors.New("another node gets the certificates")

// Config is what a deployment wants.
type Config struct {
	// Names are the names that are served, now: at most MaxNames, which CheckNames let through.
	Names func() []string
	// Email is told to the authority, for its warnings.
	Email string
	// Directory is the authority's; empty is Let's Encrypt.
	Directory string
	// CAFile has certificates that vouch for the directory itself; empty: the system's.
	CAFile string
	// Port is where HTTPS is served, for redirects.
	Port int
	// Key is the deployment's; what is stored is sealed by it.
	Key []byte
	Log *slog.Logger
}

// HTTPS is the certificates of a deployment on one node.
type HTTPS struct {
	cfg       Config
	cache     *cache
	leases    *lease.Keeper
	manager   *autocert.Manager
	challenge http.Handler
	held      atomic.Pointer[lease.Lease]

	mu       sync.Mutex
	known    map[string]bool             // names whose certificate was served here
	troubles map[string]*trouble.Trouble // why a name has none
}

var domainForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$`)

// CheckNames says what is wrong with the names of a deployment.
func CheckNames(names []string) error {
	if len(names) > MaxNames {
		return fmt.Errorf("%d names are too many: at most %d", len(names), MaxNames)
	}
	for i, name := range names {
		if !domainForm.MatchString(name) || len(name) > 253 {
			return fmt.Errorf("given %.300q, allowed are names such as oracle.example.org, in lower case and without *", name)
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("given %q twice", name)
		}
	}
	return nil
}

// private are the ends of names that no authority vouches for: they lead somewhere within a
// house or nowhere (RFC 6761, RFC 6762, RFC 8375, RFC 9476).
var private = []string{"local", "localhost", "internal", "intranet", "lan", "home", "corp", "private", "test", "invalid", "example", "onion", "alt", "arpa"}

// CheckPublic says which name no certificate will ever be got for.
func CheckPublic(names []string) error {
	for _, name := range names {
		if end := name[strings.LastIndexByte(name, '.')+1:]; slices.Contains(private, end) {
			return fmt.Errorf("given %q, allowed are names that everybody can look up: nobody gives out certificates below .%s", name, end)
		}
	}
	return nil
}

// New checks what is wanted. Use must be called before anything is served.
func New(cfg Config) (*HTTPS, error) {
	h := &HTTPS{cfg: cfg, known: map[string]bool{}, troubles: map[string]*trouble.Trouble{}}
	transport, err := h.transport()
	if err != nil {
		return nil, err
	}
	h.cache = &cache{seal: sealing.Sealer{Key: cfg.Key, Purpose: "https"}, held: h.holds}
	h.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: h.cache, HostPolicy: h.admits, Email: cfg.Email,
		Client: &acme.Client{
			DirectoryURL: cfg.Directory,
			HTTPClient:   &http.Client{Transport: transport, Timeout: requestLimit}, UserAgent: "castalia",
		},
	}
	h.challenge = h.manager.HTTPHandler(http.NotFoundHandler())
	return h, nil
}

// Use hands in what was opened after the settings were read.
func (h *HTTPS) Use(db *sqldb.DB, leases *lease.Keeper) { h.cache.db, h.leases = db, leases }

// admits is the manager's question whether a name is ours, now.
func (h *HTTPS) admits(_ context.Context, name string) error {
	if !slices.Contains(h.cfg.Names(), name) {
		return fmt.Errorf("%.100q is none of the names of this deployment", name)
	}
	return nil
}

// TLS is how connections are encrypted: HTTP/2 where the client speaks it.
func (h *HTTPS) TLS() *tls.Config {
	cfg := h.manager.TLSConfig()
	cfg.MinVersion, cfg.GetCertificate = tls.VersionTLS12, h.certificate
	return cfg
}

// holds returns the lease while this node has it.
func (h *HTTPS) holds() (lease.Lease, bool) {
	if l := h.held.Load(); l != nil {
		return *l, true
	}
	return lease.Lease{}, false
}

// certificate finds the certificate for a handshake. No handshake orders one, on the
// node with the lease either: strangers would decide how often the authority is asked, and use
// up the few failures that it allows.
func (h *HTTPS) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
	if !slices.Contains(h.cfg.Names(), name) {
		return nil, fmt.Errorf("no certificate for %.100q here", name)
	}
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) {
		return h.manager.GetCertificate(hello) // the authority, which wants the answer to its challenge
	}
	if !h.isKnown(name) {
		ctx := context.Background()
		if c := hello.Context(); c != nil {
			ctx = c
		}
		if err := h.cache.holds(ctx, name, time.Now()); err != nil {
			return nil, fmt.Errorf("no certificate for %s yet: %w", name, err)
		}
	}
	return h.obtain(name)
}

// obtain has the manager find the certificate for a name, or order it. It is asked as by a
// browser of today, whoever asks: else the first client without ECDSA would have a second one
// ordered.
func (h *HTTPS) obtain(name string) (*tls.Certificate, error) {
	cert, err := h.manager.GetCertificate(&tls.ClientHelloInfo{
		ServerName: name, SupportedProtos: []string{"h2", "http/1.1"},
		CipherSuites:     []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedCurves: []tls.CurveID{tls.CurveP256},
	})
	if err == nil {
		h.mu.Lock()
		h.known[name] = true
		h.mu.Unlock()
	}
	return cert, err
}

func (h *HTTPS) isKnown(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[name]
}

// transport carries requests to the authority, while this node has the lease.
func (h *HTTPS) transport() (http.RoundTripper, error) {
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
	}
	if h.cfg.CAFile != "" {
		pem, err := os.ReadFile(h.cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ACME_CA_FILE: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ACME_CA_FILE: %s holds no certificate", h.cfg.CAFile)
		}
		base.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return fenced{base, h.holds}, nil
}

// fenced is a transport that is closed to nodes without the lease.
type fenced struct {
	*http.Transport
	holds func() (lease.Lease, bool)
}

// RoundTrip implements http.RoundTripper.
func (f fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := f.holds(); !ok {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errNotHeld
	}
	return f.Transport.RoundTrip(r)
}

// Run gets the certificates, while this node is the one that does, until ctx ends.
func (h *HTTPS) Run(ctx context.Context) error {
	return h.leases.Run(ctx, leaseName, leaseTTL, func(ctx context.Context, l lease.Lease) error {
		h.held.Store(&l)
		defer h.held.Store(nil)
		if err := h.cache.sweep(ctx, l); err != nil {
			return err
		}
		return h.keep(ctx)
	})
}

// keep sees to it that there is a certificate for every name.
func (h *HTTPS) keep(ctx context.Context) error {
	retry := firstRetry
	for {
		wait := lookInterval
		var failed bool
		names := h.cfg.Names()
		for _, name := range names {
			err := h.order(ctx, name)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				wait, failed = retry, true
				h.cfg.Log.Warn("no certificate", slog.String("event", "certificate.missing"), slog.String("domain", name),
					slog.Duration("next_try", wait), slog.Any("error", err))
			}
			h.note(name, err)
		}
		retry = min(2*retry, lastRetry)
		if !failed {
			retry = firstRetry
		}
		changed, err := h.rest(ctx, wait, names)
		if err != nil {
			return err
		}
		if changed {
			retry = firstRetry
		}
	}
}

// rest waits, and not longer than until there are other names.
func (h *HTTPS) rest(ctx context.Context, wait time.Duration, names []string) (changed bool, err error) {
	for left := wait; left > 0; left -= lookNames {
		if err := pace.Sleep(ctx, min(left, lookNames)); err != nil {
			return false, err
		}
		if !slices.Equal(names, h.cfg.Names()) {
			return true, nil
		}
	}
	return false, nil
}

// order has the manager find or get the certificate for a name. The manager takes no
// context; after ctx it gets nothing from the authority any more, and ends by itself.
func (h *HTTPS) order(ctx context.Context, name string) error {
	done := make(chan error, 1)
	go func() {
		_, err := h.obtain(name)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *HTTPS) note(name string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.troubles, name)
	if err != nil {
		h.troubles[name] = trouble.New("health.noCertificate", words.Values{"domain": name}).With(err.Error())
	}
}

// Name is how a name of the deployment is served.
type Name struct {
	Name string `json:"name"`
	// Ready says that there is a certificate for it, which is good now.
	Ready bool `json:"ready"`
	// Problem is why this node could not get one.
	Problem string `json:"problem,omitempty"`
}

// States says for which names there are certificates.
func (h *HTTPS) States(ctx context.Context, now time.Time) ([]Name, error) {
	out := []Name{}
	for _, name := range h.cfg.Names() {
		err := h.cache.holds(ctx, name, now)
		if err != nil && !errors.Is(err, autocert.ErrCacheMiss) {
			return nil, err
		}
		one := Name{Name: name, Ready: err == nil}
		h.mu.Lock()
		if why := h.troubles[name]; why != nil && !one.Ready {
			one.Problem = why.Error()
		}
		h.mu.Unlock()
		out = append(out, one)
	}
	return out, nil
}

// Troubles says which names have no certificate, and why.
func (h *HTTPS) Troubles(context.Context) []*trouble.Trouble {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*trouble.Trouble
	for _, name := range h.cfg.Names() {
		if why := h.troubles[name]; why != nil {
			out = append(out, why)
		}
	}
	return out
}
