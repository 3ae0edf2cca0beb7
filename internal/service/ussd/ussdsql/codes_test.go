package ussdsql_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// clinicToo is the built-in menu for all codes but one, and another for that.
func clinicToo(t *testing.T, welcome string) string {
	t.Helper()
	return string(ussd.DefaultMenuSource()) + `---
name: Clinic
codes: ["*384*7#"]
languages: [sw]
include: [ends]
start: home
screens:
  home: {text: {sw: ` + welcome + `}, options: [{key: "1", label: {sw: Saa}, next: hours}], exit: true}
  hours: {text: {sw: Saa mbili}, back: home, exit: true}
---
shared: ends
exit: bye
labels: {back: {sw: Rudi}, exit: {sw: Toka}, next: {sw: Zaidi}, previous: {sw: Nyuma}, invalid: {sw: Si sahihi.}}
screens: {bye: {end: true, text: {sw: Kwaheri}}}
`
}

// Each code has its menu, at every node, and a session keeps the one that it began on.
func TestCodesHaveTheirMenus(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		menus := func(welcome string) func(*ussd.Config) {
			return func(c *ussd.Config) {
				b, err := ussd.ParseMenus(t.Context(), "menus.yaml", []byte(clinicToo(t, welcome)), ussdmenu.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				c.Menus = b
			}
		}
		one := node(menus("Zahanati"))
		p := ussdtest.NewPhone(one, alice, "c1")
		if got := p.Dial(t, "c1").Text; !strings.HasPrefix(got, "Welcome to Castalia") {
			t.Errorf("*2233# shows %q", got)
		}
		q := ussdtest.NewPhone(one, "+260971230009", "c2")
		q.Code = "*384*7#"
		if got := q.Dial(t, "c2").Text; !strings.HasPrefix(got, "Zahanati\n1. Saa") {
			t.Errorf("*384*7# shows %q", got)
		}
		q.Handler = node(menus("Karibu zahanati")) // a node with a newer file
		q.Expect(t, "1", "Saa mbili", "0", "CON Zahanati")
		if got := q.Dial(t, "c3").Text; !strings.HasPrefix(got, "Karibu zahanati") {
			t.Errorf("the next session shows %q", got)
		}
		q.Handler = node() // one without the file
		q.Expect(t, "1", "Saa mbili", "*", "END Kwaheri")
	})
}
