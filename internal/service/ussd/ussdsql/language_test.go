package ussdsql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// A number chooses its language once; it is known at every node, whatever is repeated.
func TestANewNumberIsAskedForItsLanguage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		first := func(c *ussd.Config) { c.LanguageFirst = true }
		p := ussdtest.NewPhone(node(first), alice, "l1")
		if got := p.Dial(t, "l1").Text; !strings.HasPrefix(got, "Choose your language. Chagua lugha.\n1. English\n2. Kiswahili") {
			t.Fatalf("the first screen is %q", got)
		}
		p.Expect(t, "7", "Invalid selection.")
		if got := p.Dial(t, "l2").Text; !strings.HasPrefix(got, "Choose") {
			t.Errorf("before the choice: %q", got)
		}
		p.Expect(t, "2", "CON Karibu Castalia")
		p.Handler = node(first)
		if got := p.Again(t).Text; !strings.HasPrefix(got, "Karibu") {
			t.Errorf("again at another node: %q", got)
		}
		if got := p.Dial(t, "l3").Text; !strings.HasPrefix(got, "Karibu") {
			t.Errorf("the next dial: %q", got)
		}
	})
}

// The law's first screen is the welcome menu, a long code keeps its meaning, and who is
// cut off at the question is asked again.
func TestTheLanguageIsNotAlwaysAskedFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		if got := ussdtest.NewPhone(node(), alice, "n1").Dial(t, "n1").Text; !strings.HasPrefix(got, "Welcome to Castalia") {
			t.Errorf("without the setting: %q", got)
		}
		svc := node(func(c *ussd.Config) { c.LanguageFirst, c.ResumeWindow = true, time.Hour })
		p := ussdtest.NewPhone(svc, "+260971230002", "n2")
		p.Text = "1*2"
		if got := p.Again(t).Text; !strings.Contains(got, "free of charge") {
			t.Errorf("a long code leads to %q", got)
		}
		q := ussdtest.NewPhone(svc, "+260971230003", "n3")
		q.Dial(t, "n3")
		if got := q.Dial(t, "n4").Text; !strings.HasPrefix(got, "Choose your language") {
			t.Errorf("after it was cut off: %q", got)
		}
		// Who has an account has a language.
		r := ussdtest.NewPhone(node(), "+260971230004", "n5")
		register(t, r, "70382")
		r.Handler = svc
		if got := r.Dial(t, "n6").Text; strings.HasPrefix(got, "Choose") {
			t.Errorf("with an account: %q", got)
		}
	})
}
