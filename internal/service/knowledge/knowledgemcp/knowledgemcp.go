// Package knowledgemcp offers knowledge to agents over the Model Context Protocol,
// beside the tools of the file store.
//
// It promises that an agent finds what its token lets it read: passages that are for
// everybody, those of folders that the token reaches, and, for a token or an app key that
// proves who calls, those that are for that one. It decides nothing else.
package knowledgemcp

import (
	"cmp"
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetool"
)

// Adder adds tools to a server whose requests carry a principal.
type Adder = func(s *mcp.Server)

// NewAdder adds the tools of knowledge.
func NewAdder(svc *knowledge.Service) Adder {
	return func(s *mcp.Server) { addTools(s, svc) }
}

func addTools(s *mcp.Server, svc *knowledge.Service) {
	closed := false
	for _, spec := range knowledgetool.Specs() {
		s.AddTool(&mcp.Tool{
			Name: spec.Name, Title: spec.Title, Description: spec.Description, InputSchema: spec.Schema,
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &closed, OpenWorldHint: &closed,
			},
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			p, ok := identity.FromContext(ctx)
			if !ok {
				return nil, errors.New("no token")
			}
			reply, err := call(ctx, svc, p, req)
			if err != nil {
				e := fault.From(err)
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: e.Message}}}, nil
			}
			return &mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: reply.Text}}, StructuredContent: reply.Facts,
			}, nil
		})
	}
}

func call(ctx context.Context, svc *knowledge.Service, p identity.Principal,
	req *mcp.CallToolRequest,
) (knowledgetool.Reply, error) {
	who, err := svc.BearerOf(ctx, p)
	if err != nil {
		return knowledgetool.Reply{}, err
	}
	agent := identity.AgentOf(ctx)
	if known := cmp.Or(agent.Oracle, agent.Knowledge); known != nil {
		c, err := svc.CallerOf(ctx, known.DID)
		if err != nil {
			return knowledgetool.Reply{}, err
		}
		who.DID, who.Member = c.DID, c.Member
	}
	return knowledgetool.Call(ctx, svc, who, req.Params.Name, req.Params.Arguments, knowledgetool.FromOne)
}
