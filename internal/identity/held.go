package identity

import (
	"context"
	"log/slog"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// maxHeld bounds the capabilities of one delegation that Held looks at.
const maxHeld = 16

// Held returns what a user's delegation to this service proves of files of other
// people: a delegation that has theirs as its proof. Each principal is this service with one capability,
// and the first of the abilities that it proves; it is judged as a token from outside
// is, the Door included. What is not proved, and what nobody can say at the moment, is
// left out.
func (s *Service) Held(ctx context.Context, user Principal, abilities ...string) ([]Principal, error) {
	tokens, err := s.delegations(ctx, user)
	if err != nil {
		return nil, err
	}
	var out []Principal
	for _, token := range tokens {
		if len(token.Leaf.Proofs) > 0 { // without a proof it is about the user's own
			out = append(out, s.heldBy(ctx, user, token, abilities)...)
		}
	}
	return out, nil
}

// heldBy is what one delegation proves.
func (s *Service) heldBy(ctx context.Context, user Principal, token *ucan.Token, abilities []string) []Principal {
	var out []Principal
	alone := Brought{Delegation: token.Encode()}.Of(user.DID)
	capabilities := token.Leaf.Capabilities
	for i := range capabilities[:min(len(capabilities), maxHeld)] {
		c := &capabilities[i]
		r, err := ucan.ParseResource(c.With)
		if err != nil || !r.File || !r.Personal() && NamespaceOf(r.Namespace) == NamespaceOf(user.DID) {
			continue
		}
		for _, ability := range abilities {
			p, err := s.claim(ctx, alone, Downstream{Audience: s.DID(), Can: ability, With: c.With, NB: c.NB})
			if err != nil {
				s.log.LogAttrs(ctx, slog.LevelDebug, "a capability is not held", slog.String("code", fault.From(err).Code))
				continue
			}
			// What holds without the user's delegation is this service's own, and not theirs to use.
			if slices.ContainsFunc(p.Chain, func(l ucan.Link) bool { return l.CID == token.CID() }) {
				out = append(out, p)
				break
			}
		}
	}
	return out
}

// claim calls this service for a user and returns as whom it would be served.
func (s *Service) claim(ctx context.Context, user Principal, call Downstream) (Principal, error) {
	token, err := s.Mint(ctx, user, call)
	if err != nil {
		return Principal{}, err
	}
	return s.Authenticate(ctx, Files, Credentials{Bearer: token})
}
