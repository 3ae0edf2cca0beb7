package shelf_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
)

// Whoever is first and never done does not keep others from their turn.
func TestEverybodyHasATurn(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 3, 4, 7, 8} {
		names := strings.Split("abcdefg", "")
		//nolint:unparam // as the store says it
		list := func(_ context.Context, after string, limit int) (page []string, _ error) {
			for _, name := range names {
				if name > after && len(page) < limit {
					page = append(page, name)
				}
			}
			return page, nil
		}
		next := func(at *shelf.Turns) []string {
			page, err := shelf.NextTurn(t.Context(), at, limit, func(name string) string { return name }, list)
			if err != nil || len(page) != min(limit, len(names)) ||
				len(slices.Compact(slices.Sorted(slices.Values(page)))) != len(page) {
				t.Fatalf("%q, %v", page, err)
			}
			return page
		}
		var at shelf.Turns
		had := map[string]int{}
		for range len(names) {
			for _, name := range next(&at) {
				had[name]++
			}
		}
		for _, name := range names {
			if had[name] != min(limit, len(names)) {
				t.Errorf("%d at a time: %s had %d turns of %v", limit, name, had[name], had)
			}
		}
		names = names[:1] // the others are done
		for range 2 {
			if page := next(&at); page[0] != "a" {
				t.Errorf("%d at a time: then %q", limit, page)
			}
		}
	}
}
