package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// till is a plugin that is told what turns used.
type till struct{ results chan plugin.TurnResult }

func (till) Describe() plugin.Description {
	return plugin.Description{Name: "till", Manifest: plugin.Manifest{Title: "T", Summary: "T", Visibility: plugin.Silent}}
}

func (till) TurnStarts(context.Context, *plugin.Runtime) error { return nil }

func (p till) TurnEnded(_ context.Context, _ *plugin.Runtime, r plugin.TurnResult) error {
	p.results <- r
	return nil
}

// An answer that was cut off is paid like one that was not. Most endpoints tell
// what was used at the end alone: what they did not tell is estimated.
func TestACutAnswerCounts(t *testing.T) {
	t.Parallel()
	long := []plugin.Chunk{{Text: strings.Repeat("word", 500)}, {Reasoning: strings.Repeat("hmm.", 500)}}
	const said = 1000
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		reply     scripted.Reply
		in, atOut int64
	}{
		"nothing told": {scripted.Reply{Chunks: long, Err: broken}, -1, said},
		"the question's": {scripted.Reply{
			Chunks: long, Err: broken, Usage: plugin.Usage{InputTokens: 77, OutputTokens: 1},
		}, 77, said},
		"everything told": {scripted.Reply{
			Chunks: long, Err: broken, Usage: plugin.Usage{InputTokens: 77, OutputTokens: 2222},
		}, 77, 2222},
		"nothing was said":   {scripted.Reply{Err: broken}, 0, 0},
		"a whole answer's":   {scripted.Reply{Chunks: long, Usage: plugin.Usage{InputTokens: 77, OutputTokens: 5}}, 77, 5},
		"told, nothing said": {scripted.Reply{Err: broken, Usage: plugin.Usage{InputTokens: 77}}, 77, 0},
	} {
		p := till{make(chan plugin.TurnResult, 1)}
		n := oracletest.Start(t, scripted.Sequence(c.reply), with(p))
		alice := n.As(t, identitytest.Alice)
		alice.Say(alice.Session(), "go on")
		used := (<-p.results).Usage
		if in := used.InputTokens; c.in >= 0 && in != c.in || c.in < 0 && in < 10 || used.OutputTokens != c.atOut {
			t.Errorf("%s: %+v", name, used)
		}
		n.Stop()
	}
}
