package ussdsmssql_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms/ussdsmssql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

const number = "+254700000001"

type fixture struct {
	*ussdsmssql.Store
	t  *testing.T
	db *sqldb.DB
}

func each(t *testing.T, body func(f fixture), change ...func(*ussdsmssql.Config)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, sqldbtest.Migrate(t, open(t), queue.Migrations()), ussdsql.Migrations())
		cfg := ussdsmssql.Config{
			Keys: ussdtest.Keys(t, ussdtest.Key), Limits: ussdsms.Limits{Number: 20, Day: 1000}, Backoff: time.Millisecond,
			Now: func() time.Time { return noon },
		}
		for _, c := range change {
			c(&cfg)
		}
		body(fixture{ussdsmssql.New(db, cfg), t, db})
	})
}

func (f fixture) tell(m ussdsms.Message) (refused string) {
	f.t.Helper()
	if err := f.db.Write(f.t.Context(), func(ctx context.Context, tx sqldb.Querier) (err error) {
		refused, err = f.TellIn(ctx, tx, m)
		return err
	}); err != nil {
		f.t.Fatal(err)
	}
	return refused
}

func message(id, phone, text string) ussdsms.Message {
	return ussdsms.Message{ID: id, Kind: ussdsms.KindReply, Phone: phone, Text: text, At: noon}
}

// drain sends until nothing waits, and returns what was sent.
func (f fixture) drain(gateway func(m ussdsms.Message) (ussdsms.Sent, error)) (sent []string) {
	f.t.Helper()
	ctx, stop := context.WithTimeout(f.t.Context(), time.Minute)
	defer stop()
	var working sync.WaitGroup
	var mu sync.Mutex
	working.Go(func() {
		if err := f.SendDue(ctx, func(_ context.Context, m ussdsms.Message) (ussdsms.Sent, error) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, m.ID+" "+m.Phone+" "+m.Text)
			return gateway(m)
		}); err != nil {
			f.t.Error(err)
		}
	})
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for slices.ContainsFunc(f.totals(), func(one ussdsms.Total) bool { return one.State == ussdsms.Waiting }) {
		select {
		case <-look.C:
		case <-ctx.Done():
			f.t.Fatal("it took too long")
		}
	}
	stop()
	working.Wait()
	return sent
}

