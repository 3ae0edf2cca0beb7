package face

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// maxChain bounds how many runs one message of a program is made of.
const maxChain = 64

// latest is what the last message of a conversation is made of: the runs of which each but
// the first took the results of calls of the one before.
type latest struct {
	Runs []string `json:"runs"`
}

func latestKey(owner, conversation string) string {
	return "latest/" + noteKey(owner, conversation, "")
}

func (f *Faces) latest(ctx context.Context, owner, conversation string) (latest, error) {
	var l latest
	value, ok, err := f.deps.Marks.Get(ctx, latestKey(owner, conversation))
	if err != nil || !ok {
		return l, err
	}
	return l, json.Unmarshal(value, &l)
}

// NoteLatest remembers the run for who comes back to the conversation, for a day. continues says that
// it goes on with the message before. It returns the run with which the message began, whose
// id names the message.
func (f *Faces) NoteLatest(ctx context.Context, a *Answer, conversation string, continues bool) (string, error) {
	l, err := f.latest(ctx, a.owner, conversation)
	if err != nil {
		return "", err
	}
	if n := len(l.Runs); n > 0 && l.Runs[n-1] == a.RunID {
		return l.Runs[0], nil
	}
	l.add(a.RunID, continues)
	m, err := marked(latestKey(a.owner, conversation), l)
	if err != nil {
		return "", err
	}
	return l.Runs[0], f.mark(ctx, m)
}

// add makes the run the last of the message, or the first of a new one.
func (l *latest) add(runID string, continues bool) {
	if !continues || len(l.Runs) == maxChain {
		l.Runs = nil
	}
	l.Runs = append(l.Runs, runID)
}

// BeginLatest is Begin and NoteLatest in one: a run that begins is stored as the latest.
func (f *Faces) BeginLatest(ctx context.Context, ask Ask, continues bool) (answer *Answer, message string, err error) {
	var l latest
	if continues { // else it begins anew, whatever was before
		if l, err = f.latest(ctx, ask.Who.DID, ask.Conversation); err != nil {
			return nil, "", err
		}
	}
	answer, err = f.begin(ctx, ask, func(runID string) (run.Mark, error) {
		l.add(runID, continues)
		return marked(latestKey(ask.Who.DID, ask.Conversation), l)
	}, nil)
	if err != nil {
		return nil, "", err
	}
	if !answer.Repeats() {
		return answer, l.Runs[0], nil
	}
	if message, err = f.NoteLatest(ctx, answer, ask.Conversation, continues); err != nil {
		answer.Close()
		return nil, "", err
	}
	return answer, message, nil
}

// Latest reads the last message of a conversation from its beginning, run by run; there is none when its
// answer arrived, or is not kept any more. Whoever calls it closes the answers.
func (f *Faces) Latest(ctx context.Context, owner, conversation string) ([]*Answer, error) {
	l, err := f.latest(ctx, owner, conversation)
	if err != nil || len(l.Runs) == 0 {
		return nil, err
	}
	if r, err := f.deps.Engine.Get(ctx, owner, l.Runs[len(l.Runs)-1]); err != nil || !f.unheard(ctx, r, true) {
		return nil, missing(err)
	}
	var out []*Answer
	for _, id := range l.Runs {
		answer, err := f.read(ctx, owner, id, false)
		if err != nil {
			for _, opened := range out {
				opened.Close()
			}
			return nil, missing(err)
		}
		out = append(out, answer)
	}
	return out, nil
}

// StopLatest stops what goes on in a conversation, and reports whether anything did.
func (f *Faces) StopLatest(ctx context.Context, owner, conversation string) (bool, error) {
	l, err := f.latest(ctx, owner, conversation)
	if err != nil || len(l.Runs) == 0 {
		return false, err
	}
	r, err := f.deps.Engine.Get(ctx, owner, l.Runs[len(l.Runs)-1])
	if err != nil {
		return false, missing(err)
	}
	return f.deps.Engine.AbortRun(ctx, owner, r.SessionID, r.ID)
}

// missing takes a run that is not kept any more for one that never was.
func missing(err error) error {
	if errors.Is(err, oracle.ErrRunNotFound) || errors.Is(err, run.ErrPruned) {
		return nil
	}
	return err
}
