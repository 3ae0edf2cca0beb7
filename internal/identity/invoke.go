package identity

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// MCPAbility is what an invocation of a protected MCP tool claims.
const MCPAbility = "mcp/call"

// MCPResource names a tool of one of the oracle's MCP servers.
func (s *Service) MCPResource(server, tool string) string {
	return OracleResource + ":" + s.cfg.EntityDID + ":mcp/" + server + "/" + tool
}

// UseInvocation checks the invocation that a user sent along for a protected
// MCP tool, and uses it up: a second use of the same statement is refused, on
// any node. The root must be one of the configured roots; where there are none, the caller.
func (s *Service) UseInvocation(ctx context.Context, caller Principal, server, tool, text string) error {
	token, err := ucan.Parse(text)
	if err != nil {
		return badInvocation(err)
	}
	if err := s.current(ctx); err != nil {
		return err
	}
	q := s.query(ctx, &lookups{Resolver: s.resolver})
	q.Want = &ucan.Want{Can: MCPAbility, With: s.MCPResource(server, tool)}
	roots := s.cfg.MCPRoots
	if len(roots) == 0 {
		roots = []string{caller.DID}
	}
	q.Owner = func(root did.DID, _ ucan.Resource) (bool, error) { return slices.Contains(roots, string(root)), nil }
	q.MaxTTL = s.cfg.MCPMaxTTL + clockSkew
	r, err := ucan.Verify(token, q)
	if err != nil {
		return badInvocation(err)
	}
	if s.PersonOf(string(token.Leaf.Issuer)) != caller.DID {
		return badInvocation(&ucan.RefusedError{Reason: ucan.BrokenChain, Detail: "the invoker is not the caller"})
	}
	until := time.Unix(min(r.Expires, maxUnix), 0)
	fresh, err := s.store.UseOnce(ctx, token.StatementHash(), until)
	if err != nil {
		return fmt.Errorf("mark invocation: %w", err)
	}
	if !fresh {
		return badInvocation(&ucan.RefusedError{Reason: ucan.Replay, Detail: "the invocation has been used"})
	}
	return nil
}

func badInvocation(err error) error {
	reason := ucan.ReasonOf(err)
	return fault.Wrap(fault.Forbidden, "Invalid MCP invocation: "+string(reason), err).WithCode(string(reason))
}

// newNonce keeps two tokens of one second apart.
func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}
