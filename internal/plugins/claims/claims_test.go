package claims_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/castalia-org/castalia/internal/plugins/claims"
	"github.com/castalia-org/castalia/internal/plugins/credits"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/plugin"
)

const (
	secret = "the scheduler's"
	pause  = 200 * time.Millisecond
)

// office is a registry of claims that counts what it is told.
type office struct {
	*httptest.Server
	mu       sync.Mutex
	posted   map[string]int
	claims   map[string]claims.Claim
	status   map[string]claims.Status
	trouble  int // answers every POST with this status
	auth     string
	withdraw []string
}

func newOffice(t *testing.T) *office {
	o := &office{posted: map[string]int{}, claims: map[string]claims.Claim{}, status: map[string]claims.Status{}}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	o.Config.Handler = o
	return o
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.auth = r.Header.Get("Authorization")
	id := strings.TrimPrefix(r.URL.Path, "/registry/")
	switch r.Method {
	case http.MethodPost:
		if o.trouble != 0 {
			w.WriteHeader(o.trouble)
			return
		}
		var c claims.Claim
		if json.NewDecoder(r.Body).Decode(&c) != nil || c.ID != r.Header.Get("Idempotency-Key") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		o.posted[c.ID]++
		o.claims[c.ID] = c
		w.WriteHeader(http.StatusCreated)
	case http.MethodGet:
		s, ok := o.status[id]
		if !ok {
			s = claims.Status{State: claims.Pending}
		}
		_ = json.NewEncoder(w).Encode(s)
	case http.MethodDelete:
		o.withdraw = append(o.withdraw, id)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (o *office) set(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fn()
}

func start(t *testing.T, db *sqldb.DB, url string) *oracletest.Node {
	t.Helper()
	oracletest.Migrated(t, db)
	return oracletest.Start(t, nil, func(d *oraclekit.Deps) {
		d.DB = db
		d.Plugins = []plugin.Plugin{credits.New(credits.Config{Minimum: 10, Secret: secret}), claims.New(claims.Config{
			Secret: secret, URL: url, Token: "ours", Every: time.Hour, Batch: 7, Attempts: 2, Backoff: pause, Recheck: pause,
		})}
		d.Features = map[string]registry.Feature{"credits": registry.On}
	})
}

// overdraw books use that nobody can pay.
func overdraw(t *testing.T, db *sqldb.DB, did string, n int, amount int64) *credits.Ledger {
	t.Helper()
	l := credits.NewLedger(oraclesql.New(db).PluginStore("credits"))
	for i := range n {
		if _, err := l.Settle(t.Context(), did, fmt.Sprint("hold", i), fmt.Sprint("run", i), amount, ""); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// call asks as the scheduler does.
func call(t *testing.T, n *oracletest.Node, method, path, bearer string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.URL+"/claims/cron/"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return resp.StatusCode
}

func cron(t *testing.T, n *oracletest.Node, what, bearer string) (r claims.Report, status int) {
	t.Helper()
	method := http.MethodPost
	if what == "dead" {
		method = http.MethodGet
	}
	status = call(t, n, method, what, bearer, &r)
	return r, status
}

// due calls until there was something to do: what was postponed comes back soon.
func due(t *testing.T, n *oracletest.Node, what string) claims.Report {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(pause / 10) {
		if r, _ := cron(t, n, what, secret); r != (claims.Report{}) {
			return r
		}
	}
	t.Fatal("nothing was due")
	return claims.Report{}
}

func listed(t *testing.T, n *oracletest.Node, who identitytest.Actor) claims.List {
	t.Helper()
	var list claims.List
	r := n.As(t, who).Do("GET", "/claims", nil)
	if r.Status != http.StatusOK {
		t.Fatalf("claims: %d %s", r.Status, r.Body)
	}
	r.JSON(t, &list)
	return list
}

// Two schedulers work on the same claims at once. Each claim reaches the
// registry once, and each payment is booked once.
func TestTwoSchedulers(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db, desk := open(t), newOffice(t)
		nodes := []*oracletest.Node{start(t, db, desk.URL+"/registry"), start(t, db, desk.URL+"/registry")}
		const count = 20
		ledger := overdraw(t, db, identitytest.Alice.DID, count, 5)
		race := func(what string) (sum claims.Report) {
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() {
					for {
						r, status := cron(t, nodes[i%2], what, secret)
						mu.Lock()
						sum.Found += r.Found
						sum.Done += r.Done
						sum.Failed += r.Failed
						sum.Dead += r.Dead
						mu.Unlock()
						if status != http.StatusOK {
							t.Errorf("%s: %d", what, status)
						}
						if !r.More {
							return
						}
					}
				})
			}
			all.Wait()
			return sum
		}
		if d := cmp.Diff(claims.Report{Found: count, Done: count}, race("submit")); d != "" {
			t.Error(d)
		}
		desk.set(func() {
			for id, n := range desk.posted {
				if n != 1 || desk.claims[id].Amount != 5 || desk.claims[id].DID != identitytest.Alice.DID {
					t.Errorf("claim %s: posted %d times, %+v", id, n, desk.claims[id])
				}
				desk.status[id] = claims.Status{State: claims.Paid}
			}
			if len(desk.posted) != count || desk.auth != "Bearer ours" {
				t.Errorf("%d claims, %q", len(desk.posted), desk.auth)
			}
		})
		if d := cmp.Diff(claims.Report{Done: count}, race("settle")); d != "" {
			t.Error(d)
		}
		a, left, _, err := ledger.Read(t.Context(), identitytest.Alice.DID, 0)
		a.Entries = 0
		if d := cmp.Diff(credits.Account{Granted: 100, Spent: 100}, a); err != nil || d != "" || len(left) != 0 {
			t.Error(err, d, left)
		}
		list := listed(t, nodes[0], identitytest.Alice)
		if len(list.Claims) != count || list.Owed != 0 || list.Claims[0].State != claims.Settled ||
			list.Claims[0].SettledAt == "" {
			t.Errorf("%+v", list)
		}
		if other := listed(t, nodes[1], identitytest.Bob); len(other.Claims) != 0 {
			t.Errorf("somebody else sees %+v", other)
		}
	})
}

