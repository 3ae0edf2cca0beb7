package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/plugin"
)

// A turn that calls a tool of whoever asked runs its own calls and ends there;
// who continues such a turn does not think again.
func TestCallsOfTheCallerEndTheTurn(t *testing.T) {
	t.Parallel()
	theirs := agent.Tool{Caller: true, Tool: plugin.Tool{Name: "weather", Schema: json.RawMessage(`{"type":"object"}`)}}
	sink := &notes{}
	task := task(sink, []agent.Tool{tool("echo", true, echo), theirs},
		scripted.Calls(call("echo", `{"n":1}`), call("weather", `{"place":"Riga"}`)), scripted.Text("too much"))
	state, err := agent.Run(t.Context(), task)
	if err != nil || !state.HandedOut() || len(state.Steps) != 1 {
		t.Fatalf("%+v, %v", state, err)
	}
	calls := state.Steps[0].Calls
	if calls[0].Status != plugin.Done || calls[0].Caller || calls[1].Status != "" || !calls[1].Caller {
		t.Errorf("calls: %+v", calls)
	}
	task.State = state
	if again, err := agent.Run(t.Context(), task); err != nil || len(again.Steps) != 1 || again.Text() != "" {
		t.Errorf("continued: %+v, %v", again, err)
	}
	list := agent.Conversation(state.Steps)
	if len(list) != 2 || len(list[0].ToolCalls) != 2 || list[1].ToolCallID != calls[0].ID {
		t.Errorf("conversation: %+v", list)
	}
}
