package ussdhttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd"
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
