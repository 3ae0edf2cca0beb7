package credits_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/plugins/credits"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/plugin"
)

// desk is a subscription service.
type desk struct {
	mu     sync.Mutex
	status int
	body   map[string]any
	asked  []*http.Request
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r)
	w.WriteHeader(d.status)
	_ = json.NewEncoder(w).Encode(d.body)
}

func TestSubscriptionService(t *testing.T) {
	t.Parallel()
	const audience = "did:web:subscriptions.example"
	for name, c := range map[string]struct {
		status  int
		body    map[string]any
		text    string
		account credits.Account
	}{
		"none":     {404, nil, "No subscription found, please subscribe to continue", credits.Account{}},
		"inactive": {200, map[string]any{"status": "expired", "totalCredits": 500}, "User has inactive subscription, please subscribe to continue", credits.Account{}},
		"short": {
			200,
			map[string]any{"status": "trial", "totalCredits": 9.9},
			"User has less than 10 credits, please top up to continue",
			credits.Account{Granted: 9, Available: 9, Subscribed: 9},
		},
		"broken":   {500, nil, "Subscription validation failed", credits.Account{}},
		"nonsense": {200, map[string]any{"status": 7}, "Subscription validation failed", credits.Account{}},
		"negative": {200, map[string]any{"status": "active", "totalCredits": -3}, "User has less than 10 credits, please top up to continue", credits.Account{}},
		"active": {
			200,
			map[string]any{"status": "active", "totalCredits": 100},
			"",
			credits.Account{Granted: 100, Available: 100, Subscribed: 100},
		},
	} {
		service := &desk{status: c.status, body: c.body}
		web := httptest.NewServer(service)
		t.Cleanup(web.Close)
		cfg := config
		cfg.Subscriptions, cfg.SubscriptionDID = web.URL, audience
		n := oracletest.Start(t, nil, func(d *oraclekit.Deps) {
			d.Access = oraclekit.Access{Identity: d.Identity}
			d.Plugins, d.Features = []plugin.Plugin{credits.New(cfg)}, map[string]registry.Feature{"credits": registry.On}
		})
		alice := n.As(t, identitytest.Alice)
		if r := alice.Do("GET", "/sessions", nil); r.Status != 401 || !strings.Contains(string(r.Body), "Missing UCAN delegation; cannot verify subscription") {
			t.Errorf("%s: without a delegation: %d %s", name, r.Status, r.Body)
		}
		alice.Header.Set("X-Ucan-Delegation", identitytest.Delegation(t, identitytest.Alice, identitytest.Oracle.DID,
			identitytest.Can("subscriptions/read", "ixo:subscriptions")))
		for range 2 {
			r := alice.Do("GET", "/sessions", nil)
			var got struct {
				Message           string
				OutstandingClaims []string
			}
			if c.text != "" {
				r.JSON(t, &got)
			}
			if want := map[bool]int{true: 200, false: 402}[c.text == ""]; r.Status != want || got.Message != c.text ||
				c.text != "" && got.OutstandingClaims == nil {
				t.Errorf("%s: %d %s", name, r.Status, r.Body)
			}
		}
		if d := cmp.Diff(c.account, standing(t, alice)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		service.mu.Lock()
		if n := len(service.asked); c.status == 200 && c.body["status"] != 7 && n != 1 {
			t.Errorf("%s: asked %d times", name, n)
		}
		first := service.asked[0]
		service.mu.Unlock()
		token, err := ucan.Parse(strings.TrimPrefix(first.Header.Get("Authorization"), "Bearer "))
		if err != nil || token.Leaf.Audience.String() != audience || token.Leaf.Issuer.String() != identitytest.Oracle.DID ||
			first.Header.Get("X-Auth-Type") != "ucan" || first.URL.Path != "/api/v1/subscriptions" || first.Header.Get("X-Ucan-Delegation") != "" {
			t.Errorf("%s: %v %s %v", name, err, first.URL, first.Header)
		}
	}
}

// The ledger follows a subscription up and down, without touching what turns
// spent or hold, and never below zero.
func TestFollow(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db func(t *testing.T) *sqldb.DB) {
		l := open(t, db(t))
		ctx := t.Context()
		must := func(_ credits.Account, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		at := func(minute int) time.Time { return time.Unix(int64(60*minute), 0) }
		must(l.Follow(ctx, user, 100, at(1)))
		must(l.Follow(ctx, user, 100, at(1)))
		must(l.Hold(ctx, user, "h", 10, 60, 1e12))
		must(l.Settle(ctx, user, "other", "run", 10, ""))
		must(l.Follow(ctx, user, 120, at(3)))
		must(l.Follow(ctx, user, 500, at(2))) // a node that was told earlier
		must(l.Follow(ctx, user, 20, at(4)))  // 100 were spent elsewhere; 50 are left here
		must(l.Follow(ctx, user, 120, at(4)))
		a, _ := read(t, l)
		if d := cmp.Diff(credits.Account{Granted: 120, Held: 60, Spent: 60, Subscribed: 20}, a); d != "" {
			t.Error(d)
		}
		if err := l.Release(ctx, user, "h"); err != nil {
			t.Fatal(err)
		}
		if err := l.Release(ctx, user, "h"); err != nil {
			t.Fatal(err)
		}
		if a, _ = read(t, l); a.Held != 0 || a.Available != 60 {
			t.Errorf("%+v", a)
		}
	})
}

// Nodes believe a subscription service for a while, each by itself. What one of
// them was told before the other changes nothing any more: else the difference
// between the two would be granted again with each of their turns.
func TestNodesFollowTheNewestWord(t *testing.T) {
	t.Parallel()
	service := &desk{status: 200, body: map[string]any{"status": "active", "totalCredits": 100}}
	web := httptest.NewServer(service)
	t.Cleanup(web.Close)
	cfg := config
	cfg.Subscriptions, cfg.SubscriptionDID = web.URL, "did:web:subscriptions.example"
	db := oracletest.Migrated(t, sqldbtest.SQLite(t))
	node := func() *oracletest.Node {
		return oracletest.Start(t, nil, func(d *oraclekit.Deps) {
			d.DB, d.Access = db, oraclekit.Access{Identity: d.Identity}
			d.Plugins, d.Features = []plugin.Plugin{credits.New(cfg)}, map[string]registry.Feature{"credits": registry.On}
		})
	}
	first, second := node(), node()
	alice := first.As(t, identitytest.Alice)
	alice.Header.Set("X-Ucan-Delegation", identitytest.Delegation(t, identitytest.Alice, identitytest.Oracle.DID,
		identitytest.Can("subscriptions/read", "ixo:subscriptions")))
	if got := standing(t, alice); got.Granted != 100 {
		t.Fatalf("%+v", got)
	}
	service.mu.Lock()
	service.body = map[string]any{"status": "active", "totalCredits": 150}
	service.mu.Unlock()
	want := credits.Account{Granted: 150, Available: 150, Subscribed: 150}
	for range 3 {
		for i, n := range []*oracletest.Node{second, first} {
			if d := cmp.Diff(want, standing(t, alice.On(n))); d != "" {
				t.Fatalf("asked of node %d: %s", i, d)
			}
		}
	}
}

func TestBadSubscriptionAddressStopsTheStart(t *testing.T) {
	t.Parallel()
	err := credits.New(credits.Config{Subscriptions: "ftp://x"}).Start(t.Context(), plugin.Host{})
	if err == nil || !strings.HasPrefix(err.Error(), "SUBSCRIPTION_URL: ") {
		t.Error(err)
	}
}
