package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// Why the work on a run is cancelled, as context.Cause tells a Worker.
var (
	// errAborted: somebody asked for it.
	errAborted = errors.New("the run was aborted")
	// errStopping: this node goes down, another will take the run over.
	errStopping = errors.New("the node is stopping")
	// errTooLong: the run used up its time.
	errTooLong = errors.New("the run took too long")
)

// IsAbort reports whether a context's cause is a user's abort.
func IsAbort(cause error) bool { return errors.Is(cause, errAborted) }

// IsTimeout reports whether a context's cause is the run's time limit.
func IsTimeout(cause error) bool { return errors.Is(cause, errTooLong) }

// Worker does the work of a run: it thinks, emits frames to the log, and says
// what should be stored. It must return soon after ctx ends; what it returns
// after a lost lease is thrown away.
type Worker interface {
	Work(ctx context.Context, job Job) Result
	// GiveUp says how a run ends whose nodes died too often. frames are all
	// that readers saw.
	GiveUp(ctx context.Context, r oracle.Run, frames []oracle.Frame) Result
}

// Job is a run to work on.
type Job struct {
	Run oracle.Run
	Log *Log
	// Carried is what the starting request handed over in memory, such as
	// credentials that are not stored. After a takeover it has what is left (oracle.Run.Left).
	Carried oracle.Carried
	// Session is the run's as it was when the run began just now; nil for a run
	// that waited or was taken over.
	Session *oracle.Session
}

// Result is how a run ended.
type Result struct {
	Status    oracle.RunStatus
	ErrorKind string
	Model     string
	Usage     plugin.Usage
	Steps     int
	Messages  []oracle.Message
	// Finish is why the answer ended, when that was not by itself.
	Finish string
	// Titled says that the session was seen to have a title.
	Titled bool
	// Text is the whole answer, which ends that are not finished repeat.
	Text string
	// Approvals are the calls that wait for a person. When there are any the run
	// is not over: it rests, and goes on from Checkpoint.
	Approvals  []oracle.Approval
	Checkpoint any
	// Granted, where it is set, looks whether what the calls wait for was delegated
	// while the run was put to rest, when nobody could see that it waits.
	Granted func(ctx context.Context) (bool, error)
	// Before is the transcript before the turn, when the worker knows it to be
	// whole: it finds it again here when it hears of the end.
	Before *oracle.Transcript
}

// flushEvery is how long frames are gathered before they are stored.
const flushEvery = 10 * time.Millisecond

// Config tunes an Engine. The zero value is what production uses.
type Config struct {
	Node         string
	LeaseTTL     time.Duration // 6s
	Retention    time.Duration // 24h: how long frames of ended runs are kept
	Lingering    time.Duration // 60s: how long after its end a run is read with the token that began it
	MaxRun       time.Duration // 15m
	MaxQueue     int           // 16 messages behind a live run
	MaxAttempts  int           // 3
	Drain        time.Duration // 5s: how long a stopping node lets its runs finish
	ApprovalTime time.Duration // 24h: how long a call waits for a person
	Delegation   time.Duration // 10m: how long it waits for a delegation, for which the person is there
	Measures     oracle.Measures
	// Quiet, when set, spares looks for lost runs while there are no runs at all.
	Quiet  *quiet.Watch
	Logger *slog.Logger
	// Ended, when set, is told of each run that this node ended, also while it
	// waited or because its session was deleted, after readers could see its end.
	Ended func(ctx context.Context, r oracle.Run, result Result)
	// Paused, when set, is told of each run that this node put to rest.
	Paused func(ctx context.Context, r oracle.Run, required oracle.ApprovalRequired)
}

func (c Config) withDefaults() Config {
	c.LeaseTTL = cmp.Or(c.LeaseTTL, 6*time.Second)
	c.Retention = cmp.Or(c.Retention, 24*time.Hour)
	c.Lingering = cmp.Or(c.Lingering, time.Minute)
	c.MaxRun = cmp.Or(c.MaxRun, 15*time.Minute)
	c.ApprovalTime = cmp.Or(c.ApprovalTime, 24*time.Hour)
	c.Delegation = min(c.ApprovalTime, cmp.Or(c.Delegation, 10*time.Minute))
	c.Drain = cmp.Or(c.Drain, 5*time.Second)
	c.MaxQueue = cmp.Or(c.MaxQueue, 16)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 3)
	if c.Node == "" {
		c.Node = oracle.NewID()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Ended == nil {
		c.Ended = func(context.Context, oracle.Run, Result) {}
	}
	if c.Paused == nil {
		c.Paused = func(context.Context, oracle.Run, oracle.ApprovalRequired) {}
	}
	return c
}

