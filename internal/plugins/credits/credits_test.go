package credits_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/plugins/credits"
	"github.com/castalia-org/castalia/internal/plugins/preferences"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/plugin"
)

var config = credits.Config{
	Minimum: 10, Estimate: 50, HoldFor: time.Minute, Markup: 160, Fallback: 750_000, Secret: "hush",
}

func start(t testing.TB, db *sqldb.DB, on registry.Feature) *oracletest.Node {
	t.Helper()
	oracletest.Migrated(t, db)
	reply := scripted.Text("Hello")
	reply.Usage = plugin.Usage{InputTokens: 100, OutputTokens: 20, CostMicros: 10_000} // a cent: 16 credits
	return oracletest.Start(t, scripted.Sequence(reply), func(d *oraclekit.Deps) {
		d.DB, d.Plugins = db, []plugin.Plugin{preferences.New(), credits.New(config)}
		d.Features = map[string]registry.Feature{"credits": on}
	})
}

func grant(t testing.TB, n *oracletest.Node, did string, amount int, key string) int {
	t.Helper()
	body, err := json.Marshal(map[string]any{"did": did, "amount": amount, "key": key})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/credits/grants", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer hush")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}

func standing(t *testing.T, c *oracletest.Client) credits.Account {
	t.Helper()
	var s credits.Standing
	c.Do("GET", "/credits", nil).JSON(t, &s)
	s.Entries = 0
	return s.Account
}

func TestOffUnlessSwitchedOn(t *testing.T) {
	t.Parallel()
	n := start(t, sqldbtest.SQLite(t), registry.Auto)
	if n.Plugins.Has("credits") {
		t.Error("credits are on by themselves")
	}
	n.As(t, identitytest.Alice).Session()
}

func TestGateAndTurns(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := open(t)
		one, two := start(t, db, registry.On), start(t, db, registry.On)
		alice, bob := one.As(t, identitytest.Alice), two.As(t, identitytest.Bob)
		for _, route := range [][2]string{{"POST", "/sessions"}, {"GET", "/sessions"}, {"GET", "/messages/x"}, {"POST", "/messages/x"}} {
			r := alice.Do(route[0], route[1], nil)
			var got map[string]any
			r.JSON(t, &got)
			want := map[string]any{
				"statusCode": 402.0, "error": "Payment Required", "message": "User has less than 10 credits, please top up to continue",
				"claims": []any{}, "outstandingClaims": []any{}, "balance": 0.0, "held": 0.0,
			}
			if d := cmp.Diff(want, got); d != "" || r.Status != 402 {
				t.Errorf("%v: %d %s", route, r.Status, d)
			}
		}
		for _, path := range []string{"/credits", "/user-preferences", "/delegation"} {
			if r := alice.Do("GET", path, nil); r.Status != 200 {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		for range 2 {
			if status := grant(t, two, identitytest.Alice.DID, 40, "first"); status != 200 {
				t.Fatalf("grant: %d", status)
			}
		}
		session := alice.Session()
		alice.Say(session, "one")
		settled(t, alice, credits.Account{Granted: 40, Available: 24, Spent: 16})
		alice = alice.On(two)
		alice.Header.Set("X-Request-Id", "again")
		alice.Say(session, "two")
		settled(t, alice, credits.Account{Granted: 40, Available: 8, Spent: 32})
		if r := alice.Do("POST", "/messages/"+session, map[string]any{"message": "three"}); r.Status != 402 {
			t.Errorf("without credits: %d %s", r.Status, r.Body)
		}
		grant(t, two, identitytest.Alice.DID, 4, "second")
		alice.Say(session, "three, with the same request id")
		settled(t, alice, credits.Account{Granted: 44, Spent: 44, Owed: 4})
		var refused struct{ Claims, OutstandingClaims []string }
		alice.Do("POST", "/messages/"+session, map[string]any{"message": "four"}).JSON(t, &refused)
		if len(refused.Claims) != 1 || !strings.HasPrefix(refused.Claims[0], "claim_") ||
			cmp.Diff(refused.Claims, refused.OutstandingClaims) != "" {
			t.Errorf("claims: %+v", refused)
		}
		if r := alice.Do("GET", "/messages/"+session, nil); r.Status != 200 {
			t.Errorf("used-up credits keep their user from reading: %d %s", r.Status, r.Body)
		}
		if a := standing(t, bob); a != (credits.Account{}) {
			t.Errorf("somebody else has %+v", a)
		}
	})
}