func TestWhatFailsIsTriedAgainAndPutAside(t *testing.T) {
	t.Parallel()
	db, desk := sqldbtest.SQLite(t), newOffice(t)
	n := start(t, db, desk.URL+"/registry")
	overdraw(t, db, identitytest.Alice.DID, 1, 5)
	desk.set(func() { desk.trouble = http.StatusBadGateway })
	for i, want := range []claims.Report{{Found: 1, Failed: 1}, {Dead: 1}} {
		if got := due(t, n, "submit"); got != want {
			t.Errorf("try %d: %+v, want %+v", i+1, got, want)
		}
	}
	id := listed(t, n, identitytest.Alice).Claims[0].ID
	var dead claims.DeadList
	call(t, n, http.MethodGet, "dead", secret, &dead)
	if len(dead.Dead) != 1 || dead.Dead[0].ID != id || dead.Dead[0].Queue != "submit" || dead.Dead[0].Attempts != 2 ||
		!strings.Contains(dead.Dead[0].Reason, "502") {
		t.Fatalf("%+v", dead)
	}
	desk.set(func() { desk.trouble = 0 })
	if _, status := cron(t, n, "dead/"+id, secret); status != http.StatusOK {
		t.Errorf("requeue: %d", status)
	}
	if _, status := cron(t, n, "dead/"+id, secret); status != http.StatusNotFound {
		t.Errorf("requeue again: %d", status)
	}
	if got, _ := cron(t, n, "submit", secret); got != (claims.Report{Done: 1}) {
		t.Errorf("after requeue: %+v", got)
	}
	// A claim that the registry will never take is not tried twice.
	overdraw(t, db, identitytest.Bob.DID, 1, 5)
	desk.set(func() { desk.trouble = http.StatusUnprocessableEntity })
	if got, _ := cron(t, n, "submit", secret); got != (claims.Report{Found: 1, Dead: 1}) {
		t.Errorf("hopeless: %+v", got)
	}
	desk.set(func() { desk.status[id] = claims.Status{State: claims.Rejected} })
	if got, _ := cron(t, n, "settle", secret); got != (claims.Report{Dead: 1}) {
		t.Errorf("rejected: %+v", got)
	}
}

