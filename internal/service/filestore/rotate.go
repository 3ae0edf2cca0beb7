package filestore

import (
	"context"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// Rewrap wraps a namespace's key under the current master key, and reports whether
// it was under another.
func (s *Service) Rewrap(ctx context.Context, row Namespace) (bool, error) {
	if row.MasterID == s.keys.current {
		return false, nil
	}
	keys, err := s.keys.unwrap(row)
	if err != nil {
		return false, err
	}
	from := row.MasterID
	row.MasterID = s.keys.current
	if row.WrappedKey, err = seal.Wrap(s.keys.master[s.keys.current], keys.content, namespaceAAD(row.Name)); err != nil {
		return false, err
	}
	if err := s.store.Rewrap(ctx, row, from); err != nil && !fault.Is(err, fault.Conflict) {
		return false, err // a conflict is another rotation that was faster
	}
	return true, nil
}
