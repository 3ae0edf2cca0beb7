package identity

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// lookups is a resolver for one verification. It remembers that it was asked: a
// verdict that depends on somebody else's records does not last. And it answers
// only so many questions: a stranger's token must not send us all over the world.
// While it waits for an answer others have their turn at verifying, and looking up
// has turns of its own, which networks share as they share those.
type lookups struct {
	Resolver
	turn  *ratelimit.Turn
	gate  *ratelimit.Gate // nil lets everybody ask
	from  netip.Addr
	asked int
	lost  int // questions about a did:web that had no answer
}

const (
	maxLookups = 32
	// maxLost is how many hosts that strangers name may fail us in one verification: a
	// token names as many as it likes, none of which has to be its maker's.
	maxLost = 2
	// lookupSlots is how many look-ups run at a time, lookupBudget the time a minute that
	// those of one network take before they stand back behind others, lookupAhead what each
	// of them may take.
	lookupSlots  = 64
	lookupBudget = 30 * time.Second
	lookupAhead  = 3 * time.Second
)

var errTooManyLookups = errors.New("the token needs too many look-ups")

// rememberer is a Resolver that may know an answer already.
type rememberer interface {
	// Remembers reports whether a question about the DID is answered without asking.
	Remembers(d did.DID) bool
}

func (l *lookups) Keys(ctx context.Context, d did.DID) (keys []did.Key, err error) {
	err = l.ask(ctx, d, func() error {
		keys, err = l.Resolver.Keys(ctx, d)
		return err
	})
	return keys, err
}

func (l *lookups) Controllers(ctx context.Context, entity did.DID) (all []did.DID, err error) {
	err = l.ask(ctx, entity, func() error {
		all, err = l.Resolver.Controllers(ctx, entity)
		return err
	})
	return all, err
}

// ask asks one question, when it is its turn.
func (l *lookups) ask(ctx context.Context, d did.DID, question func() error) error {
	if l.asked++; l.asked > maxLookups || l.lost >= maxLost {
		return errTooManyLookups
	}
	l.turn.Pause()
	defer l.turn.Resume()
	if r, ok := l.Resolver.(rememberer); !ok || !r.Remembers(d) {
		turn, err := l.gate.Enter(ctx, l.from)
		if err != nil {
			return err
		}
		defer turn.Leave()
	}
	err := question()
	if err != nil && d.Method() == "web" {
		l.lost++
	}
	return err
}

// waited reports whether somebody was refused because the queue was long, which says
// nothing about the token.
func waited(err error) (*fault.Error, bool) {
	e, ok := errors.AsType[*fault.Error](err)
	return e, ok && e.Kind == fault.RateLimited
}
