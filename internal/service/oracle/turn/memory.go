package turn

import (
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// Bounds of what a node remembers of transcripts: bytes of all together, and
// for how long.
const (
	rememberedBytes = 16 << 20
	rememberedFor   = 10 * time.Minute
)

// recall returns the transcript before the turn, if this node knows it to be
// what is stored. Messages are numbered without gaps in the session's row: when
// the new one has the number after the last that this node wrote, nobody else has
// written, so that no hint has to be believed. Reading transcripts that the same
// node had just written was a fifth of what a crowd of turns cost.
func (t *turn) recall(session oracle.Session) (oracle.Transcript, bool) {
	if t.job.Session == nil { // the session may be older than the run's message
		return oracle.Transcript{}, false
	}
	known := oracle.Transcript{Through: session.SummaryThrough, Next: t.run.Turn, Branch: session.Branch}
	if t.run.Turn == 1 { // the first message of a session has nothing before it
		return known, true
	}
	last, ok := t.transcripts.Get(session.ID, time.Now())
	if !ok || last.Next != known.Next || last.Through != known.Through || last.Branch != known.Branch {
		return oracle.Transcript{}, false
	}
	return last, true
}

// before is the stored transcript without the turn itself. It is not known when
// messages wait behind the turn, or when files belong to one: what was read
// from those is stored later.
func (t *turn) before(session oracle.Session, stored []oracle.Message) (oracle.Transcript, bool) {
	known := oracle.Transcript{Through: session.SummaryThrough, Next: t.run.Turn, Branch: session.Branch}
	for _, m := range stored {
		if len(m.Attachments) > 0 || m.Seq > t.run.Turn {
			return oracle.Transcript{}, false
		}
		if m.ID != t.run.MessageID {
			known.Messages = append(known.Messages, m)
		}
	}
	return known, t.job.Session != nil
}

// remember keeps the transcript of a session whose turn was just stored.
func (w *Worker) remember(r oracle.Run, result run.Result) {
	known := result.Before
	if known == nil || len(r.Request.Attachments) > 0 {
		return
	}
	own := oracle.Message{
		SessionID: r.SessionID, Turn: r.Turn, Seq: known.Next, ID: r.MessageID, RunID: r.ID,
		Role: oracle.Human, Content: r.Request.Shown(), ToolCalls: r.Request.Results,
	}
	now := oracle.Transcript{
		Through: known.Through, Next: known.Next + 1 + int64(len(result.Messages)), Branch: known.Branch,
		Messages: make([]oracle.Message, 0, len(known.Messages)+1+len(result.Messages)),
	}
	now.Messages = append(append(now.Messages, known.Messages...), own)
	for i, m := range result.Messages {
		m.SessionID, m.RunID, m.Turn, m.Seq = r.SessionID, r.ID, r.Turn, own.Seq+1+int64(i)
		now.Messages = append(now.Messages, m)
	}
	cost := 0
	for _, m := range now.Messages {
		cost += 256 + len(m.Content) + len(m.Reasoning)
		for _, c := range m.ToolCalls {
			cost += 128 + len(c.Args) + len(c.Output) + len(c.Error)
			if c.Component != nil {
				cost += len(c.Component.Args)
			}
		}
	}
	w.transcripts.Put(r.SessionID, now, time.Now().Add(rememberedFor), cost)
}
