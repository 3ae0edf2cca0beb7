package ussdhttp_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdgate"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// TestLocksAndExpiredSessionsAreCounted leaves one session behind after five
// wrong PINs, which end the other.
func TestLocksAndExpiredSessionsAreCounted(t *testing.T) {
	t.Parallel()
	metrics, clock := telemetry.NewMetrics(), ussdtest.NewClock()
	g := newGateway(t, options{metrics: metrics, change: []func(*ussd.Config){clock.Set, func(c *ussd.Config) {
		c.Observer = ussdhttp.NewMetrics(metrics)
	}}})
	walk := func(id string, inputs ...string) (answer string) {
		g.send(id, alice, "")
		for i := range inputs {
			answer = g.send(id, alice, strings.Join(inputs[:i+1], "*"))
		}
		return answer
	}
	if got := walk("s1", "2", "2", "Ann", "00", "70382", "70382"); !strings.Contains(got, "account ID is") {
		t.Fatal(got)
	}
	if got := walk("s2", "2", "1", "11111", "11112", "11113", "11114", "11115"); !strings.HasPrefix(got, "END Too many wrong PINs") {
		t.Fatal(got)
	}
	clock.Jump(4 * time.Minute)
	if err := g.svc.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{"ussd_sessions_expired_total 1\n", "ussd_accounts_locked_total 1\n"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
}

// TestWhatCannotBeReadIsARequestToo: a gateway that is set up wrongly is seen by what is
// refused of all that it sends, also where nothing of it could be read or it may not call.
func TestWhatCannotBeReadIsARequestToo(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "g.yaml")
	allowed := "gateways: {session: {addresses: [127.0.0.1, 192.0.2.0/24]}, hubtel: {addresses: [127.0.0.1, 192.0.2.0/24]}}"
	if err := os.WriteFile(list, []byte(allowed), 0o600); err != nil {
		t.Fatal(err)
	}
	gate, err := ussdgate.Read(list, ussd.Dialects())
	if err != nil {
		t.Fatal(err)
	}
	metrics := telemetry.NewMetrics()
	g := newGateway(t, options{metrics: metrics, gate: gate, change: []func(*ussd.Config){func(c *ussd.Config) {
		c.Observer = ussdhttp.NewMetrics(metrics)
	}}})
	g.send("s1", alice, "")
	g.send("s1", bob, "1") // somebody else's session
	for _, body := range []string{`[`, `{"Type":"Response","Sequence":"1"}`, `{"Type":"Response","Mobile":"97x","SessionId":"s","Message":"1"}`} {
		g.do(http.MethodPost, "/api/ussd/hubtel", "application/json", body)
	}
	if r := g.do(http.MethodPost, "/api/ussd/nalo", "application/json", "{}"); r.status != http.StatusForbidden {
		t.Fatalf("%+v", r)
	}
	w := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`ussd_requests_total{dialect="default",result="moved"} 1`, `ussd_requests_total{dialect="default",result="refused"} 1`,
		`ussd_requests_total{dialect="hubtel",result="refused"} 3`, `ussd_requests_total{dialect="nalo",result="refused"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("no %s in the metrics", want)
		}
	}
	counts, err := g.svc.Counts(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][2]int64{}
	for _, gateway := range ussdcount.Sum(counts).Gateways {
		told[gateway.Dialect] = [2]int64{gateway.Requests, gateway.Refused}
	}
	if want := map[string][2]int64{"": {2, 1}, "hubtel": {3, 3}, "nalo": {1, 1}}; !maps.Equal(told, want) {
		t.Errorf("operators read %v, want %v", told, want)
	}
}
