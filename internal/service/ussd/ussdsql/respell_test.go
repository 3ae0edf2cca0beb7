package ussdsql_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// An account's id is typed in any case and is then one: wrong PINs under each
// spelling count against the one account, whose lock knows all of them.
func TestAccountHasOneSpelling(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node()
		id := register(t, ussdtest.NewPhone(svc, alice, "s1"), pin)
		spellings := []string{id, strings.ToLower(id), " " + id, strings.ToLower(id[:1]) + id[1:], id + " "}
		last := ""
		for i, spelling := range append(spellings, id) {
			p := ussdtest.NewPhone(svc, bob, "guess "+string(rune('a'+i)))
			p.Dial(t, "guess "+string(rune('a'+i)))
			p.Expect(t, "2", "", "1", "account ID")
			p.Expect(t, spelling, "")
			last = p.Type(t, "11111").Text
		}
		if !strings.Contains(last, "Too many wrong") {
			t.Errorf("after five guesses: %q", last)
		}
	})
}
