package ussdsql_test

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

const bob = "+254700000002"

// The PIN that the tests choose; it must be found nowhere afterwards.
const pin = "70382"

func TestAnAccountFromCreationToExit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node()
		p := ussdtest.NewPhone(svc, alice, "s1")
		id := register(t, p, pin)
		p.Expect(t, "1", "My account", "1", "Name: Ann Wanjiru\nE-mail: -\nAccount ID: "+id, "0", "My account", "*", "END Thank you")

		p.Dial(t, "s2")
		p.Expect(t, "2", "Account menu", "1", "Enter your PIN", "99999", "Wrong account or PIN", pin, "Welcome Ann Wanjiru ("+id+")")
		if v, err := svc.Look(t.Context(), "s2"); err != nil || !v.Authenticated || v.State != "login" || v.Account != id ||
			!strings.HasPrefix(v.Message, "Welcome Ann Wanjiru ("+id+")") || !strings.HasPrefix(v.Masked, "Welcome *** (***).\n1. ") {
			t.Errorf("session: %+v %v", v, err)
		}
		p.Expect(t, "1", "My account", "4", "Welcome to Castalia")
		if v, _ := svc.Look(t.Context(), "s2"); v.Authenticated {
			t.Error("logged out and still authenticated")
		}

		other := ussdtest.NewPhone(svc, bob, "s3")
		other.Dial(t, "s3")
		other.Expect(t, "2", "Account menu", "1", "account ID", strings.ToLower(id), "Enter your PIN", pin, "Welcome Ann")
	})
}

func TestPINRules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		p := ussdtest.NewPhone(node(), alice, "s1")
		p.Dial(t, "s1")
		p.Expect(t, "2", "", "2", "full name", "J@ne!", "letters", "Jane", "e-mail", "nonsense", "no e-mail", "jane@example.org", "PIN of 5",
			"123", "exactly 5", "12345", "easy to guess", "97123", "again", "97123", "part of your number", // it is in the number
			pin, "again", "99998", "differ", pin, "again", pin, "account ID is C")
	})
}

func TestFiveWrongPINsLockForAGrowingTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		clock := ussdtest.NewClock()
		svc, other := node(clock.Set), node(clock.Set)
		p := ussdtest.NewPhone(svc, alice, "s0")
		id := register(t, p, pin)
		session := 0
		try := func(h ussdtest.Handler, number, pin string) string {
			t.Helper()
			session++
			q := ussdtest.NewPhone(h, number, "")
			q.Dial(t, number+"-"+string(rune('a'+session)))
			q.Type(t, "2")
			if a := q.Type(t, "1"); strings.Contains(a.Text, "account ID") {
				q.Type(t, id)
			}
			return q.Type(t, pin).Text
		}
		// Redialling, leaving and another node do not reset the count.
		for i := range 4 {
			if got := try([]*ussd.Service{svc, other}[i%2], alice, "11111"); !strings.Contains(got, "Wrong account") {
				t.Fatalf("attempt %d: %q", i+1, got)
			}
		}
		if got := try(svc, alice, "11111"); !strings.Contains(got, "Try again in 15 minutes") {
			t.Fatalf("fifth attempt: %q", got)
		}
		if got := try(other, alice, pin); !strings.Contains(got, "Try again in 15 minutes") {
			t.Fatalf("right PIN while locked: %q", got)
		}
		if locks, err := svc.Locks(t.Context()); err != nil || len(locks) != 1 || locks[0].Account != id {
			t.Errorf("locks: %+v %v", locks, err)
		}
		clock.Jump(16 * time.Minute)
		for range 4 {
			try(svc, alice, "11111")
		}
		if got := try(svc, alice, "11111"); !strings.Contains(got, "Try again in 60 minutes") {
			t.Fatalf("tenth attempt: %q", got)
		}
		if ok, err := svc.Unlock(t.Context(), id); err != nil || !ok {
			t.Fatalf("unlock: %v %v", ok, err)
		}
		if got := try(other, alice, pin); !strings.Contains(got, "Welcome Ann") {
			t.Errorf("after unlock: %q", got)
		}
		// A stranger can lock out strangers, not the owner's telephone.
		for range 5 {
			try(svc, bob, "11111")
		}
		if got := try(svc, bob, pin); !strings.Contains(got, "Too many wrong") {
			t.Errorf("stranger: %q", got)
		}
		if got := try(svc, alice, pin); !strings.Contains(got, "Welcome Ann") {
			t.Errorf("owner: %q", got)
		}
		// An operator lets both in again: the account for strangers, and the stranger.
		if _, err := svc.Unlock(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got := try(svc, bob, pin); !strings.Contains(got, "Too many wrong") {
			t.Errorf("a stranger whose telephone is locked: %q", got)
		}
		locks, err := other.Locks(t.Context())
		if err != nil || len(locks) != 1 || locks[0].Origin != ussdpin.OriginCaller || locks[0].Telephone == "" ||
			strings.Contains(locks[0].Telephone, bob[1:]) {
			t.Fatalf("locks: %+v %v", locks, err)
		}
		if _, _, err := svc.UnlockTelephone(t.Context(), svc.Alias("+254700000003")); !errors.Is(err, ussd.ErrNoAccount) {
			t.Errorf("a telephone that is not locked: %v", err)
		}
		if alias, ok, err := svc.UnlockTelephone(t.Context(), locks[0].Telephone); err != nil || !ok ||
			alias != locks[0].Telephone {
			t.Errorf("unlock: %q %v %v", alias, ok, err)
		}
		if got := try(svc, bob, pin); !strings.Contains(got, "Welcome Ann") {
			t.Errorf("a stranger who was let in again: %q", got)
		}
	})
}

func TestParallelGuessesAreAllCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node()
		register(t, ussdtest.NewPhone(svc, alice, "s0"), pin)
		var wg sync.WaitGroup
		answers := make([]string, 12)
		for i := range answers {
			wg.Go(func() {
				q := ussdtest.NewPhone(svc, alice, "")
				q.Dial(t, "guess-"+string(rune('a'+i)))
				q.Type(t, "2")
				q.Type(t, "1")
				answers[i] = q.Type(t, "1999"+string(rune('0'+i%10))).Text
			})
		}
		wg.Wait()
		wrong := 0
		for _, a := range answers {
			if strings.Contains(a, "Wrong account") {
				wrong++
			}
		}
		if wrong != 4 {
			t.Errorf("%d guesses were checked and reported, want 4 before the lock: %q", wrong, answers)
		}
	})
}

// One PIN hop delivered many times at once is one attempt.
func TestDeliveriesOfOnePINCountOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		nodes := []*ussd.Service{node(), node()}
		p := ussdtest.NewPhone(nodes[0], alice, "s0")
		register(t, p, pin)
		p.Dial(t, "s1")
		p.Expect(t, "2", "", "1", "Enter your PIN")
		p.Text += "*55155"
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				same := *p
				same.Handler = nodes[i%2]
				if got := same.Again(t).Text; !strings.Contains(got, "Wrong account") {
					t.Errorf("delivery %d: %q", i, got)
				}
			})
		}
		wg.Wait()
		p.Expect(t, pin, "Welcome Ann")
	})
}

func TestChangingThePINEndsOtherSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		one, two := node(), node()
		p := ussdtest.NewPhone(one, alice, "s0")
		register(t, p, pin)
		thief := ussdtest.NewPhone(two, alice, "")
		thief.Dial(t, "s1")
		thief.Expect(t, "2", "", "1", "", pin, "Welcome Ann", "1", "My account")
		p.Expect(t, "1", "My account", "2", "present PIN", "11111", "Wrong PIN", pin, "new PIN", "60481", "again", "60482", "differ",
			"60481", "again", "60481", "Your PIN is changed")
		if a := thief.Type(t, "1"); !a.End {
			t.Errorf("the other session goes on: %v", a)
		}
		p.Dial(t, "s2")
		p.Expect(t, "2", "", "1", "", pin, "Wrong account", "60481", "Welcome Ann")
	})
}

// between runs something just before a login is stored.
type between struct {
	ussd.Store

	what func()
}

func (b *between) Commit(ctx context.Context, c ussd.Change) error {
	login := slices.ContainsFunc(c.Effects, func(e ussd.Effect) bool { _, ok := e.(ussd.SettlePIN); return ok })
	if what := b.what; login && what != nil {
		b.what = nil
		what()
	}
	return b.Store.Commit(ctx, c)
}

