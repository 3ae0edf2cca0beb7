package ussd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtext"
)

// A list shows of each account a name and the end of its id: enough for its owner,
// too little to log in from elsewhere.
const (
	listedName = 16
	listedID   = 4
	maxChoices = 9 // one key each
)

// listAccounts shows the accounts of the telephone, to choose one.
func (h *hop) listAccounts(ctx context.Context) (string, map[string]string, error) {
	all, err := h.svc.store.AccountsOf(ctx, h.req.Phone, maxChoices)
	if err != nil {
		return "", nil, fmt.Errorf("list accounts: %w", err)
	}
	h.next.Memory.Choices = nil
	lines := make([]string, 0, len(all))
	for i, a := range all {
		h.next.Memory.Choices = append(h.next.Memory.Choices, a.ID)
		lines = append(lines, fmt.Sprintf("%d. %s ..%s", i+1, ussdtext.Bounded(a.Name, listedName), a.ID[len(a.ID)-listedID:]))
	}
	if len(lines) == 0 {
		return "none", nil, nil
	}
	return "ok", map[string]string{"accounts": strings.Join(lines, "\n")}, nil
}

// chooseAccount takes one of the accounts that were shown, whatever has become of
// the telephone's accounts since.
func (h *hop) chooseAccount() (string, map[string]string, error) {
	n, err := strconv.Atoi(h.next.State.Vars["choice"])
	if err != nil || n < 1 || n > len(h.next.Memory.Choices) {
		return "wrong", nil, nil //nolint:nilerr // not a number is not a choice
	}
	return "ok", map[string]string{"account": h.next.Memory.Choices[n-1]}, nil
}

// knowPerson finds out whether the account that logs in is linked with a DID.
func (h *hop) knowPerson(ctx context.Context) error {
	did, err := h.svc.store.Link(ctx, h.next.Account)
	if err != nil {
		return fmt.Errorf("look for a link: %w", err)
	}
	h.next.Memory.Facts &^= ussdmenu.Linked | ussdmenu.KeyAsked
	if did == "" {
		return nil
	}
	h.next.Memory.Facts |= ussdmenu.Linked
	key, _, err := h.svc.store.KeyRequest(ctx, h.next.Account, h.now)
	if err != nil {
		return fmt.Errorf("look for a request for a key: %w", err)
	}
	if key != "" {
		h.next.Memory.Facts |= ussdmenu.KeyAsked
	}
	return nil
}

// checkLinkCode checks the code that a person's browser shows for this account, after
// the PIN was given in this session. It says whose code it is, for the caller to agree.
func (h *hop) checkLinkCode(ctx context.Context) (string, map[string]string, error) {
	return h.checkPersonsCode(ctx, ussdpin.PurposeLink)
}

// checkPersonsCode checks a code of somebody with a key, after the PIN.
func (h *hop) checkPersonsCode(ctx context.Context, purpose string) (string, map[string]string, error) {
	if h.next.Account == "" || !h.cur.Memory.PINProved {
		return "denied", nil, nil
	}
	account, err := h.svc.store.Account(ctx, h.next.Account)
	if errors.Is(err, ErrNoAccount) {
		return "denied", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("load account: %w", err)
	}
	outcome, set, err := h.checkCode(ctx, account, purpose)
	if outcome == "ok" {
		set["person"] = ussdtext.ShortDID(h.next.Memory.Proof.Issuer)
	}
	return outcome, set, err
}

// linkAccount makes the account and the person whose code was given one.
func (h *hop) linkAccount(ctx context.Context) (string, map[string]string, error) {
	proof, good, err := h.given(ctx, ussdpin.PurposeLink)
	if !good {
		return "denied", nil, err
	}
	h.effects = append(h.effects, LinkAccount{Proof: proof})
	h.next.Memory.Facts |= ussdmenu.Linked
	return "ok", nil, nil
}

// unlinkAccount ends the link, after the PIN was given in this session.
func (h *hop) unlinkAccount() (string, map[string]string, error) {
	if h.next.Account == "" || !h.next.Memory.PINProved {
		return "denied", nil, nil
	}
	h.effects = append(h.effects, UnlinkAccount{Account: h.next.Account})
	h.next.Memory.Facts &^= ussdmenu.Linked | ussdmenu.KeyAsked
	return "ok", nil, nil
}
