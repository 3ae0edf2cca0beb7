package ussdcounthttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount/ussdcounthttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

const token = "operator-token-of-a-test"

// What telephones did is in the figures at once, with nobody's number.
func TestFiguresOfTelephones(t *testing.T) {
	t.Parallel()
	store := ussdsql.New(sqldbtest.Migrate(t, sqldbtest.SQLite(t), ussdsql.Migrations()))
	svc, now := ussdtest.Service(t, store), time.Now().UTC()
	server, err := httpserver.New(httpserver.Config{OperatorToken: token})
	if err != nil {
		t.Fatal(err)
	}
	var since time.Time
	if err := server.Mount(ussdcounthttp.Surface(ussdcounthttp.Deps{
		Counts: svc.Counts, Begun: store.Begun, Now: func() time.Time { return now },
		Totals: func(_ context.Context, from time.Time) ([]ussdsms.Total, error) {
			since = from
			return []ussdsms.Total{
				{Kind: ussdsms.KindCode, State: ussdsms.Taken, Currency: "KES", Messages: 3, Parts: 3, Micros: 2_400_000},
				{Kind: ussdsms.KindReply, State: ussdsms.Taken, Currency: "KES", Messages: 1, Parts: 2, Micros: 1_650_000},
				{Kind: ussdsms.KindReply, State: ussdsms.Refused, Messages: 1, Parts: 1},
			}, nil
		},
	})); err != nil {
		t.Fatal(err)
	}
	get := func(path, bearer string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+bearer)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	p := ussdtest.NewPhone(svc, "+260971230001", "")
	p.Dial(t, "a")
	p.Expect(t, "1", "Pricing", "*", "")
	p.Dial(t, "b")
	status, body := get("/operator/ussd/figures?days=2", token)
	for _, want := range []string{
		`"days":2`, `"begun":2,"completed":1,"left":0,"completion":1`, `"dialect":"","begun":2,"requests":4`, `"p95Ms":`,
		`{"kind":"reply","state":"sent","messages":1,"parts":2,"currency":"KES","cost":"1.6500"}`, `"spend":[{"currency":"KES","cost":"4.0500"}]`,
	} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d: %s lacks %s", status, body, want)
		}
	}
	if strings.Contains(body, "26097") || !since.Equal(now.Truncate(24*time.Hour).AddDate(0, 0, -1)) {
		t.Errorf("since %v: %s", since, body)
	}
	status, body = get("/operator/ussd/days?days=3", token)
	day := func(back, begun int) string {
		return fmt.Sprintf(`{"day":%q,"begun":%d}`, now.AddDate(0, 0, -back).Format(time.DateOnly), begun)
	}
	if want := `{"days":[` + day(2, 0) + "," + day(1, 0) + "," + day(0, 2) + "]}"; status != http.StatusOK ||
		strings.TrimSpace(body) != want {
		t.Errorf("%d: %s, want %s", status, body, want)
	}
	for _, path := range []string{"/operator/ussd/figures", "/operator/ussd/days"} {
		for _, days := range []string{"0", "91", "x"} {
			if status, _ := get(path+"?days="+days, token); status != http.StatusBadRequest {
				t.Errorf("%s %s: %d", path, days, status)
			}
		}
		if status, _ := get(path, "wrong"); status == http.StatusOK {
			t.Errorf("a stranger saw %s", path)
		}
	}
}
