package ussdpeople

import (
	"context"
	"errors"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// errNotLinked is the same for accounts of others and for none.
var errNotLinked = fault.New(fault.NotFound, "You are not linked with that account.")

// LinkCode makes the code that a person types at the telephone, logged in to the
// account and after its PIN, to become one with it. Whether there is such an account is
// not told: whoever has no telephone to type it at has a number of no use.
func (s *Service) LinkCode(ctx context.Context, did, account string) (Told, error) {
	return s.personsCode(ctx, ussdpin.PurposeLink, did, account)
}

// KeyCode makes the code that somebody who lost a key types at the linked telephone, to ask
// for the one of the DID in its place. What it tells is what LinkCode does.
func (s *Service) KeyCode(ctx context.Context, did, account string) (Told, error) {
	if !strings.HasPrefix(did, "did:key:") {
		return Told{}, fault.New(fault.Invalid, "Only a did:key can take the place of a lost key.")
	}
	return s.personsCode(ctx, ussdpin.PurposeKey, did, account)
}

func (s *Service) personsCode(ctx context.Context, purpose, did, account string) (Told, error) {
	switch {
	case !strings.HasPrefix(did, "did:"):
		return Told{}, fault.New(fault.Forbidden, "Only a person with a DID can be linked.")
	case !plausibleAccount(accountID(account)):
		return Told{}, fault.New(fault.Invalid, "account must be an account ID, such as C1A2B3C4D")
	}
	by := s.act(did, "", account, "")
	told, err := s.code(ctx, purpose, did, LinkTime, 0, by)
	if errors.Is(err, errNoAccount) {
		code, _ := s.cfg.Keys.NewCode(purpose, by.Account, did)
		return Told{Account: by.Account, Code: code, Expires: by.At.Add(LinkTime)}, nil
	}
	return told, err
}

// plausibleAccount reports whether the text can be an account's id.
func plausibleAccount(id string) bool {
	if len(id) != 9 || id[0] != 'C' {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') }) < 0
}

// LinkedAccounts lists the accounts that are the same person as the DID.
func (s *Service) LinkedAccounts(ctx context.Context, did string) ([]Link, error) {
	return s.store.Links(ctx, did)
}

// Unlink ends the link of an account with the DID. To have none is fine.
func (s *Service) Unlink(ctx context.Context, did, account string) error {
	_, err := s.store.Unlink(ctx, did, s.act(did, ActUnlink, account, did))
	return err
}

// OwnResetCode makes a code that resets the PIN of an account that is linked with the
// DID: it takes the key and the telephone.
func (s *Service) OwnResetCode(ctx context.Context, did, account string) (Told, error) {
	told, err := s.code(ctx, ussdpin.PurposeReset, did, LinkTime, 0, s.act(did, ActResetCode, account, ""))
	if errors.Is(err, errNoAccount) {
		return Told{}, errNotLinked
	}
	return told, err
}

// Admit says whether somebody with a DID may come in now.
type Admit func(ctx context.Context, did string) error

// Persons tells who accounts of telephones are elsewhere.
type Persons struct {
	Links interface {
		Link(ctx context.Context, account string) (did string, err error)
	}
	Admit Admit
}

// PersonOf returns the DID that is the same person as the account, or "": also for one
// who may not come in any more. It is looked up each time, so that a link that ended
// gives nothing from then on.
func (p Persons) PersonOf(ctx context.Context, account string) (string, error) {
	if account == "" {
		return "", nil
	}
	did, err := p.Links.Link(ctx, account)
	if err != nil || did == "" {
		return "", err
	}
	switch err := p.Admit(ctx, did); {
	case fault.Is(err, fault.Forbidden):
		return "", nil
	case err != nil:
		return "", err
	}
	return did, nil
}
