package credits

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

var _ plugin.ClaimLedger = (*Ledger)(nil)

// Outstanding returns claims of all users: see plugin.ClaimLedger.
func (l *Ledger) Outstanding(ctx context.Context, after string, limit int) ([]plugin.Claim, string, error) {
	found, err := l.store.Scan(ctx, plugin.Range{Prefix: "c/", After: after, Limit: limit})
	if err != nil || len(found) == 0 {
		return nil, "", err
	}
	claims, err := public(found)
	return claims, found[len(found)-1].Key, err
}

// OutstandingOf returns the claims of one user: see plugin.ClaimLedger.
func (l *Ledger) OutstandingOf(ctx context.Context, userDID string) ([]plugin.Claim, error) {
	found, err := l.store.Scan(ctx, plugin.Range{Prefix: "c/" + plugin.UserKey(userDID) + "/"})
	if err != nil {
		return nil, err
	}
	return public(found)
}

func public(entries []plugin.Entry) ([]plugin.Claim, error) {
	list, err := all[Claim](entries)
	if err != nil {
		return nil, err
	}
	out := make([]plugin.Claim, len(list))
	for i, c := range list {
		out[i] = plugin.Claim{ID: c.ID, UserDID: c.DID, Amount: c.Amount}
		if at, err := time.Parse(time.RFC3339Nano, c.At); err == nil {
			out[i].At = at
		}
	}
	return out, nil
}

// PayClaim books a payment that was made elsewhere: see plugin.ClaimLedger. The
// claim that it was made for is paid first.
func (l *Ledger) PayClaim(ctx context.Context, userDID, claimID string, amount int64) error {
	_, err := l.change(ctx, userDID, func(ctx context.Context, b *book) error {
		if fresh, err := b.grant(ctx, "claim "+claimID, amount, claimID); err != nil || !fresh {
			return err
		}
		owed, err := b.claims(ctx)
		if err != nil {
			return err
		}
		for _, c := range owed {
			if c.ID == claimID {
				return b.pay(ctx, c)
			}
		}
		return nil // it was paid in the meantime: the payment is the user's
	})
	return err
}
