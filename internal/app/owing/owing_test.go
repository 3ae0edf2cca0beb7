package owing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/owing"
	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
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

const secret = "the scheduler's"

// office asks the routes of a deployment.
type office struct {
	server *httpserver.Server
	node   *oracletest.Node
	ledger *credits.Ledger
}

func open(t *testing.T, db *sqldb.DB, url string) office {
	t.Helper()
	oracletest.Migrated(t, db)
	o := office{ledger: credits.NewLedger(oraclesql.New(db).PluginStore("credits"))}
	o.node = oracletest.Start(t, nil, func(d *oraclekit.Deps) {
		d.DB = db
		d.Plugins = []plugin.Plugin{credits.New(credits.Config{Minimum: 10}), claims.New(claims.Config{
			Secret: secret, URL: url, Every: time.Hour, Attempts: 1,
		})}
		d.Features = map[string]registry.Feature{"credits": registry.On}
	})
	d := owing.Deps{People: func(_ context.Context, search, _ string, limit int) (people.Page, error) {
		if search != "did:" || limit != 2 {
			return people.Page{}, fmt.Errorf("asked for %q, %d", search, limit)
		}
		both := []people.Person{{DID: identitytest.Alice.DID, Note: "Ann"}, {DID: identitytest.Bob.DID}}
		return people.Page{People: both, Next: "x"}, nil
	}}
	d.Use(o.node.Plugins.Loaded())
	o.server = mount(t, d)
	return o
}

func mount(t *testing.T, d owing.Deps) *httpserver.Server {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{OperatorToken: secret})
	if err == nil {
		err = server.Mount(owing.Surface(d))
	}
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func ask(t *testing.T, s *httpserver.Server, method, target string, into any) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+secret)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if into != nil && w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
	return w.Code
}

// pages reads a list to its end.
func (o office) pages(t *testing.T, state string, limit int) (all []claims.Owed) {
	t.Helper()
	for after, n := "", 0; ; n++ {
		var page owing.ClaimPage
		target := fmt.Sprintf("/operator/claims?state=%s&limit=%d&after=%s", state, limit, after)
		status := ask(t, o.server, http.MethodGet, target, &page)
		if status != http.StatusOK || !page.On || len(page.Claims) > limit || n > 20 {
			t.Fatalf("%s: %d %+v", target, status, page)
		}
		all = append(all, page.Claims...)
		if after = page.Next; after == "" {
			return all
		}
	}
}

func (o office) cron(t *testing.T, what string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.node.URL+"/claims/cron/"+what, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", what, resp.StatusCode, err)
	}
}

// TestClaimsOfEverybody: what is owed, what failed and why, and that it is tried again.
func TestClaimsOfEverybody(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, openDB func(t *testing.T) *sqldb.DB) {
		status := http.StatusCreated
		registryOf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.WriteHeader(status)
				return
			}
			_, _ = w.Write([]byte(`{"state":"pending"}`))
		}))
		t.Cleanup(registryOf.Close)
		o := open(t, openDB(t), registryOf.URL)
		owe := func(who string, n int, amount int64) {
			for i := range n {
				key := fmt.Sprint(amount, " ", i)
				if _, err := o.ledger.Settle(t.Context(), who, "h"+key, "r"+key, amount, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		owe(identitytest.Alice.DID, 3, 5)
		o.cron(t, "submit")
		owe(identitytest.Bob.DID, 4, 7)
		count := func(list []claims.Owed) map[string]int {
			sums := map[string]int{}
			for _, c := range list {
				sums[c.DID+" "+string(c.State)]++
			}
			return sums
		}
		for _, limit := range []int{1, 2, 7, 50} {
			got := count(o.pages(t, "owed", limit))
			if len(got) != 2 || got[identitytest.Alice.DID+" submitted"] != 3 || got[identitytest.Bob.DID+" outstanding"] != 4 {
				t.Errorf("by %d: %v", limit, got)
			}
		}
		if got := o.pages(t, "failed", 5); len(got) != 0 {
			t.Errorf("failed: %+v", got)
		}
		status = http.StatusBadGateway // no request is under way
		o.cron(t, "submit")
		for _, limit := range []int{1, 3, 4, 50} {
			failed := o.pages(t, "failed", limit)
			if len(failed) != 4 || failed[0].Step != "submit" || failed[0].Amount != 7 || failed[0].Attempts != 1 ||
				!strings.Contains(failed[0].Reason, "502") || failed[0].DID != identitytest.Bob.DID || failed[0].FailedAt == "" {
				t.Fatalf("by %d: %+v", limit, failed)
			}
		}
		id := o.pages(t, "failed", 50)[0].ID
		for _, want := range []int{http.StatusNoContent, http.StatusNotFound} {
			if got := ask(t, o.server, http.MethodPost, "/operator/claims/"+id+"/retry", nil); got != want {
				t.Errorf("try again: %d, want %d", got, want)
			}
		}
		status = http.StatusCreated
		o.cron(t, "submit")
		if got := count(o.pages(t, "owed", 3)); got[identitytest.Bob.DID+" submitted"] != 1 || len(o.pages(t, "failed", 3)) != 3 {
			t.Errorf("after another try: %v", got)
		}
		var page owing.BalancePage
		if got := ask(t, o.server, http.MethodGet, "/operator/credits?search=did:&limit=2", &page); got != http.StatusOK {
			t.Fatal(got)
		}
		if len(page.Balances) != 2 || page.Balances[0].Owed != 15 || page.Balances[1].Owed != 28 ||
			len(page.Balances[1].Claims) != 4 || page.Balances[0].Note != "Ann" || page.Next != "x" {
			t.Errorf("%+v", page)
		}
	})
}

func TestBadQuestionsAndNoPlugins(t *testing.T) {
	t.Parallel()
	s := mount(t, owing.Deps{})
	for target, want := range map[string]int{
		"/operator/claims?limit=0": 400, "/operator/claims?limit=201": 400, "/operator/claims?state=paid": 400,
		"/operator/claims?after=%00": 400, "/operator/credits?search=" + strings.Repeat("x", 501): 400, "/operator/credits?limit=x": 400,
	} {
		if got := ask(t, s, http.MethodGet, target, nil); got != want {
			t.Errorf("%.60s: %d, want %d", target, got, want)
		}
	}
	for _, target := range []string{"/operator/claims", "/operator/credits"} {
		var page struct{ On bool }
		if got := ask(t, s, http.MethodGet, target, &page); got != http.StatusOK || page.On {
			t.Errorf("%s: %d, on is %t", target, got, page.On)
		}
	}
	if got := ask(t, s, http.MethodPost, "/operator/claims/x/retry", nil); got != http.StatusNotFound {
		t.Errorf("try again: %d", got)
	}
}
