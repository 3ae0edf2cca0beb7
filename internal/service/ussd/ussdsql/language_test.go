package ussdsql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
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
		// Whoever has an account has a language.
		r := ussdtest.NewPhone(node(), "+260971230004", "n5")
		register(t, r, "70382")
		r.Handler = svc
		if got := r.Dial(t, "n6").Text; strings.HasPrefix(got, "Choose") {
			t.Errorf("with an account: %q", got)
		}
	})
}

// Messages are in the language that the number chose, else in that of the person whose
// account is at the number; two who speak differently say nothing about it.
func TestMessagesAreInTheLanguageOfTheNumberElseOfThePerson(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		x := &texts{}
		store := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations())).WithTexts(x)
		svc := ussdtest.Service(t, store, func(c *ussd.Config) { c.LanguageFirst = true })
		people := ussdpeople.New(store, ussdpeople.Config{Keys: ussdtest.Keys(t, ussdtest.Key)})
		speaks := func(phone, want string) {
			t.Helper()
			if got, err := store.LanguageOf(t.Context(), phone); err != nil || got != want {
				t.Errorf("%s is written to in %q, %v; want %q", phone, got, err, want)
			}
		}
		const swahili, english, moved = "+260971230005", "+260971230006", "+260971230007"
		speaks(swahili, "")
		join := func(phone, session, choice string) (account string) {
			t.Helper()
			p := ussdtest.NewPhone(svc, phone, session)
			p.Dial(t, session)
			p.Expect(t, choice, "CON ", "2", "", "2", "", "Ann", "", "00", "", pin, "", pin, "")
			list, err := store.AccountsOf(t.Context(), phone, 2)
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v %v", list, err)
			}
			return list[0].ID
		}
		first, second := join(swahili, "w1", "2"), join(english, "w2", "1")
		speaks(swahili, "sw")
		speaks(english, "en")
		// A number that never dialled has the person whose account was moved to it.
		if err := people.Move(t.Context(), first, moved, "operator"); err != nil {
			t.Fatal(err)
		}
		speaks(moved, "sw")
		if err := people.Move(t.Context(), second, moved, "operator"); err != nil {
			t.Fatal(err)
		}
		speaks(moved, "")
		if _, err := people.SendResetCode(t.Context(), first, "operator"); err != nil {
			t.Fatal(err)
		}
		// What the number chooses comes first, also for codes.
		p := ussdtest.NewPhone(svc, moved, "w3")
		p.Dial(t, "w3")
		p.Expect(t, "1", "CON ")
		speaks(moved, "en")
		if _, err := people.SendResetCode(t.Context(), first, "operator"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(x.said, ", "); got != "code "+moved+" sw, code "+moved+" en" {
			t.Errorf("codes were written as %s", got)
		}
	})
}
