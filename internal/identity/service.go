package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/castalia-org/castalia/internal/identity/recent"
	"github.com/castalia-org/castalia/internal/platform/feed"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// Resolver looks up DIDs that are not did:key. Implementations bound each call
// in time and may answer from a cache.
type Resolver interface {
	// Keys returns the keys that may sign for the DID. An error means that
	// nobody can say at the moment.
	Keys(ctx context.Context, d did.DID) ([]did.Key, error)
	// Controllers returns the DIDs that control an entity.
	Controllers(ctx context.Context, entity did.DID) ([]did.DID, error)
}

// Config says who this service is and how strict it is.
type Config struct {
	// Signer is the service's key, under its DID (ORACLE_DID): the audience of
	// every token.
	Signer did.Signer
	// EntityDID names the oracle in resources of MCP tools; empty is the service DID.
	EntityDID string
	// AuthMaxTTL caps the lifetime of oracle invocations; zero is 15 minutes.
	AuthMaxTTL time.Duration
	// MCPMaxTTL caps the lifetime of tokens on /mcp; zero is 24 hours.
	MCPMaxTTL time.Duration
	// RefuseBareDelegation turns the delegation fallback off.
	RefuseBareDelegation bool
	// MCPRoots are the DIDs that may be the root of mcp/call. Without any, each caller is one.
	MCPRoots []string
	// CacheBytes bounds the memory of verified tokens; zero is 64 MiB.
	CacheBytes int
}

// Deps are the parts that the service works with.
type Deps struct {
	Store    Store
	Resolver Resolver // nil resolves nothing
	Hints    Hints    // nil: only the poll
	// Head is that of revocations and of bindings; nil: each poll reads them.
	Head *feed.Head
	Door Door // nil: everybody may come in
	// Gate shares out the time of verification between addresses; nil does not.
	Gate   *ratelimit.Gate
	Logger *slog.Logger
	Now    func() time.Time // nil is time.Now
}

// Service verifies credentials and keeps what must be remembered of them. Its
// methods may be called from many goroutines.
type Service struct {
	cfg      Config
	store    Store
	resolver Resolver
	hints    Hints
	door     Door
	log      *slog.Logger
	now      func() time.Time

	sealer  sealing.Sealer // of delegations in the database
	cache   *recent.Map[tokenHash, Principal]
	past    *recent.Map[tokenHash, struct{}] // tokens that were good once
	over    *recent.Map[tokenHash, ending]   // tokens that are not good any more
	gate    *ratelimit.Gate
	asking  *ratelimit.Gate // of look-ups
	flights singleflight.Group
	revoked *revocations
	head    *feed.Head
	wake    chan struct{}
	counts  counts
}

// New returns a service.
func New(d Deps, cfg Config) (*Service, error) {
	if cfg.Signer.DID() == "" {
		return nil, errors.New("identity: no service key")
	}
	if d.Store == nil {
		return nil, errors.New("identity: no store")
	}
	for _, root := range cfg.MCPRoots {
		if _, err := did.Parse(root); err != nil {
			return nil, fmt.Errorf("root of mcp/call (UCAN_ROOT_ISSUERS): %w", err)
		}
	}
	if cfg.EntityDID == "" {
		cfg.EntityDID = string(cfg.Signer.DID())
	}
	if cfg.AuthMaxTTL <= 0 {
		cfg.AuthMaxTTL = 15 * time.Minute
	}
	if cfg.MCPMaxTTL <= 0 {
		cfg.MCPMaxTTL = 24 * time.Hour
	}
	if cfg.CacheBytes <= 0 {
		cfg.CacheBytes = 64 << 20
	}
	if d.Resolver == nil {
		d.Resolver = noResolver{}
	}
	if d.Door == nil {
		d.Door = openDoor{}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	s := &Service{
		sealer: sealerOf(cfg.Signer),
		cfg:    cfg, store: d.Store, resolver: d.Resolver, hints: d.Hints, log: d.Logger, now: d.Now, gate: d.Gate,
		door: d.Door,
		asking: ratelimit.NewGate(ratelimit.GateConfig{
			Budget: lookupBudget, Ahead: lookupAhead, Slots: lookupSlots,
		}),
		cache: recent.New[tokenHash, Principal](cfg.CacheBytes), past: recent.New[tokenHash, struct{}](maxPast),
		over: recent.New[tokenHash, ending](maxOver), revoked: newRevocations(),
		head: d.Head, wake: make(chan struct{}, 1),
	}
	d.Head.Follow(func(began time.Time) { s.revoked.saw(int64(began.Sub(s.revoked.began))) }, s.look)
	return s, nil
}

// counts are what has happened since the start.
type counts struct {
	verified, recalled, refused atomic.Int64
}

// Stats are figures for operators.
type Stats struct {
	// Verified counts tokens that were checked in full, Recalled those that were
	// known, Refused those that did not hold.
	Verified, Recalled, Refused int64
	// Remembered is how many tokens are held, Revocations how many targets are
	// withdrawn, Watched how many connections hang on a token.
	Remembered, Revocations, Watched int
}

// Stats returns the figures.
func (s *Service) Stats() Stats {
	revocations, watched := s.revoked.size()
	return Stats{
		Verified: s.counts.verified.Load(), Recalled: s.counts.recalled.Load(), Refused: s.counts.refused.Load(),
		Remembered: s.cache.Len(), Revocations: revocations, Watched: watched,
	}
}

// DID returns the service's DID, the audience of every token.
func (s *Service) DID() string { return string(s.cfg.Signer.DID()) }

// EntityDID returns the DID under which the oracle is registered.
func (s *Service) EntityDID() string { return s.cfg.EntityDID }

// Why a DID has no document, where it is not that the resolver is away: asking
// again does not help.
var (
	// ErrNoResolver says that this deployment looks such DIDs up nowhere.
	ErrNoResolver = errors.New("DID_RESOLVER_URL is not set")
	// ErrUnknownDID says that the resolver answered, and has no such DID.
	ErrUnknownDID = errors.New("the resolver does not know it")
)

// noResolver is for deployments without DID_RESOLVER_URL.
type noResolver struct{}

func (noResolver) Keys(context.Context, did.DID) ([]did.Key, error) { return nil, ErrNoResolver }

func (noResolver) Controllers(context.Context, did.DID) ([]did.DID, error) {
	return nil, ErrNoResolver
}
