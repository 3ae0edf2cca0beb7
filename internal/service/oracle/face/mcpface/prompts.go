package mcpface

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
)

// addPrompts offers the operator's openings. They may change at any time, so each place
// that one can have is a prompt, which looks up what stands there when it is asked for.
func (f *Face) addPrompts(s *mcp.Server) {
	for i := range instructions.MaxOpenings {
		s.AddPrompt(&mcp.Prompt{Name: promptName(i)},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return f.prompt(i)
			})
	}
}

// Receive lists the prompts that there are now, serves completion, and passes other
// methods on.
func (f *Face) Receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "prompts/list":
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListPromptsResult); ok && err == nil {
				list.Prompts = f.prompts()
			}
			return result, err
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

// prompts are the questions that the operator suggests.
func (f *Face) prompts() []*mcp.Prompt {
	out := []*mcp.Prompt{}
	for i, o := range f.openings() {
		out = append(out, &mcp.Prompt{Name: promptName(i), Title: o.Title, Description: o.Text})
	}
	return out
}

// prompt is one of them, as the user would ask it.
func (f *Face) prompt(at int) (*mcp.GetPromptResult, error) {
	all := f.openings()
	if at >= len(all) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", promptName(at))}
	}
	return &mcp.GetPromptResult{Description: all[at].Title, Messages: []*mcp.PromptMessage{
		{Role: "user", Content: &mcp.TextContent{Text: "Ask the oracle with ask_oracle: " + all[at].Text}},
	}}, nil
}
