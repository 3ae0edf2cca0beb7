package turn

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// Turns starts turns: plugins may refuse them first. It is also what plugins
// talk to the oracle with.
type Turns struct {
	worker  *Worker
	engine  *run.Engine
	service *oracle.Service
	// Admit is asked about people in whose name something inside the program
	// speaks; nil admits everybody.
	Admit func(ctx context.Context, userDID string) error
	// origin names who asks by plugin.Conversations.
	origin string
}

var _ plugin.Conversations = (*Turns)(nil)

// NewTurns puts the parts together.
func NewTurns(w *Worker, e *run.Engine, s *oracle.Service) *Turns {
	return &Turns{worker: w, engine: e, service: s}
}

// Start asks the plugins, then stores the message and begins to work.
func (s *Turns) Start(ctx context.Context, q run.Start) (run.Started, error) {
	if !oracle.PlausibleID(q.SessionID) {
		return run.Started{}, oracle.ErrSessionNotFound
	}
	q.Carried.Spans = telemetry.ClientSpans(ctx)
	if len(s.worker.deps.Plugins.Loaded()) == 0 {
		return s.begin(ctx, q) // the store itself refuses sessions of others
	}
	if q.NewSession == nil {
		if err := s.service.CheckSession(ctx, q.Owner, q.SessionID); err != nil {
			return run.Started{}, err
		}
	}
	q.RunID = cmp.Or(q.RunID, oracle.NewID())
	rt := s.worker.Runtime(ctx, Scene{
		Owner: q.Owner, SessionID: q.SessionID, RequestID: q.RequestID, RunID: q.RunID, Brought: q.Carried.Brought,
		Request: q.Request,
	})
	set := newPluginSet(s.worker.deps.Plugins, rt, s.worker.deps.Log)
	agreed := map[string]bool{}
	err := set.each("turn starts", isRefusal, func(l registry.Loaded) error {
		o, ok := l.Plugin.(plugin.TurnObserver)
		if !ok {
			return nil
		}
		err := o.TurnStarts(ctx, rt)
		agreed[l.Name] = err == nil
		return err
	})
	if err != nil {
		set.abandoned(ctx, agreed)
		return run.Started{}, err
	}
	started, err := s.begin(ctx, q)
	if err != nil || started.Repeat {
		set.abandoned(ctx, agreed)
	}
	return started, err
}

// begin starts the run. Pages that show what a version takes the place of are told.
func (s *Turns) begin(ctx context.Context, q run.Start) (run.Started, error) {
	started, err := s.engine.Start(ctx, q)
	if err == nil && !started.Repeat && q.Request.Version != nil {
		s.worker.tellChanged(ctx, oracle.Address{SessionID: q.SessionID, RequestID: started.Run.RequestID},
			oracle.ReasonVersion)
	}
	return started, err
}

// Choose shows another branch of the user's session.
func (s *Turns) Choose(ctx context.Context, owner, sessionID, messageID string) error {
	if err := s.service.Choose(ctx, owner, sessionID, messageID); err != nil {
		return err
	}
	s.worker.tellChanged(ctx, oracle.Address{SessionID: sessionID}, oracle.ReasonVersion)
	return nil
}

// SetFeedback keeps what the user thinks of an answer.
func (s *Turns) SetFeedback(ctx context.Context, owner, sessionID string, f oracle.Feedback) error {
	if err := s.service.SetFeedback(ctx, owner, sessionID, f); err != nil {
		return err
	}
	s.worker.tellChanged(ctx, oracle.Address{SessionID: sessionID}, oracle.ReasonFeedback)
	return nil
}

// ForgetFeedback takes back what the user thought of an answer.
func (s *Turns) ForgetFeedback(ctx context.Context, owner, sessionID, messageID string) error {
	if err := s.service.ForgetFeedback(ctx, owner, sessionID, messageID); err != nil {
		return err
	}
	s.worker.tellChanged(ctx, oracle.Address{SessionID: sessionID}, oracle.ReasonFeedback)
	return nil
}

// tellChanged tells open pages that the transcript changed otherwise than by a turn.
func (w *Worker) tellChanged(ctx context.Context, to oracle.Address, reason string) {
	e, err := oracle.NewEvent(oracle.EventMessageCacheInvalidation, to,
		oracle.MessageCacheInvalidation{Address: to, Status: plugin.Done, Reason: reason})
	e.Bare = true // it is no step of a turn
	publish(ctx, w.deps.Publisher, w.deps.Log, e, err)
}

