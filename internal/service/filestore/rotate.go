package filestore

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// rotateSlice is how many namespaces are looked at together.
const rotateSlice = 100

// RotateKeys wraps every namespace's key under the current master key, and
// returns how many it wrapped. No content is touched. It may run beside live
// nodes, as long as they have both keys.
func (s *Service) RotateKeys(ctx context.Context) (int, error) {
	n, last := 0, ""
	for {
		page, err := s.store.NamespacesAfter(ctx, last, rotateSlice)
		if err != nil {
			return n, err
		}
		for _, row := range page {
			last = row.Name
			if row.MasterID == s.keys.current {
				continue
			}
			if err := s.rewrap(ctx, row); err != nil {
				return n, fmt.Errorf("wrap namespace %s again: %w", row.Name, err)
			}
			n++
		}
		if len(page) < rotateSlice {
			return n, nil
		}
	}
}

func (s *Service) rewrap(ctx context.Context, row Namespace) error {
	keys, err := s.keys.unwrap(row)
	if err != nil {
		return err
	}
	from := row.MasterID
	row.MasterID = s.keys.current
	if row.WrappedKey, err = seal.Wrap(s.keys.master[s.keys.current], keys.content, namespaceAAD(row.Name)); err != nil {
		return err
	}
	if err := s.store.Rewrap(ctx, row, from); err != nil && !fault.Is(err, fault.Conflict) {
		return err // a conflict is another rotation that was faster
	}
	return nil
}
