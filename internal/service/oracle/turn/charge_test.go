package turn_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// TestATurnEndsWhenTheDayIsSpent has a model ask for a tool for more than the
// user may spend: it is not asked again, the user is told, and so is the next
// message.
func TestATurnEndsWhenTheDayIsSpent(t *testing.T) {
	t.Parallel()
	dear := calls("lab_add", `{"a":1}`)
	dear.Usage.CostMicros = 150
	p := scripted.Sequence(dear, scripted.Text("It is 2."))
	n := oracletest.Start(t, p, with(lab{name: "lab", visibility: plugin.Always}), func(d *oraclekit.Deps) {
		d.Measures.User = oracle.Measure{CostMicros: 100}
	})
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	frames := alice.Say(session, "1+1")
	if text := turn.TextOf(frames); !strings.Contains(text, "may cost 0.0001 US dollars a day here, and that is spent") {
		t.Errorf("the answer is %q", text)
	}
	if got := alice.Do("POST", "/messages/"+session, map[string]any{"message": "and 2+2"}); got.Status != http.StatusTooManyRequests {
		t.Errorf("the next message: %d %s", got.Status, got.Body)
	}
	asked := 0
	for _, q := range p.Requests() {
		if q.Purpose == "turn" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the model was asked %d times", asked)
	}
}

// TestPluginsSpeakForMembers asks about people in whose name a plugin speaks,
// and not about those who come by the telephone.
func TestPluginsSpeakForMembers(t *testing.T) {
	t.Parallel()
	no := fault.New(fault.Forbidden, "not a member")
	n := oracletest.Start(t, scripted.Sequence(scripted.Text("Hello")), func(d *oraclekit.Deps) {
		d.Admit = func(_ context.Context, userDID string) error {
			if userDID == identitytest.Alice.DID {
				return nil
			}
			return no
		}
	})
	for _, user := range []string{identitytest.Alice.DID, identitytest.Bob.DID} {
		session, err := n.Turns.Open(t.Context(), user, "team")
		if err != nil {
			t.Fatal(err)
		}
		q := plugin.Question{UserDID: user, SessionID: session, RequestID: oracle.NewID(), Message: "hello"}
		if _, err := n.Turns.Ask(t.Context(), q); (err == nil) != (user == identitytest.Alice.DID) ||
			err != nil && !errors.Is(err, no) {
			t.Errorf("%s: %v", user, err)
		}
		q.RequestID = oracle.NewID()
		if _, err := n.Turns.AskFor(t.Context(), q, "did:ussd:number:1"); err != nil {
			t.Errorf("%s by telephone: %v", user, err)
		}
	}
}

// purse is the budget of one app key.
type purse struct {
	mu   sync.Mutex
	left int64
	used []appkey.Amount
}

func (p *purse) Reserve(_ context.Context, maker, id string, want appkey.Amount) (appkey.Amount, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if maker != identitytest.Alice.DID || id != "the key" || p.left <= 0 {
		return appkey.Amount{}, fault.New(fault.PaymentRequired, "The budget of the app key is spent.")
	}
	want.Tokens = min(want.Tokens, p.left)
	p.left -= want.Tokens
	return want, nil
}

func (p *purse) Settle(_ context.Context, _ string, held, used appkey.Amount) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += held.Tokens - used.Tokens
	p.used = append(p.used, used)
	return nil
}

func (p *purse) charged() []appkey.Amount {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.used)
}

