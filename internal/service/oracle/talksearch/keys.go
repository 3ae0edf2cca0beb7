package talksearch

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// errKey says that the key of an index cannot be opened.
var errKey = errors.New("the key of the index of conversations cannot be opened")

// vault seals the segments of an owner. The key of an index that is not there yet is made.
func (s *Service) vault(owner string, at *Index) (seal.Vault, error) {
	var key seal.Key
	if at.WrappedKey == nil {
		key = seal.NewKey()
		wrapped, err := s.sealer.Seal(key[:], owner)
		if err != nil {
			return seal.Vault{}, err
		}
		at.WrappedKey = wrapped
	} else {
		plain, err := s.sealer.Unseal(at.WrappedKey, owner)
		if err != nil || len(plain) != len(key) {
			return seal.Vault{}, errors.Join(errKey, err)
		}
		copy(key[:], plain)
	}
	return seal.Vault{Key: key, Space: "oracle/v1/index"}, nil
}

// known is the revision of the owner's index whose segments are open; 0 when none is.
func (s *Service) known(owner string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.views[owner].revision
}

// open opens the segments of an index.
func (s *Service) open(owner string, at Stand) ([]*textindex.View, error) {
	s.mu.Lock()
	before := s.views[owner]
	s.mu.Unlock()
	if before.revision == at.Index.Revision {
		return before.views, nil
	}
	vault, err := s.vault(owner, &at.Index)
	if err != nil {
		return nil, err
	}
	now := viewsAt{revision: at.Index.Revision}
	live := make([]string, len(at.Segments))
	for i, g := range at.Segments {
		live[i] = g.ID
	}
	s.opened.Keep(owner, live)
	for _, g := range at.Segments {
		segment, err := s.opened.Open(vault, g)
		if err != nil {
			return nil, err
		}
		view, err := segment.Without(nil)
		if err != nil {
			return nil, err
		}
		now.views = append(now.views, view)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(live) > 0 && s.opened.Has(owner, live) { // none is not worth a place, and some may be closed by now
		s.views[owner] = now
	}
	return now.views, nil
}

// dropViews forgets views of segments that were closed.
func (s *Service) dropViews(owners []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, owner := range owners {
		delete(s.views, owner)
	}
}

// close closes what is open of an owner, but some.
func (s *Service) close(owner string, keep ...string) {
	s.opened.Keep(owner, keep)
	s.dropViews([]string{owner})
}

// mend destroys an index that cannot be opened, so that it is made anew, and reports
// whether it did. A store that is away is no reason.
func (s *Service) mend(ctx context.Context, owner string, err error) bool {
	if !slices.ContainsFunc([]error{errKey, textindex.ErrCorrupt}, func(bad error) bool { return errors.Is(err, bad) }) {
		return false
	}
	s.log.Warn("an index of conversations is made anew", slog.String("event", "talks.index_lost"), slog.Any("error", err))
	s.close(owner)
	if err := s.store.ForgetIndex(ctx, owner, s.now()); err != nil {
		s.log.Warn("a lost index of conversations stays", slog.String("event", "talks.index_stays"), slog.Any("error", err))
		return false
	}
	return true
}
