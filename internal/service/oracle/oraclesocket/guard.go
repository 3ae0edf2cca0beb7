package oraclesocket

import (
	"context"
	"net/netip"

	"github.com/castalia-org/castalia/internal/identity"
)

// NewGuard returns the Guard that applies the oracle's rules, and takes the time
// of verification from the same address's budget as its routes do.
func NewGuard(s *identity.Service) Guard { return guard{service: s} }

type guard struct {
	service *identity.Service
}

func (g guard) Authenticate(ctx context.Context, from netip.Addr, c identity.Credentials) (identity.Principal, error) {
	c.From = from
	return g.service.Authenticate(ctx, identity.Oracle, c)
}

func (g guard) OnEnd(p identity.Principal, end func()) (stop func()) { return g.service.OnEnd(p, end) }
