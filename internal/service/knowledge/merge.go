package knowledge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
)

const (
	tidyPause = 15 * time.Second
	tidyPage  = 16
	// lostFor is how long passages that nobody may find stay in a segment.
	lostFor = time.Minute
	// deadFor is how long the object of a segment stays for those who read it.
	deadFor = time.Hour
)

// RunTidier joins segments, destroys passages that were taken back and sweeps
// objects, until ctx ends. Several may run.
func (s *Service) RunTidier(ctx context.Context) error {
	swept := time.Time{}
	for rest(ctx, nil, tidyPause) {
		_, err := s.TidyOnce(ctx)
		if now := s.Now(); err == nil && now.Sub(swept) > deadFor/2 {
			swept = now
			err = s.Sweep(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.Logger.Warn("knowledge could not be tidied up", slog.String("event", "knowledge.tidy_failed"), slog.Any("error", err))
		}
	}
	return nil
}

// TidyOnce looks at the collections that have something to join or to destroy,
// and returns how many segments it replaced.
func (s *Service) TidyOnce(ctx context.Context) (int, error) {
	dirty, err := s.nextDirty(ctx)
	if err != nil {
		return 0, fmt.Errorf("find collections to tidy: %w", err)
	}
	total := 0
	var errs []error
	for _, c := range dirty {
		n, err := s.tidy(ctx, c)
		total += n
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
		if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
			errs = append(errs, fmt.Errorf("tidy collection %s: %w", c.ID, err))
		}
	}
	return total, errors.Join(errs...)
}

// nextDirty is the next page of a round over the collections to tidy: those that fail
// do not keep others waiting, however many they are.
func (s *Service) nextDirty(ctx context.Context) (dirty []Collection, err error) {
	after, _ := s.tidied.Load().(string)
	for {
		dirty, err = s.Store.Dirty(ctx, segmentsize.Many, segmentsize.Tiers(s.vectors != nil), s.Now().Add(-lostFor), after,
			tidyPage)
		if err != nil || len(dirty) > 0 || after == "" {
			break
		}
		after = "" // the round is over
	}
	next := ""
	if len(dirty) == tidyPage {
		next = dirty[tidyPage-1].ID
	}
	s.tidied.Store(next)
	return dirty, err
}

// Sweep deletes the objects of segments that are dead for a while, and those that
// no record ever named.
func (s *Service) Sweep(ctx context.Context) error {
	before := s.Now().Add(-deadFor)
	segments := s.shelf.segments
	if err := segments.Sweep(ctx, s.Store, before); err != nil {
		return err
	}
	if err := s.Store.ForgetVectors(ctx, s.shelf.model, s.Now().Add(-otherModelFor)); err != nil {
		return fmt.Errorf("forget vectors: %w", err)
	}
	return segments.SweepOrphans(ctx, vectorPrefix, before, s.Store.KnowsVectors)
}
