package filestore

import (
	"context"
	"math"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Changes returns what happened after a number, oldest first, and the number to
// ask with next. Only what lies inside the caller's scope is told. Where changes after
// that number were erased, it fails and says from where on there are some (ADR 0268).
func (s *Service) Changes(ctx context.Context, a Access, after int64, limit int) ([]Event, int64, error) {
	scope, err := a.Scope(List)
	if err != nil {
		return nil, 0, err
	}
	events, next, err := s.events(ctx, scope, after, limit)
	if err != nil || next == after || len(events) > 0 && events[0].Seq == after+1 {
		return events, next, err
	}
	// Looked at last: what was there until now was there before.
	first, err := s.store.FirstEvent(ctx, a.Namespace)
	if err == nil && first > after+1 {
		err = fault.Newf(fault.Gone, "Changes before %d are kept no more: list the files, and go on with since=%d.", first, first-1).
			WithCode("changes_erased")
	}
	return events, next, err
}

func (s *Service) events(ctx context.Context, scope Scope, after int64, limit int) ([]Event, int64, error) {
	events, newest, err := s.store.Events(ctx, scope, after, limit)
	if err != nil {
		return nil, 0, err
	}
	if len(events) == limit {
		return events, events[len(events)-1].Seq, nil
	}
	return events, max(newest, after), nil
}

// WaitChanges is Changes that waits for the first one.
func (s *Service) WaitChanges(ctx context.Context, a Access, after int64, limit int) ([]Event, int64, error) {
	scope, err := a.Scope(List)
	if err != nil {
		return nil, 0, err
	}
	follower := s.waiters.Follow(a.Namespace)
	defer follower.Leave()
	for {
		changed := follower.Watch()
		events, next, err := s.events(ctx, scope, after, limit)
		if err != nil || len(events) > 0 {
			return events, next, err
		}
		after = next
		if err := follower.Await(ctx, changed); err != nil {
			return nil, after, err
		}
	}
}

// LastChange returns the number of the newest change of a namespace, whoever may
// see it.
func (s *Service) LastChange(ctx context.Context, namespace string) (int64, error) {
	scope, err := Owner(namespace).Scope(List)
	if err != nil {
		return 0, err
	}
	_, newest, err := s.store.Events(ctx, scope, math.MaxInt64, 1)
	return newest, err
}

// Reaches reports whether the access gives the ability at a path, whether or not
// something is there.
func (a Access) Reaches(need Ability, path string) bool {
	scope, err := a.Scope(need)
	return err == nil && scope.Allows(path)
}

// Audit is Changes for whoever may see who did what: it needs every ability, and
// tells what lies where the caller has them all.
func (s *Service) Audit(ctx context.Context, a Access, after int64, limit int) ([]Event, int64, error) {
	scope, err := a.Scope(All)
	if err != nil {
		return nil, 0, err
	}
	return s.events(ctx, scope, after, limit)
}

// Usage returns what the namespace holds, as far as the caller can see it.
func (s *Service) Usage(ctx context.Context, a Access) (Usage, error) {
	scope, err := a.Scope(List)
	if err != nil {
		return Usage{}, err
	}
	return s.store.Usage(ctx, scope)
}

// Wake tells those who wait on this node that a namespace changed elsewhere. It
// is a hint: they look at the store.
func (s *Service) Wake(namespace string) { s.waiters.Wake(namespace) }

// Changed tells this node and, by the hint, the others.
func (s *Service) Changed(namespace string) {
	s.waiters.Wake(namespace)
	s.hint(namespace)
}