// abandoned tells the plugins that agreed to a turn that it never began.
func (s *pluginSet) abandoned(ctx context.Context, agreed map[string]bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = s.each("turn abandoned", nil, func(l registry.Loaded) error {
		if o, ok := l.Plugin.(plugin.TurnAbandoner); ok && agreed[l.Name] {
			return o.TurnAbandoned(ctx, s.rt)
		}
		return nil
	})
}

// Scene is where a hook outside a run happens.
type Scene struct {
	Owner     string
	SessionID string
	RequestID string
	RunID     string
	Brought   identity.Brought
	Request   oracle.TurnRequest
}

// Runtime makes the runtime of hooks outside a run, such as routes and gates.
func (w *Worker) Runtime(ctx context.Context, s Scene) *plugin.Runtime {
	t := &turn{
		Worker: w, to: oracle.Address{SessionID: s.SessionID, RequestID: s.RequestID}, usage: &meter{}, log: w.deps.Log,
		run:     oracle.Run{ID: s.RunID, SessionID: s.SessionID, Owner: s.Owner, RequestID: s.RequestID, Request: s.Request},
		carried: oracle.Carried{Brought: s.Brought},
	}
	return t.runtime(ctx, oracle.Session{ID: s.SessionID, Owner: s.Owner})
}

// tellEnded tells open pages that a turn is over.
func (w *Worker) tellEnded(ctx context.Context, r oracle.Run, quiet bool) {
	to := oracle.Address{SessionID: r.SessionID, RequestID: r.RequestID}
	e, err := oracle.NewEvent(oracle.EventMessageCacheInvalidation, to,
		oracle.MessageCacheInvalidation{Address: to, Status: plugin.Done, Ended: true})
	e.Quiet = quiet
	publish(ctx, w.deps.Publisher, w.deps.Log, e, err)
}

// tellStopped tells open pages that a turn was stopped, when whoever stopped it knows:
// the published client shows a turn twice that it reads while it still follows it, and
// for what it is told when it has read it, a step that never was.
func (w *Worker) tellStopped(ctx context.Context, r oracle.Run) {
	timer := time.NewTimer(parting)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	w.tellEnded(ctx, r, true)
}

// parting is how long other pages wait for the end of a turn that was stopped.
const parting = 250 * time.Millisecond

