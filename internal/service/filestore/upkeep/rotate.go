package upkeep

import (
	"context"
	"fmt"
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
			wrapped, err := s.files.Rewrap(ctx, row)
			if err != nil {
				return n, fmt.Errorf("wrap namespace %s again: %w", row.Name, err)
			}
			if wrapped {
				n++
			}
		}
		if len(page) < rotateSlice {
			return n, nil
		}
	}
}
