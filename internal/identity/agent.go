package identity

import (
	"context"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Agent is what one credential opens at the address for agents, each service by its
// own rules. Nil is closed.
type Agent struct {
	Files, Oracle *Principal
	// Knowledge is for whoever may read what the community knows, and not talk.
	Knowledge *Principal
}

// Principal is who asks: at the files, else at whatever is open.
func (a Agent) Principal() (Principal, bool) {
	for _, p := range []*Principal{a.Files, a.Oracle, a.Knowledge} {
		if p != nil {
			return *p, true
		}
	}
	return Principal{}, false
}

type agentKey struct{}

// WithAgent returns a context that carries what an agent's credential opens.
func WithAgent(ctx context.Context, a Agent) context.Context {
	return context.WithValue(ctx, agentKey{}, a)
}

// AgentOf returns what the credential of a request opens; nothing where nobody asked.
func AgentOf(ctx context.Context) Agent {
	a, _ := ctx.Value(agentKey{}).(Agent)
	return a
}

// named says which services the capabilities of a token name, whether or not they hold.
type named uint8

const (
	namesFiles named = 1 << iota
	namesOracle
)

func namedBy(leaf *ucan.UCAN) (n named) {
	for _, c := range leaf.Capabilities {
		if r, err := ucan.ParseResource(c.With); err == nil && r.File {
			n |= namesFiles
		}
		if c.With == OracleResource || c.With == "ucan:*" {
			n |= namesOracle
		}
	}
	return n
}

// AuthenticateAgent turns a bearer into what it opens for agents: the files by the
// rules of MCP, and the oracle by those of Oracle, which let tokens live for a shorter
// time. A token for chosen content opens the files alone. The errors are those of MCP.
func (s *Service) AuthenticateAgent(ctx context.Context, c Credentials) (Agent, error) {
	var a Agent
	talks := c
	talks.AuthType = "ucan"
	var refused error
	// Verdicts that refuse are not remembered: whoever is known to talk only is not
	// asked about files again.
	if known, ok := s.cache.Get(cacheKey(byte(Oracle), c.Bearer), s.now()); !ok || known.names&namesFiles != 0 {
		var p Principal
		if p, refused = s.Authenticate(ctx, MCP, Credentials{Bearer: c.Bearer, From: c.From}); refused == nil {
			a.Files = &p
			if p.CIDs != nil || p.names&namesOracle == 0 {
				return a, nil
			}
		} else if !fault.Is(refused, fault.Forbidden) {
			return a, refused
		}
	}
	p, err := s.Authenticate(ctx, Oracle, talks)
	switch {
	case err == nil:
		a.Oracle = &p
	case !fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.Unauthenticated): // nobody can tell
		return Agent{}, err
	case refused != nil:
		return Agent{}, refused
	case a.Files == nil:
		return Agent{}, err
	}
	return a, nil
}
