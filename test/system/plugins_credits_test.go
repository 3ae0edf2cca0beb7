package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

const (
	treasurer = "the treasurer's own token"
	scheduler = "the scheduler's own token"
)

// registry is a double of the place where claims are submitted. It counts.
type registry struct {
	server *httptest.Server
	mu     sync.Mutex
	posted map[string]int
	paid   bool
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{posted: map[string]int{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

// ServeHTTP takes claims, and says whether they were paid.
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Method == http.MethodPost {
		r.posted[req.Header.Get("Idempotency-Key")]++
	}
	status := "pending"
	if r.paid {
		status = "paid"
	}
	_, _ = fmt.Fprintf(w, `{"status":%q}`, status)
}

// account is what GET /credits shows.
type account struct{ Granted, Available, Held, Spent, Owed int64 }

func (c *chatter) account(t *testing.T, n *Node) account {
	t.Helper()
	var a account
	c.do(t, n, http.MethodGet, "/credits", "").JSON(t, &a)
	if a.Available < 0 || a.Held < 0 || a.Owed < 0 || a.Granted != a.Available+a.Held+a.Spent {
		t.Errorf("the account does not add up: %+v", a)
	}
	return a
}

// until waits until the account is as it should be.
func (c *chatter) until(t *testing.T, n *Node, want account) {
	t.Helper()
	Eventually(t, fmt.Sprintf("the account is %+v", want), func() error {
		if got := c.account(t, n); got != want {
			return fmt.Errorf("it is %+v", got)
		}
		return nil
	})
}

// asOperator calls a route that has a secret of its own.
func asOperator(t *testing.T, n *Node, method, path, secret, body string) Reply {
	t.Helper()
	return n.Do(t,
		Call{Method: method, Path: path, Body: body, Header: http.Header{"Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"}}})
}

func grantTo(t *testing.T, n *Node, who identitytest.Actor, amount int, key string) {
	t.Helper()
	body := fmt.Sprintf(`{"did":%q,"amount":%d,"key":%q}`, who.DID, amount, key)
	if r := asOperator(t, n, http.MethodPost, "/credits/grants", treasurer, body); r.Status != http.StatusOK {
		t.Fatalf("grant: %d %s", r.Status, r.Body)
	}
}

// newPayer is a chatter who may have no credits yet.
func newPayer(t *testing.T, w *World, who identitytest.Actor) *chatter {
	t.Helper()
	return &chatter{world: w, token: identitytest.Invocation(t, who, serviceDID(t, w.Node(0)))}
}

func (c *chatter) newSession(t *testing.T, n *Node) {
	t.Helper()
	var made struct{ SessionID string }
	reply := c.do(t, n, http.MethodPost, "/sessions", "{}")
	if reply.JSON(t, &made); made.SessionID == "" {
		t.Fatalf("no session: %d %s", reply.Status, reply.Body)
	}
	c.session = made.SessionID
}

// TestCreditsAndClaims: a turn of the puppet costs 20 credits.
func TestCreditsAndClaims(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model, office := newPuppet(t), newRegistry(t)
			w := Start(t, shape, append(model.env(), "FEATURES=credits=true", "CREDITS_SECRET="+treasurer, "CRON_SECRET="+scheduler,
				"CREDITS_MICROS_PER_MILLION=100000000", "CREDITS_ESTIMATE=50", "CLAIMS_URL="+office.server.URL, "CLAIMS_EVERY=1h")...)
			paying(t, w, model)
			claiming(t, w, office)
		})
	}
}

// gate: somebody without credits asks every route that the documentation lists.
// Those of the oracle that need a caller answer 402, with a body that is the same
// word for word; those that are needed to change that, and public ones, do not.
func gate(t *testing.T, w *World, c *chatter) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct{ Security []map[string]any }
	}
	w.Node(0).Get(t, "/docs-json").JSON(t, &doc)
	want := map[string]any{
		"statusCode": 402.0, "error": "Payment Required", "message": "User has less than 10 credits, please top up to continue",
		"claims": []any{}, "outstandingClaims": []any{}, "balance": 0.0, "held": 0.0,
	}
	names, gated := regexp.MustCompile(`\{[^}]*\}`), 0
	for path, methods := range doc.Paths {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		// files, telephones, sockets, operators
		if slices.Contains([]string{"api", "dav", "ipfs", "mcp", "socket.io", "operator", "metrics"}, first) {
			continue
		}
		// A passage is found without a model, so it costs nothing, and neither do lists.
		free := slices.Contains([]string{"delegation", "credits", "user-preferences", "claims", "knowledge", "usage"},
			first) || strings.HasPrefix(path, "/v1/models")
		for method, route := range methods {
			asks := slices.ContainsFunc(route.Security, func(s map[string]any) bool { return s["ucan"] != nil })
			body := ""
			if method != "get" {
				body = "{}"
			}
			r := c.do(t, w.Node(gated), strings.ToUpper(method), names.ReplaceAllString(path, "x"), body)
			if !asks || free {
				if r.Status == http.StatusPaymentRequired {
					t.Errorf("%s %s is gated", method, path)
				}
				continue
			}
			gated++
			want := want
			text := "User has less than 10 credits, please top up to continue"
			switch first { // programs are told in the words that they know
			case "ag-ui":
				want = map[string]any{"type": "RUN_ERROR", "message": text, "code": "payment_required"}
			case "ai-sdk":
				want = map[string]any{"message": text, "code": "payment_required"}
			case "v1":
				want = map[string]any{"error": map[string]any{"message": text, "type": "insufficient_quota", "param": nil, "code": "insufficient_quota"}}
			}
			var got map[string]any
			if err := json.Unmarshal(r.Body, &got); err != nil || r.Status != http.StatusPaymentRequired ||
				!cmp.Equal(want, got) {
				t.Errorf("%s %s without credits: %d %s", method, path, r.Status, r.Body)
			}
		}
	}
	if gated < 20 {
		t.Errorf("only %d routes are gated", gated)
	}
}

