package ussdsql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdform"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// told is an outbox that remembers, or fails.
type told struct {
	owners, bodies []string
	err            error
}

func (o *told) EmitIn(_ context.Context, _ sqldb.Querier, owner, kind string, _ time.Time, data any) error {
	body, err := json.Marshal(data)
	o.owners, o.bodies = append(o.owners, owner+" "+kind), append(o.bodies, string(body))
	return errors.Join(o.err, err)
}

func (o *told) KeepCall(_ context.Context, _ sqldb.Querier, record any, again bool) error {
	o.bodies = append(o.bodies, fmt.Sprint(record, " ", again))
	return o.err
}

// TestAFormIsKeptOnce with who and when, on both engines: if its sender agreed, if
// each value is of its kind, and together with its event.
func TestAFormIsKeptOnce(t *testing.T) {
	t.Parallel()
	menu, err := ussd.ParseMenu("forms.yaml", []byte(ussdtest.FormMenu), ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		out := &told{}
		store := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations())).WithOutbox(out)
		clock := ussdtest.NewClock()
		svc := ussdtest.Service(t, store, clock.Set, func(c *ussd.Config) { c.Menus = ussdbook.Of(menu) })
		send := func(id, text string) string {
			t.Helper()
			a, err := svc.Handle(t.Context(), ussd.Request{SessionID: id, ServiceCode: "*1#", Phone: alice, Text: text})
			if err != nil {
				return err.Error()
			}
			return a.String()
		}
		walk := func(id, last string) (answer string) {
			t.Helper()
			for i := range strings.Count(last, "*") + 1 {
				answer = send(id, strings.Join(strings.Split(last, "*")[:i+1], "*"))
			}
			return answer
		}
		send("a", "")
		for range 2 { // the gateway repeats itself
			if got := walk("a", "Ann*12,5*03021990*2*1"); !strings.HasPrefix(got, "END Thank you") {
				t.Fatal(got)
			}
		}
		send("b", "")
		if got := walk("b", "Bob*12*03021990*1*2"); !strings.HasPrefix(got, "END Not kept") {
			t.Error(got)
		}
		send("c", "")
		if got := walk("c", "Cid*many*03021990*1*1"); !strings.HasPrefix(got, "CON Name") {
			t.Error(got)
		}
		found, err := store.Submissions(t.Context(), "farm", "", 10)
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v %v", found, err)
		}
		one := found[0]
		values, err := json.Marshal(one.Values)
		if err != nil || string(values) != `[{"field":"name","kind":"text","value":"Ann"},{"field":"acres","kind":"number","value":"12.5"},{"field":"born","kind":"date","value":"1990-02-03"},{"field":"crop","kind":"choice","value":"beans"}]` {
			t.Errorf("%s %v", values, err)
		}
		if one.Phone != alice || one.Form != "farm" || one.Language != "en" || one.Menu != menu.Version() ||
			!one.At.Equal(clock.Now().Truncate(time.Millisecond)) {
			t.Errorf("%+v", one)
		}
		if len(out.owners) != 1 || out.owners[0] != "did:key:zowner form.submitted" ||
			strings.Contains(out.bodies[0], alice[1:]) || !strings.Contains(out.bodies[0], `"value":"beans"`) {
			t.Errorf("%v %v", out.owners, out.bodies)
		}
		// An event that cannot be written keeps the form away too, and the caller
		// is not thanked.
		clock.Jump(time.Second)
		send("d", "")
		walk("d", "Dan*1*03021990*1")
		out.err = errors.New("no room")
		if got := send("d", "Dan*1*03021990*1*1"); strings.Contains(got, "Thank you") {
			t.Error(got)
		}
		out.err = nil
		if got := send("d", "Dan*1*03021990*1*1"); !strings.HasPrefix(got, "END Thank you") {
			t.Error(got)
		}
		counts, err := store.Forms(t.Context())
		if err != nil || len(counts) != 1 || counts[0].Form != "farm" || counts[0].Submissions != 2 {
			t.Fatalf("%+v %v", counts, err)
		}
		var csv strings.Builder
		if err := ussdform.Export(t.Context(), store, "farm", &csv, func(string) string {
			return "x"
		}); err != nil || strings.Count(csv.String(), "\n") != 3 || !strings.Contains(csv.String(), ",Ann,12.5,1990-02-03,beans\n") {
			t.Errorf("%q %v", csv.String(), err)
		}
		if next, err := store.Submissions(t.Context(), "farm", one.ID, 10); err != nil || len(next) != 1 ||
			next[0].Values[0].Text != "Dan" {
			t.Errorf("%+v %v", next, err)
		}
		for _, want := range []bool{true, false} {
			if was, err := store.DeleteSubmission(t.Context(), "farm", one.ID); err != nil || was != want {
				t.Errorf("%v %v", was, err)
			}
		}
		if was, err := store.DeleteSubmission(t.Context(), "other", found[0].ID); err != nil || was {
			t.Errorf("%v %v", was, err)
		}
		// What a number sent without an account goes with the last account of the number,
		// whose receipt says that nothing is left of it; what others sent stays.
		for _, text := range []string{"", "Eve", "Eve*1", "Eve*1*03021990", "Eve*1*03021990*1", "Eve*1*03021990*1*1"} {
			request := ussd.Request{SessionID: "e", ServiceCode: "*1#", Phone: bob, Text: text}
			if _, err := svc.Handle(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		account := register(t, ussdtest.NewPhone(ussdtest.Service(t, store, clock.Set), alice, "z"), pin)
		receipt, err := store.EraseAccount(t.Context(), ussdpeople.Act{
			At: clock.Now(), Actor: "operator", Act: ussdpeople.ActErase, Account: account,
		})
		if err != nil || !receipt.Telephone || receipt.Forms != 1 {
			t.Errorf("%+v %v", receipt, err)
		}
		if left, err := store.Submissions(t.Context(), "farm", "", 10); err != nil || len(left) != 1 || left[0].Phone != bob {
			t.Errorf("%+v %v", left, err)
		}
	})
}
