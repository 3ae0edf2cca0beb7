package ussdsql_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// TestOnlyWhatExtendsTheHistoryMoves sends texts out of order, and texts that the
// session never had.
func TestOnlyWhatExtendsTheHistoryMoves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		nodes := []*ussd.Service{node(), node()}
		p := ussdtest.NewPhone(nodes[0], alice, "s1")
		p.Dial(t, "s1")
		p.Text = "1*2" // the 1 is late
		here := p.Again(t)
		if !strings.HasPrefix(here.Text, "Reading menus") {
			t.Fatalf("%q", here)
		}
		for i, text := range []string{"1", "2", "2*1", "1*", "1*3", "*", "1**", "1*2", "11*2"} {
			late := *p
			late.Handler, late.Text = nodes[i%2], text
			if got := late.Again(t); got != here {
				t.Errorf("%q moves to %q", text, got)
			}
		}
		p.Expect(t, "0", "What would you like")
		p.Dial(t, "s1")
		p.Expect(t, "1", "What would you like")
	})
}

// TestAForeignTextDrivesNobody is somebody who knows the id and the number of a
// session that is logged in, and not what was typed.
func TestAForeignTextDrivesNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node()
		p := ussdtest.NewPhone(svc, alice, "s1")
		register(t, p, pin)
		here := p.Type(t, "1")
		for _, text := range []string{"1", "2*1*99999*1"} {
			thief := *p
			thief.Text = text
			if got := thief.Again(t); got != here {
				t.Errorf("%q moves to %q", text, got)
			}
		}
		p.Expect(t, "1", "Name: Ann")
	})
}

// TestLongSessions ask several questions: where the text accumulates it grows
// beyond one message.
func TestLongSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node()
		send := func(dialect, session, text string) (ussd.Answer, error) {
			return svc.Handle(t.Context(), ussd.Request{
				Dialect: dialect, SessionID: session, ServiceCode: "*384*123#", Phone: alice, Text: text,
			})
		}
		text := "1"
		for len(text) < ussd.MaxText {
			text += "*2*0" // to the prices and back
		}
		for _, one := range []string{"", "1", text, text + "*2"} {
			if a, err := send(ussd.DialectAfricasTalking, "long", one); err != nil || a.End {
				t.Fatalf("%d characters: %q %v", len(one), a, err)
			}
		}
		if a, err := send(ussd.DialectAfricasTalking, "long", text+"*2"); err != nil || !strings.HasPrefix(a.Text, "Reading menus") {
			t.Errorf("%q %v", a, err)
		}
		if _, err := send(ussd.DialectAfricasTalking, "long", strings.Repeat("1*", ussd.MaxHistory/2)+"1"); err == nil {
			t.Error("a text without end was taken")
		}
		if _, err := send("", "law", text); err == nil {
			t.Error("the session endpoint takes more than the law allows")
		}
	})
}

// TestAnEndedIDIsFree for another telephone, and a live one is not.
func TestAnEndedIDIsFree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		nodes := []*ussd.Service{node(), node()}
		p := ussdtest.NewPhone(nodes[0], alice, "s1")
		register(t, p, pin)
		other := ussdtest.NewPhone(nodes[1], bob, "s1")
		if _, err := nodes[1].Handle(t.Context(), other.Request()); err == nil {
			t.Fatal("a live session was taken over")
		}
		p.Expect(t, "*", "END")
		if got := other.Dial(t, "s1"); !strings.HasPrefix(got.Text, "Welcome to Castalia") {
			t.Errorf("%q", got)
		}
		other.Expect(t, "2", "Account menu", "1", "account ID") // nothing of the first telephone is left
		if _, err := nodes[0].Handle(t.Context(), p.Request()); err == nil {
			t.Error("the first telephone continues the other's session")
		}
	})
}
