package ussdscript

import (
	"context"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd"
)

// OwnAnswers reports whether the flow says what the oracle or the chain answers.
// Such a flow is played in memory only: a running gateway has its own.
func (f *Flow) OwnAnswers() bool { return f.Oracle != "" || f.Entities != nil }

// StandIn answers in the place of the oracle and the chain while a flow is
// played in memory, as the flow says. A flow that says nothing hears its own
// question again.
type StandIn struct{ Flow Flow }

var (
	_ ussd.AskOracle = StandIn{}
	_ ussd.LookUp    = StandIn{}
)

// Ask implements ussd.AskOracle.
func (s StandIn) Ask(_ context.Context, q ussd.Question) (string, error) {
	if s.Flow.Oracle == "" {
		return "You asked: " + q.Text, nil
	}
	return strings.ReplaceAll(s.Flow.Oracle, "${question}", q.Text), nil
}

// LookUpEntity implements ussd.LookUp.
func (s StandIn) LookUpEntity(_ context.Context, id string) (string, error) {
	if s.Flow.Entities == nil {
		return "Entity " + id, nil
	}
	found, ok := s.Flow.Entities[id]
	if !ok {
		return "", fault.New(fault.NotFound, "no such entity")
	}
	return found, nil
}
