package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// tick is how often a node looks after its leases, its tails and runs that
// nobody works on.
const tick = time.Second

// leftToItsNode is how long a queued run that could start is left to the node that
// accepted it, which alone holds the request's credentials.
const leftToItsNode = 3 * time.Second

// Run keeps leases, takes over runs of dead nodes, and reconciles readers until
// ctx ends; then it lets runs finish for a while and gives the rest back.
func (e *Engine) Run(ctx context.Context) error {
	abort, err := e.bus.Subscribe(subjectAbort, func(m bus.Message) { e.abortLocal(string(m.Data)) })
	if err != nil {
		return fmt.Errorf("subscribe to aborts: %w", err)
	}
	defer func() { _ = abort.Unsubscribe() }()
	free, err := e.bus.Subscribe(subjectFree, func(bus.Message) { e.wakeQueue() })
	if err != nil {
		return fmt.Errorf("subscribe to free sessions: %w", err)
	}
	defer func() { _ = free.Unsubscribe() }()
	var leases sync.WaitGroup
	defer leases.Wait()
	leases.Go(func() { e.keepLeases(ctx) })
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	lost := e.cfg.Quiet.Sleeper(tick)
	defer lost.Stop()
	lost.Look()
	lost.Rest(false)
	lastPrune := time.Time{}
	for {
		e.startWaiting(ctx)
		select {
		case <-ctx.Done():
			return e.drain()
		case <-e.nudge:
			continue
		case <-lost.C:
			lost.Look()
			lost.Rest(e.takeOver(ctx))
			continue
		case <-ticker.C:
		}
		if err := e.hub.reconcile(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("readers could not be reconciled", slog.String("event", "run.reconcile_failed"), slog.Any("error", err))
		}
		if time.Since(lastPrune) > time.Minute && e.prune(ctx) {
			lastPrune = time.Now()
		}
	}
}

// prune deletes frames whose time is over, of so many runs that the rest of a
// node's work does not wait. It reports whether that is enough for a while.
func (e *Engine) prune(ctx context.Context) bool {
	const batches, runs = 4, 64
	for range batches {
		n, err := e.store.Prune(ctx, time.Now().Add(-e.cfg.Retention), runs)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("old frames could not be deleted", slog.String("event", "run.sweep_failed"), slog.Any("error", err))
		}
		if err != nil || n < runs {
			return true
		}
	}
	return false
}

func (e *Engine) wakeQueue() {
	select {
	case e.nudge <- struct{}{}:
	default:
	}
}

// drain lets the runs of this node finish, then gives them back.
func (e *Engine) drain() error {
	e.mu.Lock()
	e.stopping = true
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.jobs.Wait(); close(done) }()
	timer := time.NewTimer(e.cfg.Drain)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		e.cancel(errStopping)
		<-done
	}
	e.cancel(errStopping)
	return nil
}

// startWaiting tries to start the queued runs that this node accepted.
func (e *Engine) startWaiting(ctx context.Context) {
	e.mu.Lock()
	var first []waiting
	sessions := make([]string, 0, len(e.waiting))
	for session, queue := range e.waiting {
		first = append(first, queue[0])
		sessions = append(sessions, session)
	}
	e.mu.Unlock()
	for i, w := range first {
		r, err := e.store.Claim(ctx, w.id, e.cfg.Node, e.cfg.LeaseTTL)
		switch {
		case err == nil:
			e.dequeue(sessions[i], w.id)
			e.launch(r, w.carried) //nolint:contextcheck // a run ends by itself, not with the scheduler's context
		case errors.Is(err, ErrLost):
			if head, err := e.store.Heads(ctx, []string{w.id}); err == nil && head[w.id].Status != oracle.Queued {
				e.dequeue(sessions[i], w.id) // ended, or another node has it
				e.hub.lost(w.id)
				e.wakeQueue()
			}
		default:
			e.log.Warn("a waiting run could not be started", slog.String("event", "run.start_failed"), slog.Any("error", err))
		}
	}
}