// TestATurnTakesTheBudgetOfItsAppKey has a model use up the budget in the middle of a
// turn, which ends there and says why. Turns without an app key take nothing.
func TestATurnTakesTheBudgetOfItsAppKey(t *testing.T) {
	t.Parallel()
	dear := calls("lab_add", `{"a":1}`)
	dear.Usage = plugin.Usage{InputTokens: 90, OutputTokens: 20, CostMicros: 7}
	p, budget := scripted.Sequence(scripted.Text("It is 2."), dear, scripted.Text("It is 3.")), &purse{left: 100}
	n := oracletest.Start(t, p, with(lab{name: "lab", visibility: plugin.Always}), func(d *oraclekit.Deps) {
		d.Budgets = budget
	})
	alice := n.As(t, identitytest.Alice)
	say := func(key string) string {
		started, err := n.Turns.Start(t.Context(), run.Start{
			Owner: identitytest.Alice.DID, SessionID: alice.Session(), RequestID: oracle.NewID(), Minted: true,
			Request: oracle.TurnRequest{Message: "1+1", AppKey: key},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer started.Reader.Close()
		var frames []oracle.Frame
		for {
			some, err := started.Reader.Next(t.Context(), time.Minute)
			if errors.Is(err, io.EOF) {
				return turn.TextOf(frames)
			}
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, some...)
		}
	}
	if text := say(""); !strings.Contains(text, "It is 2.") || len(budget.charged()) != 0 {
		t.Errorf("without a key: %q, charged %v", text, budget.charged())
	}
	if text := say("the key"); !strings.Contains(text, "The budget of the app key is spent.") {
		t.Errorf("the answer is %q", text)
	}
	if used, want := budget.charged(), (appkey.Amount{Tokens: 110, Micros: 7}); len(used) == 0 || used[0] != want {
		t.Errorf("charged %v, want %v", used, want)
	}
}

// Forty requests side by side do not take more of a budget together than there is,
// but for the last of them.
func TestABudgetHoldsSideBySide(t *testing.T) {
	t.Parallel()
	const budget, each = 10_000, 900
	var (
		mu      sync.Mutex
		asked   int
		waiting = make(chan struct{})
	)
	p := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Purpose != "turn" {
			return scripted.Reply{}
		}
		mu.Lock()
		defer mu.Unlock()
		asked++
		r := scripted.Text("well")
		r.Usage, r.Wait = plugin.Usage{InputTokens: each / 2, OutputTokens: each / 2}, waiting
		return r
	})
	purse := &purse{left: budget}
	n := oracletest.Start(t, p, func(d *oraclekit.Deps) { d.Budgets = purse })
	var all sync.WaitGroup
	ended := make(chan oracle.RunStatus, 40)
	for range 40 {
		session, err := n.Service.CreateSession(t.Context(), identitytest.Alice.DID)
		if err != nil {
			t.Fatal(err)
		}
		started, err := n.Engine.Start(t.Context(), run.Start{
			Owner: identitytest.Alice.DID, SessionID: session.ID, RequestID: oracle.NewID(),
			Request: oracle.TurnRequest{Message: "go", AppKey: "the key"},
		})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer started.Reader.Close()
			r, err := n.Engine.Await(t.Context(), started)
			if err != nil {
				t.Error(err)
			}
			ended <- r.Status
		})
	}
	for range 40 - 3 { // those that were refused end at once, the others wait
		<-ended
	}
	close(waiting)
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	if asked != 3 { // two with room for a usual answer, and one with the rest
		t.Errorf("the model was asked %d times", asked)
	}
	purse.mu.Lock()
	defer purse.mu.Unlock()
	if purse.left != budget-3*each {
		t.Errorf("%d of %d are left", purse.left, budget)
	}
}

// dear is a script whose words have a price.
type dear struct{ *scripted.Provider }

func (dear) Models() []model.Info {
	return []model.Info{{ID: "scripted", Label: "Scripted", Window: 100_000, InputPerMillion: 1, OutputPerMillion: 1}}
}

