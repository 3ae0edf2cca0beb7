package filestoremcp

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstWithInput is the first protocol in which a tool can ask for input by its result.
const firstWithInput = "2026-07-28"

// confirmID names the question in a result and its answer in the next request.
const confirmID = "confirm"

var errDeclined = errors.New("the user declined. Nothing was changed: do not retry unless the user asks for it")

// confirmed asks the user before something is lost from sight, when the client
// can ask. It returns the question, or nil when the tool may go on. Clients
// that cannot ask are told in the tools' descriptions to do it themselves.
func confirmed(req *mcp.CallToolRequest, question string) (*mcp.CallToolResult, error) {
	c := req.ClientCapabilities()
	if question == "" || req.ProtocolVersion() < firstWithInput || c == nil || c.Elicitation == nil {
		return nil, nil //nolint:nilnil // nothing needs to be asked
	}
	answer, ok := req.Params.InputResponses[confirmID].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{confirmID: &mcp.ElicitParams{
			Mode: "form", Message: question, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
		}}}, nil
	}
	if answer.Action != "accept" {
		return nil, errDeclined
	}
	return nil, nil //nolint:nilnil // it was confirmed
}

// Questions of the tools that replace or remove something without a condition: a
// caller that names the CID or the version knows what it replaces.

func (in writeIn) question() string {
	if !in.Overwrite || in.condition != (condition{}) {
		return ""
	}
	return fmt.Sprintf("Replace what is stored at %s? Its old versions stay.", in.Path)
}

func (in moveIn) question() string {
	if !in.Overwrite || in.condition != (condition{}) {
		return ""
	}
	return fmt.Sprintf("Move %s to %s, and put what is there into the trash?", in.From, in.To)
}

func (in deleteIn) question() string {
	switch {
	case in.condition != (condition{}), len(in.Paths) == 0:
		return ""
	case len(in.Paths) == 1:
		return fmt.Sprintf("Move %s to the trash?", in.Paths[0])
	default:
		return fmt.Sprintf("Move %d files to the trash, %s first?", len(in.Paths), in.Paths[0])
	}
}
