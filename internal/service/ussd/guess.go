package ussd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// guess is a PIN that was compared with that of an account. What it found is
// told only by the hop that settles it, in one transaction: until then nobody
// has guessed anything.
type guess struct {
	ussdpin.Attempt

	prior   Prior  // the session in whose hop it was typed
	account string // "" is one that does not exist
	right   bool
}

// verifyPIN checks a PIN.
func (h *hop) verifyPIN(ctx context.Context) (string, map[string]string, error) {
	id := h.next.Account
	if id == "" {
		id = h.next.State.Vars["account"]
	}
	if id == "" {
		id = h.next.Memory.PhoneAccount
	}
	account, err := h.svc.store.Account(ctx, id)
	unknown := errors.Is(err, ErrNoAccount)
	if err != nil && !unknown {
		return "", nil, fmt.Errorf("load account: %w", err)
	}
	var counters []ussdpin.Counter
	if !unknown && account.Phone == h.req.Phone {
		counters = []ussdpin.Counter{{Subject: account.ID, Origin: ussdpin.OriginOwn}}
	} else {
		// Strangers can lock out strangers, never the owner's own telephone.
		counters = append(counters, ussdpin.Counter{Subject: h.req.Phone, Origin: ussdpin.OriginCaller, Against: account.ID})
		if !unknown {
			counters = append(counters, ussdpin.Counter{Subject: account.ID, Origin: ussdpin.OriginOther})
		}
	}
	g, err := h.guess(ctx, account, counters, func() (bool, error) { return h.comparePIN(ctx, account) })
	switch {
	case err != nil:
		return "", nil, err
	case g.Refused:
		return "locked", h.wait(g.Until), nil
	}
	h.effects = append(h.effects, SettlePIN{Check: g.Check, Right: g.right})
	switch {
	case !g.right:
		h.guessed = g
		return h.wrongPIN(g.Check.Lock(h.now))
	case h.next.Account != "":
		h.next.Memory.PINProved = true
		return "ok", nil, nil
	}
	return h.logIn(ctx, account)
}

// guess compares the PIN or code just typed with that of the account; one that does
// not exist has none. It has begun durably before the PIN is looked at, and does not
// begin before it is certain that it will be looked at now: what begins and does
// not end keeps others waiting.
func (h *hop) guess(ctx context.Context, account Account, counters []ussdpin.Counter,
	compare func() (bool, error),
) (*guess, error) {
	prior := Prior{Rev: h.cur.Rev, Hop: h.cur.Hop}
	if g := h.req.guessed; g != nil && g.prior == prior && g.account == account.ID {
		h.claimed = true
		return g, nil // compared already; only the answer to it has changed
	}
	if h.claimed {
		return nil, errors.New("one hop checks one PIN")
	}
	// One at a time for each account: a crowd at one of them takes turns here, and
	// needs no places that others would have to wait for.
	queue := guessQueue + counters[len(counters)-1].Subject
	if _, err := h.svc.memory.Enter(ctx, queue); err != nil {
		return nil, fmt.Errorf("wait for other PINs: %w", err)
	}
	defer h.svc.memory.Leave(queue)
	for {
		g, err := h.try(ctx, account, counters, compare)
		if !errors.Is(err, ErrPINBusy) {
			return g, err
		}
		if err := h.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// guessQueue keeps the queues of guesses apart from those of sessions, whose ids
// do not begin so.
const guessQueue = "\x1fpin\x1f"

func (h *hop) try(ctx context.Context, account Account, counters []ussdpin.Counter,
	compare func() (bool, error),
) (*guess, error) {
	done, err := h.svc.vault.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	// No request lives longer than its deadline: a check that is older is one
	// whose node died or whose database stood still.
	attempt, err := h.reserve(ctx,
		Claim{For: claimTime, Counters: counters, Token: rand.Text(), CheckFor: h.svc.cfg.Deadline})
	if err != nil {
		return nil, err
	}
	g := &guess{Attempt: attempt, prior: Prior{Rev: h.cur.Rev, Hop: h.cur.Hop}, account: account.ID}
	if g.Refused {
		return g, nil
	}
	if g.right, err = compare(); err != nil {
		return nil, err
	}
	return g, nil
}

// comparePIN compares the PIN just typed with the stored one, in a turn.
func (h *hop) comparePIN(ctx context.Context, account Account) (bool, error) {
	if account.ID == "" {
		h.svc.vault.Waste(h.secret)
		return false, nil
	}
	right, renew, err := h.svc.vault.Check(account.ID, account.PIN, h.secret)
	if err != nil || !right {
		return false, err
	}
	// A change of the PIN ends the sessions that it finds; this login would be
	// none of them, and must not undo the change either.
	proof := ProvePIN{Account: account.ID, Sealed: account.PIN}
	if renew {
		if proof.Renewed, err = h.svc.vault.Seal(ctx, account.ID, h.secret); err != nil {
			proof.Renewed = nil // a node without the key in force leaves it to another
		}
	}
	h.effects = append(h.effects, proof)
	return true, nil
}

// recount brings up to date what a wrong PIN is answered with, after others were
// counted before it.
func (h *hop) recount(ctx context.Context) error {
	failures, err := h.svc.store.Recount(ctx, h.guessed.Check.Counters)
	if err != nil {
		return fmt.Errorf("count wrong PINs: %w", err)
	}
	h.guessed.Check.Failures = failures
	h.req.guessed = h.guessed
	return nil
}

func (h *hop) wrongPIN(lock time.Time) (string, map[string]string, error) {
	if lock.IsZero() {
		return "wrong", nil, nil
	}
	h.locks = true
	h.next.Account = ""
	return "locked", h.wait(lock), nil
}

func (h *hop) wait(until time.Time) map[string]string {
	minutes := max(1, int(math.Ceil(until.Sub(h.now).Minutes())))
	return map[string]string{"wait": strconv.Itoa(minutes)}
}
