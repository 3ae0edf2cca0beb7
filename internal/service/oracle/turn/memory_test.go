package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// seen keeps what the model was shown in each turn, by the turn's message.
type seen struct {
	mu    sync.Mutex
	turns map[string][]plugin.ModelMessage
}

// reply answers "m7 …" with "r7 …", and first calls a tool where it is asked to.
func (s *seen) reply(req plugin.ModelRequest) scripted.Reply {
	if req.Purpose != "turn" {
		return scripted.Text(req.Purpose)
	}
	last := req.Messages[len(req.Messages)-1]
	own := slices.IndexFunc(req.Messages, func(m plugin.ModelMessage) bool {
		return m.Role == plugin.RoleUser && m.Text == lastUser(req.Messages)
	})
	s.mu.Lock()
	s.turns[lastUser(req.Messages)] = slices.Clone(req.Messages[:own+1])
	s.mu.Unlock()
	if strings.Contains(last.Text, "add") && last.Role == plugin.RoleUser {
		return calls("lab_add", `{"n": "<1>"}`)
	}
	return scripted.Text("r" + strings.TrimPrefix(lastUser(req.Messages), "m"))
}

func lastUser(list []plugin.ModelMessage) string {
	for _, m := range slices.Backward(list) {
		if m.Role == plugin.RoleUser {
			return m.Text
		}
	}
	return ""
}

// A conversation that stays on one node, which remembers it, and one that goes
// from node to node, where every memory is out of date, are shown to the model
// alike and whole.
func TestNodesRememberOnlyWhatIsStored(t *testing.T) {
	t.Parallel()
	db, hints := oracletest.Migrated(t, sqldbtest.SQLite(t)), busmem.New()
	t.Cleanup(func() { _ = hints.Close() })
	shown := &seen{turns: map[string][]plugin.ModelMessage{}}
	node := func() *oracletest.Node {
		return oracletest.Start(t, scripted.New(shown.reply), with(lab{name: "lab", visibility: plugin.Always}),
			func(d *oraclekit.Deps) { d.DB, d.Bus = db, hints })
	}
	a, b := node(), node()
	alice := a.As(t, identitytest.Alice)
	stays, moves := alice.Session(), alice.Session()
	const turns = 9
	text := func(i int, where string) string {
		if i%3 == 1 {
			where += " add"
		}
		return fmt.Sprintf("m%d %s", i, where)
	}
	for i := range turns {
		alice.Say(stays, text(i, "stays"))
		alice.On([]*oracletest.Node{a, b, b}[i%3]).Say(moves, text(i, "moves"))
	}
	for i := range turns {
		home, away := shown.turns[text(i, "stays")], shown.turns[text(i, "moves")]
		for j := range home {
			home[j].Text = strings.ReplaceAll(home[j].Text, "stays", "moves")
		}
		if d := cmp.Diff(away, home); d != "" {
			t.Fatalf("turn %d (-moved +stayed):\n%s", i, d)
		}
		for j := range i {
			if !slices.ContainsFunc(home, func(m plugin.ModelMessage) bool {
				return m.Role == plugin.RoleAssistant && m.Text == "r"+text(j, "moves")[1:]
			}) {
				t.Fatalf("turn %d does not know the answer of turn %d: %+v", i, j, home)
			}
		}
	}
}
