package face

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/plugin"
)

// Decided is what a program's user says about a call that waits.
type Decided struct {
	ApprovalID string
	Decision   oracle.Decision
	// Content is what the call asks for, where it asks for more than a decision.
	Content json.RawMessage
}

// maxDecided bounds the answers of one request.
const maxDecided = 100

// Resume answers calls that wait, and reads on behind them.
func (f *Faces) Resume(ctx context.Context, who identity.Principal, conversation string,
	list []Decided,
) (*Answer, error) {
	session, err := f.session(ctx, who.DID, conversation)
	if err != nil {
		return nil, err
	}
	runID, fresh, err := f.decide(ctx, who, session.ID, list)
	if err != nil {
		return nil, err
	}
	answer, err := f.read(ctx, who.DID, runID, fresh)
	if err != nil {
		return nil, err
	}
	answer.skip = map[string]bool{}
	for _, d := range list {
		answer.skip[d.ApprovalID] = true
	}
	return answer, nil
}

// Decide answers calls that wait, and reads their run from its beginning.
func (f *Faces) Decide(ctx context.Context, who identity.Principal, list []Decided) (*Answer, error) {
	runID, fresh, err := f.decide(ctx, who, "", list)
	if err != nil {
		return nil, err
	}
	return f.read(ctx, who.DID, runID, fresh)
}

// decide answers calls that wait, of one session unless that is empty. Whoever may send messages may
// deny: a message would withdraw the question as well. To approve is the person's own. fresh says that
// one of them waited until now.
func (f *Faces) decide(ctx context.Context, who identity.Principal, sessionID string,
	list []Decided,
) (runID string, fresh bool, err error) {
	if len(list) == 0 || len(list) > maxDecided {
		return "", false, oracle.ErrNoDecision
	}
	pending, err := f.deps.Engine.Pending(ctx, who.DID, sessionID)
	if err != nil {
		return "", false, err
	}
	waits := map[string]bool{}
	for _, a := range pending {
		waits[a.ID] = true
	}
	for _, d := range list { // the store decides; here nothing of the list is done when one may not
		if d.Decision == oracle.Approve && waits[d.ApprovalID] && !who.InPerson() {
			return "", false, oracle.ErrNotInPerson
		}
	}
	for _, d := range list {
		a, err := f.deps.Engine.Answer(ctx, oracle.Answer{
			ApprovalID: d.ApprovalID, Owner: who.DID, By: who.TokenCID, SessionID: sessionID, Via: oracle.ViaHTTP,
			Decision: d.Decision, Content: d.Content, InPerson: who.InPerson(),
		}, oracle.Carried{Brought: who.Brought()})
		if err != nil {
			return "", false, err
		}
		runID, fresh = a.RunID, fresh || waits[a.ID]
	}
	return runID, fresh, nil
}

// read reads a run from its beginning.
func (f *Faces) read(ctx context.Context, owner, runID string, began bool) (*Answer, error) {
	r, err := f.deps.Engine.Get(ctx, owner, runID)
	if err != nil {
		return nil, err
	}
	reader, err := f.deps.Engine.Follow(ctx, owner, r.ID, 0)
	if err != nil {
		return nil, err
	}
	return f.answer(r, reader, began), nil
}

// Owed reads a run whose answer did not arrive, if it is one of the conversation.
func (f *Faces) Owed(ctx context.Context, owner, conversation, runID string) (*Answer, bool, error) {
	if !oracle.PlausibleID(runID) {
		return nil, false, nil
	}
	r, err := f.deps.Engine.Get(ctx, owner, runID)
	if errors.Is(err, oracle.ErrRunNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	session, err := f.deps.Service.Session(ctx, owner, r.SessionID)
	if err != nil {
		return nil, false, err
	}
	if session.ID != conversation && session.Key != sessionKey(conversation) || !f.unheard(ctx, r, true) {
		return nil, false, nil
	}
	answer, err := f.read(ctx, owner, r.ID, false)
	return answer, err == nil, missing(err)
}

// noted is what a program's name for a run stands for.
type noted struct {
	RunID string   `json:"runId"`
	Skip  []string `json:"skip,omitempty"`
	// Request is what was asked then.
	Request string `json:"request,omitempty"`
}

func noteKey(owner, conversation, name string) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]string{owner, conversation, name}) // hashes take everything
	return "named/" + hex.EncodeToString(h.Sum(nil))
}

// Note keeps the name that a program gives a run, for a day. The answer is not sent before,
// so that whoever saw some of it can ask for it by that name.
func (f *Faces) Note(ctx context.Context, a *Answer, ask Ask, name string) error {
	n := noted{RunID: a.RunID, Request: fingerprint(ask)}
	for id := range a.skip {
		n.Skip = append(n.Skip, id)
	}
	m, err := marked(noteKey(a.owner, ask.Conversation, name), n)
	if err != nil {
		return err
	}
	return f.mark(ctx, m)
}

// BeginNamed is Noted, Begin and Note in one, for a request that says something: a run that begins is stored with its
// name. Which run has the name is looked up only when the same request began one before: what another request named so
// is not replayed.
func (f *Faces) BeginNamed(ctx context.Context, ask Ask, name string) (*Answer, error) {
	replayed := false
	answer, err := f.begin(ctx, ask, func(runID string) (run.Mark, error) {
		return marked(noteKey(ask.Who.DID, ask.Conversation, name), noted{RunID: runID, Request: fingerprint(ask)})
	}, func() (answer *Answer, ok bool, err error) {
		answer, replayed, err = f.Noted(ctx, ask, name, true)
		return answer, replayed, err
	})
	if err != nil || replayed || !answer.Repeats() {
		return answer, err
	}
	if err := f.Note(ctx, answer, ask, name); err != nil {
		answer.Close()
		return nil, err
	}
	return answer, nil
}

// marked is what is remembered under a key, for a day.
func marked(key string, value any) (run.Mark, error) {
	data, err := json.Marshal(value)
	return run.Mark{Store: Store, Key: key, Value: data, For: oracle.HiddenFor}, err
}

// mark remembers something of a run that has begun.
func (f *Faces) mark(ctx context.Context, m run.Mark) error {
	return f.deps.Marks.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		return tx.Put(ctx, m.Key, m.Value, m.For)
	})
}

// Noted reads the run to which a program gave the name, when the request says nothing that it
// did not say then; new tells whether it says anything.
func (f *Faces) Noted(ctx context.Context, ask Ask, name string, says bool) (*Answer, bool, error) {
	value, ok, err := f.deps.Marks.Get(ctx, noteKey(ask.Who.DID, ask.Conversation, name))
	if err != nil || !ok {
		return nil, false, err
	}
	var n noted
	if err := json.Unmarshal(value, &n); err != nil {
		return nil, false, err
	}
	if says && n.Request != fingerprint(ask) {
		return nil, false, nil
	}
	answer, err := f.read(ctx, ask.Who.DID, n.RunID, false)
	if err != nil {
		return nil, false, missing(err)
	}
	for _, id := range n.Skip {
		if answer.skip == nil {
			answer.skip = map[string]bool{}
		}
		answer.skip[id] = true
	}
	return answer, true, nil
}
