package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/files"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// store is a file store that opens some tools to one user.
type store struct {
	user  string
	tools []string
	err   error
}

func (s store) Tools(context.Context) (out []plugin.ToolSpec, err error) {
	for _, name := range s.tools {
		out = append(out, plugin.ToolSpec{Name: name, Description: "A tool."})
	}
	return out, s.err
}

func (s store) Call(_ context.Context, tool string, args json.RawMessage) (plugin.Result, error) {
	if tool == "vfs_stat" {
		return plugin.Result{}, fmt.Errorf("mint: %w", plugin.ErrNoDelegation)
	}
	return plugin.Text(s.user + " " + tool + " " + string(args)), nil
}

func TestTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		store store
		want  map[string]bool // name to safe
		fails bool
	}{
		{"nothing granted", store{err: fmt.Errorf("list: %w", plugin.ErrNoDelegation)}, map[string]bool{"vfs_access": true}, false},
		{"granted something else", store{}, map[string]bool{"vfs_access": true}, false},
		{"granted", store{tools: []string{"vfs_read", "vfs_write", "vfs_delete", "rm"}}, map[string]bool{"vfs_read": true, "vfs_write": false, "vfs_delete": false}, false},
		{"broken", store{err: errors.New("no answer")}, map[string]bool{}, true},
	} {
		tools, err := files.New().RequestTools(t.Context(), &plugin.Runtime{Files: c.store})
		got := map[string]bool{}
		for _, tool := range tools {
			got[tool.Name] = tool.Safe
		}
		if d := cmp.Diff(c.want, got); d != "" || (err != nil) != c.fails {
			t.Errorf("%s: %v %s", c.name, err, d)
		}
	}
}

// A turn acts with the files of its own user, and says how to get access when
// there is none, or none any more.
func TestTheAgentUsesFiles(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) plugin.ModelToolCall {
		return plugin.ModelToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
	}
	provider := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case req.Purpose != "turn" || last.ToolCallID == "3" || last.ToolCallID == "4":
			return scripted.Text("Done.")
		case last.ToolCallID == "":
			return scripted.Calls(call("1", "load_capability", `{"name":"files"}`))
		}
		for _, tool := range req.Tools {
			if tool.Name == files.AccessTool {
				return scripted.Calls(call("4", files.AccessTool, `{}`))
			}
		}
		return scripted.Calls(call("2", "vfs_read", `{"path":"/a"}`), call("3", "vfs_stat", `{}`))
	})
	n := oracletest.Start(t, provider, func(d *oraclekit.Deps) {
		d.Plugins = []plugin.Plugin{files.New()}
		d.Access = oraclekit.Access{Identity: d.Identity, FilesFor: func(did string, _ plugin.Authority) plugin.Files {
			if did == identitytest.Alice.DID {
				return store{user: did, tools: []string{"vfs_read", "vfs_stat"}}
			}
			return store{err: plugin.ErrNoDelegation}
		}}
	})
	answers := map[string]string{}
	for _, who := range []identitytest.Actor{identitytest.Alice, identitytest.Bob} {
		c := n.As(t, who)
		c.Say(c.Session(), "read /a")
	}
	for _, r := range provider.Requests() {
		for _, m := range r.Messages {
			if m.ToolCallID != "" {
				answers[m.ToolCallID] = m.Text
			}
		}
	}
	if want := identitytest.Alice.DID + ` vfs_read {"path":"/a"}`; answers["2"] != want {
		t.Errorf("read: %q, want %q", answers["2"], want)
	}
	for _, id := range []string{"3", "4"} {
		if !strings.Contains(answers[id], "POST /delegation") {
			t.Errorf("call %s does not say how to give access: %q", id, answers[id])
		}
	}
}
