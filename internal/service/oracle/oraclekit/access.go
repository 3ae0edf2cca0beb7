package oraclekit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// Access is what may be done in a user's name. FilesFor, QueryFor
// and KnowledgeFor are the deployment's own services, when it has them.
type Access struct {
	Identity *identity.Service
	// FilesFor opens the user's files; authority mints what the store asks for.
	FilesFor func(userDID string, authority plugin.Authority) plugin.Files
	QueryFor func(userDID string) plugin.Query
	// KnowledgeFor is what the user may read of the community's documents, with what
	// their delegations open.
	KnowledgeFor func(userDID string, b identity.Brought) plugin.Knowledge
	// BytesFor reads the first bytes of a file of the user's by its CID.
	BytesFor func(ctx context.Context, authority plugin.Authority, cid string, limit int64) ([]byte, error)
}

var _ turn.Access = Access{}

// Authority mints invocations from the user's delegation.
func (a Access) Authority(userDID string, b identity.Brought) plugin.Authority {
	return authority{identity: a.Identity, user: b.Of(userDID)}
}

// Files is the user's file store.
func (a Access) Files(userDID string, b identity.Brought) plugin.Files {
	if a.FilesFor == nil {
		return turn.NoAccess().Files(userDID, b)
	}
	return a.FilesFor(userDID, a.Authority(userDID, b))
}

// ReadFile reads at most limit bytes of one of the user's files: see attachments.Store.
func (a Access) ReadFile(ctx context.Context, userDID string, b identity.Brought, cid string,
	limit int64,
) ([]byte, error) {
	if a.BytesFor == nil {
		return nil, plugin.ErrNoDelegation
	}
	return a.BytesFor(ctx, a.Authority(userDID, b), cid, limit)
}

// Query is the query gateway.
func (a Access) Query(userDID string) plugin.Query {
	if a.QueryFor == nil {
		return turn.NoAccess().Query(userDID)
	}
	return a.QueryFor(userDID)
}

// Knowledge is what the community's documents say.
func (a Access) Knowledge(userDID string, b identity.Brought) plugin.Knowledge {
	if a.KnowledgeFor == nil {
		return turn.NoAccess().Knowledge(userDID, b)
	}
	return a.KnowledgeFor(userDID, b)
}

type authority struct {
	identity *identity.Service
	user     identity.Principal
}

// Invoke mints a token for another service.
func (a authority) Invoke(ctx context.Context, audience string, c plugin.Capability,
	ttl time.Duration,
) (string, error) {
	call := identity.Downstream{Audience: audience, Can: c.Can, With: c.With, TTL: ttl}
	if len(c.NB) > 0 {
		nb, err := ipld.DecodeJSON(c.NB)
		if err != nil {
			return "", fmt.Errorf("read caveats: %w", err)
		}
		call.NB = nb
	}
	token, err := a.identity.Mint(ctx, a.user, call)
	if fault.Is(err, fault.Forbidden) {
		return "", fmt.Errorf("%w: %w", plugin.ErrNoDelegation, err)
	}
	return token, err
}

// Granted reports what the delegations say.
func (a authority) Granted(ctx context.Context) ([]plugin.Capability, error) {
	said, err := a.identity.Granted(ctx, a.user)
	if err != nil {
		return nil, fmt.Errorf("look up delegations: %w", err)
	}
	var out []plugin.Capability
	for _, c := range said {
		p := plugin.Capability{Can: c.Can, With: c.With}
		if c.NB.Kind != ipld.Null {
			p.NB = json.RawMessage(ipld.AppendJSON(nil, c.NB))
		}
		out = append(out, p)
	}
	return out, nil
}
