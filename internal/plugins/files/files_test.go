package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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
		{"granted", store{tools: []string{"vfs_read", "vfs_write", "vfs_delete", "rm"}}, map[string]bool{"vfs_access": true, "vfs_read": true, "vfs_write": false, "vfs_delete": false}, false},
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
		if !slices.ContainsFunc(req.Tools, func(tool plugin.ToolSpec) bool { return tool.Name == "vfs_read" }) {
			return scripted.Calls(call("4", files.AccessTool, `{}`))
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

// late is a store whose tools are opened after the turn has looked for them.
type late struct {
	store
	looked *atomic.Int64
}

func (l late) Tools(ctx context.Context) ([]plugin.ToolSpec, error) {
	if l.looked.Add(1) == 1 {
		return nil, plugin.ErrNoDelegation
	}
	return l.store.Tools(ctx)
}

// A delegation that comes while the turn is put to rest, when nobody can answer yet,
// is found: the turn goes on by itself, and the tools come behind those it had.
func TestADelegationIsNotOverlooked(t *testing.T) {
	t.Parallel()
	provider := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case req.Purpose != "turn" || last.ToolCallID == "2":
			return scripted.Text(last.Text)
		case last.ToolCallID == "":
			return scripted.Calls(plugin.ModelToolCall{ID: "1", Name: "load_capability", Args: json.RawMessage(`{"name":"files"}`)})
		}
		return scripted.Calls(plugin.ModelToolCall{ID: "2", Name: files.AccessTool, Args: json.RawMessage(`{}`)})
	})
	looked := &atomic.Int64{}
	n := oracletest.Start(t, provider, func(d *oraclekit.Deps) {
		d.Plugins = []plugin.Plugin{files.New()}
		d.Access = oraclekit.Access{Identity: d.Identity, FilesFor: func(did string, _ plugin.Authority) plugin.Files {
			return late{store{user: did, tools: []string{"vfs_read"}}, looked}
		}}
	})
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "read", "stream": true, "tabId": "tab-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	frames := oracletest.Stream(t, resp)
	if said := oracletest.Text(t, frames); said != "You may use the user's files with these tools: vfs_read." {
		t.Errorf("said %q after %v", said, oracletest.Events(frames))
	}
	var before []string
	for _, r := range provider.Requests() {
		var now []string
		for _, tool := range r.Tools {
			now = append(now, tool.Name)
		}
		if r.Purpose == "turn" && !slices.Equal(before, now[:min(len(now), len(before))]) {
			t.Errorf("the tools were %v and are %v", before, now)
		}
		before = now
	}
}