// settled waits until the turn was booked, which happens after its last frame.
func settled(t *testing.T, c *oracletest.Client, want credits.Account) {
	t.Helper()
	var got credits.Account
	for range 1000 {
		if got = standing(t, c); got == want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal(cmp.Diff(want, got))
}

// A turn that never began gives back what it set aside, at once.
func TestWhatNeverBeganHoldsNothing(t *testing.T) {
	t.Parallel()
	db := oracletest.Migrated(t, sqldbtest.SQLite(t))
	hold := make(chan struct{})
	n := oracletest.Start(t, scripted.New(func(plugin.ModelRequest) scripted.Reply {
		<-hold
		return scripted.Text("at last")
	}), func(d *oraclekit.Deps) {
		d.DB, d.Plugins = db, []plugin.Plugin{credits.New(config), refuser{}}
		d.Features = map[string]registry.Feature{"credits": registry.On}
		d.Run.MaxQueue = 1
	})
	grant(t, n, identitytest.Alice.DID, 500, "k")
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	say := func(body map[string]any) int {
		resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if status := say(map[string]any{"message": "one", "stream": true}); status != 200 {
		t.Fatal(status)
	}
	if a := standing(t, alice); a.Held != 50 {
		t.Fatalf("while it runs: %+v", a)
	}
	if status := say(map[string]any{"message": "no", "stream": true, "multitask": "reject"}); status < 400 {
		t.Errorf("a second turn: %d", status)
	}
	if status := say(map[string]any{"message": refuseThis, "stream": true}); status != 403 {
		t.Errorf("a refused turn: %d", status)
	}
	if a := standing(t, alice); a.Held != 50 || a.Available != 450 {
		t.Errorf("after refusals: %+v", a)
	}
	close(hold)
}

const refuseThis = "refuse this"

// refuser comes after credits and refuses one message.
type refuser struct{}

func (refuser) Describe() plugin.Description {
	return plugin.Description{
		Name: "refuser", After: []string{"credits"},
		Manifest: plugin.Manifest{Title: "R", Summary: "R", Visibility: plugin.Silent},
	}
}

func (refuser) TurnStarts(_ context.Context, rt *plugin.Runtime) error {
	if rt.Session.Message == refuseThis {
		return plugin.Errorf(http.StatusForbidden, "no")
	}
	return nil
}

func (refuser) TurnEnded(context.Context, *plugin.Runtime, plugin.TurnResult) error { return nil }

func TestOnlyOperatorsGrant(t *testing.T) {
	t.Parallel()
	n := start(t, sqldbtest.SQLite(t), registry.On)
	alice := n.As(t, identitytest.Alice)
	if r := alice.Do("POST", "/credits/grants",
		map[string]any{"did": identitytest.Alice.DID, "amount": 5, "key": "k"}); r.Status != 401 {
		t.Errorf("granted to oneself: %d %s", r.Status, r.Body)
	}
	for _, c := range []struct {
		did    string
		amount int
		key    string
	}{{"alice", 5, "k"}, {identitytest.Alice.DID, 0, "k"}, {identitytest.Alice.DID, -5, "k"}, {
		identitytest.Alice.DID, 5, "",
	}} {
		if status := grant(t, n, c.did, c.amount, c.key); status != 400 {
			t.Errorf("%+v: %d", c, status)
		}
	}
	if a := standing(t, alice); a != (credits.Account{}) {
		t.Errorf("granted %+v", a)
	}
	for _, c := range []struct{ amount, status int }{{5, 200}, {5, 200}, {6, 409}} {
		if status := grant(t, n, identitytest.Alice.DID, c.amount, "k"); status != c.status {
			t.Errorf("%d with the same key: %d, want %d", c.amount, status, c.status)
		}
	}
	if a := standing(t, alice); a.Granted != 5 {
		t.Errorf("granted %+v", a)
	}
}
