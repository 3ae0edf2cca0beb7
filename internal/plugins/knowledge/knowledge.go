// Package knowledge lets the agent ask the community's own documents.
//
// It promises to find what the user may read and nothing else: its tools are those
// that the knowledge service offers the user, and a user who may read nothing has
// none. It only reads. What the tools return quotes documents between marks and is
// untrusted: for the rest of the turn whatever changes something needs the user's
// approval.
package knowledge

import (
	"context"
	"encoding/json"

	"github.com/castalia-org/castalia/plugin"
)

// Plugin is the knowledge plugin.
type Plugin struct{}

// New makes the plugin.
func New() *Plugin { return &Plugin{} }

var _ plugin.RequestToolProvider = (*Plugin)(nil)

// Describe names the plugin.
func (*Plugin) Describe() plugin.Description {
	return plugin.Description{
		Name: "knowledge", Version: "1.0.0",
		Manifest: plugin.Manifest{
			Title: "Knowledge", Summary: "Answers from the community's own documents, with their sources.",
			WhenToUse: []string{
				"the user asks something that a document of the community may answer: hours, prices, decisions, rules, people, places",
				"you are about to say that you do not know",
			},
			WhenNotToUse: []string{"the user asks about their own private files"},
			Examples:     []plugin.Example{{User: "When is the clinic open?", Tool: "knowledge_search", Args: map[string]any{"query": "When is the clinic open?"}}},
			Visibility:   plugin.Always,
		},
	}
}

// RequestTools are the tools that the user has.
func (*Plugin) RequestTools(ctx context.Context, rt *plugin.Runtime) ([]plugin.Tool, error) {
	if rt.Knowledge == nil {
		return nil, nil
	}
	specs, err := rt.Knowledge.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var tools []plugin.Tool
	for _, s := range specs {
		tools = append(tools, plugin.Tool{
			Name: s.Name, Description: s.Description, Schema: s.Schema, Safe: true, ReadOnly: true, Foreign: true,
			Run: func(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
				return rt.Knowledge.Call(ctx, s.Name, args)
			},
		})
	}
	return tools, nil
}
