package mcpface

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
)

// Receive serves prompts and completion, and passes other methods on. The operator's
// openings may change at any time, so nothing of them is registered.
func (f *Face) Receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "prompts/list":
			return f.listPrompts(), nil
		case "prompts/get":
			p, _ := req.GetParams().(*mcp.GetPromptParams)
			return f.prompt(p)
		case "completion/complete":
			p, _ := req.GetParams().(*mcp.CompleteParams)
			return f.complete(ctx, p)
		}
		return next(ctx, method, req)
	}
}

func (f *Face) openings() []instructions.Opening {
	if f.deps.Openings == nil {
		return nil
	}
	return f.deps.Openings()
}

// promptName names an opening by its place: its texts may be in any language.
func promptName(i int) string { return fmt.Sprintf("opening-%d", i+1) }

// listPrompts are the questions that the operator suggests.
func (f *Face) listPrompts() *mcp.ListPromptsResult {
	out := &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{}}
	out.CacheScope, out.TTLMs = "private", 5000
	for i, o := range f.openings() {
		out.Prompts = append(out.Prompts, &mcp.Prompt{Name: promptName(i), Title: o.Title, Description: o.Text})
	}
	return out
}

// prompt is one of them, as the user would ask it.
func (f *Face) prompt(p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	for i, o := range f.openings() {
		if p != nil && p.Name == promptName(i) {
			return &mcp.GetPromptResult{Description: o.Title, Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Ask the oracle with ask_oracle: " + o.Text}},
			}}, nil
		}
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such prompt"}
}
