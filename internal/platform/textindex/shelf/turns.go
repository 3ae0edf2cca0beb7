package shelf

import (
	"context"
	"slices"
	"sync"
)

// Turns lets collections have their turn in a round, a page at a time. Those that fail
// or always have more to do do not keep others waiting, however many they are.
type Turns struct {
	mu    sync.Mutex
	after string // the name where the round goes on
}

// NextTurn is the next page of a round. It lists what is after a name, in order, and
// begins again at the first.
func NextTurn[T any](ctx context.Context, t *Turns, limit int, name func(T) string,
	list func(ctx context.Context, after string, limit int) ([]T, error),
) ([]T, error) {
	t.mu.Lock()
	after := t.after
	t.mu.Unlock()
	page, err := list(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	if after != "" && len(page) < limit {
		first, err := list(ctx, "", limit-len(page))
		if err != nil {
			return nil, err
		}
		for _, one := range first {
			if !slices.ContainsFunc(page, func(other T) bool { return name(other) == name(one) }) {
				page = append(page, one)
			}
		}
	}
	after = ""
	if len(page) == limit {
		after = name(page[limit-1])
	}
	t.mu.Lock()
	t.after = after
	t.mu.Unlock()
	return page, nil
}
