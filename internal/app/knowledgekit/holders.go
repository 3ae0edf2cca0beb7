package knowledgekit

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// holders are people who may read collections of others by a delegation: in a
// conversation it is the one that they gave the oracle, with the owner's as its proof.
type holders struct {
	svc   *knowledge.Service
	held  func(ctx context.Context, user identity.Principal, abilities ...string) ([]identity.Principal, error)
	admit func(ctx context.Context, p identity.Principal) error
	log   *slog.Logger
}

// callerOf says what somebody may read, as who they are and by what they hold. What
// they hold is judged as the token of a holder is, and anew for each question.
func (h holders) callerOf(ctx context.Context, user identity.Principal) (knowledge.Caller, error) {
	c, err := h.svc.CallerOf(ctx, user.DID)
	if err != nil || c.DID == "" {
		return c, err
	}
	all, err := h.held(ctx, user, knowledge.AbilityFileRead, knowledge.AbilityRead)
	if err != nil {
		return knowledge.Caller{}, fmt.Errorf("look up what the caller holds: %w", err)
	}
	for _, p := range all {
		err := h.admit(ctx, p)
		if fault.Is(err, fault.Forbidden) {
			h.log.DebugContext(ctx, "a delegation opens no documents", slog.String("code", fault.From(err).Code))
			continue
		}
		if err != nil {
			return knowledge.Caller{}, err
		}
		bearer, err := h.svc.BearerOf(ctx, p)
		if err != nil {
			return knowledge.Caller{}, err
		}
		if len(bearer.Areas) > 0 {
			c.Held = append(c.Held, bearer.Reach)
		}
	}
	return c, nil
}
