// Package pacetest has a context for tests of work that must end with its request.
package pacetest

import (
	"context"
	"sync/atomic"
)

// Looks is a context that ends when it was looked at often enough, and counts the
// looks after that. Store how often in Left.
type Looks struct {
	context.Context // it is one
	Left, After     atomic.Int64
}

// Err implements context.Context.
func (l *Looks) Err() error {
	if l.Left.Add(-1) > 0 {
		return nil
	}
	l.After.Add(1)
	return context.Canceled
}
