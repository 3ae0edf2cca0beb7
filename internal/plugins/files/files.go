// Package files gives the agent the user's own files.
//
// It promises to act with nothing but what the user delegated: the tools of a
// turn are those that the file store itself offers for the user's delegation,
// each call carries an invocation minted from it, and the store decides and
// audits (invoker the oracle, actor the user). Without a delegation there is one
// tool, which tells the user how to give one.
package files

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

// Plugin is the files plugin.
type Plugin struct{}

// New makes the plugin.
func New() *Plugin { return &Plugin{} }

var _ plugin.RequestToolProvider = (*Plugin)(nil)

// Describe names the plugin.
func (*Plugin) Describe() plugin.Description {
	return plugin.Description{
		Name: "files", Version: "1.0.0",
		Manifest: plugin.Manifest{
			Title: "Files", Summary: "Reads, searches and writes the user's own files, as far as the user allowed it.",
			WhenToUse: []string{
				"the user asks about something in their files or documents",
				"the user wants something written, changed, moved or shared in their files",
			},
			WhenNotToUse: []string{"a file was attached to the message: you have it already"},
			Visibility:   plugin.OnDemand,
		},
	}
}

// again are the tools that do no harm when they run twice. A write that is
// repeated makes a second version, so it is not among them.
var again = []string{
	"vfs_list", "vfs_glob", "vfs_search", "vfs_grep", "vfs_list_cids", "vfs_read", "vfs_read_cid", "vfs_stat", "vfs_versions", "vfs_diff",
}

// AccessTool is the tool of users who granted nothing.
const AccessTool = "vfs_access"

// howTo is what it says.
const howTo = "The user has not given you access to their files, or the access expired. Tell them: in the client, allow the oracle to use " +
	"their files (it asks for a delegation), or send a signed delegation for the abilities fs/list, fs/read or fs/write on their own " +
	"vfs:// space to POST /delegation. They choose the folders and how long it lasts, and can take it back at any time."

// RequestTools are the tools that the user's delegation opens.
func (*Plugin) RequestTools(ctx context.Context, rt *plugin.Runtime) ([]plugin.Tool, error) {
	specs, err := rt.Files.Tools(ctx)
	if errors.Is(err, plugin.ErrNoDelegation) {
		return []plugin.Tool{access()}, nil
	}
	if err != nil {
		return nil, err
	}
	var tools []plugin.Tool
	for _, s := range specs {
		if !strings.HasPrefix(s.Name, "vfs_") || s.Name == AccessTool {
			continue
		}
		tools = append(tools, plugin.Tool{
			Name: s.Name, Description: s.Description, Schema: s.Schema, Safe: slices.Contains(again, s.Name), ReadOnly: slices.Contains(again, s.Name),
			Run: func(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
				out, err := rt.Files.Call(ctx, s.Name, args)
				if errors.Is(err, plugin.ErrNoDelegation) { // it expired during the turn
					return plugin.Result{}, &plugin.Error{Status: http.StatusForbidden, Message: howTo, Cause: err}
				}
				return out, err
			},
		})
	}
	if len(tools) == 0 { // a delegation, but not for files
		return []plugin.Tool{access()}, nil
	}
	return tools, nil
}

func access() plugin.Tool {
	return plugin.Tool{
		Name: AccessTool, Description: "Find out how the user can give you access to their files; you have none now.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`), Safe: true, ReadOnly: true,
		Run: func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
			return plugin.Text(howTo), nil
		},
	}
}