// Ended tells the plugins and open pages how a run ended: see run.Config.
func (w *Worker) Ended(ctx context.Context, r oracle.Run, result run.Result) {
	w.remember(r, result)
	// What never came to a model was not answered by one.
	if w.deps.Meter != nil && result.Model != "" {
		w.deps.Meter.AddMessage(usage.Message{At: time.Now(), Owner: r.Owner, Model: result.Model, Source: r.Request.Origin})
	}
	// A run that was stopped before it began is told of at once: who stopped it waits.
	if r.Status == oracle.Aborted && r.Attempt > 0 {
		defer w.tellStopped(ctx, r)
	} else {
		w.tellEnded(ctx, r, false)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rt := w.Runtime(ctx, Scene{
		Owner: r.Owner, SessionID: r.SessionID, RequestID: r.RequestID, RunID: r.ID, Request: r.Request,
		Brought: r.Left(),
	})
	set := newPluginSet(w.deps.Plugins, rt, w.deps.Log)
	_ = set.each("turn ended", nil, func(l registry.Loaded) error {
		if o, ok := l.Plugin.(plugin.TurnObserver); ok {
			return o.TurnEnded(ctx, rt, plugin.TurnResult{
				RunID: r.ID, Status: string(result.Status), Model: result.Model, Usage: result.Usage, Steps: result.Steps,
			})
		}
		return nil
	})
}

// Open returns the user's session of a thread: see plugin.Conversations.
func (s *Turns) Open(ctx context.Context, userDID, key string) (string, error) {
	session, err := s.service.OpenSession(ctx, userDID, key)
	return session.ID, err
}

// Ask sends a message and waits for the reply: see plugin.Conversations.
func (s *Turns) Ask(ctx context.Context, q plugin.Question) (plugin.Answer, error) {
	if s.Admit != nil {
		if err := s.Admit(ctx, q.UserDID); err != nil {
			return plugin.Answer{}, err
		}
	}
	return s.askAs(ctx, q, oracle.TurnRequest{Origin: s.origin})
}

// Named is what a plugin talks to the oracle with, under its own name.
func (s *Turns) Named(name string) *Turns {
	named := *s
	named.origin = name
	return &named
}

// AskFor is Ask for users whom nobody admits, since they come by a way of their
// own, such as the telephone. sponsor answers for them.
func (s *Turns) AskFor(ctx context.Context, q plugin.Question, sponsor string) (plugin.Answer, error) {
	return s.askAs(ctx, q, oracle.TurnRequest{Origin: usage.SourceTelephone, Sponsor: sponsor})
}

// askAs sends a question as the request says who asks it.
func (s *Turns) askAs(ctx context.Context, q plugin.Question, as oracle.TurnRequest) (plugin.Answer, error) {
	if q.Message == "" || q.RequestID == "" {
		return plugin.Answer{}, fault.New(fault.Invalid, "a question needs a message and a request id")
	}
	as.Message, as.Timezone, as.Metadata = q.Message, q.Timezone, q.Metadata
	started, err := s.Start(ctx, run.Start{
		Owner: q.UserDID, SessionID: q.SessionID, RequestID: q.RequestID, Once: true, Multitask: oracle.Enqueue, Request: as,
	})
	if err != nil {
		return plugin.Answer{}, err
	}
	defer started.Reader.Close()
	ended, err := s.engine.Await(ctx, started)
	if err != nil {
		return plugin.Answer{}, fmt.Errorf("wait for the answer: %w", err)
	}
	if ended.Paused {
		waiting, err := s.engine.Pending(ctx, ended.Owner, ended.SessionID)
		return plugin.Answer{RunID: ended.ID, Status: Paused, Text: Question(waiting)}, err
	}
	text, err := s.Reply(ctx, ended)
	return plugin.Answer{RunID: ended.ID, Status: string(ended.Status), Text: text.Content}, err
}

// Reply returns what a run answered: the text of all its messages, under the
// id of the last.
func (s *Turns) Reply(ctx context.Context, r oracle.Run) (oracle.Message, error) {
	list, err := s.worker.deps.Store.Turn(ctx, r.Owner, r.SessionID, r.Turn)
	if err != nil {
		return oracle.Message{}, fmt.Errorf("load reply: %w", err)
	}
	var out oracle.Message
	for _, m := range list {
		if m.RunID == r.ID && m.Role == oracle.AI {
			text := out.Content + m.Content
			out = m
			out.Content = text
		}
	}
	return out, nil
}

// Titler names sessions in the background.
type Titler struct {
	worker *Worker
	queue  chan oracle.Run
}

// NewTitler makes a Titler; Run must run for it to do anything.
func NewTitler(w *Worker) *Titler { return &Titler{worker: w, queue: make(chan oracle.Run, 256)} }

// Offer asks for the title of a run's session. When too many wait it is left
// to the session's next turn.
func (n *Titler) Offer(r oracle.Run) {
	select {
	case n.queue <- r:
	default:
	}
}

// Run names sessions until ctx ends.
func (n *Titler) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-n.queue:
			if err := n.name(ctx, r); err != nil && ctx.Err() == nil {
				n.worker.deps.Log.Warn("a session could not be named", slog.String("event", "turn.title_failed"), slog.Any("error", err))
			}
		}
	}
}

func (n *Titler) name(ctx context.Context, r oracle.Run) error {
	w := n.worker
	session, err := w.deps.Store.Session(ctx, r.Owner, r.SessionID)
	if err != nil || session.Title != oracle.Untitled || session.Messages < 2 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	list, err := w.deps.Store.Messages(ctx, r.Owner, r.SessionID, 0)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, m := range list[:min(len(list), 4)] {
		if m.Failure != nil {
			continue
		}
		text.WriteString(string(m.Role) + ": " + firstRunes(m.Content, 500) + "\n")
	}
	resp, err := w.ask(ctx, asking{run: r}, plugin.ModelRequest{
		Purpose: "title", MaxTokens: 30,
		System:   "Give this conversation a title of at most six words, in its own language. Answer with the title alone, without quotes.",
		Messages: []plugin.ModelMessage{{Role: plugin.RoleUser, Text: text.String()}},
	}, func(plugin.Chunk) {})
	if err != nil {
		return err
	}
	title := cleanTitle(resp.Text)
	if title == "" {
		return nil
	}
	changed, err := w.deps.Store.SetTitle(ctx, session.ID, title, session.UpdatedAt)
	if err != nil || !changed {
		return err
	}
	to := oracle.Address{SessionID: r.SessionID, RequestID: r.RequestID}
	e, err := oracle.NewEvent(oracle.EventMessageCacheInvalidation, to,
		oracle.MessageCacheInvalidation{Address: to, Status: plugin.Done, Title: title})
	e.Bare = true // the transcript is what it was
	publish(ctx, w.deps.Publisher, w.deps.Log, e, err)
	return nil
}
