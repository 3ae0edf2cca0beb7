package replica

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sqldb/walscan"
)

// The place stores a piece, and the answer is lost on its way.
func TestAPieceThatWasStoredWithoutAnAnswerIsRecognized(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	generation := w.ship.generation.number
	w.remote.late.Store(true)
	w.remote.gone.Store(true)
	w.write(r, 10)
	w.tick(time.Second)
	if err := w.ship.round(t.Context()); !errors.Is(err, errAway) {
		t.Fatalf("the place is away, and it said %v", err)
	}
	w.remote.gone.Store(false)
	w.write(r, 10)
	w.round()
	if w.ship.generation.number != generation {
		t.Error("it was begun anew, though nothing was missing")
	}
	w.expectAll()
}

// Another piece stands where this one belongs: nothing may follow it.
func TestAPieceOfSomebodyElseIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	generation := w.ship.generation.number
	w.remote.gone.Store(true)
	w.write(r, 10)
	w.tick(time.Second)
	for w.ship.pending == nil { // objects go first
		_ = w.ship.round(t.Context())
		w.write(r, 10)
		w.remote.gone.Store(w.ship.pending != nil)
	}
	w.remote.gone.Store(false)
	name := w.ship.pending.next.Name
	if _, err := w.remote.Put(t.Context(), name, strings.NewReader("other"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	_ = w.ship.round(t.Context())
	w.round()
	if w.ship.generation.number == generation {
		t.Error("it went on behind a piece that is not its own")
	}
	w.expectAll()
}

// held is filled, with a reader that keeps the log from being begun anew, so that
// changes follow in a log that was noted to be over.
func held(t *testing.T) (*world, *rand.Rand, func()) {
	t.Helper()
	w, r := filled(t)
	for range 4 {
		w.write(r, 60)
	}
	rows, err := w.db.Read().QueryContext(context.WithoutCancel(t.Context()), `SELECT name FROM sqlite_schema`)
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	release := func() { _ = errors.Join(rows.Err(), rows.Close()) }
	t.Cleanup(release)
	w.round()
	if !w.ship.state.Position.Over {
		t.Fatalf("the log was not folded: %+v", w.ship.state.Position)
	}
	return w, r, release
}

// What was given up is not continued, though the log looks as if it could be.
func TestAGivenUpGenerationIsNotContinued(t *testing.T) {
	t.Parallel()
	w, r, release := held(t)
	w.remote.gone.Store(true)
	w.ship.mostLog = 1
	for range 40 {
		w.write(r, 60) // into the same log, and never copied
	}
	release()
	_ = w.ship.round(t.Context())
	if err := w.ship.bound(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.ship.generation != nil {
		t.Fatal("the log did not reach its bound")
	}
	w.write(r, 1) // begins the log anew
	w.remote.gone.Store(false)
	w.crash()
	w.write(r, 1)
	w.round()
	w.expectAll()
}

// slow is a place that takes no object until it is told to.
type slow struct {
	blob.Store
	asked, release chan struct{}
}

func (s *slow) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if strings.HasPrefix(key, objectFolder) {
		close(s.asked)
		<-s.release
	}
	return s.Store.Put(ctx, key, body, opt)
}

// heard tells that something was logged.
type heard struct {
	slog.Handler
	event string
	once  *sync.Once
	told  chan struct{}
}

func (h heard) Enabled(context.Context, slog.Level) bool { return true }

func (h heard) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.String() == h.event {
			h.once.Do(func() { close(h.told) })
		}
		return true
	})
	return nil
}