func (f fixture) totals() []ussdsms.Total {
	f.t.Helper()
	all, err := f.Totals(f.t.Context(), noon)
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// A message that is told twice is sent once, is sealed while it waits, and leaves
// what it cost.
func TestMessagesAreSentOnce(t *testing.T) {
	t.Parallel()
	each(t, func(f fixture) {
		for range 2 {
			if refused := f.tell(message("a", number, "the code is 48217")); refused != "" {
				f.t.Error(refused)
			}
		}
		var sealed []byte
		if err := f.db.Read().QueryRowContext(f.t.Context(), `SELECT sealed FROM ussd_sms`).Scan(&sealed); err != nil ||
			strings.Contains(string(sealed), "48217") {
			f.t.Errorf("%q %v", sealed, err)
		}
		sent := f.drain(func(ussdsms.Message) (ussdsms.Sent, error) {
			return ussdsms.Sent{Reference: "r", Parts: 2, Cost: ussdsms.Cost{Micros: 800_000, Currency: "KES"}}, nil
		})
		if d := cmp.Diff([]string{"a " + number + " the code is 48217"}, sent); d != "" {
			f.t.Error(d)
		}
		want := []ussdsms.Total{{
			Kind: ussdsms.KindReply, State: ussdsms.Taken, Currency: "KES", Messages: 1, Parts: 2, Micros: 800_000,
		}}
		if d := cmp.Diff(want, f.totals()); d != "" {
			f.t.Error(d)
		}
		if err := f.db.Read().QueryRowContext(f.t.Context(), `SELECT sealed FROM ussd_sms`).Scan(&sealed); err != nil || len(sealed) != 0 {
			f.t.Errorf("the text is still there: %v", err)
		}
		f.tell(message("a", number, "the code is 48217"))
		if got := f.totals(); len(got) != 1 {
			f.t.Errorf("told again: %+v", got)
		}
	})
}

// Failures are tried again up to a point, refusals are not, and what the gateway does
// not price is priced by the setting.
func TestWhatComesOfTries(t *testing.T) {
	t.Parallel()
	each(t, func(f fixture) {
		f.tell(message("down", number, "x"))
		tries, troubles := 0, ""
		if n := len(f.drain(func(ussdsms.Message) (ussdsms.Sent, error) {
			why, err := f.Trouble(f.t.Context())
			if tries++; tries <= 2 && why != "" || tries == 3 && why == "" {
				troubles = why + "!"
			}
			return ussdsms.Sent{}, errors.Join(errors.New("no connection"), err)
		})); n != 6 || troubles != "" {
			f.t.Errorf("%d tries, %q", n, troubles)
		}
		if why, err := f.Trouble(f.t.Context()); err != nil || why != "" {
			f.t.Errorf("%q %v", why, err)
		}
		f.tell(message("no", number, "x"))
		f.drain(func(ussdsms.Message) (ussdsms.Sent, error) {
			return ussdsms.Sent{}, &ussdsms.RefusedError{Reason: "the gateway answered code 403"}
		})
		f.tell(message("yes", number, strings.Repeat("x", 200)))
		f.drain(func(ussdsms.Message) (ussdsms.Sent, error) { return ussdsms.Sent{}, nil })
		want := []ussdsms.Total{
			{Kind: ussdsms.KindReply, State: ussdsms.Failed, Messages: 2, Parts: 2},
			{Kind: ussdsms.KindReply, State: ussdsms.Taken, Currency: "USD", Messages: 1, Parts: 2, Micros: 20_000},
		}
		if d := cmp.Diff(want, f.totals()); d != "" {
			f.t.Error(d)
		}
	}, func(c *ussdsmssql.Config) { c.Price = ussdsms.Cost{Micros: 10_000, Currency: "USD"} })
}

// Whatever the number of writers, no number and no day gets more than its parts, and
// the next day begins anew.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	each(t, func(f fixture) {
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		for i := range 24 {
			all.Go(func() {
				refused := f.tell(message(fmt.Sprint("m", i), fmt.Sprintf("+25470000000%d", i%3), strings.Repeat("x", 200)))
				mu.Lock()
				defer mu.Unlock()
				got[refused]++
			})
		}
		all.Wait()
		// Ten parts in all are five messages of two; a number may have three of them.
		if got[""] != 5 || got[ussdsms.RefusedNumber]+got[ussdsms.RefusedDay] != 19 {
			f.t.Errorf("%v", got)
		}
		code := message("code", "+254700000009", "x") // a tenth of the day is kept for them
		if refused := f.tell(message("more", "+254700000009", "x")); refused != ussdsms.RefusedDay {
			f.t.Errorf("beyond the day: %q", refused)
		}
		code.Kind = ussdsms.KindCode
		if refused := f.tell(code); refused != "" {
			f.t.Errorf("a code: %s", refused)
		}
		next := message("tomorrow", number, "x")
		next.At = noon.AddDate(0, 0, 1)
		if refused := f.tell(next); refused != "" {
			f.t.Error(refused)
		}
		if refused := f.tell(message("long", "+254700000009", strings.Repeat("x", 2000))); refused != ussdsms.RefusedNumber {
			f.t.Error(refused)
		}
	}, func(c *ussdsmssql.Config) { c.Limits = ussdsms.Limits{Number: 7, Day: 11} })
}

// An incoming message is asked once, however often it comes; failures come again; and
// the reply is a message of its own.
func TestIncomingMessagesAreAskedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(f fixture) {
		in := ussdsms.Incoming{ID: "g:1", Phone: number, Text: "Why?", At: noon}
		for i, want := range []bool{true, false} {
			if fresh, err := f.Receive(f.t.Context(), in); err != nil || fresh != want {
				f.t.Errorf("%d: %t %v", i, fresh, err)
			}
		}
		ctx, stop := context.WithTimeout(f.t.Context(), time.Minute)
		defer stop()
		asked := 0
		if err := f.AskDue(ctx, func(_ context.Context, got ussdsms.Incoming) (string, error) {
			asked++
			if got.Text != "Why?" || got.Phone != number || got.Last != (asked == 3) {
				f.t.Errorf("%d: %+v", asked, got)
			}
			if asked < 3 {
				return "", errors.New("not yet")
			}
			defer stop()
			return "Because.", nil
		}); err != nil {
			f.t.Error(err)
		}
		sent := f.drain(func(ussdsms.Message) (ussdsms.Sent, error) { return ussdsms.Sent{}, nil })
		if d := cmp.Diff([]string{"reply/g:1 " + number + " Because."}, sent); d != "" {
			f.t.Error(d)
		}
		if fresh, err := f.Receive(f.t.Context(), in); err != nil || fresh {
			f.t.Errorf("later: %t %v", fresh, err)
		}
	})
}

