package credits_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/plugins/credits"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

const user = "did:key:z6MkOwner"

func open(t testing.TB, db *sqldb.DB) *credits.Ledger {
	t.Helper()
	return credits.NewLedger(oraclesql.New(oracletest.Migrated(t, db)).PluginStore("credits"))
}

func read(t testing.TB, l *credits.Ledger) (credits.Account, []credits.Claim) {
	t.Helper()
	a, claims, _, err := l.Read(context.Background(), user, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.Entries = 0
	return a, claims
}

// Many workers do everything twice, in any order. Every effect counts once, the
// sums are exact, and no account is ever negative.
func TestTheLedgerIsExact(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db func(t *testing.T) *sqldb.DB) {
		l := open(t, db(t))
		random := rand.New(rand.NewPCG(1, 2))
		var (
			ops           []func(context.Context) error
			granted, used int64
		)
		for i := range 40 {
			amount := random.Int64N(100) + 1
			switch i % 3 {
			case 0:
				granted += amount
				ops = append(ops, func(ctx context.Context) error {
					_, err := l.Grant(ctx, user, amount, fmt.Sprint(i), "")
					return err
				})
			default:
				used += amount
				ops = append(ops, func(ctx context.Context) error {
					if _, err := l.Hold(ctx, user, fmt.Sprint(i), 1, 30, time.Hour); err != nil && !errors.Is(err, credits.ErrShort) {
						return err
					}
					_, err := l.Settle(ctx, user, fmt.Sprint(i), fmt.Sprint(i), amount, "")
					return err
				})
			}
		}
		ops = append(ops, ops...)
		random.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		work := make(chan func(context.Context) error, len(ops))
		for _, op := range ops {
			work <- op
		}
		close(work)
		var workers sync.WaitGroup
		for range 16 {
			workers.Go(func() {
				for op := range work {
					if err := op(t.Context()); err != nil {
						t.Error(err)
					}
					a, _, _, err := l.Read(t.Context(), user, 0)
					if err != nil || a.Available < 0 || a.Held < 0 || a.Owed < 0 || a.Granted != a.Available+a.Held+a.Spent {
						t.Errorf("seen on the way: %+v, %v", a, err)
					}
				}
			})
		}
		workers.Wait()
		a, claims := read(t, l)
		// A hold that was made again after its settlement is still there.
		if a.Granted != granted || a.Spent+a.Owed != used || a.Held < 0 || a.Granted != a.Available+a.Held+a.Spent {
			t.Errorf("%+v, granted %d, used %d", a, granted, used)
		}
		// So are the sums of the day, which may have changed in the meantime.
		today := time.Now().Unix() / 86_400
		days, err := l.Days(t.Context(), today-1, today+1)
		var all credits.Day
		for _, d := range days {
			all.Granted, all.Spent = all.Granted+d.Granted, all.Spent+d.Spent
		}
		if err != nil || all != (credits.Day{Granted: a.Granted, Spent: a.Spent}) {
			t.Errorf("of the day: %+v %v, of the account: %+v", days, err, a)
		}
		var owed int64
		seen := map[string]bool{}
		for _, c := range claims {
			owed += c.Amount
			if seen[c.ID] || c.Amount <= 0 {
				t.Errorf("claim %+v", c)
			}
			seen[c.ID] = true
		}
		if owed != a.Owed {
			t.Errorf("claims of %d, owed %d", owed, a.Owed)
		}
	})
}

