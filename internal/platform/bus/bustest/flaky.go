package bustest

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/bus"
)

// Flaky wraps a bus so that it does what the contract allows: it loses,
// doubles and reorders hints. Requests pass unharmed. The same seed makes the
// same decisions for the same sequence of hints.
func Flaky(b bus.Bus, seed uint64) *FlakyBus {
	return &FlakyBus{Bus: b, random: rand.New(rand.NewPCG(seed, seed))}
}

// FlakyBus is a bus with bad manners. See Flaky.
type FlakyBus struct {
	bus.Bus

	mu     sync.Mutex
	random *rand.Rand
	held   []bus.Message

	Lost, Doubled, Reordered int // read them when nobody publishes
}

// Publish loses one hint in four, doubles one in four and holds one in four
// back until after a later one.
func (f *FlakyBus) Publish(ctx context.Context, subject string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := []bus.Message{{Subject: subject, Data: data}}
	switch f.random.IntN(4) {
	case 0:
		f.Lost++
		now = nil
	case 1:
		f.Doubled++
		now = append(now, now[0])
	case 2:
		f.Reordered++
		f.held = append(f.held, bus.Message{Subject: subject, Data: append([]byte{}, data...)})
		now = nil
	default:
		now = append(now, f.held...)
		f.held = nil
	}
	for _, m := range now {
		if err := f.Bus.Publish(ctx, m.Subject, m.Data); err != nil {
			return err
		}
	}
	return nil
}
