package filestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// The sweeper works in small slices, often.
const (
	sweepEvery = time.Minute
	sweepSlice = 100
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
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("sweep files", slog.Any("error", err))
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
	now := s.now()
	for _, step := range []struct {
		count *int
		do    func() (int, error)
	}{
		{&n.Uploads, func() (int, error) { return s.endUploads(ctx, now) }},
		{&n.Expired, func() (int, error) { return s.store.ExpirePending(ctx, now, sweepSlice) }},
		{&n.Receipts, func() (int, error) { return s.store.ExpireOnce(ctx, now.Add(-onceTTL), sweepSlice) }},
		{&n.Purged, func() (int, error) { return s.purgeOld(ctx, now) }},
		{&n.Deleted, func() (int, error) { return s.deleteDead(ctx, now.Add(-s.cfg.Grace)) }},
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
	if parts, ok := s.blobs.(interface {
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
		if err := s.dropStrays(ctx, u.Blob); err != nil {
			return i, err
		}
		if err := s.store.DeleteUpload(ctx, u.ID, now); err != nil && !fault.Is(err, fault.NotFound) {
			return i, err // not found: another node was faster
		}
	}
	return len(over), nil
}

// dropStrays deletes objects beside a live content that are no part of it.
func (s *Service) dropStrays(ctx context.Context, id string) error {
	b, err := s.store.Blob(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && b.State != Live {
		return nil // what is not live goes as a whole
	}
	if err != nil {
		return err
	}
	for info, err := range s.blobs.List(ctx, objectPrefix(id)) {
		if err == nil && !b.has(info.Key) {
			err = s.blobs.Delete(ctx, info.Key)
		}
		if err != nil {
			return fmt.Errorf("delete a part that was never counted: %w", err)
		}
	}
	return nil
}

// has reports whether an object is a part of the content.
func (b *Blob) has(object string) bool {
	return slices.ContainsFunc(b.Extents, func(e Extent) bool { return e.Object == object })
}

func (s *Service) purgeOld(ctx context.Context, now time.Time) (int, error) {
	files, err := s.store.ExpiredTrash(ctx, now.AddDate(0, 0, -s.cfg.TrashDays), sweepSlice)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, f := range files {
		a := Owner(f.Namespace)
		a.Invoker, a.Actor, a.Proof = "retention", f.Namespace, ""
		_, err := s.Purge(ctx, a, Target{ID: f.ID, If: Condition{Trashed: f.Trashed}})
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
		for info, err := range s.blobs.List(ctx, objectPrefix(b.ID)) {
			if err == nil {
				err = s.blobs.Delete(ctx, info.Key)
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
