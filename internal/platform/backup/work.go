package backup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const (
	// leaseName and leaseTTL: one node works on backups, and another goes on after it died.
	leaseName = "backups"
	leaseTTL  = 30 * time.Second
	// poll is how often a node looks for what others were asked for, tick how often
	// progress is written down.
	poll, tick = 5 * time.Second, 2 * time.Second
	// planned is how often is looked whether one is due, retry the longest pause after one
	// that failed.
	planned, retry = 5 * time.Minute, time.Hour
	// attempts is how often a node may die over a job.
	attempts = 3
	// stale is how old an upload is that nobody goes on with.
	stale = 24 * time.Hour
	// endLimit bounds what is written down after the work was told to stop.
	endLimit = 10 * time.Second
)

// Config is what a Keeper needs.
type Config struct {
	DB     *sqldb.DB
	Leases *lease.Keeper
	// Place may be nil: then there are no backups.
	Place    *Place
	Schedule func() Schedule
	// Write writes an archive of the deployment, plain.
	Write   func(ctx context.Context, to io.Writer) (archive.Summary, error)
	Program string
	Trail   *audit.Trail
	Log     *slog.Logger
}

// Keeper makes and checks backups. It is safe for concurrent use.
type Keeper struct {
	Config
	woken    chan struct{}
	seen     atomic.Pointer[[]Job]
	ahead    atomic.Pointer[[]string] // names of backups that are dated in the future
	lastGood atomic.Int64             // in seconds
	failures atomic.Int64
}

// New returns a keeper.
func New(c Config) *Keeper { return &Keeper{Config: c, woken: make(chan struct{}, 1)} }

func (k *Keeper) wake() {
	select {
	case k.woken <- struct{}{}:
	default:
	}
}

// errNoPlace tells what is missing.
var errNoPlace = fault.New(fault.Conflict, "There is no place for backups: set BACKUP_URL (file:///folder or s3://bucket/prefix) and BACKUP_RECIPIENTS (`castalia backups key` makes one), and start the server again").WithCode("no_place")

// Ask has a backup made. If one is asked for already, that is returned.
func (k *Keeper) Ask(ctx context.Context, by string) (Job, error) {
	if k.Place == nil {
		return Job{}, errNoPlace
	}
	return k.ask(ctx, Make, "", by)
}

// AskCheck has a backup read and compared with what was written.
func (k *Keeper) AskCheck(ctx context.Context, name, by string) (Job, error) {
	if _, err := k.Find(ctx, name); err != nil {
		return Job{}, err
	}
	return k.ask(ctx, Verify, name, by)
}

// Find returns a backup.
func (k *Keeper) Find(ctx context.Context, name string) (Backup, error) {
	if k.Place == nil {
		return Backup{}, errNoPlace
	}
	return k.Place.Find(ctx, name)
}

// Run works until ctx ends. It runs on every node: leases see to it that one does the work.
func (k *Keeper) Run(ctx context.Context) error {
	if k.Place == nil {
		<-ctx.Done()
		return nil
	}
	var planning sync.WaitGroup
	defer planning.Wait()
	planning.Go(func() {
		_ = k.Leases.Every(ctx, leaseName+"/plan", planned, func(ctx context.Context, _ lease.Lease) error { return k.Plan(ctx) })
	})
	planning.Go(func() { // each node says what is wrong, also those that do not plan
		pace.Every(ctx, planned, func() bool {
			if _, err := k.newest(ctx); err != nil && ctx.Err() == nil {
				k.Log.Debug("the place of backups does not say what it has", slog.String("event", "backup.survey"), slog.Any("error", err))
			}
			return true
		})
	})
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if err := k.Work(ctx); err != nil && ctx.Err() == nil {
			k.Log.Warn("backups cannot be worked on", slog.String("event", "backup.stuck"), slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.woken:
		case <-tick.C:
		}
	}
}

// Plan asks for a backup when one is due by what is stored.
func (k *Keeper) Plan(ctx context.Context) error {
	every := k.Schedule().Every
	if every == 0 {
		return nil
	}
	now, err := k.DB.Now(ctx)
	if err != nil {
		return err
	}
	jobs, err := k.jobs(ctx, sqldb.MS(now))
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.Kind != Make || j.Ended == nil {
			continue
		}
		if j.State == Failed && now.Sub(*j.Ended) < min(every/4, retry) {
			return nil
		}
		break
	}
	// Where the place does not say, the job does: its failure is seen.
	if due, err := k.due(ctx, every); err == nil && now.Before(due) {
		return nil
	}
	_, err = k.ask(ctx, Make, "", ByPlan)
	return err
}