// TestALoginDoesNotOutliveItsPIN is a thief whose login is being checked while
// the owner changes the PIN; the thief's node would also seal the PIN anew.
func TestALoginDoesNotOutliveItsPIN(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
		old := ussdtest.Service(t, ussdsql.New(db), func(c *ussd.Config) { c.Keys = ussdtest.Keys(t, ussdtest.OldKey) })
		for i, keys := range []*ussdpin.Keys{
			ussdtest.Keys(t, ussdtest.OldKey),
			ussdtest.Keys(t, ussdtest.Key, ussdtest.OldKey),
		} {
			number, session := "+25470000001"+string(rune('0'+i)), "s"+string(rune('0'+i))
			p := ussdtest.NewPhone(old, number, session+"-owner")
			register(t, p, pin)
			p.Expect(t, "1", "My account", "2", "present PIN", pin, "new PIN", "60481", "again")
			store := &between{Store: ussdsql.New(db), what: func() { p.Expect(t, "60481", "Your PIN is changed") }}
			svc := ussdtest.Service(t, store, func(c *ussd.Config) { c.Keys = keys })
			thief := ussdtest.NewPhone(svc, number, "")
			thief.Dial(t, session+"-thief")
			thief.Expect(t, "2", "", "1", "Enter your PIN")
			thief.Text += "*" + pin
			if a, err := svc.Handle(t.Context(), thief.Request()); err == nil {
				t.Errorf("keys %d: a login with the old PIN: %q", i, a)
			}
			if v, err := svc.Look(t.Context(), session+"-thief"); err != nil || v.Authenticated {
				t.Errorf("keys %d: the thief is in: %+v %v", i, v, err)
			}
			q := ussdtest.NewPhone(svc, number, "")
			q.Dial(t, session+"-again")
			q.Expect(t, "2", "", "1", "", pin, "Wrong account", "60481", "Welcome Ann")
		}
	})
}

func TestLanguageIsRemembered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		p := ussdtest.NewPhone(node(), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "My account", "3", "Choose your language", "2", "Lugha imehifadhiwa")
		p.Handler = node()
		if got := p.Dial(t, "s1").Text; !strings.HasPrefix(got, "Karibu Castalia") {
			t.Errorf("the next dial shows %q", got)
		}
		p.Expect(t, "2", "Menyu ya akaunti", "1", "Andika PIN", pin, "Karibu Ann")
	})
}

func TestOldKeysOpenAndAreReplaced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		old := node(func(c *ussd.Config) { c.Keys = ussdtest.Keys(t, ussdtest.OldKey) })
		p := ussdtest.NewPhone(old, alice, "s0")
		register(t, p, pin)
		p.Dial(t, "s1")
		p.Expect(t, "2", "Account menu")
		both := node(func(c *ussd.Config) { c.Keys = ussdtest.Keys(t, ussdtest.Key, ussdtest.OldKey) })
		p.Handler = both // rotated while the session lives
		p.Expect(t, "1", "Enter your PIN", pin, "Welcome Ann")
		register(t, ussdtest.NewPhone(old, bob, "s2"), pin)
		if n, err := both.Rekey(t.Context()); err != nil || n != 1 {
			t.Errorf("rekey: %d %v, want the one account that has not logged in", n, err)
		}
		for _, number := range []string{alice, bob} {
			q := ussdtest.NewPhone(node(), number, "")
			q.Dial(t, "after"+number)
			q.Expect(t, "2", "", "1", "Enter your PIN", pin, "Welcome Ann")
		}
	})
}

// TestKeysOfPINsAreKnown, so that nobody drops one that is still needed.
func TestKeysOfPINsAreKnown(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		store := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations()))
		node := func(keys *ussdpin.Keys) *ussd.Service {
			return ussdtest.Service(t, store, func(c *ussd.Config) { c.Keys = keys })
		}
		old, both := ussdtest.Keys(t, ussdtest.OldKey), ussdtest.Keys(t, ussdtest.Key, ussdtest.OldKey)
		register(t, ussdtest.NewPhone(node(old), alice, "s0"), pin)
		register(t, ussdtest.NewPhone(node(both), bob, "s1"), pin)
		ids, err := store.PINKeys(t.Context())
		if err != nil || len(ids) != 2 {
			t.Fatalf("%q %v", ids, err)
		}
		for _, id := range ids {
			knownOld, newestOld := old.Knows(id)
			known, newest := both.Knows(id)
			if !known || newest == knownOld || knownOld != newestOld {
				t.Errorf("%x: %t %t, %t %t", id, knownOld, newestOld, known, newest)
			}
		}
	})
}