// paying: the gate, a turn that settles, a turn whose node was killed.
func paying(t *testing.T, w *World, model *puppet) {
	who := identitytest.NewActor("payer")
	c := newPayer(t, w, who)
	gate(t, w, c)
	for _, path := range []string{"/credits", "/claims", "/delegation", "/user-preferences"} {
		if r := c.do(t, w.Node(1), http.MethodGet, path, ""); r.Status != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	if r := asOperator(t, w.Node(0), http.MethodPost, "/credits/grants", "wrong", "{}"); r.Status != http.StatusUnauthorized {
		t.Errorf("a wrong secret: %d", r.Status)
	}
	for i := range 3 { // the same grant, on every node
		grantTo(t, w.Node(i), who, 100, "first")
	}
	c.newSession(t, w.Node(2))
	c.say(t, w.Node(0), "hello").rest(t)
	c.until(t, w.Node(1), account{Granted: 100, Available: 80, Spent: 20})
	stream := c.say(t, w.Node(0), "wait until I am back")
	<-model.waiting
	if a := c.account(t, w.Node(1)); a.Held != 50 || a.Available != 30 {
		t.Errorf("during a turn: %+v", a)
	}
	w.Node(0).Kill()
	stream.Cut()
	w.Node(0).Start()
	w.Node(0).WaitReady()
	model.letGo()
	c.until(t, w.Node(1), account{Granted: 100, Available: 60, Spent: 40})
}

// claiming: use beyond the account becomes claims that two schedulers submit
// once, and settle once.
func claiming(t *testing.T, w *World, office *registry) {
	const debtors = 6
	payers := make([]*chatter, debtors)
	for i := range payers {
		who := identitytest.NewActor(fmt.Sprint("debtor", i))
		payers[i] = newPayer(t, w, who)
		grantTo(t, w.Node(i), who, 12, "k")
		payers[i].newSession(t, w.Node(i))
		payers[i].say(t, w.Node(i), "more than I have").rest(t)
		payers[i].until(t, w.Node(i+1), account{Granted: 12, Spent: 12, Owed: 8})
	}
	race := func(what string) (done int) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				r := asOperator(t, w.Node(i), http.MethodPost, "/claims/cron/"+what, scheduler, "")
				var report struct{ Done, Failed, Dead int }
				if r.Status != http.StatusOK || json.Unmarshal(r.Body, &report) != nil || report.Failed+report.Dead != 0 {
					t.Errorf("%s: %d %s", what, r.Status, r.Body)
				}
				mu.Lock()
				done += report.Done
				mu.Unlock()
			})
		}
		all.Wait()
		return done
	}
	if n := race("submit"); n != debtors {
		t.Errorf("%d claims were submitted", n)
	}
	office.mu.Lock()
	for id, n := range office.posted {
		if n != 1 || !strings.HasPrefix(id, "claim_") {
			t.Errorf("claim %s came %d times", id, n)
		}
	}
	if len(office.posted) != debtors {
		t.Errorf("%d claims came", len(office.posted))
	}
	office.paid = true
	office.mu.Unlock()
	if n := race("settle"); n != debtors {
		t.Errorf("%d claims were settled", n)
	}
	for i, p := range payers {
		p.until(t, w.Node(i), account{Granted: 20, Spent: 20})
		var list struct {
			Owed   int64
			Claims []struct{ State string }
		}
		p.do(t, w.Node(i+1), http.MethodGet, "/claims", "").JSON(t, &list)
		if list.Owed != 0 || len(list.Claims) != 1 || list.Claims[0].State != "settled" {
			t.Errorf("claims: %+v", list)
		}
	}
}

// TestTheScheduleIsOneForAllNodes lets the built-in schedulers of all nodes find
// the same claims.
func TestTheScheduleIsOneForAllNodes(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model, office := newPuppet(t), newRegistry(t)
			office.paid = true
			w := Start(t, shape, append(model.env(), "FEATURES=credits=true", "CREDITS_SECRET="+treasurer,
				"CREDITS_MICROS_PER_MILLION=100000000", "CLAIMS_URL="+office.server.URL, "CLAIMS_EVERY=200ms")...)
			for i := range 3 {
				who := identitytest.NewActor(fmt.Sprint("scheduled", i))
				c := newPayer(t, w, who)
				grantTo(t, w.Node(i), who, 12, "k")
				c.newSession(t, w.Node(i))
				c.say(t, w.Node(i), "more than I have").rest(t)
				c.until(t, w.Node(i), account{Granted: 20, Spent: 20})
			}
			office.mu.Lock()
			defer office.mu.Unlock()
			for id, n := range office.posted {
				if n != 1 {
					t.Errorf("claim %s came %d times", id, n)
				}
			}
		})
	}
}
