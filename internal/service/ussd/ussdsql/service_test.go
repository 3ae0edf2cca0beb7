package ussdsql_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

const alice = "+260971230001"

// each runs body on both engines, with a function that makes another node on
// the same database.
func each(t *testing.T, body func(t *testing.T, node func(change ...func(*ussd.Config)) *ussd.Service)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
		body(t, func(change ...func(*ussd.Config)) *ussd.Service {
			return ussdtest.Service(t, ussdsql.New(db), change...)
		})
	})
}

var accountID = regexp.MustCompile(`C[0-9A-F]{8}`)

// register creates an account and returns its id; the telephone is logged in.
func register(t *testing.T, p *ussdtest.Phone, pin string) string {
	t.Helper()
	p.Dial(t, p.Session)
	p.Expect(t, "2", "Account menu", "2", "full name", "Ann Wanjiru", "e-mail", "00", "PIN of 5", pin, "again")
	done := p.Type(t, pin).Text
	id := accountID.FindString(done)
	if id == "" {
		t.Fatalf("no account id in %q", done)
	}
	return id
}

func TestAnotherNodeContinuesTheSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		one, two := node(), node()
		p := ussdtest.NewPhone(one, alice, "s1")
		p.Dial(t, "s1")
		p.Expect(t, "2", "Account menu")
		p.Handler = two
		p.Expect(t, "2", "full name")
		p.Handler = one // whose memory of the session is old by now
		p.Expect(t, "Ann", "e-mail")
		p.Handler = node() // a process that was started after a kill
		p.Expect(t, "00", "PIN of 5")
	})
}

func TestARetransmissionMovesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		one, two := node(), node()
		p := ussdtest.NewPhone(one, alice, "s1")
		p.Dial(t, "s1")
		p.Type(t, "2")
		want := p.Type(t, "2")
		for _, n := range []*ussd.Service{one, two, one, node()} {
			p.Handler = n
			if got := p.Again(t); got != want {
				t.Fatalf("replay = %q, want %q", got, want)
			}
		}
		late := *p
		late.Text = "2" // the hop before, delivered late
		if got := late.Again(t); got != want {
			t.Errorf("late delivery = %q, want the present screen", got)
		}
		p.Expect(t, "Ann", "e-mail")
	})
}

func TestManyDeliveriesOfOneInputMoveOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		nodes := []*ussd.Service{node(), node(), node()}
		p := ussdtest.NewPhone(nodes[0], alice, "s1")
		p.Dial(t, "s1")
		p.Type(t, "2")
		p.Text += "*2"
		answers := make([]ussd.Answer, 200)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				same := *p
				same.Handler = nodes[i%len(nodes)]
				answers[i] = same.Again(t)
			})
		}
		wg.Wait()
		for _, a := range answers {
			if a != answers[0] || !strings.Contains(a.Text, "full name") {
				t.Fatalf("answers differ: %q and %q", a, answers[0])
			}
		}
		v, err := nodes[0].Look(t.Context(), "s1")
		if err != nil || v.Hops != 3 {
			t.Errorf("hops = %d (%v), want 3", v.Hops, err)
		}
	})
}

func TestDialLandsOnAWalkWithoutSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node()
		p := ussdtest.NewPhone(svc, alice, "long")
		p.Text = "1*2" // dialled *2233*1*2#
		if got := p.Again(t).Text; !strings.HasPrefix(got, "Reading menus") {
			t.Errorf("long code shows %q", got)
		}
		p = ussdtest.NewPhone(svc, alice, "lost")
		p.Text = "2*2*Ann*00*70382*70382" // a session that the store does not know
		if got := p.Again(t).Text; !strings.HasPrefix(got, "Choose a PIN") {
			t.Errorf("lost session shows %q", got)
		}
		p.Expect(t, "70382", "again", "70382", "account ID is C")
	})
}

func TestAnotherTelephoneIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node()
		p := ussdtest.NewPhone(svc, alice, "s1")
		p.Dial(t, "s1")
		thief := ussdtest.NewPhone(svc, "+260971239999", "s1")
		for _, text := range []string{"", "1", "2*2"} {
			thief.Text = text
			if _, err := svc.Handle(t.Context(), thief.Request()); err == nil {
				t.Errorf("text %q of another telephone was answered", text)
			}
		}
		p.Expect(t, "1", "like to know")
	})
}