// A question whose answer could not be sent costs nobody an answer.
func TestNobodyIsAskedInVain(t *testing.T) {
	t.Parallel()
	each(t, func(f fixture) {
		const stopped, full, other = "+254700000002", "+254700000003", "+254700000004"
		f.tell(message("all of the day", full, strings.Repeat("x", 200)))
		for i, in := range []ussdsms.Incoming{
			{Phone: stopped, Text: "STOP"},
			{Phone: stopped, Text: "Why?"},
			{Phone: full, Text: "Why?"},
			{Phone: other, Text: "Why?"},
		} {
			in.ID, in.At = fmt.Sprint("g:", i), noon
			if _, err := f.Receive(f.t.Context(), in); err != nil {
				f.t.Fatal(err)
			}
		}
		ctx, stop := context.WithTimeout(f.t.Context(), time.Minute)
		defer stop()
		var working sync.WaitGroup
		working.Go(func() {
			if err := f.AskDue(ctx, func(_ context.Context, in ussdsms.Incoming) (string, error) {
				if in.Phone != other {
					f.t.Errorf("%s was asked for", in.Phone)
				}
				return "Because.", nil
			}); err != nil {
				f.t.Error(err)
			}
		})
		want := []ussdsms.Total{
			{Kind: ussdsms.KindReply, State: ussdsms.Refused, Messages: 2, Parts: 2},
			{Kind: ussdsms.KindReply, State: ussdsms.Waiting, Messages: 2, Parts: 3},
		}
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for !cmp.Equal(want, f.totals()) {
			select {
			case <-look.C:
			case <-ctx.Done():
				f.t.Fatalf("%+v", f.totals())
			}
		}
		stop()
		working.Wait()
	}, func(c *ussdsmssql.Config) { c.Limits.Number = 2 })
}

// STOP ends all messages to a number, START begins them again, and neither asks.
func TestNumbersMayWantNoMessages(t *testing.T) {
	t.Parallel()
	each(t, func(f fixture) {
		say := func(id, text string) {
			if _, err := f.Receive(f.t.Context(), ussdsms.Incoming{ID: id, Phone: number, Text: text, At: noon}); err != nil {
				f.t.Fatal(err)
			}
		}
		say("g:1", "stop")
		if refused := f.tell(message("a", number, "x")); refused != ussdsms.RefusedStopped {
			f.t.Error(refused)
		}
		if refused := f.tell(message("b", "+254700000002", "x")); refused != "" {
			f.t.Error(refused)
		}
		say("g:2", "START")
		if refused := f.tell(message("c", number, "x")); refused != "" {
			f.t.Error(refused)
		}
		var waiting int
		if err := f.db.Read().QueryRowContext(f.t.Context(), `SELECT COUNT(*) FROM queue_items WHERE queue = 'sms received'`).Scan(&waiting); err != nil || waiting != 0 {
			f.t.Errorf("%d wait to be asked, %v", waiting, err)
		}
	})
}

// What was sealed under a key that is gone is given up, and not tried for ever.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	each(t, func(f fixture) {
		f.tell(message("a", number, "x"))
		f.Store = ussdsmssql.New(f.db, ussdsmssql.Config{
			Keys: ussdtest.Keys(f.t, ussdtest.OldKey), Backoff: time.Millisecond, Now: time.Now,
		})
		if sent := f.drain(func(ussdsms.Message) (ussdsms.Sent, error) { return ussdsms.Sent{}, nil }); len(sent) != 0 {
			f.t.Errorf("%q", sent)
		}
		if got := f.totals(); len(got) != 1 || got[0].State != ussdsms.Failed {
			f.t.Errorf("%+v", got)
		}
	})
}

// A report is of a message that the gateway took, counts once, and takes nothing back that
// arrived; what it cost stays.
func TestReportsAreCountedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(f fixture) {
		for _, id := range []string{"a", "b", "c"} {
			f.tell(message(id, number, "Hello"))
		}
		f.drain(func(m ussdsms.Message) (ussdsms.Sent, error) {
			if m.ID == "c" {
				return ussdsms.Sent{}, nil // taken, and nobody knows under which name
			}
			return ussdsms.Sent{Reference: "ref-" + m.ID, Parts: 1, Cost: ussdsms.Cost{Micros: 800_000, Currency: "KES"}}, nil
		})
		for _, step := range []struct {
			reference string
			state     ussdsms.State
			want      ussdsms.Kind
		}{
			{"ref-a", ussdsms.Delivered, ussdsms.KindReply},
			{"ref-a", ussdsms.Delivered, ""},
			{"ref-a", ussdsms.Undelivered, ""},
			{"ref-b", ussdsms.Undelivered, ussdsms.KindReply},
			{"ref-b", ussdsms.Undelivered, ""},
			{"ref-b", ussdsms.Delivered, ussdsms.KindReply},
			{"ref-x", ussdsms.Delivered, ""},
			{"", ussdsms.Delivered, ""},
		} {
			kind, err := f.Report(f.t.Context(), ussdsms.Report{Reference: step.reference, State: step.state})
			if kind != step.want || err != nil {
				f.t.Errorf("%+v: %q %v", step, kind, err)
			}
		}
		want := []ussdsms.Total{
			{Kind: ussdsms.KindReply, State: ussdsms.Delivered, Currency: "KES", Messages: 2, Parts: 2, Micros: 1_600_000},
			{Kind: ussdsms.KindReply, State: ussdsms.Taken, Messages: 1, Parts: 1},
		}
		if d := cmp.Diff(want, f.totals()); d != "" {
			f.t.Error(d)
		}
	})
}