// due is when the next backup is: at once where there is none.
func (k *Keeper) due(ctx context.Context, every time.Duration) (time.Time, error) {
	last, err := k.newest(ctx)
	if err != nil || last == nil {
		return time.Time{}, err
	}
	return last.Made.Add(every), nil
}

// newest returns the newest backup, nil where there is none, and remembers those that are
// dated in the future: a clock was once ahead, and no backup would be due until then.
func (k *Keeper) newest(ctx context.Context) (*Backup, error) {
	now, err := k.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	b, ahead, err := k.Place.newest(ctx, now)
	if err == nil {
		k.ahead.Store(&ahead)
	}
	return b, err
}

// Work does what is asked for, if no other node does. Each job has an epoch of the lease
// to itself, since its name has it.
func (k *Keeper) Work(ctx context.Context) error {
	for ctx.Err() == nil {
		if found, err := k.open(ctx); err != nil || !found {
			return errors.Join(err, k.look(ctx))
		}
		l, ok, err := k.Leases.Acquire(ctx, leaseName, leaseTTL)
		if err != nil || !ok {
			return errors.Join(err, k.look(ctx))
		}
		err = k.Leases.Hold(ctx, l, func(ctx context.Context, l lease.Lease) error {
			j, found, err := k.take(ctx, l)
			if err != nil || !found {
				return err
			}
			return errors.Join(k.look(ctx), k.do(ctx, l, j))
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// do does a job and writes down how it ended.
func (k *Keeper) do(ctx context.Context, l lease.Lease, j Job) error {
	var n atomic.Int64
	work := k.make
	if j.Kind == Verify {
		work = k.check
	}
	act, err := k.Trail.Begin(ctx, audit.Act{Actor: j.By, Act: j.Kind, Target: j.Name})
	if err != nil {
		return err
	}
	problem := fmt.Errorf("it was begun %d times, and each time the node ended before it did", attempts)
	if j.Attempts <= attempts {
		problem = k.watched(ctx, l, j, &n, work)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if ctx.Err() != nil && problem != nil { // told to stop, or the lease is lost
		return k.putBack(last, l, j.ID)
	}
	status := http.StatusOK
	if problem != nil {
		status = http.StatusInternalServerError
		k.failures.Add(1)
		k.Log.Warn("a backup, or its check, failed", slog.String("event", "backup.failed"), slog.String("kind", j.Kind), slog.String("backup", j.Name), slog.Any("error", problem))
	} else {
		k.Log.Info("a backup was made or checked", slog.String("event", "backup.done"), slog.String("kind", j.Kind), slog.String("backup", j.Name), slog.Int64("bytes", n.Load()))
	}
	return errors.Join(k.end(last, l, j.ID, n.Load(), problem), k.Trail.End(last, act, status))
}

// watched works and writes down how far it is.
func (k *Keeper) watched(ctx context.Context, l lease.Lease, j Job, n *atomic.Int64,
	work func(context.Context, lease.Lease, Job, *atomic.Int64) error,
) error {
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		pace.Every(watch, tick, func() bool {
			if err := k.progress(watch, l, j.ID, n.Load()); err != nil && watch.Err() == nil {
				k.Log.Debug("progress of a backup is not written down", slog.String("event", "backup.progress"), slog.Any("error", err))
			}
			return true
		})
	})
	err := pace.Guard(func() error { return work(ctx, l, j, n) })
	stop()
	watching.Wait()
	return err
}

// counted is a sum over what goes by, and how much that is.
type counted struct {
	hash.Hash
	n *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.Hash.Write(p)
}

// make makes a backup: the archive first, then its record, by which it counts.
func (k *Keeper) make(ctx context.Context, l lease.Lease, j Job, n *atomic.Int64) error {
	if j.By == ByPlan { // what cannot be listed cannot be pruned: it would grow for ever
		if _, err := k.newest(ctx); err != nil {
			return err
		}
	}
	at, err := k.Place.Open()
	if err != nil {
		return err
	}
	body, to := io.Pipe()
	var (
		writing sync.WaitGroup
		held    archive.Summary
		cut     error // what kept the archive from being written to its end
	)
	writing.Go(func() {
		cut = pace.Guard(func() (err error) {
			sealed, err := archive.Encrypt(to, k.Place.Lock)
			if err != nil {
				return err
			}
			if held, err = k.Write(ctx, sealed); err != nil {
				return err
			}
			return sealed.Close()
		})
		_ = to.CloseWithError(cut) // a pipe's never fails
	})
	sum := counted{sha256.New(), n}
	info, err := at.Put(ctx, j.Name+archiveEnd, io.TeeReader(body, sum), blob.PutOptions{Large: true})
	_ = body.CloseWithError(errors.New("the archive was not taken"))
	writing.Wait()
	if err != nil {
		return fmt.Errorf("store archive: %w", err)
	}
	if cut != nil { // a store takes an error that holds io.EOF for the end
		return fmt.Errorf("write archive: %w", cut)
	}
	if info.Size != n.Load() {
		return fmt.Errorf("store archive: %d bytes were written, and %d are there", n.Load(), info.Size)
	}
	now, err := k.DB.Now(ctx)
	if err != nil {
		return err
	}
	err = k.Place.putRecord(ctx, at, j.Name+recordEnd, Backup{
		Name: j.Name, Made: j.Began.UTC(), Ended: now, Size: info.Size, SHA256: hex.EncodeToString(sum.Sum(nil)),
		Program: k.Program, Objects: held.Objects, Pieces: held.Pieces, Keys: held.Keys,
		Recipients: k.Place.Lock.Recipients(),
	})
	if err != nil {
		return fmt.Errorf("store record: %w", err)
	}
	guard := func() error { return k.DB.Write(ctx, l.Guard) }
	if err := k.Place.prune(ctx, at, guard, j.Name, k.Schedule().Keep, now); err != nil {
		k.Log.Warn("old backups are not deleted", slog.String("event", "backup.prune_failed"), slog.Any("error", err))
	}
	return nil
}

// check reads a backup to its end, compares it with its record and writes down what it
// found.
func (k *Keeper) check(ctx context.Context, _ lease.Lease, j Job, n *atomic.Int64) error {
	b, body, err := k.Place.Content(ctx, j.Name)
	if err != nil {
		return err
	}
	problem, err := compare(b, body, n)
	if err = errors.Join(err, body.Close()); err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	now, err := k.DB.Now(ctx)
	if err != nil {
		return err
	}
	found := Check{Name: j.Name, At: now, By: j.By}
	if problem != nil {
		found.Problem = said(problem)
	}
	return errors.Join(problem, k.Place.Note(ctx, found))
}

// compare tells what is wrong with an archive, apart from what is wrong with reading it.
func compare(b Backup, body io.Reader, n *atomic.Int64) (problem, err error) {
	sum := counted{sha256.New(), n}
	from := io.TeeReader(body, sum)
	keys, problem := archive.LockedFor(from)
	if _, err := io.Copy(io.Discard, from); err != nil {
		return nil, err
	}
	switch {
	case n.Load() != b.Size:
		problem = fmt.Errorf("the archive has %d bytes, and %d were written", n.Load(), b.Size)
	case hex.EncodeToString(sum.Sum(nil)) != b.SHA256:
		problem = errChanged
	case problem == nil && keys != b.Recipients:
		problem = fmt.Errorf("the archive is encrypted for %d keys, and %d were meant", keys, b.Recipients)
	}
	return problem, nil
}

// prune deletes what is older than the newest backups that are kept, and what no record
// belongs to. The one just made is always kept; those dated in the future are neither
// counted nor deleted, since nobody knows how old they are. Only who holds the lease may:
// an archive whose record is yet to come has none. Whoever held it after looking has seen
// nothing of the next holder, whose names are new.
func (p *Place) prune(ctx context.Context, at blob.Store, guard func() error,
	made string, keep int, now time.Time,
) error {
	c, err := p.look(ctx, at)
	if err != nil {
		return err
	}
	if err := guard(); err != nil {
		return err
	}
	var errs []error
	drop := func(name string) { // the record first: half of a backup is none
		for _, end := range []string{recordEnd, archiveEnd, checkEnd} {
			errs = append(errs, at.Delete(ctx, name+end))
		}
	}
	for name := range c.archives {
		if !c.records[name] {
			drop(name)
		}
	}
	for name := range c.records {
		if _, ok := c.archives[name]; !ok {
			drop(name)
		}
	}
	kept := 1
	for _, name := range c.named() {
		if name == made { // names of one second are not in the order of their epochs
			continue
		}
		b, err := p.whole(ctx, at, c, name)
		switch {
		case err != nil:
			return errors.Join(append(errs, err)...)
		case b == nil || b.Made.After(now): // not understood, so not deleted
		case keep > 0 && kept >= keep:
			drop(name)
		default:
			kept++
		}
	}
	if uploads, ok := at.(interface {
		AbortStale(ctx context.Context, before time.Time) error
	}); ok {
		errs = append(errs, uploads.AbortStale(ctx, now.Add(-stale)))
	}
	return errors.Join(errs...)
}

func jobID(now time.Time) string {
	var nonce [6]byte
	_, _ = rand.Read(nonce[:]) // never fails
	return fmt.Sprintf("%014d-%x", max(now.UnixMilli(), 0), nonce)
}
