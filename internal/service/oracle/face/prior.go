package face

import (
	"context"
	"errors"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// ErrNoPrior says that an earlier answer is not there, or not any more.
var ErrNoPrior = fault.New(fault.Invalid, "The earlier answer is not there: it never was, or its conversation had no name and is older than a day.").WithCode("previous_response_not_found")

// Prior is the conversation up to an earlier answer of the caller's: the name of its
// session, or, where nobody sees that, what was said.
type Prior struct {
	Conversation string
	Given        []oracle.GivenMessage
}

// Prior finds the conversation that ended with the run's answer.
func (f *Faces) Prior(ctx context.Context, owner, runID string) (Prior, error) {
	if !oracle.PlausibleID(runID) {
		return Prior{}, ErrNoPrior
	}
	r, err := f.deps.Engine.Get(ctx, owner, runID)
	if errors.Is(err, oracle.ErrRunNotFound) {
		return Prior{}, ErrNoPrior
	}
	if err != nil {
		return Prior{}, err
	}
	if r.Status.Live() {
		return Prior{}, fault.New(fault.Conflict, "The earlier answer is still being given.")
	}
	session, err := f.deps.Service.Session(ctx, owner, r.SessionID)
	if err != nil {
		return Prior{}, err
	}
	if !session.Hidden() {
		return Prior{Conversation: session.ID}, nil
	}
	list, err := f.deps.Service.Messages(ctx, owner, r.SessionID)
	if err != nil {
		return Prior{}, err
	}
	out := Prior{Given: slices.Clone(r.Request.Given)}
	for _, m := range list {
		if m.Turn <= r.Turn {
			out.Given = append(out.Given, givenOf(m)...)
		}
	}
	return out, nil
}

// givenOf is a stored message as a program would send it.
func givenOf(m oracle.Message) []oracle.GivenMessage {
	var out []oracle.GivenMessage
	if m.Role == oracle.Human {
		for _, c := range m.ToolCalls {
			out = append(out, oracle.GivenMessage{Role: plugin.RoleTool, CallID: c.ID, Text: c.Output})
		}
		if len(m.ToolCalls) == 0 || m.Content != oracle.DescribeResults(m.ToolCalls) {
			out = append(out, oracle.GivenMessage{Role: plugin.RoleUser, Text: m.Content})
		}
		return out
	}
	said := oracle.GivenMessage{Role: plugin.RoleAssistant, Text: m.Content}
	for _, c := range m.ToolCalls {
		said.Calls = append(said.Calls, plugin.ModelToolCall{ID: c.ID, Name: c.Name, Args: c.Args})
	}
	out = append(out, said)
	for _, c := range m.ToolCalls {
		if !c.Caller {
			out = append(out, oracle.GivenMessage{Role: plugin.RoleTool, CallID: c.ID, Text: c.Output + c.Error})
		}
	}
	return out
}
