package shelf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
)

const (
	tidyPause = 15 * time.Second
	tidyPage  = 16
	// lostFor is how long text that nobody may find stays in a segment.
	lostFor = time.Minute
	// deadFor is how long the object of a segment stays for those who read it.
	deadFor = time.Hour
)

// Work keeps the indexes of a service up to date. Several nodes may do it: of two who
// do the same, one can save it.
type Work struct {
	// Index reads a slice of whatever changed, and reports whether there may be more;
	// else it is called after a Pause.
	Index func(ctx context.Context) (more bool, err error)
	Pause time.Duration
	// Quiet, when set, spares Index calls that would find nothing. Whoever sets it finds by
	// Index all that waits, and not only what is due.
	Quiet *quiet.Watch
	// Tidy joins and destroys segments, and Sweep deletes what is dead. Patrol, if there
	// is one, looks for what Index was not told of.
	Tidy, Sweep, Patrol func(ctx context.Context) error
	// Failed is told what went wrong, and that it is tried again.
	Failed func(err error)
	Now    func() time.Time
}

// Run works until ctx ends.
func (w Work) Run(ctx context.Context) error {
	clock := w.Quiet.Sleeper(w.Pause)
	defer clock.Stop()
	tidied, swept := time.Time{}, time.Time{}
	for {
		clock.Look()
		more, err := w.Index(ctx)
		if now := w.Now(); now.Sub(tidied) >= tidyPause {
			tidied = now
			err = errors.Join(err, w.Tidy(ctx))
			if w.Patrol != nil {
				err = errors.Join(err, w.Patrol(ctx))
			}
			if now.Sub(swept) >= deadFor/2 {
				swept = now
				err = errors.Join(err, w.Sweep(ctx))
			}
		}
		if err != nil && ctx.Err() == nil {
			w.Failed(err)
		}
		if more && err == nil {
			continue
		}
		clock.Rest(err == nil)
		select {
		case <-ctx.Done():
			return nil
		case <-clock.C:
		}
	}
}

// Each does something for all. What fails does not hold up the others. Somebody else who
// was faster is no failure, and is reported: they may be at the next slice.
func Each[T any](ctx context.Context, all []T, do func(ctx context.Context, one T) error) (outrun bool, err error) {
	var errs []error
	for _, one := range all {
		err := do(ctx, one)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case fault.Is(err, fault.Conflict):
			outrun = true
		case err != nil:
			errs = append(errs, err)
		}
	}
	return outrun, errors.Join(errs...)
}

// Records are those of the segments of a service.
type Records interface {
	// Dirty lists collections after one, in order, with something to join or to destroy:
	// many segments of about one size, as bounded by tiers, or text that was lost before
	// a time.
	Dirty(ctx context.Context, many int, tiers []int64, lostBefore time.Time, after string, limit int) ([]string, error)
	// DestroyLater says that what a collection lost stays until a later time, unless it
	// is at another revision.
	DestroyLater(ctx context.Context, collection string, revision int64, until time.Time) error
	// Replace puts one segment, or none, in place of others; Conflict when one of them is
	// gone already. If settled, nothing that was lost is left, unless the collection is at
	// another revision.
	Replace(
		ctx context.Context, collection string, old []Held, by *Record, revision int64, settled bool, now time.Time,
	) error
	Graves
}

// TidyOnce has the next page of a round over the dirty collections tidied.
func TidyOnce(
	ctx context.Context, t *Turns, records Records, now time.Time, tidy func(ctx context.Context, collection string) error,
) error {
	list := func(ctx context.Context, after string, limit int) ([]string, error) {
		return records.Dirty(ctx, segmentsize.Many, segmentsize.Tiers(false), now.Add(-lostFor), after, limit)
	}
	dirty, err := NextTurn(ctx, t, tidyPage, func(collection string) string { return collection }, list)
	if err != nil {
		return fmt.Errorf("find indexes to tidy: %w", err)
	}
	_, err = Each(ctx, dirty, tidy)
	return err
}

// SweepDead deletes what is dead for so long that nobody reads it.
func (s Shelf) SweepDead(ctx context.Context, records Graves, now time.Time) error {
	return s.Sweep(ctx, records, now.Add(-deadFor))
}

// Kept is a Keeper of a collection as it was at a revision.
type Kept struct {
	Records    Records
	Collection string
	Revision   int64
	Now        func() time.Time
	// Replaced is told which segments were.
	Replaced func(old []Held)
}

// DestroyLater implements Keeper.
func (k Kept) DestroyLater(ctx context.Context, until time.Time) error {
	return k.Records.DestroyLater(ctx, k.Collection, k.Revision, until)
}

// Replace implements Keeper.
func (k Kept) Replace(ctx context.Context, old []Held, by *Record, settled bool) error {
	if err := k.Records.Replace(ctx, k.Collection, old, by, k.Revision, settled, k.Now()); err != nil {
		return err
	}
	k.Replaced(old)
	return nil
}
