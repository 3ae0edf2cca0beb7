package ussdsql_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// counter is where operators sit, with telephones around it.
type counter struct {
	db     *sqldb.DB
	store  *ussdsql.Store
	people *ussdpeople.Service
	clock  *ussdtest.Clock
	node   func(...func(*ussd.Config)) *ussd.Service
}

func eachCounter(t *testing.T, body func(t *testing.T, c counter)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
		store := ussdsql.New(db)
		c := counter{db: db, store: store, clock: ussdtest.NewClock()}
		c.people = ussdpeople.New(store, ussdpeople.Config{Keys: ussdtest.Keys(t, ussdtest.Key), Now: c.clock.Now})
		c.node = func(change ...func(*ussd.Config)) *ussd.Service {
			return ussdtest.Service(t, store, append(change, c.clock.Set)...)
		}
		body(t, c)
	})
}

func (c counter) told(t *testing.T, account string) string {
	t.Helper()
	told, err := c.people.ResetCode(t.Context(), account, "operator")
	if err != nil || len(told.Code) != 8 || !told.Expires.After(c.clock.Now()) {
		t.Fatalf("%+v %v", told, err)
	}
	return told.Code
}

// wrongCode is a code that is not the given one.
func wrongCode(code string) string {
	if code[0] == '9' {
		return "0" + code[1:]
	}
	return string(code[0]+1) + code[1:]
}

const freshPIN = "48217"

// A caller who lost the PIN sets a new one with the operator's code, also when the
// account is locked, and the code is good once. Other sessions end.
func TestAnOperatorsCodeResetsThePIN(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(t *testing.T, c counter) {
		svc := c.node()
		first := ussdtest.NewPhone(svc, alice, "s1")
		id := register(t, first, pin)
		p := ussdtest.NewPhone(svc, alice, "s2")
		p.Dial(t, "s2")
		p.Expect(t, "2", "", "1", "Enter your PIN", "11111", "Wrong", "11111", "Wrong", "11111", "Wrong", "11111", "Wrong", "11111", "Too many wrong PINs")
		code := c.told(t, strings.ToLower(id))
		p.Dial(t, "s3")
		p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits", wrongCode(code), "Wrong account or code", code, "Choose a new PIN",
			freshPIN, "again", pin, "differ", freshPIN, "again", freshPIN, "Welcome Ann")
		if v, err := svc.Look(t.Context(), "s1"); err == nil && v.Status == "active" {
			t.Error("the session of the old PIN goes on")
		}
		p.Dial(t, "s4")
		p.Expect(t, "2", "", "1", "Enter your PIN", pin, "Wrong", freshPIN, "Welcome Ann")
		p.Dial(t, "s5")
		p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits", code, "Wrong account or code")

		acts, err := c.people.Acts(t.Context(), id, 10)
		if err != nil || len(acts) != 2 || !slices.ContainsFunc(acts, func(a ussdpeople.Act) bool {
			return a.Act == ussdpeople.ActPINReset
		}) ||
			!slices.ContainsFunc(acts, func(a ussdpeople.Act) bool {
				return a.Act == ussdpeople.ActResetCode && a.Actor == "operator"
			}) {
			t.Errorf("%+v %v", acts, err)
		}
	})
}

// A code is bounded in time and in tries, is good on the account's telephone only,
// and is replaced by the next one.
func TestCodesAreBounded(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(t *testing.T, c counter) {
		svc := c.node()
		p := ussdtest.NewPhone(svc, alice, "s1")
		id := register(t, p, pin)
		enter := func(session, code, want string) {
			t.Helper()
			p.Dial(t, session)
			p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits", code, want)
		}
		old := c.told(t, id)
		code := c.told(t, id)
		if old != code {
			enter("a", old, "Wrong account or code")
		}
		stranger := ussdtest.NewPhone(svc, bob, "b")
		stranger.Dial(t, "b")
		stranger.Expect(t, "2", "", "1", "account ID", id, "Enter your PIN", "01", "8 digits", code, "Wrong account or code")

		c.clock.Jump(ussdpeople.ResetTime + time.Second)
		enter("c", code, "Wrong account or code")

		code = c.told(t, id)
		p.Dial(t, "d")
		p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits")
		for range 4 {
			p.Expect(t, wrongCode(code), "Wrong account or code")
		}
		p.Expect(t, wrongCode(code), "Too many wrong codes")
		enter("e", code, "Too many wrong codes")
		c.clock.Jump(16 * time.Minute) // the lock is over, and the code is void
		enter("f", code, "Wrong account or code")
		p.Dial(t, "g")
		p.Expect(t, "2", "", "1", "Enter your PIN", pin, "Welcome Ann") // the PIN is as good as before

		// A code that expires between its check and its use sets nothing.
		code = c.told(t, id)
		p.Dial(t, "h")
		p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits")
		c.clock.Jump(ussdpeople.ResetTime - time.Minute)
		p.Dial(t, "i")
		p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits", code, "Choose a new PIN", freshPIN, "again")
		c.clock.Jump(2 * time.Minute)
		p.Expect(t, freshPIN, "no longer good")
		p.Dial(t, "j")
		p.Expect(t, "2", "", "1", "Enter your PIN", freshPIN, "Wrong", pin, "Welcome Ann")

		if _, err := c.people.ResetCode(t.Context(), "C00000000", "operator"); !fault.Is(err, fault.NotFound) {
			t.Errorf("no such account: %v", err)
		}
	})
}