// The subjects of the hints.
const (
	subjectFrames = "oracle.frames." // + run id
	subjectAbort  = "oracle.abort"   // data: run id
	subjectFree   = "oracle.free"    // data: session id
)

// Engine starts runs, works on them, and serves their readers. Run must be
// running for anything but reading to work.
type Engine struct {
	store  Store
	bus    bus.Bus
	worker Worker
	cfg    Config
	log    *slog.Logger
	hub    *hub

	// base is the context of all work; cancel ends it at the very end.
	base   context.Context //nolint:containedctx // runs outlive the requests that began them
	cancel context.CancelCauseFunc
	jobs   sync.WaitGroup

	mu       sync.Mutex
	stopping bool
	active   map[string]*active
	// waiting are queued runs that this node accepted, by session and in the
	// order of their turns.
	waiting map[string][]waiting
	nudge   chan struct{}
}

type active struct {
	epoch  int64
	cancel context.CancelCauseFunc
}

type waiting struct {
	id      string
	turn    int64
	carried oracle.Carried
}

// New makes an engine.
func New(store Store, hints bus.Bus, worker Worker, cfg Config) *Engine {
	cfg = cfg.withDefaults()
	base, cancel := context.WithCancelCause(context.Background())
	e := &Engine{
		store: store, bus: hints, worker: worker, cfg: cfg, log: cfg.Logger, base: base, cancel: cancel,
		active: map[string]*active{}, waiting: map[string][]waiting{}, nudge: make(chan struct{}, 1),
	}
	e.hub = newHub(store, e.subscribeFrames, e.isLocal)
	return e
}

func (e *Engine) isLocal(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active[id] != nil
}

func (e *Engine) subscribeFrames(id string, fn func()) func() {
	sub, err := e.bus.Subscribe(subjectFrames+id, func(bus.Message) { fn() })
	if err != nil {
		e.log.Warn("no hints for a run; readers reconcile instead", slog.String("event", "run.hints_failed"), slog.Any("error", err))
		return func() {}
	}
	return func() { _ = sub.Unsubscribe() }
}

// Start is a message that wants an answer.
type Start struct {
	Owner     string
	SessionID string
	// NewSession, when set, is stored with the message: its id is SessionID.
	NewSession *oracle.Session
	// RunID is the new run's; it is made when it is empty.
	RunID string
	// RequestID is the caller's; it is replaced when a live run uses it.
	RequestID string
	// Minted says that the request id was just made.
	Minted    bool
	Once      bool
	Multitask oracle.Multitask
	Request   oracle.TurnRequest
	// BeganBy names the invocation with which the message came.
	BeganBy string
	// Carried is handed to the Worker if this node does the work.
	Carried oracle.Carried
	// Read, when set, is what was read before from the files of the message.
	Read []oracle.Attachment
	// Marks are stored with the run.
	Marks []Mark
}

// Started is an accepted message.
type Started struct {
	Run    oracle.Run
	Repeat bool
	// Reader follows the run from its first frame. The caller closes it.
	Reader *Reader
}

// Start stores the message and its run, and begins to work. When it returns
// nil, the message is durable.
func (e *Engine) Start(ctx context.Context, s Start) (Started, error) {
	now := time.Now()
	r := oracle.Run{
		ID: cmp.Or(s.RunID, oracle.NewID()), SessionID: s.SessionID, Owner: s.Owner, RequestID: s.RequestID,
		MessageID: oracle.NewID(), Request: s.Request, CreatedAt: now, BeganBy: s.BeganBy,
		Narrow: s.Carried.Brought.Narrow(),
	}
	files := s.Request.Attachments
	if s.Read != nil {
		files = s.Read
	}
	begun, err := e.store.Begin(ctx, Begin{
		Run: r,
		Message: oracle.Message{
			ID: r.MessageID, SessionID: s.SessionID, RunID: r.ID, Role: oracle.Human, Content: s.Request.Shown(),
			ToolCalls: s.Request.Results, Attachments: files, CreatedAt: now,
		},
		NewSession:     s.NewSession,
		OtherRequestID: oracle.NewID(), Minted: s.Minted, Once: s.Once, Multitask: s.Multitask, MaxQueue: e.cfg.MaxQueue,
		Measure: e.cfg.Measures.Of(r.Sponsor()), Node: e.cfg.Node, TTL: e.cfg.LeaseTTL,
		Marks:  s.Marks,
		Frames: func(r oracle.Run) ([]oracle.Frame, error) { return openingFrames(r, now) },
	})
	if err != nil {
		return Started{}, err
	}
	out := Started{Run: begun.Run, Repeat: begun.Repeat}
	if begun.Repeat {
		out.Reader = e.hub.open(begun.Run.ID, 0, 0, false)
		return out, nil
	}
	e.launchOrWait(begun, s.Carried, &out) //nolint:contextcheck // a run outlives the request that started it
	for _, id := range begun.Interrupted {
		e.abortLocal(id)
		e.hint(ctx, subjectAbort, []byte(id))
	}
	for _, id := range begun.Woken {
		e.wake(ctx, id, oracle.Carried{})
	}
	e.neverBegan(ctx, begun.Ended)
	return out, nil
}

