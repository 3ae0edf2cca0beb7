package ussdsql_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// stall is a database that stands still as soon as a PIN is being checked in a
// session that is named so: the hop is not stored.
type stall struct {
	ussd.Store

	still atomic.Bool
	begun sync.Map // sessions whose PIN is being checked
}

func (s *stall) Claim(ctx context.Context, c ussd.Claim) (ussdpin.Attempt, error) {
	a, err := s.Store.Claim(ctx, c)
	if err == nil && len(c.Counters) > 0 {
		s.begun.Store(c.ID, true)
	}
	return a, err
}

func (s *stall) Commit(ctx context.Context, c ussd.Change) error {
	if _, begun := s.begun.Load(c.Session.ID); begun && s.still.Load() && strings.HasPrefix(c.Session.ID, "stalled") {
		return context.DeadlineExceeded
	}
	return s.Store.Commit(ctx, c)
}

// short makes unsettled checks lapse soon.
func short(c *ussd.Config) { c.Deadline = 100 * time.Millisecond }

// inFront leads a telephone of an account to the question for its PIN.
func inFront(t *testing.T, h ussdtest.Handler, number, session string) *ussdtest.Phone {
	t.Helper()
	p := ussdtest.NewPhone(h, number, session)
	p.Dial(t, session)
	p.Expect(t, "2", "Account menu", "1", "Enter your PIN")
	return p
}

// TestARightPINIsNeverAWrongOne is a database that stands still between the
// beginning of a check and its end: nobody is told anything, so nobody guessed.
func TestARightPINIsNeverAWrongOne(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		store := &stall{Store: ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations()))}
		svc := ussdtest.Service(t, store, short)
		id := register(t, ussdtest.NewPhone(svc, alice, "s0"), pin)
		store.still.Store(true)
		for i := range 8 {
			p := inFront(t, svc, alice, fmt.Sprint("stalled", i))
			p.Text += "*" + pin
			if a, err := svc.Handle(t.Context(), p.Request()); err == nil {
				t.Fatalf("login %d of a database that stands still: %q", i, a)
			}
		}
		store.still.Store(false)
		inFront(t, svc, alice, "later").Expect(t, pin, "Welcome Ann")
		if had, err := svc.Unlock(t.Context(), id); err != nil || had {
			t.Errorf("right PINs left failures: %v %v", had, err)
		}
	})
}

// TestManyRightLoginsOfOneAccount come at once, at two nodes.
func TestManyRightLoginsOfOneAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		many := func(c *ussd.Config) { c.PINSlots = 32 }
		nodes := []*ussd.Service{node(many), node(many)}
		id := register(t, ussdtest.NewPhone(nodes[0], alice, "s0"), pin)
		// Four wrong ones before: there is one place left for all of them.
		for i := range 4 {
			inFront(t, nodes[0], alice, fmt.Sprint("wrong", i)).Expect(t, "11927", "Wrong account")
		}
		var wg sync.WaitGroup
		for i := range 160 {
			wg.Go(func() {
				p := inFront(t, nodes[i%2], alice, fmt.Sprint("right", i))
				p.Text += "*" + pin
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				a, err := p.Handler.Handle(ctx, p.Request())
				if errors.Is(err, context.DeadlineExceeded) {
					return // a slow machine: asked to try again
				}
				if err != nil || !strings.Contains(a.Text, "Welcome Ann") {
					t.Errorf("login %d: %q %v", i, a, err)
				}
			})
		}
		wg.Wait()
		if had, err := nodes[0].Unlock(t.Context(), id); err != nil || had {
			t.Errorf("right PINs left failures: %v %v", had, err)
		}
	})
}

// TestACrowdLogsIn is ninety people on a machine that answers only some of them
// in time.
func TestACrowdLogsIn(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
		store := &stall{Store: ussdsql.New(db)}
		svc := ussdtest.Service(t, store, short)
		store.still.Store(true)
		var wg sync.WaitGroup
		var told atomic.Int32
		for i := range 90 {
			wg.Go(func() {
				number := fmt.Sprintf("+2607111%05d", i)
				register(t, ussdtest.NewPhone(svc, number, "new-"+number), pin)
				p := inFront(t, svc, number, []string{"stalled-", "quick-", "slow-"}[i%3]+number)
				p.Text += "*" + pin
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				switch a, err := svc.Handle(ctx, p.Request()); {
				case err != nil: // asked to try again
				case !strings.Contains(a.Text, "Welcome Ann"):
					t.Errorf("%d: %q", i, a)
				default:
					told.Add(1)
				}
			})
		}
		wg.Wait()
		if n := attempts(t, db); n != 0 {
			t.Errorf("%d accounts carry a failure, and %d of 90 logged in", n, told.Load())
		}
	})
}

