package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// The bounds of one batch. One that is full commits although more wait: the first must not wait for ever.
const (
	batchCount = 256
	batchTime  = 12 * time.Millisecond
	queueSize  = 1024
	// laterTime is how old a batch may be in which somebody waits for an answer
	// and that still takes in writes that are not urgent; laterLeast of those are
	// taken whatever its age, when nothing urgent waits any more. The batch behind
	// one in which somebody waited is as short: whoever comes now waits for its
	// commit, which takes longer the more is in it.
	laterTime  = time.Millisecond
	laterLeast = 4
	// When urgent writes never cease, no batch gets that far. After so many in a
	// row that took none of those that wait, one takes a quarter of them, and at
	// least laterLeast, so that they cannot starve.
	laterPatience = 8
	// carefulFor is for how many batches functions have savepoints after one had to be taken back.
	carefulFor = 32
)

// laterKey marks contexts of writes that let others go first.
type laterKey struct{}

// Later marks the writes of a context as not urgent: on SQLite, where all share
// one writer, they let others go first. They are as durable as any other, and
// they do not starve.
func Later(ctx context.Context) context.Context { return context.WithValue(ctx, laterKey{}, true) }

// groupWriter runs write functions one after the other on SQLite's only writing connection. Functions that wait at the
// same time share one transaction and one synced COMMIT; while that COMMIT waits for the disk the next batch gathers. A
// writer alone commits at once.
//
// A savepoint costs two statements and a copy of every page that is touched in it, so there is none while all
// goes well. When a function fails that has written something, the transaction is rolled back, those that had come
// before it in the batch run once more, and for some batches each has a savepoint of its own (ADR 0303).
type groupWriter struct {
	owner *DB
	pool  *sql.DB // of one connection
	fault func(Stage) error
	count *counters
	queue chan *job
	later chan *job
	// pauses run between two batches: see Log.Fold.
	pauses chan func()
	// stop is closed by close; the loop then finishes what was accepted.
	stop chan struct{}
	done chan struct{}
	once sync.Once
	// mu orders enqueueing before stopping: who holds it for reading and sees
	// stop open may put a job into the queue and will be served.
	mu sync.RWMutex

	// The rest belongs to the loop.
	conn *sql.Conn
	raw  *sqliteConn
	// begun tells that a transaction is open; poisoned, that SQLite has (or may
	// have) rolled it back by itself.
	begun    bool
	poisoned error
	// passed counts batches in a row that were full of urgent writes while others
	// waited.
	passed int
	// awaited tells that somebody waited for an answer in the batch before.
	awaited bool
	// ran await the commit of this batch; lost are those of them that have to run
	// once more, since the transaction was rolled back.
	ran, lost []*job
	// careful counts the batches in which functions have savepoints.
	careful int
	shared  gatherer
}

// job states.
const (
	jobWaiting int32 = iota
	jobRunning
	jobDropped
)

type job struct {
	ctx context.Context //nolint:containedctx // a job is a call on its way to another goroutine
	fn  writeFunc
	// alone is a single statement: when it fails SQLite takes it back by itself,
	// and when it does not there is nothing more to wait for.
	alone bool
	state atomic.Int32
	done  chan error
}

// ErrClosed is returned by Write on a database that was closed.
var ErrClosed = errors.New("database is closed")