func TestPaidHereIsWithdrawnThere(t *testing.T) {
	t.Parallel()
	db, desk := sqldbtest.SQLite(t), newOffice(t)
	n := start(t, db, desk.URL+"/registry")
	ledger := overdraw(t, db, identitytest.Alice.DID, 1, 30)
	if got, _ := cron(t, n, "submit", secret); got != (claims.Report{Found: 1, Done: 1}) {
		t.Fatalf("submit: %+v", got)
	}
	if got, _ := cron(t, n, "settle", secret); got != (claims.Report{Waiting: 1}) {
		t.Errorf("pending: %+v", got)
	}
	if list := listed(t, n, identitytest.Alice); list.Owed != 30 || list.Claims[0].State != claims.Submitted {
		t.Errorf("%+v", list)
	}
	if _, err := ledger.Grant(t.Context(), identitytest.Alice.DID, 40, "k", ""); err != nil {
		t.Fatal(err)
	}
	if got := due(t, n, "settle"); got != (claims.Report{Done: 1}) {
		t.Errorf("paid here: %+v", got)
	}
	if desk.set(func() {}); len(desk.withdraw) != 1 {
		t.Errorf("withdrawn: %v", desk.withdraw)
	}
}

// What was paid at the registry while credits paid the claim here is the user's.
func TestPaidTwiceIsNotLost(t *testing.T) {
	t.Parallel()
	db, desk := sqldbtest.SQLite(t), newOffice(t)
	n := start(t, db, desk.URL+"/registry")
	ledger := overdraw(t, db, identitytest.Alice.DID, 1, 30)
	cron(t, n, "submit", secret)
	id := listed(t, n, identitytest.Alice).Claims[0].ID
	if _, err := ledger.Grant(t.Context(), identitytest.Alice.DID, 10, "k", ""); err != nil {
		t.Fatal(err)
	}
	desk.set(func() { desk.status[id] = claims.Status{State: claims.Paid, Amount: 30} })
	for range 2 {
		cron(t, n, "settle", secret)
	}
	a, _, _, err := ledger.Read(t.Context(), identitytest.Alice.DID, 0)
	a.Entries = 0
	if d := cmp.Diff(credits.Account{Granted: 40, Available: 10, Spent: 30}, a); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestOnlyTheSchedulerWorks(t *testing.T) {
	t.Parallel()
	n := start(t, sqldbtest.SQLite(t), "")
	for _, bearer := range []string{"", "wrong", secret + "x", strings.ToUpper(secret)} {
		for _, what := range []string{"submit", "settle", "dead", "dead/claim_1"} {
			if _, status := cron(t, n, what, bearer); status != http.StatusUnauthorized {
				t.Errorf("%s with %q: %d", what, bearer, status)
			}
		}
	}
}

// Without credits there are no claims, and asking for them by name is an error.
func TestGoesWithCredits(t *testing.T) {
	t.Parallel()
	plugins := []plugin.Plugin{credits.New(credits.Config{}), claims.New(claims.Config{})}
	r, err := registry.New(registry.Config{Plugins: plugins})
	if err != nil || r.Has("claims") || !strings.Contains(r.Verdicts()[1].Why, "goes with plugin credits") {
		t.Errorf("%v %+v", err, r.Verdicts())
	}
	if _, err := registry.New(registry.Config{
		Plugins:  plugins,
		Features: map[string]registry.Feature{"claims": registry.On},
	}); err == nil {
		t.Error("claims without credits")
	}
	if r, err = registry.New(registry.Config{
		Plugins:  plugins,
		Features: map[string]registry.Feature{"credits": registry.On},
	}); err != nil || !r.Has("claims") {
		t.Errorf("with credits: %v", err)
	}
}

func TestBadRegistryStopsTheStart(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"ftp://x", "registry", "https://a:b@c", "https://c?x=1"} {
		if err := claims.New(claims.Config{URL: url}).Start(context.Background(), plugin.Host{}); err == nil ||
			!strings.HasPrefix(err.Error(), "CLAIMS_URL: ") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
