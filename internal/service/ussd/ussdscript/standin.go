package ussdscript

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

// OwnAnswers reports whether the flow says what the oracle, the documents or the chain
// answer, or how the gateway is set. Such a flow is played in memory only: a running
// gateway has its own.
func (f *Flow) OwnAnswers() bool {
	return f.Oracle != "" || f.Webhooks != nil || f.Entities != nil || f.Documents != nil || f.LanguageFirst
}

// Configure lets a service answer as the flow says.
func (f *Flow) Configure(c *ussd.Config) {
	s := StandIn{Flow: *f}
	c.Oracle, c.LookUp, c.Knowledge, c.Webhooks, c.LanguageFirst = s, s, s, s, f.LanguageFirst
}

// StandIn answers in the place of the oracle, the documents and the chain while a flow is
// played in memory, as the flow says. A flow that says nothing hears its own
// question again.
type StandIn struct{ Flow Flow }

var (
	_ ussdquestion.Oracle = StandIn{}
	_ ussd.LookUp         = StandIn{}
	_ ussdhook.Programs   = StandIn{}

	_ ussd.AskKnowledge = StandIn{}
)

// Ask implements ussdquestion.Oracle.
func (s StandIn) Ask(_ context.Context, q ussdquestion.Question) (string, error) {
	if s.Flow.Oracle == "" {
		return "You asked: " + q.Text, nil
	}
	return strings.ReplaceAll(s.Flow.Oracle, "${question}", q.Text), nil
}

// Offered implements ussd.AskKnowledge.
func (s StandIn) Offered(context.Context) bool { return s.Flow.Documents != nil }

// AskDocuments implements ussd.AskKnowledge.
func (s StandIn) AskDocuments(_ context.Context, _, question, _ string) (string, bool, error) {
	said, known := s.Flow.Documents[question]
	if !known {
		return "No document answers: " + question, false, nil
	}
	return said, true, nil
}

// AskPeople implements ussd.AskKnowledge. Nobody answers: it is about the way there.
func (s StandIn) AskPeople(_ context.Context, q ussd.PeopleQuestion) error {
	switch s.Flow.People[q.Text] {
	case "busy":
		return fault.New(fault.Conflict, "enough questions wait")
	case "failed":
		return fault.New(fault.Unavailable, "nobody is there")
	}
	return nil
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

// CallWebhook implements ussdhook.Programs.
func (s StandIn) CallWebhook(_ context.Context, call ussdhook.Call) (ussdhook.Reply, error) {
	stub, ok := s.Flow.Webhooks[call.Name]
	if !ok {
		return ussdhook.Reply{}, nil
	}
	if stub.Gets != nil && !maps.Equal(stub.Gets, call.Data.Values) {
		return ussdhook.Reply{}, fmt.Errorf("the webhook %q got %v, not %v", call.Name, call.Data.Values, stub.Gets)
	}
	reply := ussdhook.Reply{Status: 200}
	if stub.Status != nil {
		reply.Status = *stub.Status
	}
	var err error
	reply.Body, err = json.Marshal(stub.Answer)
	return reply, err
}
