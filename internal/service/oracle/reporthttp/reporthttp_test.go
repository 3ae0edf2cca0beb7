package reporthttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/reporthttp"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
)

const token = "operator-token-of-a-test"

// book has one spender in November, and credits on its second day.
type book struct{}

var november = oracle.DayOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))

func (book) Usage(context.Context, usage.Query) ([]usage.Row, error) { return nil, nil }

func (book) Spenders(_ context.Context, month int64, limit int) ([]usage.Spender, error) {
	if month != november || limit < 1 {
		return nil, nil
	}
	return []usage.Spender{{Owner: "did:key:a", Messages: 2, Calls: 3, Tokens: 40, CostMicros: 5}}, nil
}

func (book) CreditDays(_ context.Context, from, to int64) (granted, spent map[int64]int64, err error) {
	if from > november+1 || to < november+1 {
		return nil, nil, nil
	}
	return map[int64]int64{november + 1: 70}, map[int64]int64{november + 1: 9}, nil
}

func TestOperatorsSeeWhoSpendsAndWhatAccountsDid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path   string
		off    bool
		status int
		want   string
	}{
		"this month":    {path: "spenders", status: 200, want: `{"month":"2026-11","spenders":[{"user":"did:key:a","messages":2,"calls":3,"tokens":40,"costMicros":5}]}`},
		"another month": {path: "spenders?month=2026-10&limit=100", status: 200, want: `{"month":"2026-10","spenders":[]}`},
		"no month":      {path: "spenders?month=2026-11-01", status: 400, want: "month must be a month such as 2026-11"},
		"too many":      {path: "spenders?limit=101", status: 400, want: "limit must be a number from 1 to 100"},
		"none":          {path: "spenders?limit=0", status: 400, want: "limit must be a number from 1 to 100"},
		"credits":       {path: "credits?from=2026-11-01&to=2026-11-03", status: 200, want: `{"on":true,"from":"2026-11-01","to":"2026-11-03","credits":[{"day":"2026-11-02","granted":70,"spent":9}]}`},
		"no credits":    {path: "credits?from=2026-11-01&to=2026-11-03", off: true, status: 200, want: `{"on":false,"from":"2026-11-01","to":"2026-11-03","credits":[]}`},
		"no day":        {path: "credits?from=today", status: 400, want: "from must be a day"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := httpserver.New(httpserver.Config{OperatorToken: token})
			if err != nil {
				t.Fatal(err)
			}
			d := reporthttp.Deps{
				Usage: book{}, Now: func() time.Time { return time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC) },
				Authenticate: func(h httpserver.Handler) httpserver.Handler { return h },
			}
			if !c.off {
				d.Credits = book{}
			}
			if err := server.Mount(reporthttp.Surface(d)); err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/operator/usage/"+c.path, http.NoBody)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.status, c.want)
			}
		})
	}
}
