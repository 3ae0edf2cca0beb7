package oraclesocket

import (
	"context"
	"net/netip"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
)

// NewGuard returns the Guard that applies the oracle's rules, with the same
// limits on wrong credentials as its routes have.
func NewGuard(s *identity.Service, limits identityhttp.Limits) Guard {
	return guard{service: s, limits: limits}
}

type guard struct {
	service *identity.Service
	limits  identityhttp.Limits
}

func (g guard) Authenticate(ctx context.Context, from netip.Addr, c identity.Credentials) (identity.Principal, error) {
	return g.limits.Authenticate(ctx, g.service, identity.Oracle, from, c)
}

func (g guard) OnEnd(p identity.Principal, end func()) (stop func()) { return g.service.OnEnd(p, end) }
