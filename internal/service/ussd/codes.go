package ussd

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdcode"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// checkResetCode checks the code with which a PIN may be set anew. It is good on
// the account's own telephone only: a code that was overheard opens nothing.
func (h *hop) checkResetCode(ctx context.Context) (string, map[string]string, error) {
	id := h.next.State.Vars["account"]
	if id == "" {
		id = h.next.Memory.PhoneAccount
	}
	account, err := h.svc.store.Account(ctx, id)
	if err != nil && !errors.Is(err, ErrNoAccount) {
		return "", nil, fmt.Errorf("load account: %w", err)
	}
	return h.checkCode(ctx, account, ussdpin.PurposeReset)
}

// checkCode takes a guess at the codes of an account. Guesses are counted as those
// at PINs are; the last one before a lock makes the codes void.
func (h *hop) checkCode(ctx context.Context, account Account, purpose string) (string, map[string]string, error) {
	counters := []ussdpin.Counter{{Subject: account.ID, Origin: purpose}}
	if account.Phone != h.req.Phone {
		counters = []ussdpin.Counter{{Subject: h.req.Phone, Origin: ussdpin.OriginCaller, Against: account.ID}}
		account = Account{}
	}
	var given ussdcode.Proof
	g, err := h.guess(ctx, account, counters, func() (right bool, err error) {
		given, right, err = ussdcode.Find(ctx, h.svc.store, h.svc.cfg.Keys, account.ID, purpose, h.secret, h.now)
		return right, err
	})
	switch {
	case err != nil:
		return "", nil, err
	case g.Refused:
		return "locked", h.wait(g.Until), nil
	}
	h.effects = append(h.effects, SettlePIN{Check: g.Check, Right: g.right})
	if !g.right {
		h.guessed = g
		lock := g.Check.Lock(h.now)
		if !lock.IsZero() && account.ID != "" {
			h.effects = append(h.effects, VoidCodes{Account: account.ID, Purpose: purpose})
		}
		return h.wrongPIN(lock)
	}
	h.proved = true
	h.next.Memory.Proof = &given
	return "ok", map[string]string{"account": account.ID}, nil
}

// given returns the code of the account that the session was given for a purpose, and
// false when there is none or it is not good any more.
func (h *hop) given(ctx context.Context, purpose string) (ussdcode.Proof, bool, error) {
	proof := h.cur.Memory.Proof
	if proof == nil || proof.Purpose != purpose || proof.Account != h.next.Account {
		return ussdcode.Proof{}, false, nil
	}
	good, err := proof.StillGood(ctx, h.svc.store, h.now)
	if err != nil {
		return ussdcode.Proof{}, false, fmt.Errorf("load code: %w", err)
	}
	return *proof, good, nil
}

// resetPIN stores a new PIN in exchange for the code that the session was given,
// ends the account's other sessions and logs in.
func (h *hop) resetPIN(ctx context.Context) (string, map[string]string, error) {
	proof := h.cur.Memory.Proof
	switch {
	case proof == nil || proof.Purpose != ussdpin.PurposeReset:
		return "denied", nil, nil
	case !h.confirmed():
		return "mismatch", nil, nil
	case h.weak():
		return "weak", nil, nil
	}
	account, err := h.svc.store.Account(ctx, proof.Account)
	good, codeErr := proof.StillGood(ctx, h.svc.store, h.now)
	switch {
	case errors.Is(err, ErrNoAccount), err == nil && codeErr == nil && (!good || account.Phone != h.req.Phone):
		return "denied", nil, nil
	case err != nil || codeErr != nil:
		return "", nil, fmt.Errorf("load account and code: %w", errors.Join(err, codeErr))
	}
	sealed, err := h.sealPIN(ctx, proof.Account)
	if err != nil {
		return "", nil, err
	}
	h.effects = append(h.effects, ResetPIN{Proof: *proof, Sealed: sealed, Except: h.id})
	return h.logIn(ctx, account)
}
