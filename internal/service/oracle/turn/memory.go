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

// transcript is a session's messages behind its summary, as this node left
// them. It needs no care: messages are numbered without gaps, in the session's
// own row, so that a next message with another number than ours says that
// somebody else has written meanwhile.
type transcript struct {
	through  int64 // the turn up to which the summary stands for them
	next     int64 // the number of the next message
	messages []oracle.Message
}

// recall returns the transcript before the turn, if this node knows it to be
// what is stored.
func (t *turn) recall(session oracle.Session) (transcript, bool) {
	if t.job.Session == nil { // the session may be older than the run's message
		return transcript{}, false
	}
	known := transcript{through: session.SummaryThrough, next: t.run.Turn}
	if t.run.Turn == 1 { // the first message of a session has nothing before it
		return known, true
	}
	last, ok := t.transcripts.Get(session.ID, time.Now())
	if !ok || last.next != known.next || last.through != known.through {
		return transcript{}, false
	}
	return last, true
}

// before is the stored transcript without the turn itself. It is not known when
// messages wait behind the turn, or when files belong to one: what was read
// from those is stored later.
func (t *turn) before(session oracle.Session, stored []oracle.Message) (transcript, bool) {
	known := transcript{through: session.SummaryThrough, next: t.run.Turn}
	for _, m := range stored {
		if len(m.Attachments) > 0 || m.Seq > t.run.Turn {
			return transcript{}, false
		}
		if m.ID != t.run.MessageID {
			known.messages = append(known.messages, m)
		}
	}
	return known, t.job.Session != nil
}

// remember keeps the transcript of a session whose turn was just stored.
func (w *Worker) remember(r oracle.Run, result run.Result) {
	known, ok := result.Before.(transcript)
	if !ok || len(r.Request.Attachments) > 0 {
		return
	}
	own := oracle.Message{SessionID: r.SessionID, Turn: r.Turn, Seq: known.next, ID: r.MessageID, RunID: r.ID, Role: oracle.Human, Content: r.Request.Message}
	now := transcript{
		through: known.through, next: known.next + 1 + int64(len(result.Messages)),
		messages: make([]oracle.Message, 0, len(known.messages)+1+len(result.Messages)),
	}
	now.messages = append(append(now.messages, known.messages...), own)
	for i, m := range result.Messages {
		m.SessionID, m.RunID, m.Turn, m.Seq = r.SessionID, r.ID, r.Turn, own.Seq+1+int64(i)
		now.messages = append(now.messages, m)
	}
	cost := 0
	for _, m := range now.messages {
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
