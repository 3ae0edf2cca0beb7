package turn

import (
	"encoding/json"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// plainPrompt is for small tasks without instructions of their own.
const plainPrompt = "Do what you are asked, briefly, and in the form that is asked for."

// given is the conversation that the caller keeps, in turns. They have no
// number of ours, so that no summary of them is kept.
func (t *turn) given() (turns [][]plugin.ModelMessage, numbers []int64) {
	for _, m := range t.run.Request.Given {
		if m.Role == plugin.RoleUser || len(turns) == 0 {
			turns, numbers = append(turns, nil), append(numbers, 0)
		}
		last := &turns[len(turns)-1]
		*last = append(*last, plugin.ModelMessage{Role: m.Role, Text: m.Text, ToolCalls: m.Calls, ToolCallID: m.CallID})
	}
	return turns, numbers
}

// results are what the caller's tools returned, as a model sees them.
func results(calls []oracle.ToolCall) []plugin.ModelMessage {
	var out []plugin.ModelMessage
	for _, c := range calls {
		out = append(out, plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: c.ID, Text: agent.Cap(c.Output, maxResult)})
	}
	return out
}

// maxResult bounds one result of a caller's tool, in bytes.
const maxResult = 128 << 10

// unanswered stands for the result of a call that nobody sent.
const unanswered = "No result was sent for this call."

// answered makes a conversation that providers take: each call has one result
// right behind it, and each result has its call.
func answered(list []plugin.ModelMessage) []plugin.ModelMessage {
	out := make([]plugin.ModelMessage, 0, len(list))
	var open []string
	settle := func() {
		for _, id := range open {
			out = append(out, plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: id, Text: unanswered, Failed: true})
		}
		open = nil
	}
	for _, m := range list {
		if m.Role == plugin.RoleTool {
			at := index(open, m.ToolCallID)
			if at < 0 {
				continue
			}
			open = append(open[:at:at], open[at+1:]...)
			out = append(out, m)
			continue
		}
		settle()
		out = append(out, m)
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	settle()
	return out
}

func index(ids []string, id string) int {
	for i := range ids {
		if ids[i] == id {
			return i
		}
	}
	return -1
}

// addCallers adds the tools of whoever asked, before all others: they know what
// they mean by a name.
func (b *toolbox) addCallers() {
	g := capability{name: "caller", always: true, quiet: true}
	for _, d := range b.t.run.Request.CallerTools {
		schema := d.Schema
		if !agent.IsObjectSchema(schema) {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		g.tools = append(g.tools,
			agent.Tool{Caller: true, Tool: plugin.Tool{Name: d.Name, Description: d.Description, Schema: schema}})
	}
	if len(g.tools) > 0 {
		b.groups = append(b.groups, g)
	}
}

// finish is why an answer ended, when that was not by itself.
func finish(s agent.State) string {
	switch {
	case s.HandedOut():
		return wire.FinishCalls
	case s.Finish == wire.FinishStop, s.Finish == wire.FinishCalls, s.Finish == wire.FinishPause:
		return ""
	}
	return s.Finish
}
