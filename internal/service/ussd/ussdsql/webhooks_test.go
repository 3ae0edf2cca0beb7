package ussdsql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// programs plays the owners' programs.
type programs struct {
	mu    sync.Mutex
	calls []ussdhook.Call
	reply func(ctx context.Context, c ussdhook.Call) (ussdhook.Reply, error)
}

func (p *programs) CallWebhook(ctx context.Context, c ussdhook.Call) (ussdhook.Reply, error) {
	p.mu.Lock()
	p.calls = append(p.calls, c)
	reply := p.reply
	p.mu.Unlock()
	r, err := reply(ctx, c)
	r.Record = c.Name
	return r, err
}

func says(status int, body string) func(context.Context, ussdhook.Call) (ussdhook.Reply, error) {
	return func(context.Context, ussdhook.Call) (ussdhook.Reply, error) {
		return ussdhook.Reply{Status: status, Body: []byte(body)}, nil
	}
}

// hangs answers when nobody waits any more.
func hangs(ctx context.Context, _ ussdhook.Call) (ussdhook.Reply, error) {
	<-ctx.Done()
	return ussdhook.Reply{}, nil
}

func hookService(t *testing.T, db *sqldb.DB, change ...func(*ussd.Config)) (*ussd.Service, *programs, *told) {
	t.Helper()
	menu, err := ussd.ParseMenu("hooks.yaml", ussdtest.HookMenu(ussdtest.HookEndpoint), ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	out, p := &told{}, &programs{reply: says(200, `{"price":"40"}`)}
	store := ussdsql.New(sqldbtest.Migrate(t, db, ussdsql.Migrations())).WithOutbox(out)
	return ussdtest.Service(t, store, append(change, func(c *ussd.Config) {
		c.Menus, c.Webhooks = ussdbook.Of(menu), p
	})...), p, out
}

// What a program says is shown, whole or not at all; what it did not answer is kept to
// be sent again, where that is of use.
func TestMenusCallWebhooks(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		svc, p, out := hookService(t, open(t), func(c *ussd.Config) { c.OracleWait = 20 * time.Millisecond })
		phone := ussdtest.NewPhone(svc, "+260971230001", "")
		sessions := 0
		order := func(reply func(context.Context, ussdhook.Call) (ussdhook.Reply, error), want, kept string) {
			t.Helper()
			sessions++
			p.reply = says(200, `{"price":40}`)
			phone.Dial(t, fmt.Sprint("s", sessions))
			phone.Expect(t, "maize", "maize is 40.")
			p.reply, out.bodies = reply, nil
			phone.Expect(t, "7", want)
			if got := strings.Join(out.bodies, ","); got != kept {
				t.Errorf("%s: kept %q, not %q", want, got, kept)
			}
			n := len(p.calls)
			if phone.Again(t); len(p.calls) != n || !strings.Contains(phone.Again(t).String(), want) {
				t.Error("a repeated delivery called again")
			}
		}
		order(says(200, `{"why":""}`), "Ordered", "order false")
		last := p.calls[len(p.calls)-1]
		if last.Data.Values["crop"] != "maize" || last.Data.Values["bags"] != "7" || len(last.Data.Values) != 2 ||
			last.Data.Language != "en" ||
			strings.Contains(fmt.Sprint(last), "0971230001") || len(last.ID) != 30 || !strings.HasPrefix(last.ID, "evt_") ||
			last.Data.Caller == "" {
			t.Errorf("%+v", last)
		}
		order(says(422, `{"why":"sold out"}`), "Refused: sold out", "order false")
		order(says(404, `no JSON`), "Refused: ", "order false")
		order(says(200, `{}`), "Not ordered", "order false")
		order(says(200, `{"why":"`+strings.Repeat("long ", 9)+`"}`), "Not ordered", "order false")
		order(says(503, `{"why":"x"}`), "We have your order", "order true")
		order(says(429, ``), "We have your order", "order true")
		order(hangs, "We have your order", "order true")
		order(func(context.Context, ussdhook.Call) (ussdhook.Reply, error) {
			return ussdhook.Reply{}, fault.New(fault.NotFound, "closed")
		}, "Not ordered", "")

		// A price of no use later is not asked for again, and an old one is not shown.
		phone.Dial(t, "stale")
		p.reply = says(200, `{"price":"123.50"}`)
		phone.Expect(t, "beans", "beans is 123.50.", "0", "Crop?")
		p.reply, out.bodies = hangs, nil
		phone.Expect(t, "beans", "No price. \n")
		if fmt.Sprint(out.bodies) != "[price false]" {
			t.Error(out.bodies)
		}
	})
}

// A hop that could not be stored is made again as the same call.
func TestAWebhookCallKeepsItsName(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		clock := ussdtest.NewClock()
		svc, p, out := hookService(t, open(t), clock.Set)
		phone := ussdtest.NewPhone(svc, "+260971230001", "")
		phone.Dial(t, "a")
		phone.Expect(t, "maize", "maize is 40.")
		out.err, phone.Text = errors.New("the node dies here"), "maize*7"
		if _, err := svc.Handle(t.Context(), phone.Request()); err == nil {
			t.Fatal("answered what was not stored")
		}
		out.err, p.reply = nil, says(200, `{"why":"-"}`)
		phone.Expect(t, "", "Ordered")
		n := len(p.calls)
		if n < 3 || p.calls[n-1].ID != p.calls[n-2].ID || p.calls[n-1].ID == p.calls[0].ID {
			t.Errorf("%d calls: %+v", n, p.calls)
		}
	})
}

// Programs that never answer hold their own sessions and nobody else's.
func TestAHangingWebhookSlowsNobody(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		svc, p, _ := hookService(t, open(t), func(c *ussd.Config) { c.OracleWait = time.Minute })
		var hanging sync.WaitGroup
		began := make(chan struct{}, 200)
		p.reply = func(ctx context.Context, c ussdhook.Call) (ussdhook.Reply, error) {
			began <- struct{}{}
			return hangs(ctx, c)
		}
		ctx, let := context.WithCancel(t.Context())
		for i := range 200 {
			hanging.Go(func() {
				req := ussd.Request{SessionID: fmt.Sprint("h", i), ServiceCode: "*1#", Phone: fmt.Sprintf("+2609712%05d", i)}
				if _, err := svc.Handle(ctx, req); err != nil {
					t.Error(err)
				}
				req.Text = "maize"
				_, _ = svc.Handle(ctx, req) // ends with the test
			})
		}
		for range 200 {
			<-began
		}
		for i := range 50 { // all two hundred hang meanwhile
			phone := ussdtest.NewPhone(svc, fmt.Sprintf("+2609713%05d", i), "")
			if got := phone.Dial(t, fmt.Sprint("o", i)).String(); !strings.HasPrefix(got, "CON Welcome") {
				t.Fatal(got)
			}
			phone.Expect(t, "1", "Letters.")
		}
		let()
		hanging.Wait()
	})
}