func TestWhatADeadNodeHeldComesBack(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db func(t *testing.T) *sqldb.DB) {
		l := open(t, db(t))
		ctx := t.Context()
		do := func(_ credits.Account, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		do(l.Grant(ctx, user, 100, "g", ""))
		do(l.Hold(ctx, user, "dead", 10, 60, time.Nanosecond))
		do(l.Hold(ctx, user, "live", 10, 40, time.Hour))
		if err := l.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		a, _ := read(t, l)
		if d := cmp.Diff(credits.Account{Granted: 100, Available: 60, Held: 40}, a); d != "" {
			t.Fatal(d)
		}
		// The turn lived after all: it pays, although its hold is gone.
		do(l.Settle(ctx, user, "dead", "run", 25, ""))
		do(l.Settle(ctx, user, "dead", "run", 25, ""))
		a, _ = read(t, l)
		if d := cmp.Diff(credits.Account{Granted: 100, Available: 35, Held: 40, Spent: 25}, a); d != "" {
			t.Error(d)
		}
	})
}

func TestWhatCanNotBePaidIsClaimedAndPaidFirst(t *testing.T) {
	t.Parallel()
	l := open(t, sqldbtest.SQLite(t))
	ctx := t.Context()
	do := func(_ credits.Account, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(l.Grant(ctx, user, 20, "g", ""))
	do(l.Hold(ctx, user, "h", 10, 50, time.Hour))
	do(l.Settle(ctx, user, "h", "run", 50, ""))
	a, claims := read(t, l)
	if d := cmp.Diff(credits.Account{Granted: 20, Spent: 20, Owed: 30}, a); d != "" || len(claims) != 1 ||
		claims[0].Amount != 30 {
		t.Fatal(d, claims)
	}
	if _, err := l.Hold(ctx, user, "h2", 1, 1, time.Hour); !errors.Is(err, credits.ErrShort) {
		t.Errorf("held without credits: %v", err)
	}
	do(l.Grant(ctx, user, 10, "part", ""))
	if _, still := read(t, l); len(still) != 1 || still[0].ID != claims[0].ID || still[0].Amount != 20 {
		t.Errorf("after a part: %+v", still)
	}
	do(l.Grant(ctx, user, 100, "rest", ""))
	a, claims = read(t, l)
	if d := cmp.Diff(credits.Account{Granted: 130, Available: 80, Spent: 50}, a); d != "" || len(claims) != 0 {
		t.Error(d, claims)
	}
	for _, amount := range []int64{0, -1, credits.MaxAmount + 1} {
		if _, err := l.Grant(ctx, user, amount, "bad", ""); err == nil {
			t.Errorf("granted %d", amount)
		}
	}
}

// told keeps the names of events.
type told []string

func (o *told) Emit(_ context.Context, _ sqldb.Querier, owner, kind string, _ time.Time, _ any) error {
	*o = append(*o, owner+" "+kind)
	return nil
}

// Whoever falls below a mark is told once each time; what is only held counts as
// there.
func TestLowAccountsAreTold(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		var got told
		store := oraclesql.New(oracletest.Migrated(t, open(t))).WithOutbox(&got)
		l := credits.NewLedger(store.PluginStore("credits")).TellBelow(50, 10)
		const who = "did:example:payer"
		for _, step := range []struct {
			do   func() error
			want []string
		}{
			{func() error { _, err := l.Grant(t.Context(), who, 100, "g1", ""); return err }, nil},
			{func() error { _, err := l.Hold(t.Context(), who, "h1", 10, 95, time.Hour); return err }, nil},
			{func() error { _, err := l.Settle(t.Context(), who, "h1", "s1", 51, ""); return err }, []string{who + " credits.low"}},
			{func() error { _, err := l.Settle(t.Context(), who, "h1", "s1", 51, ""); return err }, nil},
			{func() error { _, err := l.Settle(t.Context(), who, "h2", "s2", 9, ""); return err }, nil},
			{func() error { _, err := l.Settle(t.Context(), who, "h3", "s3", 31, ""); return err }, []string{who + " credits.exhausted"}},
			{func() error { _, err := l.Grant(t.Context(), who, 100, "g2", ""); return err }, nil},
			{func() error { _, err := l.Settle(t.Context(), who, "h4", "s4", 109, ""); return err }, []string{who + " credits.exhausted"}},
		} {
			got = nil
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(step.want, []string(got)); d != "" {
				t.Error(d)
			}
		}
	})
}