func TestSessionsExpireAndAreSwept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		clock := ussdtest.NewClock()
		svc := node(clock.Set)
		p := ussdtest.NewPhone(svc, alice, "s1")
		p.Dial(t, "s1")
		p.Expect(t, "1", "like to know")
		clock.Jump(179 * time.Second)
		if _, err := svc.Look(t.Context(), "s1"); err != nil {
			t.Fatalf("before the TTL: %v", err)
		}
		clock.Jump(2 * time.Second)
		if _, err := svc.Look(t.Context(), "s1"); err == nil {
			t.Error("an expired session is found")
		}
		if ids, _, _ := svc.Active(t.Context()); len(ids) != 0 {
			t.Errorf("active: %v", ids)
		}
		p.Expect(t, "2", "Reading menus") // walked again from the start
		end := ussdtest.NewPhone(svc, alice, "s2")
		end.Dial(t, "s2")
		if a := end.Type(t, "*"); !a.End {
			t.Fatalf("exit answers %v", a)
		}
		if v, err := svc.Look(t.Context(), "s2"); err != nil || v.Status != "done" {
			t.Errorf("ended session: %+v, %v", v, err)
		}
		if a := end.Type(t, "1"); !a.End {
			t.Errorf("input after the end answers %v", a)
		}
		if ids, _, _ := svc.Active(t.Context()); len(ids) != 1 {
			t.Errorf("active: %v", ids)
		}
		clock.Jump(200 * time.Second)
		if err := svc.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		steps, err := svc.Funnel(t.Context(), "", 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if s.Screen == "pricing" && (s.Left != 1 || s.Shown != 1) || s.Screen == "closeSession" && s.Ended != 1 {
				t.Errorf("funnel: %+v", s)
			}
		}
	})
}

func TestAClockThatJumpsLosesNothingButTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		clock := ussdtest.NewClock()
		svc := node(clock.Set)
		p := ussdtest.NewPhone(svc, alice, "s1")
		p.Dial(t, "s1")
		p.Expect(t, "2", "Account menu")
		clock.Jump(-time.Minute)
		p.Expect(t, "2", "full name")
		clock.Jump(-24 * time.Hour)  // the session seems to come from the future
		p.Expect(t, "Ann", "e-mail") // and is walked again
		clock.Jump(48 * time.Hour)
		p.Expect(t, "00", "PIN of 5")
	})
}

func TestTheTimelineIsMaskedAndComplete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		svc := node()
		p := ussdtest.NewPhone(svc, alice, "s1")
		p.Dial(t, "s1")
		p.Text = "2*2" // one hop was lost on the way
		p.Again(t)
		p.Expect(t, "Ann", "e-mail", "00", "PIN of 5", "70382", "again", "nonsense", "exactly 5")
		v, err := svc.Look(t.Context(), "s1")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range v.Timeline {
			got = append(got, e.Input+">"+e.Screen)
		}
		want := ">preMenu 2>showMenu 2>nameEntry <3>>emailEntry 00>pinEntry ****>confirmPin ****>confirmPin"
		if strings.Join(got, " ") != want {
			t.Errorf("timeline %q, want %q", got, want)
		}
	})
}