func newGroupWriter(db *DB) *groupWriter {
	size := db.opt.MaxQueue
	if size <= 0 {
		size = queueSize
	}
	w := &groupWriter{
		owner: db, pool: db.writers, fault: db.opt.Fault, count: &db.counts,
		queue: make(chan *job, size), later: make(chan *job, size), pauses: make(chan func()),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go w.loop()
	return w
}

func (w *groupWriter) write(ctx context.Context, fn writeFunc) error {
	return w.submit(&job{ctx: ctx, fn: fn, done: make(chan error, 1)})
}

// submit gives a job to the loop and waits for its outcome.
func (w *groupWriter) submit(j *job) error {
	if err := w.enqueue(j.ctx, j); err != nil {
		return err
	}
	select {
	case err := <-j.done:
		return err
	case <-j.ctx.Done():
	}
	if j.state.CompareAndSwap(jobWaiting, jobDropped) {
		return j.ctx.Err()
	}
	return <-j.done // it runs or has run: tell the truth about it
}

func (w *groupWriter) enqueue(ctx context.Context, j *job) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	select {
	case <-w.stop:
		return ErrClosed
	default:
	}
	queue := w.queue
	if ctx.Value(laterKey{}) != nil {
		queue = w.later
	}
	select {
	case queue <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// short is never: SQLite has no server that could be.
func (w *groupWriter) short() bool { return false }

func (w *groupWriter) waiting() int { return len(w.queue) + len(w.later) }

func (w *groupWriter) close() {
	w.once.Do(func() {
		w.mu.Lock() // everyone who got past the check has enqueued
		close(w.stop)
		w.mu.Unlock()
	})
	<-w.done
}

func (w *groupWriter) loop() {
	clean := false
	defer func() {
		if !clean { // a function called runtime.Goexit: go on for the others
			w.reset()
			go w.loop()
			return
		}
		w.reset()
		close(w.done)
	}()
	for {
		select {
		case pause := <-w.pauses:
			pause()
		default:
		}
		if j := pick(w.queue, w.later); j != nil {
			w.batch(j)
			continue
		}
		select {
		case pause := <-w.pauses:
			pause()
		case j := <-w.queue:
			w.batch(j)
		case j := <-w.later:
			w.batch(j)
		case <-w.stop:
			for j := pick(w.queue, w.later); j != nil; j = pick(w.queue, w.later) {
				w.batch(j)
			}
			clean = true
			return
		}
	}
}

// pick returns a job that waits in the first of the queues that has one.
func pick(queues ...chan *job) *job {
	for _, q := range queues {
		select {
		case j := <-q:
			return j
		default:
		}
	}
	return nil
}

// batch runs first and whoever waits behind it, commits, and tells them.
func (w *groupWriter) batch(first *job) {
	start := time.Now()
	w.ran = make([]*job, 0, 16)
	returned := false
	defer func() {
		if !returned { // Goexit inside a function: nothing was committed
			tell(append(w.ran, w.lost...), errors.New("write batch abandoned: a function ended its goroutine"))
		}
		w.ran, w.lost = nil, nil
	}()
	urgent, later := false, 0
	for j := first; j != nil; {
		w.run(j)
		if isLater(j) {
			later++
		} else {
			urgent = true
		}
		age := time.Since(start)
		if w.poisoned != nil || len(w.ran) >= batchCount || age > batchTime {
			break
		}
		j = w.next(len(w.ran) > 1, !urgent && !w.awaited || later < laterLeast || age < laterTime)
	}
	w.awaited = urgent
	w.relieve(later > 0)
	w.careful = max(w.careful-1, 0)
	err := w.commit(len(w.ran))
	returned = true
	tell(w.ran, err)
}

// relieve adds writes that are not urgent to a batch, if too many batches have
// passed them over.
func (w *groupWriter) relieve(served bool) {
	waiting := len(w.later)
	if served || waiting == 0 {
		w.passed = 0
		return
	}
	if w.passed++; w.passed < laterPatience {
		return
	}
	w.passed = 0
	for range min(waiting, max(laterLeast, waiting/4)) {
		if w.poisoned != nil {
			return
		}
		if j := pick(w.later); j != nil {
			w.run(j)
		}
	}
}

func isLater(j *job) bool { return j.ctx.Value(laterKey{}) != nil }

// next returns a job that waits already, or nil; one that is not urgent only
// where such are welcome. In company it lets the goroutines that were just woken
// come forward first.
func (w *groupWriter) next(company, later bool) *job {
	if j := pick(w.queue); j != nil {
		return j
	}
	if company {
		runtime.Gosched()
	}
	if !later {
		return pick(w.queue)
	}
	return pick(w.queue, w.later)
}

// tell hands the outcome of the commit to those who wait for it.
func tell(jobs []*job, err error) {
	for _, j := range jobs {
		j.done <- err
	}
}

// run runs a job that nobody ran yet.
func (w *groupWriter) run(j *job) {
	if j.state.CompareAndSwap(jobWaiting, jobRunning) { // otherwise its caller has gone
		w.attempt(j)
	}
}

// attempt runs a job inside the batch's transaction. It then awaits the commit,
// or has failed and been told, and nothing that it did is left.
//
// The first function of a transaction needs no savepoint: to roll it back is to
// roll back the transaction. Neither does a statement alone, which SQLite takes
// back by itself.
func (w *groupWriter) attempt(j *job) {
	if err := j.ctx.Err(); err != nil {
		j.done <- err
		return
	}
	first := len(w.ran) == 0
	saved := !first && !j.alone && w.careful > 0
	if err := w.begin(first, saved); err != nil {
		j.done <- err
		return
	}
	h := &handle{q: w.conn, detached: true}
	if !saved { // a savepoint takes back what is in the database alone
		h.shared = &w.shared
	}
	err := w.do(j, h)
	if err == nil && saved {
		if err = w.exec("RELEASE job"); err != nil {
			w.poisoned = err
		}
	}
	switch {
	case w.shared.err != nil:
		w.poisoned = w.shared.err
	case spoils(h.err):
		w.poisoned = h.err
	case err == nil:
		w.ran = append(w.ran, j)
		return
	case w.poisoned != nil:
	case first || saved:
		w.undo(first)
	case h.wrote:
		j.done <- err
		w.again()
		return
	}
	j.done <- err
}

// do calls the job's function.
func (w *groupWriter) do(j *job, h *handle) error {
	ctx := j.ctx
	if j.alone {
		ctx = context.WithoutCancel(ctx) // once done it cannot be undone alone
	}
	ended := false
	defer func() {
		if !ended { // it called runtime.Goexit, as a failing test does
			h.closeRows()
			j.done <- errors.New("write function ended its goroutine")
		}
	}()
	err := w.owner.call(ctx, h, j.fn)
	ended = true
	if w.raw.open != nil {
		h.closeRows()
		if err == nil {
			err = errors.New("write function left rows open")
		}
	}
	return err
}

// again rolls back what a function without a savepoint has left, and runs those
// before it once more: they have not been told anything. A function may run more
// than once, as on PostgreSQL.
func (w *groupWriter) again() {
	w.careful = carefulFor
	w.undo(true)
	w.lost, w.ran = append(w.ran, w.lost...), nil
	for len(w.lost) > 0 && w.poisoned == nil {
		j := w.lost[0]
		w.lost = w.lost[1:]
		w.attempt(j)
	}
	// What spoiled the transaction fails all of it: see commit.
	w.ran, w.lost = append(w.ran, w.lost...), nil
}

// begin opens the batch's transaction, or a savepoint in it where one is needed.
func (w *groupWriter) begin(first, saved bool) error {
	if !first && !saved {
		return nil
	}
	if saved {
		err := w.shared.write(w.conn)
		if err == nil {
			err = w.exec("SAVEPOINT job")
		}
		if err != nil {
			w.poisoned = err
			return err
		}
		return nil
	}
	if w.begun {
		return nil
	}
	if err := w.connect(); err != nil {
		return err
	}
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		w.reset()
		return err
	}
	w.begun = true
	return nil
}

// undo takes back the last function, or all of the transaction.
func (w *groupWriter) undo(all bool) {
	if all {
		w.shared.forget()
		if err := w.exec("ROLLBACK"); err != nil {
			w.reset()
		}
		w.begun = false
		return
	}
	if err := w.exec("ROLLBACK TO job"); err != nil {
		w.poisoned = err
		return
	}
	if err := w.exec("RELEASE job"); err != nil {
		w.poisoned = err
	}
}

// commit makes the n functions of the batch durable.
func (w *groupWriter) commit(n int) error {
	defer func() {
		w.poisoned = nil
		w.shared.forget()
	}()
	if w.poisoned == nil && w.begun && n > 0 {
		w.poisoned = w.shared.write(w.conn)
	}
	switch {
	case w.poisoned != nil:
		err := fmt.Errorf("batch rolled back: %w", w.poisoned)
		w.reset()
		return err
	case !w.begun:
		return nil
	case n == 0:
		w.undo(true)
		return nil
	}
	if w.fault != nil {
		if err := w.fault(StageCommit); err != nil {
			w.reset()
			return err
		}
	}
	if err := w.exec("COMMIT"); err != nil {
		w.reset()
		return fmt.Errorf("commit: %w", err)
	}
	w.begun = false
	w.count.commits.Add(1)
	if w.fault != nil {
		return w.fault(StageCommitted)
	}
	return nil
}

func (w *groupWriter) connect() error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.pool.Conn(context.Background())
	if err != nil {
		return fmt.Errorf("open writing connection: %w", err)
	}
	err = conn.Raw(func(dc any) error {
		w.raw = dc.(*sqliteConn)
		return nil
	})
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("open writing connection: %w", err)
	}
	w.conn = conn
	return nil
}

// reset throws the connection away, and with it whatever was not committed.
func (w *groupWriter) reset() {
	w.begun = false
	w.shared.forget()
	if w.conn == nil {
		return
	}
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = w.conn.Close()
	w.conn, w.raw = nil, nil
}

func (w *groupWriter) exec(query string) error {
	_, err := w.conn.ExecContext(context.Background(), query)
	return err
}

// spoils reports errors after which SQLite may have rolled the whole
// transaction back, not the statement alone.
func spoils(err error) bool {
	return err != nil && (fault.Is(err, fault.Unavailable) || fault.Is(err, fault.StorageFull))
}