// dequeue takes a run out of those that wait here, and returns what came with
// it; nil when it waits elsewhere.
func (e *Engine) dequeue(session, id string) (carried oracle.Carried) {
	e.mu.Lock()
	defer e.mu.Unlock()
	queue := e.waiting[session]
	for i, w := range queue {
		if w.id == id {
			carried = w.carried
			queue = append(queue[:i:i], queue[i+1:]...)
			break
		}
	}
	if len(queue) == 0 {
		delete(e.waiting, session)
	} else {
		e.waiting[session] = queue
	}
	return carried
}

// takeOver claims runs whose node died and queued runs that were left alone. It reports
// that there are no runs of which one could become such by time alone.
func (e *Engine) takeOver(ctx context.Context) (none bool) {
	ids, err := e.store.Claimable(ctx, leftToItsNode, 16)
	if err != nil {
		if ctx.Err() == nil {
			e.log.Warn("runs could not be looked for", slog.String("event", "run.find_failed"), slog.Any("error", err))
		}
		return false
	}
	if len(ids) == 0 && !e.works() {
		live, err := e.store.Live(ctx)
		return err == nil && !live
	}
	for _, id := range ids {
		if e.isLocal(id) {
			continue // our own lease ran out while the database was away; renew will tell
		}
		r, err := e.store.Claim(ctx, id, e.cfg.Node, e.cfg.LeaseTTL)
		if err != nil {
			continue // somebody was faster
		}
		//nolint:contextcheck // a run ends by itself, not with the scheduler's context
		e.launch(r, e.dequeue(r.SessionID, r.ID))
	}
	return false
}

// works reports that this node works on runs.
func (e *Engine) works() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.active) > 0
}

// launch works on a run that was claimed, with what its request carried, or with what came
// instead.
func (e *Engine) launch(r oracle.Run, carried oracle.Carried) {
	if r.Narrow && !carried.Brought.Narrow() { // its request is gone
		carried.Brought = r.Left()
	}
	e.mu.Lock()
	if e.stopping {
		e.mu.Unlock()
		e.release(r)
		return
	}
	a, ctx := e.register(r)
	e.mu.Unlock()
	go e.work(ctx, a, Job{Run: r, Carried: carried})
}

// keepLeases renews until ctx ends. It does so beside everything else: a run that
// is not renewed in time is begun anew by another node.
func (e *Engine) keepLeases(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		try, cancel := context.WithTimeout(ctx, e.cfg.LeaseTTL/2) // then the next one
		e.renew(try)
		cancel()
	}
}

// renew keeps the leases of this node's runs and hears of aborts.
func (e *Engine) renew(ctx context.Context) {
	e.mu.Lock()
	held := make([]Held, 0, len(e.active))
	for id, a := range e.active {
		held = append(held, Held{RunID: id, Epoch: a.epoch})
	}
	e.mu.Unlock()
	if len(held) == 0 {
		return
	}
	standing, err := e.store.Renew(ctx, held, e.cfg.LeaseTTL)
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			e.log.Warn("leases could not be renewed", slog.String("event", "run.renew_failed"), slog.Any("error", err))
		}
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range held {
		a := e.active[h.RunID]
		if a == nil || a.epoch != h.Epoch {
			continue
		}
		switch s := standing[h.RunID]; {
		case s.Lost:
			a.cancel(ErrLost)
		case s.Abort:
			a.cancel(errAborted)
		}
	}
}

// work does one run from claim to end.
func (e *Engine) work(ctx context.Context, a *active, job Job) {
	r, lost := job.Run, false
	defer func() {
		e.unregister(r.ID, a)
		if lost { // readers go on from the database
			e.hub.lost(r.ID)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, e.cfg.MaxRun, errTooLong)
	defer cancel()
	log := newLog(e.store, r, e.cfg.LeaseTTL, flushEvery, func(frames []oracle.Frame) {
		e.hub.push(r.ID, frames)
		e.hint(e.base, subjectFrames+r.ID, nil)
	}, func(cause error) { a.cancel(cause) })
	quit, flushed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(flushed)
		log.flushLoop(e.base, quit)
	}()
	if r.AbortRequested {
		a.cancel(errAborted)
	}
	job.Log = log
	result := e.doWork(ctx, job)
	close(quit)
	<-flushed
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrLost):
		lost = true
		e.deleted(r, result)
		return
	case errors.Is(cause, errStopping):
		e.release(r) //nolint:contextcheck // the run's own context has just ended
		lost = true
		return
	}
	end := e.finish
	if len(result.Approvals) > 0 && !errors.Is(cause, errAborted) {
		end, lost = e.pause, true // who reads on does so from the database
	}
	switch err := end(log, r, result); {
	case err == nil:
	case errors.Is(err, ErrLost):
		lost = true
		e.deleted(r, result)
	default:
		e.log.Error("a run could not be ended; another node will", slog.String("event", "run.end_failed"), slog.String("run_id", r.ID), slog.Any("error", err))
		lost = true
	}
}