// Gateways that send the last input only, and no number, are served by any node:
// what one node saw last is not what the session saw last.
func TestNumberlessInputsReachAnyNode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		clock := ussdtest.NewClock()
		nodes := []*ussd.Service{node(clock.Set), node(clock.Set), node(clock.Set)}
		for _, step := range []struct {
			node        int
			input, want string
			think       time.Duration
		}{
			{0, "", "Welcome", 0},
			{1, "2", "Account menu", 0},
			{2, "2", "Account menu", 0}, // an echo, at another node
			{0, "2", "full name", 2 * time.Second},
			{2, "70382", "Please use letters", 0},
			{0, "Ann", "e-mail", 0},
			{1, "00", "PIN of 5", 0},
			{2, "70382", "again", 0}, // what this node saw last, and no echo
			{1, "70382", "again", 0},
			{0, "70382", "account ID is", 2 * time.Second},
			{1, "*", "Goodbye", 0},
			{2, "", "Welcome", 2 * time.Second}, // begins anew under the same id
			{1, "2", "Account menu", 0},         // where this node saw it end
		} {
			clock.Jump(step.think)
			got, err := nodes[step.node].Handle(t.Context(), ussd.Request{
				Dialect: ussd.DialectNalo, SessionID: "n1", Phone: alice, ServiceCode: "*1#",
				Newest: true, Start: step.want == "Welcome", Text: step.input,
			})
			if err != nil || !strings.Contains(got.Text, step.want) {
				t.Fatalf("input %q at node %d: %q (%v), want …%s…", step.input, step.node, got.Text, err, step.want)
			}
		}
	})
}

// overtaken lets something happen just before a hop is stored.
type overtaken struct {
	ussd.Store

	by func()
}

func (s *overtaken) Commit(ctx context.Context, c ussd.Change) error {
	if by := s.by; by != nil {
		s.by = nil
		by()
	}
	return s.Store.Commit(ctx, c)
}

// TestTwoDeliveriesAtTwoNodesMoveOnce is an input without a number that two
// nodes work on, one of which has the session in mind and takes its time.
func TestTwoDeliveriesAtTwoNodesMoveOnce(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
		clock := ussdtest.NewClock()
		store := &overtaken{Store: ussdsql.New(db)}
		slow, quick := ussdtest.Service(t, store, clock.Set), ussdtest.Service(t, ussdsql.New(db), clock.Set)
		send := func(svc *ussd.Service, input string) string {
			t.Helper()
			a, err := svc.Handle(t.Context(), ussd.Request{
				Dialect: ussd.DialectNalo, SessionID: "n1", Phone: alice, ServiceCode: "*1#", Newest: true, Start: input == "",
				Text: input,
			})
			if err != nil {
				t.Fatal(err)
			}
			clock.Jump(2 * time.Second)
			return a.Text
		}
		send(slow, "")
		send(slow, "2")
		var first string
		store.by = func() { first = send(quick, "2") }
		if got := send(slow, "2"); got != first || !strings.Contains(got, "full name") {
			t.Errorf("the two deliveries got %q and %q", first, got)
		}
		// The user has seen the first answer and gone on.
		store.by = func() {
			send(quick, "Ann")
			first = send(quick, "00")
		}
		if got := send(slow, "Ann"); got != first || !strings.Contains(got, "PIN of 5") {
			t.Errorf("the user is at %q, and the late delivery got %q", first, got)
		}
	})
}

// TestALateDialBeginsNothingAnew is a dial that got stuck at one node, was
// repeated at another, and comes through when the user has gone on.
func TestALateDialBeginsNothingAnew(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
		clock := ussdtest.NewClock()
		store := &overtaken{Store: ussdsql.New(db)}
		stuck, quick := ussdtest.Service(t, store, clock.Set), ussdtest.Service(t, ussdsql.New(db), clock.Set)
		for _, newest := range []bool{false, true} {
			send := func(svc *ussd.Service, input string) string {
				t.Helper()
				req := ussd.Request{SessionID: "s1", Phone: alice, ServiceCode: "*1#", Text: input}
				if newest {
					req.Dialect, req.Newest, req.Start = ussd.DialectNalo, true, input == ""
				}
				a, err := svc.Handle(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				return a.Text
			}
			store.by = func() {
				clock.Jump(2 * time.Second)
				send(quick, "")
				clock.Jump(2 * time.Second)
				send(quick, "1")
				clock.Jump(2 * time.Second)
			}
			if got := send(stuck, ""); !strings.Contains(got, "What would you like to know?") {
				t.Errorf("newest %v: the late dial got %q", newest, got)
			}
			clock.Jump(2 * time.Second)
			if got := send(quick, ""); !strings.Contains(got, "Welcome") {
				t.Errorf("newest %v: who dials again got %q", newest, got)
			}
		}
	})
}
