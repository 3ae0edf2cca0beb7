package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/walscan"
)

const (
	// foldAt is how many frames the log gets before it is written into the database
	// file: as many as SQLite itself would let it have.
	foldAt = 1000
	// mostLog is how long the log may get while the replica is away.
	mostLog = 256 << 20
	// A base is made again when restoring would take too long: when the pieces behind it
	// have several times its size, are many, or reach back too far.
	leastSince = 16 << 20
	mostPieces = 40_000
	baseAge    = 24 * time.Hour
	// fenceEvery is how often is looked whether somebody else writes to the same place.
	fenceEvery = 10 * time.Second
	// sweepEvery is how often is looked for what the retention lets go.
	sweepEvery = 6 * time.Hour
	// longestPause is between two tries while the replica is away.
	longestPause = 5 * time.Second
	// putLimit is how long one small request may take; a larger one gets what it needs
	// at leastRate, in bytes a second, besides.
	putLimit  = 30 * time.Second
	leastRate = 64 << 10
	// lookEvery is how often the bound of the log is looked at while objects are copied.
	lookEvery = 5 * time.Second
	// closeLimit is how long the last piece may take when a server ends.
	closeLimit = 10 * time.Second
)

var (
	errOther  = errors.New("the replica holds another deployment: give this one an empty place (REPLICA_URL)")
	errFenced = errors.New("another process writes to the same replica: only one of them may run; restart the one that is right")
	// errForeign is met once: what follows is a new generation.
	errForeign = errors.New("something else has its name")
	errMore    = errors.New("there is more in the log than one piece takes")
	errTooLong = errors.New("the database's log reached its bound while objects were copied")
)

// Config of a Shipper.
type Config struct {
	// To is the place, Folder the data folder, Database the path of the database in it.
	To       blob.Store
	Folder   string
	Database string
	// Deployment names the deployment; it is no secret.
	Deployment string
	Program    string
	// Signer says that it is this deployment's.
	Signer archive.Signer
	// Lock is for whom it is encrypted, Keys are what a restore needs besides.
	Lock archive.Lock
	Keys map[string][]byte

	Retention, Interval time.Duration
	Log                 *slog.Logger
	Now                 func() time.Time
}

// Shipper copies a running deployment.
type Shipper struct {
	cfg     Config
	objects *Objects
	log     *sqldb.Log

	// The rest belongs to Run, and after it to Close.
	state      state
	resume     bool // the state of an earlier process is to be continued
	generation *generation
	placed     bool // the position belongs to this generation
	pending    *piece
	base       *baseRun
	sweeper    *background
	baseAfter  time.Time
	known      bool // the place is known to be ours
	fenced     bool
	nextFence  time.Time
	nextSweep  time.Time
	nextFold   time.Time
	foldAt     uint32
	mostLog    int64
	lookEvery  time.Duration

	mu      sync.Mutex
	covered time.Time
	trouble string
}

// generation is the one that this process writes.
type generation struct {
	number int64
	lock   archive.Lock
}

// Prepare looks at what an earlier process left. Call it before the database is opened.
func Prepare(cfg Config) (*Shipper, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	left, ok, err := loadState(cfg.Folder, cfg.Database)
	if err != nil {
		return nil, fmt.Errorf("look at the state of the replica: %w", err)
	}
	if left.Deployment != cfg.Deployment || left.Signer != cfg.Signer.Name {
		left, ok = state{}, false // what was not signed is not gone on with
	}
	left.Deployment, left.Signer = cfg.Deployment, cfg.Signer.Name
	return &Shipper{
		cfg: cfg, state: left, resume: ok, covered: cfg.Now(), foldAt: foldAt, mostLog: mostLog, lookEvery: lookEvery,
	}, nil
}

// Use says what is copied: a log that is kept, and objects that are watched.
func (s *Shipper) Use(log *sqldb.Log, objects *Objects) {
	s.log, s.objects = log, objects
	log.AtEnd(s.Close)
}

// Lag is how far the replica is behind: a restore now would have everything that was
// committed before that.
func (s *Shipper) Lag() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.cfg.Now().Sub(s.covered))
}

// Trouble says what keeps the replica from being up to date; nothing means nothing.
func (s *Shipper) Trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

func (s *Shipper) note(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	before := s.trouble
	s.trouble = text
	s.mu.Unlock()
	switch {
	case before == "" && err != nil:
		s.cfg.Log.Warn("the replica falls behind", slog.String("event", "replica.behind"), slog.Any("error", err))
	case before != "" && err == nil:
		s.cfg.Log.Info("the replica is written again", slog.String("event", "replica.caught_up"))
	}
}

