package identitytest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
)

// Store is an identity.Store in memory.
type Store struct {
	// Now is the store's own clock; nil is time.Now.
	Now func() time.Time

	mu          sync.Mutex
	feed        int64
	revocations []identity.Revocation
	marks       map[string]time.Time
	delegations map[string]identity.StoredDelegation
	bindings    []identity.Binding
}

var _ identity.Store = (*Store)(nil)

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{marks: make(map[string]time.Time), delegations: make(map[string]identity.StoredDelegation)}
}

// AddRevocation implements identity.Store.
func (s *Store) AddRevocation(_ context.Context, r identity.Revocation) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.revocations {
		if old.Kind == r.Kind && old.Target == r.Target {
			return old.Feed, false, nil
		}
	}
	s.feed++
	r.Feed = s.feed
	s.revocations = append(s.revocations, r)
	return r.Feed, true, nil
}

// Revocations implements identity.Store.
func (s *Store) Revocations(_ context.Context, after int64, limit int) ([]identity.Revocation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []identity.Revocation
	for _, r := range s.revocations {
		if r.Feed > after && len(list) < limit {
			list = append(list, inFeed(r))
		}
	}
	return list, nil
}

// Bindings implements identity.Store.
func (s *Store) Bindings(_ context.Context, after int64, limit int) ([]identity.Binding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []identity.Binding
	for _, b := range s.bindings {
		if b.Feed > after && len(list) < limit {
			list = append(list, b)
		}
	}
	return list, nil
}

// Bind adds bindings as they are, for tests of who counts on them.
func (s *Store) Bind(all ...identity.Binding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range all {
		s.bindings = slices.DeleteFunc(s.bindings, func(old identity.Binding) bool { return old.Key == b.Key })
		s.feed++
		b.Feed = s.feed
		s.bindings = append(s.bindings, b)
	}
}

// UseOnce implements identity.Store.
func (s *Store) UseOnce(_ context.Context, mark string, until time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, used := s.marks[mark]; used {
		return false, nil
	}
	s.marks[mark] = until
	return true, nil
}

// PutDelegation implements identity.Store.
func (s *Store) PutDelegation(_ context.Context, d identity.StoredDelegation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delegations[d.User] = d
	return nil
}

// Delegation implements identity.Store.
func (s *Store) Delegation(_ context.Context, user string) (identity.StoredDelegation, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.delegations[user]
	return d, ok, nil
}

// DeleteDelegation implements identity.Store.
func (s *Store) DeleteDelegation(_ context.Context, user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.delegations, user)
	return nil
}

// Sweep implements identity.Store.
func (s *Store) Sweep(_ context.Context, before time.Time, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for mark, until := range s.marks {
		if n < limit && until.Before(before) {
			delete(s.marks, mark)
			n++
		}
	}
	for user, d := range s.delegations {
		if n < limit && !d.Expires.IsZero() && d.Expires.Before(before) {
			delete(s.delegations, user)
			n++
		}
	}
	return n, nil
}

// SweepRevocations implements identity.Store.
func (s *Store) SweepRevocations(_ context.Context, before time.Time, limit int) (int, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	if at := now(); at.Before(before) {
		before = at
	}
	n := 0
	s.revocations = slices.DeleteFunc(s.revocations, func(r identity.Revocation) bool {
		over := n < limit && !r.Until.IsZero() && r.Until.Before(before)
		if over {
			n++
		}
		return over
	})
	return n, before, nil
}
