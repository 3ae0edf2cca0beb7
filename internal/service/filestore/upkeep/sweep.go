package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// The sweeper works in small slices, often.
const (
	sweepEvery = time.Minute
	sweepSlice = 100
	// sweepShort is how often a store short of room is swept: somebody may be making it.
	sweepShort = 2 * time.Second
	// onceTTL is how long receipts of idempotency keys are kept.
	onceTTL = 48 * time.Hour
	// partsTTL is how old the parts of a killed writer are when the object store
	// is told to drop them: older than any upload under way.
	partsTTL = 48 * time.Hour
)

// Swept counts what a sweep did.
type Swept struct{ Expired, Uploads, Purged, Deleted, Receipts int }

// RunSweeper sweeps until ctx ends. It may run on every node.
func (s *Service) RunSweeper(ctx context.Context) error {
	tick := time.NewTicker(sweepShort)
	defer tick.Stop()
	var due time.Time
	for {
		if now := time.Now(); s.files.Short() || !now.Before(due) {
			due = now.Add(sweepEvery)
			if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.files.Log().Warn("files could not be swept", slog.String("event", "sweep.failed"), slog.Any("error", err))
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Sweep removes what nobody can reach any more: unfinished uploads, content of
// writers that died, files whose time in the trash is over, and the objects of
// dead content after a grace period for open readers. What fails of these does
// not hold up the others: some need the object store, and some do not.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var n Swept
	var errs []error
	now := s.files.Now()
	_, grace := s.files.Retention()
	if s.files.Short() {
		grace = 0 // who purged files to make room gets it; who reads them is cut off
	}
	for _, step := range []struct {
		count *int
		do    func() (int, error)
	}{
		{&n.Uploads, func() (int, error) { return s.endUploads(ctx, now) }},
		{&n.Expired, func() (int, error) { return s.store.ExpirePending(ctx, now, sweepSlice) }},
		{&n.Receipts, func() (int, error) { return s.store.ExpireOnce(ctx, now.Add(-onceTTL), sweepSlice) }},
		{&n.Purged, func() (int, error) { return s.purgeOld(ctx, now) }},
		{&n.Deleted, func() (int, error) { return s.deleteDead(ctx, now.Add(-grace)) }},
	} {
		for {
			k, err := step.do()
			*step.count += k
			if ctx.Err() != nil {
				return n, ctx.Err()
			}
			if err != nil {
				errs = append(errs, err)
			}
			if err != nil || k < sweepSlice {
				break
			}
		}
	}
	if parts, ok := s.objects.(interface {
		AbortStale(ctx context.Context, before time.Time) error
	}); ok {
		if err := parts.AbortStale(ctx, now.Add(-partsTTL)); err != nil {
			errs = append(errs, fmt.Errorf("drop parts of uploads that were never joined: %w", err))
		}
	}
	return n, errors.Join(errs...)
}

// endUploads forgets uploads whose time is over: unfinished ones with all they
// have, finished ones with the parts that were stored and never counted, because
// the node or the database went away in between.
func (s *Service) endUploads(ctx context.Context, now time.Time) (int, error) {
	over, err := s.store.ExpiredUploads(ctx, now, sweepSlice)
	if err != nil {
		return 0, err
	}
	for i, u := range over {
		if err := s.files.DropStrays(ctx, u.Blob); err != nil {
			return i, err
		}
		if err := s.store.DeleteUpload(ctx, u.ID, now); err != nil && !fault.Is(err, fault.NotFound) {
			return i, err // not found: another node was faster
		}
	}
	return len(over), nil
}

func (s *Service) purgeOld(ctx context.Context, now time.Time) (int, error) {
	days, _ := s.files.Retention()
	files, err := s.store.ExpiredTrash(ctx, now.AddDate(0, 0, -days), sweepSlice)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, f := range files {
		a := filestore.Owner(f.Namespace)
		a.Invoker, a.Actor, a.Proof = "retention", f.Namespace, ""
		_, err := s.files.Purge(ctx, a, filestore.Target{ID: f.ID, If: filestore.Condition{Trashed: f.Trashed}})
		switch {
		case err == nil:
			n++
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Precondition):
			// Another node was faster, or somebody has taken it out of the trash.
		default:
			return n, fmt.Errorf("purge %s: %w", f.ID, err)
		}
	}
	return n, nil
}

// deleteDead deletes objects first and the record after, so that a crash in
// between is found again.
func (s *Service) deleteDead(ctx context.Context, before time.Time) (int, error) {
	dead, err := s.store.DeadBlobs(ctx, before, sweepSlice)
	if err != nil {
		return 0, err
	}
	for i, b := range dead {
		// By name, not by record: a writer that died may have left more than it noted.
		for info, err := range s.objects.List(ctx, filename.ObjectPrefix(b.ID)) {
			if err == nil {
				err = s.objects.Delete(ctx, info.Key)
			}
			if err != nil {
				return i, fmt.Errorf("delete object: %w", err)
			}
		}
		if err := s.store.ForgetBlob(ctx, b.ID); err != nil {
			return i, err
		}
	}
	return len(dead), nil
}