// attempts counts the stored rows of failures.
func attempts(t *testing.T, db *sqldb.DB) (n int) {
	t.Helper()
	if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM ussd_attempts`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// unsure is a database that fails at random: before a hop is stored, or after.
type unsure struct{ ussd.Store }

func (s unsure) Commit(ctx context.Context, c ussd.Change) error {
	switch rand.IntN(5) {
	case 0:
		return context.DeadlineExceeded
	case 1:
		if err := s.Store.Commit(ctx, c); err != nil {
			return err
		}
		return context.DeadlineExceeded
	}
	return s.Store.Commit(ctx, c)
}

// insist sends a request until it is answered, as gateways do.
func insist(t *testing.T, p *ussdtest.Phone) string {
	t.Helper()
	for {
		a, err := p.Handler.Handle(t.Context(), p.Request())
		switch {
		case err == nil:
			return a.Text
		case t.Context().Err() != nil:
			t.Fatal(err)
		}
	}
}

// TestAtMostFiveWrongPINsAreAnswered guesses from many sessions at once, at two
// nodes, on a database that loses hops and acknowledgements, and repeats what
// was not answered.
func TestAtMostFiveWrongPINsAreAnswered(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
		clock := ussdtest.NewClock()
		var nodes []*ussd.Service
		for range 2 {
			nodes = append(nodes, ussdtest.Service(t, unsure{ussdsql.New(db)}, short, clock.Set, func(c *ussd.Config) {
				c.PINSlots = 8
			}))
		}
		calm := ussdtest.Service(t, ussdsql.New(db), short, clock.Set)
		id := register(t, ussdtest.NewPhone(calm, alice, "s0"), pin)
		for period, lock := range []string{"15 minutes", "60 minutes"} {
			var wg sync.WaitGroup
			var wrong, locked atomic.Int32
			for i := range 24 {
				wg.Go(func() {
					p := inFront(t, calm, alice, fmt.Sprint("guess", period, "-", i))
					p.Handler = nodes[i%2]
					p.Text += "*" + fmt.Sprint(11900+i)
					switch got := insist(t, p); {
					case strings.Contains(got, "Wrong account"):
						wrong.Add(1)
					case strings.Contains(got, lock):
						locked.Add(1)
					default:
						t.Errorf("guess %d: %q", i, got)
					}
				})
			}
			wg.Wait()
			if wrong.Load() != 4 || locked.Load() != 20 {
				t.Errorf("period %d: %d guesses were answered, and %d times that it is locked", period, wrong.Load(), locked.Load())
			}
			var failures int
			if err := db.Read().QueryRowContext(t.Context(), `SELECT failures FROM ussd_attempts WHERE subject = $1`,
				id).Scan(&failures); err != nil || failures != 5*(period+1) {
				t.Errorf("period %d: %d failures %v", period, failures, err)
			}
			clock.Jump(25 * time.Hour)
		}
		inFront(t, calm, alice, "end").Expect(t, pin, "Welcome Ann")
	})
}

// TestALockOfTheReleaseBefore is one that a node made which counts before it
// checks, and knows nothing of places: whoever is being checked then is told
// nothing, right or wrong.
func TestALockOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
		clock := ussdtest.NewClock()
		store := &between{Store: ussdsql.New(db)}
		svc := ussdtest.Service(t, store, clock.Set, short)
		id := register(t, ussdtest.NewPhone(svc, alice, "s0"), pin)
		for i, typed := range []string{pin, "11927"} {
			store.what = func() {
				err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
					_, err := tx.ExecContext(ctx, `INSERT INTO ussd_attempts (subject, origin, failures, locked_until_ms, updated_ms) VALUES ($1, 'own', 5, $2, $3)`,
						id, sqldb.MS(clock.Now().Add(15*time.Minute)), sqldb.MS(clock.Now()))
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
			inFront(t, svc, alice, fmt.Sprint("met", i)).Expect(t, typed, "Too many wrong PINs")
			if locks, err := svc.Locks(t.Context()); err != nil || len(locks) != 1 || locks[0].Failures != 5 {
				t.Errorf("PIN %d: %+v %v", i, locks, err)
			}
			if _, err := svc.Unlock(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	})
}
