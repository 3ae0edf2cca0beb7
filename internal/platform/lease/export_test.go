package lease

import (
	"context"
	"time"
)

// Period returns the start of the period for which Every called its function.
func Period(ctx context.Context) time.Time {
	t, _ := ctx.Value(periodKey{}).(time.Time)
	return t
}
