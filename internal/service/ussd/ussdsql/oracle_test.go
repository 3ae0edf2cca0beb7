package ussdsql_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// slowOracle answers when it is told to.
type slowOracle struct {
	release chan string
	mu      sync.Mutex
	asked   []string
}

func (o *slowOracle) Ask(ctx context.Context, q ussdquestion.Question) (string, error) {
	o.mu.Lock()
	o.asked = append(o.asked, q.ID)
	o.mu.Unlock()
	select {
	case text := <-o.release:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (o *slowOracle) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked)
}

func TestASlowAnswerIsPromisedAndShownOnTheNextDial(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		oracle := &slowOracle{release: make(chan string)}
		with := func(c *ussd.Config) { c.Oracle, c.OracleWait = oracle, 20*time.Millisecond }
		one := node(with)
		p := ussdtest.NewPhone(one, alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "Ask the oracle", "5", "Type your question", "When will it rain?", "still thinking", "0", "My account",
			"5", "", "And then?", "One question at a time")
		p.Dial(t, "s1")
		p.Expect(t, "2", "", "1", "", pin, "Welcome Ann")
		if a := p.Type(t, "2"); !strings.Contains(a.Text, "Invalid selection") {
			t.Errorf("an answer is offered that is not there: %v", a)
		}
		// Another node answers it; the process that promised may be gone.
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		two := node(with)
		go func() { done <- two.AnswerQuestions(ctx) }()
		oracle.release <- "Tomorrow, after noon."
		waitFor(t, func() bool {
			q := ussdtest.NewPhone(one, alice, "")
			q.Dial(t, "w"+time.Now().String())
			q.Type(t, "2")
			q.Type(t, "1")
			return strings.Contains(q.Type(t, pin).Text, "Read your answer")
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.Dial(t, "s2")
		p.Expect(t, "2", "", "1", "", pin, "2. Read your answer", "2", "Tomorrow, after noon.", "0", "My account", "7", "Invalid selection")
	})
}

// Whoever was promised an answer hears that none came, once, and may ask again.
func TestAPromiseThatCouldNotBeKeptIsSaid(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		store := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations()))
		oracle := &slowOracle{release: make(chan string)}
		svc := ussdtest.Service(t, store, func(c *ussd.Config) { c.Oracle, c.OracleWait = oracle, 20*time.Millisecond })
		p := ussdtest.NewPhone(svc, alice, "s0")
		id := register(t, p, pin)
		p.Expect(t, "1", "Ask the oracle", "5", "Type your question", "When will it rain?", "still thinking")
		q, err := store.Waiting(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.SettleQuestion(t.Context(), q.ID, "", ussdquestion.GivenUp, time.Now()); err != nil {
			t.Fatal(err)
		}
		p.Dial(t, "s1")
		p.Expect(t, "2", "", "1", "", pin, "2. Read your answer", "2", "No answer came.\nMy account", "7", "Invalid selection",
			"5", "Type your question", "And then?", "still thinking")
	})
}

// waitFor asks until it is so; the test's own deadline ends it.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it never became so")
		}
	}
}

// One question delivered many times is asked once.
func TestDeliveriesOfOneQuestionAskOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		oracle := &slowOracle{release: make(chan string, 1)}
		with := func(c *ussd.Config) { c.Oracle = oracle }
		nodes := []*ussd.Service{node(with), node(with)}
		p := ussdtest.NewPhone(nodes[0], alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "", "5", "Type your question")
		p.Text += "*What now?"
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				same := *p
				same.Handler = nodes[i%2]
				if got := same.Again(t).Text; !strings.HasPrefix(got, "Rest.") {
					t.Errorf("%q", got)
				}
			})
		}
		waitFor(t, func() bool { return oracle.count() > 0 })
		oracle.release <- "Rest."
		wg.Wait()
		if n := oracle.count(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

type brokenOracle struct{}

func (brokenOracle) Ask(context.Context, ussdquestion.Question) (string, error) {
	return "", errors.New("no model")
}

func TestAnOracleThatFailsIsSaidToBeAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		p := ussdtest.NewPhone(node(func(c *ussd.Config) { c.Oracle = brokenOracle{} }), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "", "5", "", "Hello?", "The oracle is away")
	})
}

