// Package files gives the agent the user's own files.
//
// It promises to act with nothing but what the user delegated: the tools of a
// turn are those that the file store itself offers for the user's delegation,
// each call carries an invocation minted from it, and the store decides and
// audits (invoker the oracle, actor the user). What the store tells of
// files is foreign text: a user's files are not all of their own writing. One tool is always
// there: it says what may be used, and without a delegation it waits for one, or tells the
// user how to give it.
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

// ownWords are the tools that answer with nothing but what they were asked to do. All
// others quote files or their names; an edit shows the lines around it.
var ownWords = []string{"vfs_write", "vfs_append", "vfs_move", "vfs_delete", "vfs_restore", "vfs_share"}

// AccessTool is the tool that is there for everybody, also for users who granted nothing.
const AccessTool = "vfs_access"

// howTo is what it says.
const howTo = "The user has not given you access to their files, or the access expired. Tell them: in the client, allow the oracle to use " +
	"their files (it asks for a delegation), or send a signed delegation for the abilities fs/list, fs/read or fs/write on their own " +
	"vfs:// space to POST /delegation. They choose the folders and how long it lasts, and can take it back at any time."

// RequestTools are the tools that the user's delegation opens, behind the one that
// is always there: what a model has seen of the list does not change when the user
// grants something.
func (*Plugin) RequestTools(ctx context.Context, rt *plugin.Runtime) ([]plugin.Tool, error) {
	specs, err := opened(ctx, rt)
	if err != nil {
		return nil, err
	}
	tools := []plugin.Tool{access(specs)}
	for _, s := range specs {
		reads := slices.Contains(again, s.Name)
		tools = append(tools, plugin.Tool{
			Name: s.Name, Description: s.Description, Schema: s.Schema, Safe: reads, ReadOnly: reads,
			Foreign: !slices.Contains(ownWords, s.Name),
			Run: func(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
				out, err := rt.Files.Call(ctx, s.Name, args)
				if errors.Is(err, plugin.ErrNoDelegation) { // it expired during the turn
					return plugin.Result{}, &plugin.Error{Status: http.StatusForbidden, Message: howTo, Cause: err}
				}
				return out, err
			},
		})
	}
	return tools, nil
}

// opened lists the store's tools that the user's delegation opens: none without one,
// or with one for something else.
func opened(ctx context.Context, rt *plugin.Runtime) ([]plugin.ToolSpec, error) {
	specs, err := rt.Files.Tools(ctx)
	if errors.Is(err, plugin.ErrNoDelegation) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(specs), func(s plugin.ToolSpec) bool {
		return !strings.HasPrefix(s.Name, "vfs_") || s.Name == AccessTool
	}), nil
}

// access says which of the tools the turn has, or how to get some.
func access(specs []plugin.ToolSpec) plugin.Tool {
	t := plugin.Tool{
		Name: AccessTool, Description: "Find out whether you may use the user's files, and ask for access when you have none.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`), Safe: true, ReadOnly: true,
	}
	said := howTo
	if len(specs) > 0 {
		names := make([]string, len(specs))
		for i, s := range specs {
			names[i] = s.Name
		}
		said = "You may use the user's files with these tools: " + strings.Join(names, ", ") + "."
	} else {
		t.Granted = func(ctx context.Context, rt *plugin.Runtime) (bool, error) {
			specs, err := opened(ctx, rt)
			return len(specs) > 0, err
		}
	}
	t.Run = func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
		return plugin.Text(said), nil
	}
	return t
}