// openingFrames is what a reader sees at once.
func openingFrames(r oracle.Run, now time.Time) ([]oracle.Frame, error) {
	to := oracle.Address{SessionID: r.SessionID, RequestID: r.RequestID}
	first, err := oracle.NewFrame(oracle.FrameRun, oracle.RunFrame{RunID: r.ID, Address: to})
	if err != nil {
		return nil, err
	}
	const phrase = "Thinking..."
	second, err := oracle.NewFrame(oracle.FrameReasoning, oracle.ReasoningFrame{
		Address: to, Reasoning: phrase, Timestamp: oracle.Timestamp(now),
		ReasoningDetails: []oracle.ReasoningDetail{{Type: "thinking", Text: phrase}},
	})
	if err != nil {
		return nil, err
	}
	first.Seq, second.Seq = 1, 2
	return []oracle.Frame{first, second}, nil
}

func (e *Engine) launchOrWait(b Begun, carried oracle.Carried, out *Started) {
	r := b.Run
	e.mu.Lock()
	if e.stopping { // the lease is given back; another node, or the next start, works on it
		e.mu.Unlock()
		if r.Status == oracle.Running {
			e.release(r)
		}
		out.Reader = e.hub.open(r.ID, 0, 0, false)
		return
	}
	if r.Status == oracle.Queued {
		queue := e.waiting[r.SessionID]
		at, _ := slices.BinarySearchFunc(queue, r.Turn, func(w waiting, turn int64) int { return cmp.Compare(w.turn, turn) })
		e.waiting[r.SessionID] = slices.Insert(queue, at, waiting{r.ID, r.Turn, carried})
		e.mu.Unlock()
		out.Reader = e.hub.open(r.ID, 0, 0, true)
		e.hub.push(r.ID, b.Frames)
		return
	}
	job, ctx := e.register(r)
	e.mu.Unlock()
	out.Reader = e.hub.open(r.ID, 0, 0, true)
	e.hub.push(r.ID, b.Frames)
	go e.work(ctx, job, Job{Run: r, Carried: carried, Session: &b.Session})
}

// register makes the run this node's; e.mu is held.
func (e *Engine) register(r oracle.Run) (*active, context.Context) {
	ctx, cancel := context.WithCancelCause(e.base)
	a := &active{epoch: r.Epoch, cancel: cancel}
	e.active[r.ID] = a
	e.jobs.Add(1)
	return a, ctx
}

func (e *Engine) unregister(id string, a *active) {
	e.mu.Lock()
	if e.active[id] == a {
		delete(e.active, id)
	}
	e.mu.Unlock()
	a.cancel(nil)
	e.jobs.Done()
}

