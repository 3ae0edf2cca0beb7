package telephonekit

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
)

// Conversations are what the oracle keeps for accounts of telephones.
type Conversations struct {
	List   func(ctx context.Context, owner string, limit, offset int) ([]oracle.Session, int64, error)
	Delete func(ctx context.Context, owner, id string) error
}

var _ ussdpeople.Forget = Conversations{}

// forgetPage is how many conversations are deleted between two looks.
const forgetPage = 100

// ForgetAccount implements ussdpeople.Forget. What the account said as a person with
// a DID is that person's.
func (c Conversations) ForgetAccount(ctx context.Context, account string) (n int64, err error) {
	owner := User + account
	for {
		some, _, err := c.List(ctx, owner, forgetPage, 0)
		if err != nil || len(some) == 0 {
			return n, err
		}
		for _, s := range some {
			if err := c.Delete(ctx, owner, s.ID); err != nil && !errors.Is(err, oracle.ErrSessionNotFound) {
				return n, fmt.Errorf("delete conversation: %w", err)
			}
			n++
		}
	}
}