func (e *Engine) doWork(ctx context.Context, job Job) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("a run panicked", slog.String("event", "run.panicked"), slog.String("run_id", job.Run.ID), slog.Any("panic", p),
				slog.String("stack", string(debug.Stack())))
			result = Result{Status: oracle.Failed, ErrorKind: "server"}
		}
	}()
	if job.Run.Attempt-job.Run.Pauses > e.cfg.MaxAttempts {
		frames, err := e.allFrames(ctx, job.Run.ID)
		if err != nil {
			e.log.Warn("the frames of a run could not be read", slog.String("event", "run.read_failed"), slog.Any("error", err))
		}
		return e.worker.GiveUp(ctx, job.Run, frames)
	}
	return e.worker.Work(ctx, job)
}

func (e *Engine) allFrames(ctx context.Context, id string) ([]oracle.Frame, error) {
	var all []oracle.Frame
	after := int64(0)
	for {
		frames, _, err := e.store.Frames(ctx, id, after, readFrames)
		if err != nil || len(frames) == 0 {
			return all, err
		}
		all = append(all, frames...)
		after = frames[len(frames)-1].Seq
	}
}

// finish stores the turn, then shows its end.
func (e *Engine) finish(log *Log, r oracle.Run, result Result) error {
	done := oracle.DoneFrame{
		RunID: r.ID, Status: result.Status, Aborted: result.Status == oracle.Aborted,
		Failed: result.Status == oracle.Failed, Interrupted: result.Status == oracle.Interrupted, Finish: result.Finish,
	}
	if n := len(result.Messages); n > 0 {
		done.MessageID = result.Messages[n-1].ID
	}
	if result.Status != oracle.Finished {
		done.PartialText = result.Text
	}
	if err := log.Emit(oracle.FrameDone, done); err != nil {
		return err
	}
	whole := log.untouched()
	ending := Ending{
		Batch: log.take(), Whole: whole, Status: result.Status, ErrorKind: result.ErrorKind, Model: result.Model,
		Usage: result.Usage, Steps: result.Steps, Messages: result.Messages, At: time.Now(),
	}
	if err := retry(e.base, func() error { return e.store.Finish(e.base, ending) }); err != nil {
		return fmt.Errorf("finish run: %w", err)
	}
	log.landed(ending.Batch)
	e.hint(e.base, subjectFree, []byte(r.SessionID))
	e.wakeQueue()
	r.Status = result.Status
	e.cfg.Ended(e.base, r, result)
	return nil
}

// deleted tells of the end of a run that is not there any more, because its
// session was deleted: what it used is to be paid for all the same. A run that
// another node has taken is that node's to tell.
func (e *Engine) deleted(r oracle.Run, result Result) {
	heads, err := e.store.Heads(e.base, []string{r.ID})
	if err != nil {
		e.log.Warn("what became of a run could not be looked up", slog.String("event", "run.lookup_failed"), slog.String("run_id", r.ID), slog.Any("error", err))
		return
	}
	if _, there := heads[r.ID]; there {
		return
	}
	e.hub.lost(r.ID) // readers first
	r.Status, result.Status = oracle.Aborted, oracle.Aborted
	result.Before, result.Titled = nil, true // nothing is left to remember or to name
	e.cfg.Ended(e.base, r, result)
}

// release gives a run back at once instead of letting its lease run out.
func (e *Engine) release(r oracle.Run) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := e.store.Renew(ctx, []Held{{RunID: r.ID, Epoch: r.Epoch}}, 0); err != nil {
		e.log.Warn("a run could not be given back; its lease will run out", slog.String("event", "run.release_failed"), slog.Any("error", err))
	}
}