// Follow reads a run of the user, from after on. A pruned run is ErrPruned.
func (e *Engine) Follow(ctx context.Context, owner, id string, after int64) (*Reader, error) {
	here := e.isLocal(id) // before the record is read, which is then as new as that
	r, err := e.store.Run(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if !r.Status.Live() {
		heads, err := e.store.Heads(ctx, []string{id})
		if err != nil {
			return nil, fmt.Errorf("look up run: %w", err)
		}
		if heads[id].Pruned {
			return nil, ErrPruned
		}
	}
	reader := e.hub.open(id, after, r.NextSeq-1, false)
	reader.first, reader.requestID = here && r.Attempt == 1, r.RequestID
	return reader, nil
}

// Began reports whether the user's run was begun under the invocation of that
// name, and is not long over: then it may be read with that invocation, although
// it has expired.
func (e *Engine) Began(ctx context.Context, owner, id, invocation string) (bool, error) {
	r, err := e.store.Run(ctx, owner, id)
	switch {
	case errors.Is(err, oracle.ErrRunNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up who began a run: %w", err)
	}
	return r.BeganBy != "" && r.BeganBy == invocation && (r.Status.Live() || time.Since(r.EndedAt) < e.cfg.Lingering), nil
}

// Await waits until a run has ended, or rests, and returns it as stored.
func (e *Engine) Await(ctx context.Context, started Started) (oracle.Run, error) {
	for {
		frames, err := started.Reader.Next(ctx, time.Minute)
		switch {
		case ctx.Err() != nil:
			return oracle.Run{}, context.Cause(ctx)
		case errors.Is(err, io.EOF), errors.Is(err, ErrPruned):
			return e.store.Run(ctx, started.Run.Owner, started.Run.ID)
		case asksApproval(frames):
			if r, err := e.store.Run(ctx, started.Run.Owner, started.Run.ID); err == nil && r.Paused {
				return r, nil
			}
			continue
		case err == nil, errors.Is(err, ErrIdle):
			continue
		}
		select { // the database is away, and the run goes on
		case <-time.After(readPause):
		case <-ctx.Done():
		}
	}
}

// Latest returns the live run of the user's session, if there is one.
func (e *Engine) Latest(ctx context.Context, owner, sessionID string) (oracle.Run, bool, error) {
	return e.store.Latest(ctx, owner, sessionID)
}

// Get returns a run of the user.
func (e *Engine) Get(ctx context.Context, owner, id string) (oracle.Run, error) {
	return e.store.Run(ctx, owner, id)
}

// ByRequest returns the newest run that a request id started in the user's session, or in any when
// none is named, also one that has ended, if there is one.
func (e *Engine) ByRequest(ctx context.Context, owner, sessionID, requestID string) (oracle.Run, bool, error) {
	r, err := e.store.ByRequest(ctx, owner, sessionID, requestID)
	if errors.Is(err, oracle.ErrRunNotFound) {
		return oracle.Run{}, false, nil
	}
	return r, err == nil, err
}

// Abort stops what is going on in the user's session. It reports whether
// anything was.
func (e *Engine) Abort(ctx context.Context, owner, sessionID string) (bool, error) {
	return e.AbortRun(ctx, owner, sessionID, "")
}

// AbortRun stops one run of the user's session, and leaves alone what else goes
// on in it. It reports whether the run was going on. What was said until then is in
// the conversation when it returns, but for work that takes longer to let go.
func (e *Engine) AbortRun(ctx context.Context, owner, sessionID, id string) (bool, error) {
	runs, err := e.store.Abort(ctx, owner, sessionID, id)
	if err != nil {
		return false, fmt.Errorf("abort: %w", err)
	}
	e.Gone(ctx, runs)
	e.settle(ctx, runs)
	return len(runs) > 0, nil
}

// settle waits until runs that were aborted have ended, for a second in all: clients
// ask for the conversation as soon as they know, and not again.
func (e *Engine) settle(ctx context.Context, runs []oracle.Run) {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for _, r := range runs {
		if r.Status == oracle.Queued { // it ended with the abort
			continue
		}
		reader, err := e.Follow(ctx, r.Owner, r.ID, r.NextSeq-1)
		if err != nil { // it is gone, or the database is: whoever asked is not told of that
			continue
		}
		_, _ = e.Await(ctx, Started{Run: r, Reader: reader})
		reader.Close()
	}
}

// Gone tells the engine, and the others, that runs were aborted or lost their
// session. They are as they were before that.
func (e *Engine) Gone(ctx context.Context, runs []oracle.Run) {
	var waited []oracle.Run
	for _, r := range runs {
		if r.Status == oracle.Queued {
			waited = append(waited, r)
			continue
		}
		e.abortLocal(r.ID)
		e.hint(ctx, subjectAbort, []byte(r.ID))
		e.hint(ctx, subjectFrames+r.ID, nil)
		if r.Paused && !e.wake(ctx, r.ID, oracle.Carried{}) {
			e.deleted(r, Result{Model: r.Model, Usage: r.Usage, Steps: r.Steps})
		}
	}
	e.neverBegan(ctx, waited)
}

// neverBegan tells of the end of runs that were ended while they waited: nobody
// works on them who would.
func (e *Engine) neverBegan(ctx context.Context, runs []oracle.Run) {
	for _, r := range runs {
		e.hint(ctx, subjectFrames+r.ID, nil)
		r.Status = oracle.Aborted
		e.cfg.Ended(context.WithoutCancel(ctx), r, Result{Status: oracle.Aborted})
	}
}

func (e *Engine) abortLocal(id string) {
	e.mu.Lock()
	a := e.active[id]
	e.mu.Unlock()
	if a != nil {
		a.cancel(errAborted)
	}
}

func (e *Engine) hint(ctx context.Context, subject string, data []byte) {
	if err := e.bus.Publish(context.WithoutCancel(ctx), subject, data); err != nil {
		e.log.Debug("hint not sent; others reconcile", slog.Any("error", err))
	}
}
