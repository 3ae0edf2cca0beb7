// Package ussdcode has one-time codes that are shown in one place and typed at a
// telephone: what is kept of them, and what a session keeps of having been given one.
//
// What it promises. A code is good for one account, one purpose and one issuer, until
// it expires. What it refuses. The code itself is kept nowhere: a keyed hash stands for
// it. How often it may be guessed is decided in package ussd, where PINs are too.
//
// Decision: ADR 0194.
package ussdcode

import (
	"context"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// Code is a one-time code that was told to a caller elsewhere, for one account.
type Code struct {
	Account string
	// Purpose is what it is good for: one of the ussdpin.Purpose words.
	Purpose string
	// Issuer is who made it: IssuerOperator, or the DID of a person.
	Issuer           string
	MAC              []byte
	Created, Expires time.Time
}

// IssuerOperator is the issuer of codes that operators make.
const IssuerOperator = "operator"

// Proof says that a session was given a code. It is gone when the next screen
// neither uses it nor asks for a secret.
type Proof struct {
	Purpose string `json:"p"`
	Account string `json:"a"`
	Issuer  string `json:"i"`
	MAC     []byte `json:"m"`
}

// Store keeps codes.
type Store interface {
	// Codes returns the one-time codes of an account that have not expired.
	Codes(ctx context.Context, account, purpose string, now time.Time) ([]Code, error)
}

// Find returns the proof of the code that was typed for an account, and false when it is
// none of those that are good now.
func Find(ctx context.Context, store Store, keys *ussdpin.Keys,
	account, purpose, typed string, now time.Time,
) (Proof, bool, error) {
	codes, err := store.Codes(ctx, account, purpose, now)
	if err != nil {
		return Proof{}, false, fmt.Errorf("load codes: %w", err)
	}
	for _, c := range codes {
		if keys.MatchesCode(c.MAC, purpose, account, c.Issuer, typed) {
			return Proof{Purpose: purpose, Account: account, Issuer: c.Issuer, MAC: c.MAC}, true, nil
		}
	}
	return Proof{}, false, nil
}

// StillGood reports whether nobody used or replaced the code meanwhile. Whoever
// uses it compares again, in the same transaction.
func (p *Proof) StillGood(ctx context.Context, store Store, now time.Time) (bool, error) {
	codes, err := store.Codes(ctx, p.Account, p.Purpose, now)
	for _, c := range codes {
		if c.Issuer == p.Issuer && string(c.MAC) == string(p.MAC) {
			return true, err
		}
	}
	return false, err
}
