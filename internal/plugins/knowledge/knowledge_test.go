package knowledge_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/castalia-org/castalia/internal/plugins/knowledge"
	"github.com/castalia-org/castalia/plugin"
)

// documents are what one user may read.
type documents struct {
	tools []string
	err   error
}

func (d documents) Tools(context.Context) (out []plugin.ToolSpec, err error) {
	for _, name := range d.tools {
		out = append(out, plugin.ToolSpec{Name: name})
	}
	return out, d.err
}

func (d documents) Call(_ context.Context, tool string, args json.RawMessage) (plugin.Result, error) {
	return plugin.Text(tool + string(args)), nil
}

// The tools of a turn are those that its user has, and none where there are none.
func TestTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		is    plugin.Knowledge
		want  int
		fails bool
	}{
		"a deployment without": {nil, 0, false},
		"nothing to read":      {documents{}, 0, false},
		"something to read":    {documents{tools: []string{"knowledge_search", "knowledge_read"}}, 2, false},
		"away":                 {documents{err: errors.New("no answer")}, 0, true},
	} {
		rt := &plugin.Runtime{Knowledge: c.is}
		tools, err := knowledge.New().RequestTools(t.Context(), rt)
		if len(tools) != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %d tools, %v", name, len(tools), err)
		}
		for _, tool := range tools {
			if got, err := tool.Run(t.Context(), rt, json.RawMessage(`{}`)); err != nil || got.Text != tool.Name+"{}" ||
				!tool.Safe || !tool.ReadOnly {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	}
}