// Run copies until the context ends.
func (s *Shipper) Run(ctx context.Context) error {
	for {
		err := s.round(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.note(err)
		pause := s.cfg.Interval
		if err != nil {
			pause = min(max(2*pause, time.Second), longestPause)
		}
		s.shorten(ctx)
		if err := pace.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// round does what there is to do now.
func (s *Shipper) round(ctx context.Context) error {
	if err := s.own(ctx); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.fence(ctx); err != nil {
		return err
	}
	if err := s.reapBase(); err != nil {
		return err
	}
	for {
		more, err := s.copyLog(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if err := s.fold(ctx); err != nil {
		return err
	}
	if s.pending != nil {
		if _, err := s.copyLog(ctx); err != nil {
			return err
		}
	}
	return s.sweep(ctx)
}

// copyLog stores one piece, if there is something new, and reports whether there may
// be more.
func (s *Shipper) copyLog(ctx context.Context) (more bool, err error) {
	began := s.cfg.Now()
	if s.pending == nil {
		if more, err = s.scan(); err != nil {
			return false, err
		}
	} else {
		more = true
	}
	if err := s.flush(ctx); err != nil {
		return false, err
	}
	if s.pending != nil {
		if err := s.store(ctx); err != nil {
			return false, err
		}
	}
	if !more && s.state.Base.There {
		s.mu.Lock()
		s.covered = began
		s.mu.Unlock()
	}
	return more, nil
}

// flush copies objects. A large one takes its time, and the log must not grow without end
// meanwhile: at its bound the generation is given up, and the copy goes on.
func (s *Shipper) flush(ctx context.Context) error {
	copied := make(chan error, 1)
	go func() { copied <- s.objects.flush(ctx, s.cfg.To) }()
	look := time.NewTicker(s.lookEvery)
	defer look.Stop()
	before := s.generation
	for {
		select {
		case err := <-copied:
			if err == nil && s.generation != before {
				err = errTooLong // what was to be stored behind the objects belongs to no generation
			}
			return err
		case <-look.C:
			s.shorten(ctx)
		}
	}
}

// shorten looks at the bound of the log.
func (s *Shipper) shorten(ctx context.Context) {
	if err := s.bound(ctx); err != nil {
		s.cfg.Log.Warn("the database's log cannot be shortened", slog.String("event", "replica.log_kept"), slog.Any("error", err))
	}
}

// scan reads what is new in the log into a piece.
func (s *Shipper) scan() (more bool, err error) {
	log, err := os.Open(s.log.Path())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open the database's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	found, err := walscan.Scan(log, s.state.Position)
	if err == nil && len(found.Pages) == 0 && s.state.Position.Frames > 0 && !s.state.Position.Over {
		// A commit whose sync failed is written over by the next one, behind our back.
		if holds, holdsErr := walscan.Holds(log, s.state.Position); holdsErr != nil || !holds {
			err = cmp.Or(holdsErr, walscan.ErrLost)
		}
	}
	if errors.Is(err, walscan.ErrLost) {
		err = errors.Join(err, s.lose())
	}
	if err != nil {
		return false, err
	}
	if len(found.Pages) == 0 {
		return false, nil
	}
	if found.Next.Salt1 == s.state.Position.Salt1 {
		s.state.Position.Over = false // it goes on, so it was not begun anew
	}
	h := head{
		Generation: s.generation.number, Seq: s.state.At.Seq + 1, Chain: s.state.At.Chain,
		Made: max(s.cfg.Now().UnixMilli(), s.state.Made+1),
	}
	s.pending, err = newPiece(log, found, h, s.generation.lock)
	return found.More, err
}

// store puts the pending piece into the replica.
func (s *Shipper) store(ctx context.Context) error {
	p := s.pending
	if s.state.Next == nil || s.state.Next.Name != p.next.Name {
		s.state.Next = &p.next
		if err := s.save(); err != nil {
			return err
		}
	}
	err := put(ctx, s.cfg.To, p.next.Name, p.body)
	if errors.Is(err, blob.ErrExists) { // it was stored before, and the answer was lost
		var there bool
		if there, err = s.recognize(ctx); err == nil && !there {
			err = errors.Join(errForeign, s.lose())
		}
	}
	if err != nil {
		return fmt.Errorf("store a piece of the log: %w", err)
	}
	s.pending = nil
	return s.advance()
}

// advance notes that the next piece is there.
func (s *Shipper) advance() error {
	n := s.state.Next
	s.state.At, s.state.Made, s.state.Position, s.state.Next = n.At, n.Made, n.Position, nil
	s.state.Base.Since += n.Bytes
	s.state.Base.Pieces++
	return s.save()
}

func (s *Shipper) save() error { return s.saveState(false) }

func (s *Shipper) saveState(durable bool) error {
	if err := s.state.save(filepath.Join(s.cfg.Folder, StateFile), durable); err != nil {
		return fmt.Errorf("note the state of the replica: %w", err)
	}
	return nil
}

// lose gives the generation up: something of the log is missing in it. What is noted of
// it goes first: the log may be begun anew from now on, and would seem to go on there.
func (s *Shipper) lose() error {
	if err := forget(filepath.Join(s.cfg.Folder, StateFile)); err != nil {
		return fmt.Errorf("forget the state of the replica: %w", err)
	}
	s.stopBase()
	s.cfg.Log.Warn("the replica begins anew with a whole copy", slog.String("event", "replica.begun_anew"))
	s.generation, s.placed, s.pending, s.resume = nil, false, nil, false
	s.state = state{Deployment: s.cfg.Deployment, Signer: s.cfg.Signer.Name}
	return nil
}

// fold writes the log into the database file when it is long, or when a base is due,
// which is a copy of that file.
func (s *Shipper) fold(ctx context.Context) error {
	if s.base != nil {
		return nil // it is being copied and may not change
	}
	now := s.cfg.Now()
	due := s.baseDue(now)
	if !due && (s.state.Position.Frames < s.foldAt || s.state.Position.Over) || now.Before(s.nextFold) {
		return nil
	}
	s.nextFold = now.Add(s.cfg.Interval)
	frames, folded, err := s.log.Fold(ctx, func() error {
		more, err := s.scan()
		switch {
		case err != nil:
			return err
		case more:
			return errMore
		case s.pending == nil:
			// Noted before it is so: as long as it is not, nobody begins the log anew.
			s.state.Position.Over = s.state.Position.Known
		}
		// On the disk too: an older note that it was over would hide what came behind that.
		return s.saveState(true)
	})
	position := &s.state.Position
	if s.pending != nil {
		position = &s.pending.next.Position
	}
	switch {
	case errors.Is(err, errMore):
		return nil // at the next round
	case err != nil:
		return fmt.Errorf("write the log into the database: %w", err)
	case frames != int64(position.Frames):
		return errors.Join(walscan.ErrLost, s.lose()) // another process wrote in between
	case frames != folded:
		s.nextFold = now.Add(longestPause) // somebody reads an old state
		return nil
	}
	position.Over = position.Known
	if !due {
		return nil
	}
	if err := s.flush(ctx); err != nil { // before the base that names them
		return err
	}
	s.startBase(ctx)
	return nil
}

// bound keeps the log from growing without end while the replica is away.
func (s *Shipper) bound(ctx context.Context) error {
	info, err := os.Stat(s.log.Path())
	if err != nil {
		return nil //nolint:nilerr // no log is short
	}
	kept := (s.generation != nil && s.placed || s.resume) && !s.fenced
	most := s.mostLog
	if file, err := s.log.Database().Stat(); err == nil {
		most = max(most, file.Size()) // a first copy takes its time
	}
	long := info.Size() >= most
	if kept && long { // its file keeps its size when it is begun anew
		length, err := s.logLength()
		if long = length >= most; err != nil && !errors.Is(err, walscan.ErrLost) {
			return err
		}
	}
	switch {
	case kept && !long:
		return nil
	case kept:
		if err := s.lose(); err != nil {
			return err
		}
	case info.Size() < int64(s.foldAt)*4096:
		return nil
	}
	_, _, err = s.log.Fold(ctx, func() error { return nil })
	return err
}

// logLength is how many bytes of the log are not known to be in the database file.
func (s *Shipper) logLength() (int64, error) {
	log, err := os.Open(s.log.Path())
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	at := s.state.Position
	for {
		found, err := walscan.Scan(log, at)
		if err != nil {
			return 0, err
		}
		if at = found.Next; found.More {
			continue
		}
		if at.Over {
			return 0, nil
		}
		return int64(at.Frames) * int64(found.PageSize), nil
	}
}

// Close stores what is left, when nobody writes any more and the database is still
// open: it is handed to Log.AtEnd. After the database was closed call Closed.
func (s *Shipper) Close() {
	s.stopBase()
	if s.sweeper != nil {
		s.sweeper.stop()
	}
	if s.generation == nil && !s.resume || s.fenced {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	err := errors.Join(s.own(ctx), s.begin(ctx))
	for more := true; more && err == nil; {
		more, err = s.copyLog(ctx)
	}
	if err != nil {
		s.cfg.Log.Warn("the replica lacks the end: the next start copies everything", slog.String("event", "replica.unfinished"), slog.Any("error", err))
		s.placed = false
	}
}

// Closed notes the database file as it was left, so that the next start goes on.
func (s *Shipper) Closed() error {
	if s.generation == nil || !s.placed || s.pending != nil || s.fenced || !s.state.Base.There {
		return nil
	}
	left, err := fileStateOf(s.cfg.Database)
	if err != nil {
		return fmt.Errorf("note the state of the replica: %w", err)
	}
	s.state.Closed = &left
	return s.save()
}