// The log reaches its bound while a large object is on its way.
func TestTheLogHasItsBoundWhileObjectsAreCopied(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	told := make(chan struct{})
	w.ship.cfg.Log = slog.New(heard{event: "replica.begun_anew", once: new(sync.Once), told: told})
	w.ship.mostLog, w.ship.lookEvery = 1, time.Millisecond
	place := &slow{Store: w.ship.cfg.To, asked: make(chan struct{}), release: make(chan struct{})}
	if _, err := w.objects.Put(t.Context(), "large", strings.NewReader("much"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	w.ship.cfg.To = place
	var round errgroup.Group
	round.Go(func() error { return w.ship.round(context.WithoutCancel(t.Context())) })
	<-place.asked
	for range 60 {
		w.write(r, 60)
	}
	<-told
	close(place.release)
	if err := round.Wait(); !errors.Is(err, errTooLong) {
		t.Fatalf("the round ended with %v", err)
	}
	w.ship.cfg.To = place.Store
	w.round()
	w.expectAll()
}

// The log was noted to be over, got more, and is folded again before that is stored.
func TestAKillBetweenFoldAndPieceBeginsAnew(t *testing.T) {
	t.Parallel()
	w, r, release := held(t)
	w.write(r, 60)
	release()
	w.tick(baseAge + time.Hour) // a base is due
	if err := w.ship.fold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.ship.pending == nil || w.ship.base == nil {
		t.Fatal("the fold found nothing new")
	}
	w.write(r, 1) // begins the log anew
	w.tick(-baseAge - time.Hour)
	w.crash()
	w.write(r, 1)
	w.round()
	w.expectAll()
}

// patience notes how long each thing that is stored may take.
type patience struct {
	blob.Store
	most time.Duration
}

func (p *patience) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if until, ok := ctx.Deadline(); ok {
		p.most = time.Until(until)
	}
	return p.Store.Put(ctx, key, body, opt)
}

// A large piece is stored over a slow line, too.
func TestALargePieceMayTakeLonger(t *testing.T) {
	t.Parallel()
	p := &patience{Store: blobmem.New()}
	if err := put(t.Context(), p, "large", make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if p.most < 10*time.Minute {
		t.Errorf("64 MiB may take %s", p.most)
	}
}

// The log was long once, and all of it is copied and in the database file: that its file
// keeps its size is no reason to begin anew.
func TestALogThatWasLongOnceIsNotGivenUp(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	w.ship.mostLog = 1
	for range 60 {
		w.write(r, 60)
	}
	w.round()
	for range 3 {
		if err := w.ship.bound(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.write(r, 1)
		w.round()
	}
	log, err := os.Stat(w.db.Log().Path())
	if err != nil {
		t.Fatal(err)
	}
	if file, err := w.db.Log().Database().Stat(); err != nil || log.Size() < file.Size() {
		t.Fatalf("the log has %d bytes, the database %d: %v", log.Size(), file.Size(), err)
	}
	if w.ship.generation == nil || w.ship.generation.number != 1 {
		t.Error("it was begun anew, though nothing was missing")
	}
	w.expectAll()
}

// A generation that has nothing but a base is what the next one goes on from: what lies
// before that base may be swept.
func TestABaseAloneIsContinued(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	w.crash()
	w.tick(baseAge + time.Hour)
	w.round()
	bases, err := list(t.Context(), w.remote, baseFolder)
	if err != nil || len(bases) != 2 || bases[1].Generation != 2 {
		t.Fatalf("%+v %v", bases, err)
	}
	w.crash()
	w.write(r, 5)
	w.round()
	if err := sweepLog(t.Context(), w.remote, bases[1].Made); err != nil {
		t.Fatal(err)
	}
	w.expectAll()
}

// SQLite's log was written back behind a piece: what is committed from then on is never
// found behind the noted place.
func TestALogThatGoesOnElsewhereIsNoticed(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	w.write(r, 5)
	w.round()
	w.ship.state.Position.Frames += 2 // frames of a commit that failed and was overwritten
	w.ship.foldAt = 1 << 20
	generation := w.ship.generation.number
	for range 100 {
		w.write(r, 5)
		w.tick(time.Second)
		if err := w.ship.round(t.Context()); err != nil && !errors.Is(err, walscan.ErrLost) {
			t.Fatal(err)
		}
	}
	w.round()
	if w.ship.generation.number == generation {
		t.Error("nothing is copied, and nothing tells")
	}
	w.expectAll()
}

// A place that was emptied, or another one, knows nothing of the generations before: a whole
// copy goes there at once, and is enough.
func TestAnotherPlaceBeginsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, blobmem.New())
	r := rand.New(rand.NewPCG(8, 8))
	w.round()
	w.write(r, 5)
	w.round()
	w.stop()
	w.remote = &away{Store: blobmem.New()}
	w.open()
	w.write(r, 5)
	w.round()
	w.expectAll()
}
