package filestore

import (
	"context"
	"errors"
)

// errSpent says that a budget does not cover the next unit of work.
var errSpent = errors.New("the budget is spent")

// budget is the work that one request may still do. It is spent a unit at a time,
// before the unit is done: a line of a text, a path, a row of a comparison. What
// the asker chooses decides what a unit costs, never how much there is.
type budget struct{ left int64 }

// spend takes the cost of the next unit. It fails when the request has ended, and
// with errSpent when less is left.
func (b *budget) spend(ctx context.Context, cost int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if cost > b.left {
		return errSpent
	}
	b.left -= cost
	return nil
}