func TestASessionThatWasCutOffCanBeContinued(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		clock := ussdtest.NewClock()
		svc := node(clock.Set, func(c *ussd.Config) { c.ResumeWindow = 10 * time.Minute })
		p := ussdtest.NewPhone(svc, alice, "s0")
		if got := p.Dial(t, "s0").Text; !strings.HasPrefix(got, "Welcome to Castalia") {
			t.Fatalf("first dial: %q", got)
		}
		p.Expect(t, "2", "", "2", "full name", "Ann", "e-mail")
		clock.Jump(5 * time.Minute) // the session has expired, the window is open
		if err := svc.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.Dial(t, "s1").Text; !strings.HasPrefix(got, "Welcome back") {
			t.Fatalf("second dial: %q", got)
		}
		p.Expect(t, "1", "e-mail", "00", "PIN of 5", pin, "", pin, "Welcome Ann!", "1", "My account", "1", "Name: Ann")
		// A private place needs the PIN first.
		p.Dial(t, "s2")
		p.Expect(t, "1", "Enter your PIN", "11111", "Wrong", pin, "Name: Ann")
		p.Dial(t, "s3")
		p.Expect(t, "2", "Welcome to Castalia", "2", "Account menu", "1", "Enter your PIN", pin, "Welcome Ann (")
		stranger := ussdtest.NewPhone(svc, bob, "s4")
		if got := stranger.Dial(t, "s4").Text; !strings.HasPrefix(got, "Welcome to Castalia") {
			t.Errorf("a stranger is offered %q", got)
		}
		clock.Jump(11 * time.Minute)
		if got := p.Dial(t, "s5").Text; !strings.HasPrefix(got, "Welcome to Castalia") {
			t.Errorf("after the window: %q", got)
		}
	})
}

// TestAGatewayThatTellsOfTheEndLeavesItToBeContinued is a session that was cut
// off, and whose gateway says so.
func TestAGatewayThatTellsOfTheEndLeavesItToBeContinued(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		clock := ussdtest.NewClock()
		svc := node(clock.Set, func(c *ussd.Config) { c.ResumeWindow = 10 * time.Minute })
		p := ussdtest.NewPhone(svc, alice, "s0")
		p.Dial(t, "s0")
		p.Expect(t, "2", "", "2", "full name", "Ann", "e-mail")
		if err := svc.EndSession(t.Context(), "", "s0", alice); err != nil {
			t.Fatal(err)
		}
		clock.Jump(time.Second)
		if got := p.Dial(t, "s1").Text; !strings.HasPrefix(got, "Welcome back") {
			t.Fatalf("second dial: %q", got)
		}
		clock.Jump(time.Second) // cut off again, before it was answered
		if got := p.Dial(t, "s2").Text; !strings.HasPrefix(got, "Welcome back") {
			t.Fatalf("third dial: %q", got)
		}
		p.Expect(t, "1", "e-mail", "*", "END")
		if err := svc.EndSession(t.Context(), "", "s2", alice); err != nil {
			t.Fatal(err)
		}
		if err := svc.EndSession(t.Context(), "", "s0", alice); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSessionsFinishOnTheMenuTheyBegan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		newer, err := ussd.ParseMenu("new.yaml",
			[]byte(strings.ReplaceAll(string(ussd.DefaultMenuSource()), "What would you like to know?", "Ask away.")), ussdmenu.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		svc := node()
		old := ussdtest.NewPhone(svc, alice, "s0")
		old.Dial(t, "s0")
		svc.Reload(ussdbook.Of(newer))
		old.Expect(t, "1", "What would you like")
		fresh := ussdtest.NewPhone(svc, alice, "s1")
		fresh.Dial(t, "s1")
		fresh.Expect(t, "1", "Ask away.")
		// A node that never saw the old file finishes its sessions all the same.
		other := node(func(c *ussd.Config) { c.Menus = ussdbook.Of(newer) })
		old.Handler = other
		old.Expect(t, "0", "Welcome to Castalia", "1", "What would you like")
	})
}

func TestMenusAreFollowed(t *testing.T) {
	t.Parallel()
	db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), ussdsql.Migrations())
	svc := ussdtest.Service(t, ussdsql.New(db))
	other, err := ussd.ParseMenu("menu.yaml",
		[]byte(strings.ReplaceAll(string(ussd.DefaultMenuSource()), "Welcome to Castalia\n", "Welcome to our cooperative\n")), ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Pointer[ussdbook.Book]
	now.Store(ussdbook.Of(svc.Menu()))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- svc.FollowMenus(ctx, now.Load) }()
	old := ussdtest.NewPhone(svc, alice, "old")
	old.Dial(t, "old")
	now.Store(ussdbook.Of(other))
	waitFor(t, func() bool { return svc.Menu().Version() == other.Version() })
	p := ussdtest.NewPhone(svc, alice, "s0")
	if got := p.Dial(t, "s0").Text; !strings.HasPrefix(got, "Welcome to our cooperative") {
		t.Errorf("%q", got)
	}
	old.Expect(t, "9", "Welcome to Castalia") // it finishes on the menu it began on
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTheWorkersStopWhenTold(t *testing.T) {
	db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), ussdsql.Migrations())
	before := goleak.IgnoreCurrent()
	svc := ussdtest.Service(t, ussdsql.New(db), func(c *ussd.Config) { c.Oracle = brokenOracle{} })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- svc.Run(ctx) }()
	ussdtest.NewPhone(svc, alice, "s0").Dial(t, "s0")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
	counts, err := ussdsql.New(db).Counts(t.Context(), "2000-01-01")
	kinds := map[string]int64{}
	for c, n := range counts {
		kinds[c.Kind] += n
	}
	want := map[string]int64{ussdcount.CountShown: 1, ussdcount.CountBegun: 1, ussdcount.CountTook: 1}
	if d := cmp.Diff(want, kinds); err != nil || d != "" {
		t.Errorf("the last counts were not stored: %s %v", d, err)
	}
}
