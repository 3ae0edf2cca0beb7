package folder

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// An act that took longer than shortAct is followed by a rest of restTimes as long, and not of
// more than longestRest, in which the namespace begins no other on this node: an act keeps other
// writers waiting, and one after the other would keep them waiting for ever.
const (
	shortAct    = 500 * time.Millisecond
	restTimes   = 3
	longestRest = 10 * time.Second
)

// turns lets the acts of a namespace come one after the other, with rests.
type turns struct {
	now   func() time.Time
	slots *ratelimit.Slots
}

func newTurns() turns { return turns{now: time.Now, slots: ratelimit.NewSlots(1)} }

// take waits for the turn of a namespace. over tells that its act is over.
func (t turns) take(ctx context.Context, ns string) (over func(), err error) {
	leave, err := t.slots.Take(ctx, ns)
	if err != nil {
		return nil, err
	}
	began := t.now()
	return func() {
		rest := t.now().Sub(began)
		if rest < shortAct {
			leave()
			return
		}
		time.AfterFunc(min(restTimes*rest, longestRest), leave)
	}, nil
}