// What stands in the way of a new PIN is not the telephone: whoever holds it alone
// sets none.
func TestATelephoneAloneResetsNothing(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(t *testing.T, c counter) {
		p := ussdtest.NewPhone(c.node(), alice, "s1")
		register(t, p, pin)
		p.Dial(t, "s2")
		p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits", "00000000", "Wrong account or code", "0", "Account menu", "1", "Enter your PIN")
	})
}

func TestOperatorsFindCloseMoveAndErase(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(t *testing.T, c counter) {
		ctx, svc := t.Context(), c.node()
		p := ussdtest.NewPhone(svc, alice, "s1")
		one := register(t, p, pin)
		p.Session = "s2"
		c.clock.Jump(time.Second) // lists begin with the oldest
		two := register(t, p, freshPIN)
		list := func(q ussdpeople.Search) (ids []string) {
			t.Helper()
			found, err := c.people.Accounts(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range found {
				ids = append(ids, a.ID)
			}
			return ids
		}
		both := []string{min(one, two), max(one, two)}
		for _, q := range []ussdpeople.Search{{}, {Phone: alice}, {Text: "WANJ"}, {Text: "wanj", Phone: alice}} {
			if got := list(q); !slices.Equal(got, both) {
				t.Errorf("%+v: %v", q, got)
			}
		}
		for _, q := range []ussdpeople.Search{{Phone: bob}, {Text: "%"}, {Text: "_"}, {After: both[1]}} {
			if got := list(q); len(got) > 0 {
				t.Errorf("%+v: %v", q, got)
			}
		}
		if got := list(ussdpeople.Search{Limit: 1, After: both[0]}); !slices.Equal(got, both[1:]) {
			t.Errorf("the second page: %v", got)
		}

		// The number is enough to choose one of several.
		p.Dial(t, "s3")
		p.Expect(t, "2", "", "1", "1. Ann Wanjiru .."+one[5:], "2", "Enter your PIN", freshPIN, "("+two+")")

		// Moved: the old telephone has it no longer, the new one logs in with the PIN.
		if err := c.people.Move(ctx, two, bob, "operator"); err != nil {
			t.Fatal(err)
		}
		p.Dial(t, "s4")
		p.Expect(t, "2", "", "1", "Enter your PIN", freshPIN, "Wrong", pin, "("+one+")")
		other := ussdtest.NewPhone(svc, bob, "s5")
		other.Dial(t, "s5")
		other.Expect(t, "2", "", "1", "Enter your PIN", freshPIN, "("+two+")")
		if err := c.people.Move(ctx, two, "0711", "operator"); !fault.Is(err, fault.Invalid) {
			t.Errorf("a wrong number: %v", err)
		}

		// Closed: its session ends, nobody logs in, and it is still listed.
		if err := c.people.Close(ctx, two, "operator"); err != nil {
			t.Fatal(err)
		}
		if v, err := svc.Look(ctx, "s5"); err == nil && v.Authenticated {
			t.Error("a closed account is still in")
		}
		other.Dial(t, "s6")
		other.Expect(t, "2", "", "1", "account ID", two, "Enter your PIN", freshPIN, "Wrong")
		if found, _ := c.people.Accounts(ctx, ussdpeople.Search{Phone: bob}); len(found) != 1 || found[0].Closed.IsZero() {
			t.Errorf("%+v", found)
		}
		for _, err := range []error{c.people.Close(ctx, two, "o"), c.people.Move(ctx, two, alice, "o")} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("a closed account: %v", err)
			}
		}

		// Erased: nothing of it is found, and of the number neither.
		for _, id := range []string{one, two} {
			r, err := c.people.Erase(ctx, id, "operator")
			if err != nil || r.Account != id || r.By != "operator" || !r.Telephone {
				t.Fatalf("%+v %v", r, err)
			}
			if _, err := c.people.Erase(ctx, id, "operator"); !fault.Is(err, fault.NotFound) {
				t.Errorf("again: %v", err)
			}
		}
		for _, phone := range []string{alice, bob} {
			if info, err := c.store.Phone(ctx, phone); err != nil || info != (ussd.PhoneInfo{}) {
				t.Errorf("%+v %v", info, err)
			}
		}
		if _, err := c.store.Session(ctx, "s1"); !errors.Is(err, ussd.ErrNoSession) {
			t.Errorf("a session is left: %v", err)
		}
		acts, err := c.people.Acts(ctx, "", 20)
		if err != nil || len(acts) != 4 {
			t.Errorf("%+v %v", acts, err)
		}
		for _, a := range acts {
			if strings.Contains(a.Detail+a.Actor+a.Account, alice[1:]) {
				t.Errorf("a number is kept: %+v", a)
			}
		}
	})
}
