package plugin

import (
	"context"
	"time"
)

// ClaimLedgerKey is the shared state under which a plugin that accounts for use
// offers its ClaimLedger to the plugin that collects claims.
const ClaimLedgerKey = "claims.ledger"

// Claim is use that could not be paid when it happened.
type Claim struct {
	// ID is the same for the same use, however often it is booked.
	ID      string
	UserDID string
	// Amount is what is still owed, in whole credits.
	Amount int64
	At     time.Time
}

// ClaimLedger is where outstanding claims come from and where they are paid.
type ClaimLedger interface {
	// Outstanding returns claims of all users in a fixed order, after a cursor
	// (empty at first), and the cursor to go on with (empty at the end).
	Outstanding(ctx context.Context, after string, limit int) (claims []Claim, next string, err error)
	// OutstandingOf returns the claims of one user, the oldest first.
	OutstandingOf(ctx context.Context, userDID string) ([]Claim, error)
	// PayClaim books that somebody paid an amount for a claim elsewhere, once
	// for a claim. What exceeds the claim belongs to the user.
	PayClaim(ctx context.Context, userDID, claimID string, amount int64) error
}
