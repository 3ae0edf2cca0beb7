package credits_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// The sums of a day are those of all accounts, and of no other day.
func TestDaysAddAllAccountsUp(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db func(t *testing.T) *sqldb.DB) {
		l, ctx := open(t, db(t)), t.Context()
		first := time.Now().Unix() / 86_400
		for i := range 70 {
			did := fmt.Sprintf("did:key:z%d", i)
			if _, err := l.Grant(ctx, did, 10, "once", ""); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Settle(ctx, did, "none", "run", 3, ""); err != nil {
				t.Fatal(err)
			}
		}
		last := time.Now().Unix() / 86_400
		var granted, spent int64
		days, err := l.Days(ctx, first, last)
		for _, d := range days {
			granted, spent = granted+d.Granted, spent+d.Spent
		}
		if err != nil || granted != 700 || spent != 210 {
			t.Errorf("%+v %v", days, err)
		}
		for _, other := range [][2]int64{{first - 9, first - 1}, {last + 1, last + 9}} {
			if days, err := l.Days(ctx, other[0], other[1]); err != nil || len(days) != 0 {
				t.Errorf("%v: %+v %v", other, days, err)
			}
		}
	})
}
