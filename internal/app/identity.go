package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/resolver"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// buildIdentity makes the one layer that says who is asking, for all services.
func (a *App) buildIdentity(ctx context.Context) (part, error) {
	signer, err := serviceSigner(a.opt.Settings.Identity)
	if err != nil {
		return part{}, err
	}
	s := a.opt.Settings.Identity
	resolves, err := resolver.New(resolver.Config{URL: s.ResolverURL.Reveal(), AllowPrivate: s.DIDWebPrivate})
	if err != nil {
		return part{}, fmt.Errorf("DID_RESOLVER_URL: %w", err)
	}
	if err := a.openDoor(ctx, string(signer.DID())); err != nil {
		return part{}, err
	}
	a.identity, err = identity.New(
		identity.Deps{
			Store: identitysql.New(a.res.db), Resolver: resolves, Hints: a.res.bus, Gate: a.limits.verify,
			Head: a.res.heads.Of(identitysql.RevocationFeed, identitysql.BindingFeed),
			Door: a.access.door, Logger: a.opt.Log, Now: a.res.now,
		},
		identity.Config{
			Signer: signer, EntityDID: s.OracleEntityDID, AuthMaxTTL: time.Duration(s.AuthMaxTTL) * time.Second,
			MCPMaxTTL: s.MCPMaxTTL, MCPRoots: s.RootIssuers, RefuseBareDelegation: !s.BareDelegation,
		})
	if err != nil {
		return part{}, err
	}
	if err := a.loadRevocations(ctx); err != nil {
		return part{}, err
	}
	identityhttp.Measure(a.res.metrics, a.identity)
	keys, err := a.appKeys()
	if err != nil {
		return part{}, err
	}
	roles := a.openRoles()
	return part{
		name: "identity",
		surfaces: append(keys, identityhttp.Surface(a.identity, a.openCORS(), a.limits.revocations), a.membershipSurface(),
			roles),
		workers: map[string]func(context.Context) error{
			"feeds": a.res.heads.Run, "revocations": a.identity.Run, "members": a.access.door.Run, "quotas": a.access.quotas.Run,
		},
	}, nil
}

// loadRevocations reads what was withdrawn, so that the first requests need not.
// When the database is away it is left to them, and to the worker.
func (a *App) loadRevocations(ctx context.Context) error {
	err := a.identity.Load(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Timeout) {
		a.opt.Log.Warn("revocations are not read yet: nobody is let in before", slog.String("event", "revocations.unread"), slog.Any("error", err))
		return nil
	}
	return err
}

// serviceSigner is the service's key under the DID that it is known by.
func serviceSigner(s config.Identity) (did.Signer, error) {
	signer, err := did.SignerFromSeed(s.OracleKey)
	if err != nil {
		return did.Signer{}, fmt.Errorf("ORACLE_KEY: %w", err)
	}
	if s.OracleDID == "" {
		return signer, nil
	}
	name, err := did.Parse(s.OracleDID)
	if err != nil {
		return did.Signer{}, fmt.Errorf("ORACLE_DID: given %q, allowed is a DID: %w", s.OracleDID, err)
	}
	return signer.As(name), nil
}

// authenticated returns how a surface turns credentials into a principal.
func (a *App) authenticated(surface identity.Surface) func(httpserver.Handler) httpserver.Handler {
	return identityhttp.WrapLimited(a.identity, surface, a.callerLimits())
}

func (a *App) callerLimits() identityhttp.Limits {
	return identityhttp.Limits{Principals: a.limits.principal, Open: a.limits.open, Guesses: a.limits.guesses}
}

// DID is the service's own name, the audience of every token.
func (a *App) DID() string { return a.identity.DID() }

func (a *App) openCORS() httpserver.CORSPolicy { return httpserver.OpenCORS(a.origins()) }

func (a *App) origins() string { return strings.Join(a.opt.Settings.Server.CORSOrigin, ",") }