// Forty messages of one user side by side do not cost more together than their day allows,
// but for the last of them.
func TestADayHoldsSideBySide(t *testing.T) {
	t.Parallel()
	const limit, each = 10_000, 900
	var asked atomic.Int64
	waiting := make(chan struct{})
	p := dear{scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Purpose != "turn" {
			return scripted.Reply{}
		}
		asked.Add(1)
		r := scripted.Text("well")
		r.Usage, r.Wait = plugin.Usage{InputTokens: each / 2, OutputTokens: each / 2}, waiting
		return r
	})}
	n := oracletest.Start(t, p, func(d *oraclekit.Deps) { d.Measures.User = oracle.Measure{CostMicros: limit} })
	var all sync.WaitGroup
	ended := make(chan struct{}, 40)
	for range 40 {
		session, err := n.Service.CreateSession(t.Context(), identitytest.Alice.DID)
		if err != nil {
			t.Fatal(err)
		}
		started, err := n.Engine.Start(t.Context(), run.Start{
			Owner: identitytest.Alice.DID, SessionID: session.ID, RequestID: oracle.NewID(),
			Request: oracle.TurnRequest{Message: "go"},
		})
		if err != nil { // the day may be held already
			if fault.From(err).Code != oracle.CodeCost {
				t.Fatal(err)
			}
			ended <- struct{}{}
			continue
		}
		all.Go(func() {
			defer started.Reader.Close()
			if _, err := n.Engine.Await(t.Context(), started); err != nil {
				t.Error(err)
			}
			ended <- struct{}{}
		})
	}
	for range 40 - 3 { // those that were refused end at once, the others wait
		<-ended
	}
	close(waiting)
	all.Wait()
	if asked.Load() != 3 { // two with room for a usual answer, and one with the rest
		t.Errorf("the model was asked %d times", asked.Load())
	}
	spent, err := n.Store.Cost(t.Context(), identitytest.Alice.DID, time.Now())
	if err != nil || spent != 3*each {
		t.Errorf("%d were spent, want %d: %v", spent, 3*each, err)
	}
}

// TestASummaryTakesTheBudgetToo: what a long conversation needs before its answer is
// not paid for when the answer is refused.
func TestASummaryTakesTheBudgetToo(t *testing.T) {
	t.Parallel()
	var summaries atomic.Int64
	p := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Purpose == "summary" {
			summaries.Add(1)
		}
		return scripted.Text("ok")
	})
	budget := &purse{}
	n := oracletest.Start(t, p, func(d *oraclekit.Deps) { d.Budgets = budget })
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	long := strings.Repeat("bees and honey ", 9000) // about a third of the window
	alice.Say(session, long)
	alice.Say(session, long)
	before := summaries.Load()
	for range 2 {
		started, err := n.Turns.Start(t.Context(), run.Start{
			Owner: identitytest.Alice.DID, SessionID: session, RequestID: oracle.NewID(), Minted: true,
			Request: oracle.TurnRequest{Message: long, AppKey: "the key"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := started.Reader.Next(t.Context(), time.Minute); err != nil {
				break
			}
		}
		started.Reader.Close()
	}
	if got := summaries.Load() - before; got != 0 {
		t.Errorf("%d summaries were made for answers that nobody pays", got)
	}
}

// Some endpoints do not say what an answer used. It is taken from the budget all the same.
func TestWhatNobodyCountedIsEstimated(t *testing.T) {
	t.Parallel()
	said := func(r scripted.Reply) appkey.Amount {
		r.Usage = plugin.Usage{}
		budget := &purse{left: 1_000_000}
		p := dear{scripted.New(func(req plugin.ModelRequest) scripted.Reply {
			if req.Purpose != "turn" {
				return scripted.Reply{}
			}
			return r
		})}
		n := oracletest.Start(t, p, func(d *oraclekit.Deps) { d.Budgets = budget })
		session, err := n.Service.CreateSession(t.Context(), identitytest.Alice.DID)
		if err != nil {
			t.Fatal(err)
		}
		started, err := n.Engine.Start(t.Context(), run.Start{
			Owner: identitytest.Alice.DID, SessionID: session.ID, RequestID: oracle.NewID(),
			Request: oracle.TurnRequest{Message: "go", AppKey: "the key"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer started.Reader.Close()
		if _, err := n.Engine.Await(t.Context(), started); err != nil {
			t.Fatal(err)
		}
		return budget.charged()[0]
	}
	short, long := said(scripted.Text("well")), said(scripted.Text(strings.Repeat("well ", 4000)))
	if short.Tokens == 0 || short.Micros != short.Tokens || long.Tokens < short.Tokens+4000 {
		t.Errorf("charged %v and %v", short, long)
	}
	if nothing := said(scripted.Reply{}); nothing.Tokens != 0 {
		t.Errorf("no answer: charged %v", nothing)
	}
}
