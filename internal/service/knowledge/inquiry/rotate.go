package inquiry

import (
	"context"
	"fmt"
)

// RotateKeys keeps every asker under the pseudonym of the current master key, and
// returns how many it renamed: under a key that was dropped nobody would find what
// they asked. The key of each collection must be there.
func (s *Service) RotateKeys(ctx context.Context) (int, error) {
	n := 0
	for state := Waiting; state <= Dismissed; state++ {
		for page := (Page{State: state, Limit: MaxPage}); ; {
			rows, err := s.deps.Store.Inquiries(ctx, Scope{All: true}, page)
			if err != nil {
				return n, err
			}
			for _, r := range rows {
				renamed, err := s.rename(ctx, r)
				if err != nil {
					return n, fmt.Errorf("rename the asker of inquiry %s: %w", r.ID, err)
				}
				n += renamed
			}
			if len(rows) < page.Limit {
				break
			}
			page.After = rows[len(rows)-1].ID
		}
	}
	return n, nil
}

func (s *Service) rename(ctx context.Context, r Row) (int, error) {
	in, err := s.open(r)
	if err != nil {
		return 0, err
	}
	askers, err := s.deps.Knowledge.Pseudonyms(ctx, nameOf(in.Asker))
	if err != nil || askers[0] == r.Asker {
		return 0, err
	}
	return 1, s.deps.Store.RenameAsker(ctx, r.ID, askers[0])
}