// TestANodeThatWasForgottenDoesNotBringAFormerKeyBack logs in, registers and changes a
// PIN on a node that still has the former key first, after all PINs were sealed anew.
func TestANodeThatWasForgottenDoesNotBringAFormerKeyBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		register(t, ussdtest.NewPhone(node(), alice, "s0"), pin)
		forgotten := node(func(c *ussd.Config) {
			c.Keys = ussdtest.Keys(t, ussdtest.OldKey, ussdtest.Key)
			c.Keys.Follow(func(context.Context) ([]byte, error) { return hex.DecodeString(ussdtest.Key) })
		})
		p := ussdtest.NewPhone(forgotten, alice, "")
		p.Dial(t, "s1")
		p.Expect(t, "2", "Account menu", "1", "Enter your PIN", pin, "Welcome Ann")
		register(t, ussdtest.NewPhone(forgotten, bob, "s2"), pin)
		for _, number := range []string{alice, bob} {
			q := ussdtest.NewPhone(node(), number, "")
			q.Dial(t, "after"+number)
			q.Expect(t, "2", "", "1", "Enter your PIN", pin, "Welcome Ann")
		}
	})
}

func TestSeveralAccountsOnOneTelephone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node(func(c *ussd.Config) { c.AccountsPerPhone = 2 })
		first := register(t, ussdtest.NewPhone(svc, alice, "s0"), pin)
		register(t, ussdtest.NewPhone(svc, alice, "s1"), "60481")
		p := ussdtest.NewPhone(svc, alice, "")
		p.Dial(t, "s2")
		p.Expect(t, "2", "", "1", "Choose your account", "00", "account ID", first, "Enter your PIN", "60481", "Wrong account", pin, "Welcome Ann")
		p.Dial(t, "s3")
		p.Expect(t, "2", "", "2", "", "Eve", "", "00", "", "60482", "", "60482", "enough accounts")
	})
}

// foreign tries a PIN of an account from a telephone that is not its own.
func foreign(t *testing.T, svc *ussd.Service, session, account, pin string) string {
	t.Helper()
	p := ussdtest.NewPhone(svc, bob, "")
	p.Dial(t, session)
	p.Expect(t, "2", "Account menu", "1", "account ID", account, "Enter your PIN")
	return p.Type(t, pin).Text
}

// TestALoginDoesNotBuyMoreGuesses is a guesser who has an account, made with
// another telephone, and logs in to it before each lock.
func TestALoginDoesNotBuyMoreGuesses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node(ussdtest.NewClock().Set)
		var victims []string
		for i, number := range []string{"+260971230001", "+260971230002", "+260971230003"} {
			victims = append(victims, register(t, ussdtest.NewPhone(svc, number, "v"+string(rune('0'+i))), pin))
		}
		mine := register(t, ussdtest.NewPhone(svc, "+254700000009", "m"), "60481")
		for i, victim := range []string{victims[0], victims[0], victims[1], victims[1]} {
			if got := foreign(t, svc, "g"+string(rune('0'+i)), victim, "11111"); !strings.Contains(got, "Wrong account") {
				t.Fatalf("guess %d: %q", i+1, got)
			}
			if got := foreign(t, svc, "l"+string(rune('0'+i)), mine, "60481"); !strings.Contains(got, "Welcome Ann") {
				t.Fatalf("login %d: %q", i+1, got)
			}
		}
		if got := foreign(t, svc, "g9", victims[2], "11111"); !strings.Contains(got, "Too many wrong") {
			t.Errorf("the fifth guess at foreign accounts: %q", got)
		}
	})
}

// TestASharedTelephoneForgetsMistakes is a telephone that a village uses: who
// mistypes and then logs in leaves nothing behind for the others.
func TestASharedTelephoneForgetsMistakes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node(ussdtest.NewClock().Set)
		for i, number := range []string{"+260971230001", "+260971230002", "+260971230003", "+260971230004"} {
			one := string(rune('0' + i))
			id := register(t, ussdtest.NewPhone(svc, number, "r"+one), pin)
			for _, try := range []string{"a", "b"} {
				if got := foreign(t, svc, try+one, id, "11111"); !strings.Contains(got, "Wrong account") {
					t.Fatalf("mistake of %d: %q", i, got)
				}
			}
			if got := foreign(t, svc, "c"+one, id, pin); !strings.Contains(got, "Welcome Ann") {
				t.Fatalf("login of %d: %q", i, got)
			}
		}
		if _, unlocked, err := svc.UnlockTelephone(t.Context(), bob); unlocked || err != nil {
			t.Errorf("something is still counted against the telephone: %v %v", unlocked, err)
		}
	})
}
