package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

// The agent's tools for servers that want the user's authorization. They are
// offered while there is such a server.
const (
	authorizeTool = "mcp_authorize"
	confirmTool   = "mcp_confirm"
	// authorizationComponent is what pages can draw in place of a link.
	authorizationComponent = "mcp_authorization"
)

// wanting are the names of the servers that want this user's authorization.
func (p *Plugin) wanting(ctx context.Context, did string) ([]string, error) {
	if did == "" {
		return nil, nil
	}
	found, err := p.host.Store.Scan(ctx, plugin.Range{Prefix: wantKey(did, ""), Limit: 2 * maxServers})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = strings.TrimPrefix(e.Key, wantKey(did, ""))
	}
	return names, nil
}

// Note tells the agent of servers that it could have.
func (p *Plugin) Note(ctx context.Context, rt *plugin.Runtime) (string, error) {
	names, err := p.wanting(ctx, rt.User.DID)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return "These MCP servers want the user's authorization before their tools can be used: " + strings.Join(names, ", ") + ". When one of them is needed, call " +
		authorizeTool + " and show the user the link as it is. When the user gives you the code that the page showed, call " + confirmTool + ".", nil
}

// RequestTools are the tools by which the user authorizes in a conversation.
func (p *Plugin) RequestTools(ctx context.Context, rt *plugin.Runtime) ([]plugin.Tool, error) {
	names, err := p.wanting(ctx, rt.User.DID)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return []plugin.Tool{
		{
			Name: authorizeTool, Description: "Get a link by which the user authorizes you at an MCP server. Show it as it is.", ReadOnly: true, Safe: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"server":{"type":"string"}},"required":["server"]}`),
			Run:    p.linkForAgent, Timeout: discoverTime,
		},
		{
			// The turn may be one of a program that holds a delegation or an app key, and the
			// authorization one at an account of its own: it outlasts both. The user is asked.
			Name: confirmTool, Description: "Finish an authorization at an MCP server with the code that its page showed to the user.", Confirm: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"server":{"type":"string"},"code":{"type":"string"}},"required":["server","code"]}`),
			Run:    p.confirmForAgent,
		},
	}, nil
}

func (p *Plugin) linkForAgent(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
	var in struct{ Server string }
	if err := json.Unmarshal(args, &in); err != nil {
		return plugin.Result{}, plugin.Errorf(http.StatusBadRequest, "server must be a name")
	}
	s, err := p.find(ctx, rt.User.DID, in.Server)
	if err != nil {
		return plugin.Result{}, err
	}
	link, err := p.begin(ctx, rt.User.DID, p.host.BaseURL, s)
	if err != nil {
		return plugin.Result{}, err
	}
	shown, err := json.Marshal(link)
	if err != nil {
		return plugin.Result{}, err
	}
	return plugin.Result{
		Text:      "The user has to open " + link.URL + " within ten minutes, and to give you the code that the page shows at the end.",
		Component: &plugin.Component{Name: authorizationComponent, Args: shown},
	}, nil
}

func (p *Plugin) confirmForAgent(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
	var in struct{ Server, Code string }
	if err := json.Unmarshal(args, &in); err != nil {
		return plugin.Result{}, plugin.Errorf(http.StatusBadRequest, "server and code must be texts")
	}
	s, err := p.find(ctx, rt.User.DID, in.Server)
	if err != nil {
		return plugin.Result{}, err
	}
	if err := p.confirm(ctx, rt.User.DID, s, in.Code); err != nil {
		return plugin.Result{}, err
	}
	return plugin.Text("The user has authorized you at " + s.Name + ". Its tools can be loaded from the next message on."), nil
}
