package ussdsql_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

const (
	ada = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
	eve = "did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH"
)

func (c counter) linkCode(t *testing.T, did, account string) string {
	t.Helper()
	told, err := c.people.LinkCode(t.Context(), did, account)
	if err != nil || len(told.Code) != 8 {
		t.Fatalf("%+v %v", told, err)
	}
	return told.Code
}

func (c counter) person(t *testing.T, account string) string {
	t.Helper()
	did, err := c.store.Link(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	return did
}

// link links an account with Ada at the telephone.
func (c counter) link(t *testing.T, p *ussdtest.Phone, session, account string) {
	t.Helper()
	code := c.linkCode(t, ada, account)
	p.Dial(t, session)
	p.Expect(t, "2", "", "1", "Enter your PIN", pin, "Welcome", "1", "My account", "1", "Link web",
		"1", "Enter your PIN", pin, "8 digits", code, "Link this account with "+ada[:12], "1", "Your account is linked")
}

// A code of the person's browser and the PIN make an account and a DID one; both
// sides end that.
func TestATelephoneAndADIDBecomeOnePerson(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(t *testing.T, c counter) {
		p := ussdtest.NewPhone(c.node(), alice, "s1")
		id := register(t, p, pin)
		c.link(t, p, "s2", id)
		if got := c.person(t, id); got != ada {
			t.Fatalf("linked with %q", got)
		}
		if links, err := c.people.LinkedAccounts(t.Context(), ada); err != nil || len(links) != 1 || links[0].Account != id {
			t.Errorf("%+v %v", links, err)
		}
		// At the telephone, with the PIN.
		p.Dial(t, "s3")
		p.Expect(t, "2", "", "1", "", pin, "Welcome", "1", "", "1", "Unlink", "2", "Enter your PIN", "99999", "Wrong PIN", pin, "not linked any more")
		if got := c.person(t, id); got != "" {
			t.Errorf("still linked with %q", got)
		}
		// In the browser, by the person alone.
		c.link(t, p, "s4", id)
		if err := c.people.Unlink(t.Context(), eve, id); err != nil || c.person(t, id) != ada {
			t.Errorf("somebody else unlinked it: %v", err)
		}
		for range 2 {
			if err := c.people.Unlink(t.Context(), ada, id); err != nil || c.person(t, id) != "" {
				t.Errorf("%v", err)
			}
		}
		acts, err := c.people.Acts(t.Context(), id, 10)
		if err != nil || len(acts) != 4 {
			t.Errorf("%+v %v", acts, err)
		}
	})
}

// A code links the account that it was made for, in time, once, and for who says yes.
func TestLinkCodesAreBounded(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(t *testing.T, c counter) {
		svc := c.node()
		p := ussdtest.NewPhone(svc, alice, "s1")
		id := register(t, p, pin)
		other := ussdtest.NewPhone(svc, bob, "t1")
		otherID := register(t, other, pin)
		enter := func(p *ussdtest.Phone, session, code, want string) {
			t.Helper()
			p.Dial(t, session)
			p.Expect(t, "2", "", "1", "", pin, "Welcome", "1", "", "1", "Link", "1", "Enter your PIN", pin, "8 digits", code, want)
		}
		code := c.linkCode(t, ada, id)
		enter(other, "t2", code, "Wrong code")
		enter(p, "s2", code, "Link this account")
		p.Expect(t, "2", "Name: Ann") // no
		p.Expect(t, "1", "Enter your PIN")
		if c.person(t, id)+c.person(t, otherID) != "" {
			t.Fatal("linked without a yes")
		}
		c.clock.Jump(ussdpeople.LinkTime + time.Second)
		enter(p, "s3", code, "Wrong code")
		code = c.linkCode(t, ada, id)
		enter(p, "s4", code, "Link this account")
		again := ussdtest.NewPhone(svc, alice, "")
		enter(again, "s5", code, "Link this account")
		p.Expect(t, "1", "is linked")
		again.Expect(t, "1", "no longer good")
		// Nobody learns which accounts there are.
		if told, err := c.people.LinkCode(t.Context(), eve, "C00000000"); err != nil || len(told.Code) != 8 {
			t.Errorf("%+v %v", told, err)
		}
		if _, err := c.people.LinkCode(t.Context(), eve, "me"); !fault.Is(err, fault.Invalid) {
			t.Errorf("no account: %v", err)
		}
	})
}

// Anybody may ask for a code: others that do so do not make the one go that is being typed.
func TestCodesOfStrangersDoNotPushOneOut(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(t *testing.T, c counter) {
		p := ussdtest.NewPhone(c.node(), alice, "s1")
		id := register(t, p, pin)
		code := c.linkCode(t, ada, id)
		for i := range 40 {
			c.clock.Jump(time.Second)
			c.linkCode(t, fmt.Sprintf("did:key:z6Mkstranger%d", i), id)
		}
		p.Dial(t, "s2")
		p.Expect(t, "2", "", "1", "", pin, "Welcome", "1", "", "1", "Link", "1", "Enter your PIN", pin, "8 digits", code, "Link this account")
	})
}

// The person resets the PIN with key and telephone; an operator who does so, or who
// moves or closes the account, ends the link.
func TestWhoResetsAPINOfALinkedAccount(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(t *testing.T, c counter) {
		ctx := t.Context()
		p := ussdtest.NewPhone(c.node(), alice, "s1")
		id := register(t, p, pin)
		if _, err := c.people.OwnResetCode(ctx, ada, id); !fault.Is(err, fault.NotFound) {
			t.Fatalf("a code for a foreign account: %v", err)
		}
		c.link(t, p, "s2", id)
		if _, err := c.people.OwnResetCode(ctx, eve, id); !fault.Is(err, fault.NotFound) {
			t.Fatalf("a code for a foreign account: %v", err)
		}
		reset := func(session, code, fresh string) {
			t.Helper()
			p.Dial(t, session)
			p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits", code, "Choose a new PIN", fresh, "again", fresh, "Welcome Ann")
		}
		told, err := c.people.OwnResetCode(ctx, ada, id)
		if err != nil {
			t.Fatal(err)
		}
		reset("s3", told.Code, pin)
		if c.person(t, id) != ada {
			t.Error("the person's own reset ended the link")
		}
		reset("s4", c.told(t, id), pin)
		if c.person(t, id) != "" {
			t.Error("an operator's reset kept the link")
		}
		c.link(t, p, "s5", id)
		told, err = c.people.OwnResetCode(ctx, ada, id)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.people.Unlink(ctx, ada, id); err != nil {
			t.Fatal(err)
		}
		p.Dial(t, "s6")
		p.Expect(t, "2", "", "1", "Enter your PIN", "01", "8 digits", told.Code, "Wrong account or code") // it went with the link
		c.link(t, p, "s7", id)
		if err := c.people.Move(ctx, id, bob, "operator"); err != nil || c.person(t, id) != "" {
			t.Errorf("a move kept the link: %v", err)
		}
	})
}
