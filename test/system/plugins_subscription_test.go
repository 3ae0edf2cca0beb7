package system

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

const subscriptionDID = "did:web:subscriptions.example"

// subscriptions is a double of the service that knows who has subscribed. It
// reads who is meant from the proof in the oracle's invocation, as the real one
// does.
type subscriptions struct {
	server *httptest.Server
	oracle string // whom it believes

	mu    sync.Mutex
	known map[string]string // DID to the body of the answer
	asked map[string]int
	away  bool
	wrong []string // what was wrong with requests
}

func newSubscriptions(t *testing.T) *subscriptions {
	t.Helper()
	s := &subscriptions{known: map[string]string{}, asked: map[string]int{}}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *subscriptions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, err := s.user(r)
	if err != nil {
		s.wrong = append(s.wrong, err.Error())
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.asked[who]++
	body, ok := s.known[who]
	switch {
	case s.away:
		w.WriteHeader(http.StatusBadGateway)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}

// user is who delegated to the oracle.
func (s *subscriptions) user(r *http.Request) (string, error) {
	if r.URL.Path != "/api/v1/subscriptions" || r.Header.Get("X-Auth-Type") != "ucan" {
		return "", fmt.Errorf("request %s %v", r.URL, r.Header)
	}
	token, err := ucan.Parse(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if err != nil {
		return "", err
	}
	leaf := token.Leaf
	if leaf.Audience.String() != subscriptionDID || leaf.Issuer.String() != s.oracle || len(leaf.Proofs) != 1 {
		return "", fmt.Errorf("token of %s for %s", leaf.Issuer, leaf.Audience)
	}
	proof, ok, err := token.Proof(leaf.Proofs[0])
	if err != nil || !ok {
		return "", fmt.Errorf("proof: %v %w", ok, err)
	}
	return proof.Issuer.String(), nil
}

// subscriber is somebody whom the service knows with this answer ("" for not at
// all), and who lets the oracle ask about him.
func (s *subscriptions) subscriber(t *testing.T, w *World, name, answer string) (*chatter, identitytest.Actor) {
	t.Helper()
	who := identitytest.NewActor(name + string(w.Shape))
	if answer != "" {
		s.mu.Lock()
		s.known[who.DID] = answer
		s.mu.Unlock()
	}
	c := newPayer(t, w, who)
	refused(t, name+" without a delegation", c.do(t, w.Node(0), http.MethodGet, "/sessions", ""), http.StatusUnauthorized, "Missing UCAN delegation; cannot verify subscription")
	grant := fmt.Sprintf(`{"raw":%q}`, identitytest.Delegation(t, who, serviceDID(t, w.Node(0)), identitytest.Can("subscriptions/read", "ixo:subscriptions")))
	if r := c.do(t, w.Node(1), http.MethodPost, "/delegation", grant); r.Status != http.StatusOK {
		t.Fatalf("grant: %d %s", r.Status, r.Body)
	}
	return c, who
}

// TestSubscriptionsOpenTheGate: who may be served is what the subscription
// service says, asked with the user's own delegation; the ledger follows its
// totals, once, whichever nodes ask.
func TestSubscriptionsOpenTheGate(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model, desk := newPuppet(t), newSubscriptions(t)
			w := Start(t, shape, append(model.env(), "FEATURES=credits=true", "CREDITS_MICROS_PER_MILLION=100000000",
				"SUBSCRIPTION_URL="+desk.server.URL, "SUBSCRIPTION_DID="+subscriptionDID)...)
			oracle := serviceDID(t, w.Node(0))
			desk.mu.Lock()
			desk.oracle = oracle
			desk.mu.Unlock()
			subscribing(t, w, desk)
		})
	}
}

func subscribing(t *testing.T, w *World, desk *subscriptions) {
	for _, no := range []struct{ name, answer, says string }{
		{"nobody", "", "No subscription found, please subscribe to continue"},
		{"former", `{"status":"EXPIRED","totalCredits":500}`, "User has inactive subscription, please subscribe to continue"},
		{"poor", `{"status":"trial","totalCredits":9.9}`, "less than 10 credits"},
		{"garbled", `{"status":7}`, "Subscription validation failed"},
	} {
		c, _ := desk.subscriber(t, w, no.name, no.answer)
		for i := range w.Nodes {
			refused(t, no.name, c.do(t, w.Node(i), http.MethodGet, "/sessions", ""), http.StatusPaymentRequired, no.says)
		}
	}
	c, who := desk.subscriber(t, w, "member", `{"status":"active","totalCredits":100}`)
	var all sync.WaitGroup
	for i := range 9 { // all nodes ask for the first time at once
		all.Go(func() {
			if r := c.do(t, w.Node(i), http.MethodGet, "/sessions", ""); r.Status != http.StatusOK {
				t.Errorf("a member: %d %s", r.Status, r.Body)
			}
		})
	}
	all.Wait()
	c.until(t, w.Node(1), account{Granted: 100, Available: 100})
	c.newSession(t, w.Node(2))
	c.say(t, w.Node(0), "hello").rest(t)
	c.until(t, w.Node(1), account{Granted: 100, Available: 80, Spent: 20})

	desk.mu.Lock()
	desk.away = true
	before := desk.asked[who.DID]
	desk.mu.Unlock()
	// While the service is away its last word counts, and strangers wait.
	for i := range w.Nodes {
		if r := c.do(t, w.Node(i), http.MethodGet, "/sessions", ""); r.Status != http.StatusOK {
			t.Errorf("a member, while the service is away: %d %s", r.Status, r.Body)
		}
	}
	late, _ := desk.subscriber(t, w, "late", `{"status":"active","totalCredits":100}`)
	refused(t, "somebody new, while the service is away", late.do(t, w.Node(0), http.MethodGet, "/sessions", ""), http.StatusPaymentRequired, "Subscription validation failed")
	desk.mu.Lock()
	desk.away = false
	if desk.asked[who.DID] != before {
		t.Error("a member was looked up again although his answer is fresh")
	}
	if len(desk.wrong) > 0 {
		t.Errorf("the service was asked wrongly: %q", desk.wrong)
	}
	desk.mu.Unlock()
	Eventually(t, "somebody new is served when the service is back", func() error {
		if r := late.do(t, w.Node(1), http.MethodGet, "/sessions", ""); r.Status != http.StatusOK {
			return fmt.Errorf("%d %s", r.Status, r.Body)
		}
		return nil
	})
}
