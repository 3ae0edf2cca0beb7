package ussdhttp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdgate"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

const (
	invalid     = "END Invalid input. Please try again."
	unavailable = "END Service temporarily unavailable. Please try again later."
	welcome     = "CON Welcome to Castalia\n1. Know More\n2. Account Menu\n*. Exit"
	operator    = "a-token-for-operators"
	viewer      = "signed-by-a-viewer"
)

// gateway is a whole server for tests.
type gateway struct {
	t      testing.TB
	server *httpserver.Server
	svc    *ussd.Service
	db     *sqldb.DB
	log    *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type options struct {
	limit   int
	exempt  []netip.Prefix
	proxies []netip.Prefix
	fault   func(sqldb.Stage) error
	change  []func(*ussd.Config)
	metrics *telemetry.Metrics
	level   slog.Leveler // nil: everything is logged
	files   []string     // dialects
	gate    *ussdgate.Gate
}

func newGateway(t testing.TB, o options) *gateway {
	t.Helper()
	g := &gateway{t: t, log: &lockedBuffer{}}
	if o.level == nil {
		o.level = slog.LevelDebug
	}
	log := slog.New(slog.NewJSONHandler(g.log, &slog.HandlerOptions{Level: o.level}))
	g.db = sqldbtest.Migrate(t, sqldbtest.Open(t, sqldbtest.SQLiteURL(t), sqldb.Options{Fault: o.fault, Logger: log}),
		ussdsql.Migrations())
	dialects, err := ussddialect.Load(o.files)
	if err != nil {
		t.Fatal(err)
	}
	g.svc = ussdtest.Service(t, ussdsql.New(g.db), append(o.change, func(c *ussd.Config) {
		c.Logger, c.Dialects = log, ussddialect.Names(dialects)
	})...)
	server, err := httpserver.New(httpserver.Config{
		Logger: log, OperatorToken: operator, Proxies: o.proxies, Metrics: o.metrics,
		SignedOperator: func(r *http.Request) (who httpserver.OperatorIdentity, err error) {
			if r.Header.Get("Authorization") == "Bearer "+viewer {
				who = httpserver.OperatorIdentity{Name: "did:key:zViewer", Role: httpserver.Viewer}
			}
			return who, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	limiter := ratelimit.NewLimiter(ratelimit.LimiterConfig{Name: "telephone", PerMinute: o.limit, Exempt: o.exempt})
	for _, s := range []httpserver.Surface{ussdhttp.Surface(g.svc,
		ussdhttp.Deps{Limiter: limiter, Logger: log, Dialects: dialects, Gate: o.gate}), ussdhttp.Operators(g.svc, log)} {
		if err := server.Mount(s); err != nil {
			t.Fatal(err)
		}
	}
	g.server = server
	return g
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (g *gateway) do(method, path, media, body string, header ...string) reply {
	g.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	g.server.ServeHTTP(w, req)
	b, err := io.ReadAll(w.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return reply{w.Code, w.Header(), string(b)}
}

func (g *gateway) post(body string) reply {
	g.t.Helper()
	return g.do(http.MethodPost, "/api/ussd", "application/json", body)
}

func (g *gateway) send(id, phone, text string) string {
	g.t.Helper()
	body, err := json.Marshal(map[string]string{"sessionId": id, "serviceCode": "*2233#", "phoneNumber": phone, "text": text})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.post(string(body)).body
}

func (g *gateway) get(path string) reply {
	g.t.Helper()
	return g.do(http.MethodGet, path, "", "", "Authorization", "Bearer "+operator)
}

const (
	alice = "+260971230001"
	bob   = "+260971230002"
)

func TestTheSessionEndpointKeepsItsContract(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	r := g.post(`{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`)
	if r.status != 200 || r.body != welcome || r.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%+v", r)
	}
	if got := g.send("s1", alice, "1"); got != "CON What would you like to know?\n1. About this service\n2. Pricing\n3. Delivery\n*. Exit" {
		t.Errorf("%q", got)
	}
	form := url.Values{"sessionId": {"f1"}, "serviceCode": {"*384*123#"}, "phoneNumber": {alice}, "networkCode": {"63902"}, "text": {""}}
	if r := g.do(http.MethodPost, "/api/ussd", "application/x-www-form-urlencoded", form.Encode()); r.status != 200 || r.body != welcome {
		t.Errorf("form: %+v", r)
	}
}

func TestWhatBreaksTheRulesIsAnsweredWithTheSameText(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	field := func(name, value string) string {
		fields := map[string]string{"sessionId": "s1", "serviceCode": "*1#", "phoneNumber": alice, "text": ""}
		fields[name] = value
		b, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	good := []string{
		field("sessionId", strings.Repeat("é", 100)), field("text", strings.Repeat("ж", 182)), field("phoneNumber", "+12"),
		field("phoneNumber", "+123456789012345"), field("serviceCode", "*1*2*3#"), field("sessionId", "a b/c*?ü"),
		field("serviceCode", "*"+strings.Repeat("1", 180)+"#"),
		`{"sess\u0069onId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":"","more":{"text":[],"Text":"\""},"caf\u00e9":["text"]}`,
	}
	for i, body := range good {
		body = strings.Replace(body, `"s1"`, `"good`+string(rune('a'+i))+`"`, 1)
		if r := g.post(body); r.status != 200 || !strings.HasPrefix(r.body, "CON ") {
			t.Errorf("%s: %+v", body, r)
		}
	}
	bad := []string{
		"", "{", "null", "[]", `"text"`, "{}", `{"sessionId":"s1"}`, field("text", "") + "x", `{"sessionId":1,"serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`,
		`{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+260971230001","text":null}`,
		`{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+260971230001"}`,
		field("sessionId", ""), field("sessionId", strings.Repeat("é", 101)), field("sessionId", "a\x00b"), field("sessionId", "a\nb"),
		field("text", strings.Repeat("ж", 183)), field("text", "a\tb"), field("text", "\u0085"), field("text", "\u2028"),
		field("phoneNumber", ""), field("phoneNumber", "260971230001"), field("phoneNumber", "+0971230001"), field("phoneNumber", "+1"),
		field("phoneNumber", "+1234567890123456"), field("phoneNumber", "+2609712 30001"), field("phoneNumber", "+٢٦٠٩٧١٢٣"),
		field("serviceCode", ""), field("serviceCode", "*#"), field("serviceCode", "123#"), field("serviceCode", "*12"), field("serviceCode", "*1**2#"),
		field("serviceCode", "#1#"), field("serviceCode", "*1a#"), "{\"sessionId\":\"\xff\",\"serviceCode\":\"*1#\",\"phoneNumber\":\"+260971230001\",\"text\":\"\"}",
		`{"text":"` + strings.Repeat("x", 20<<10) + `"}`, field("serviceCode", "*"+strings.Repeat("1", 181)+"#"),
		`{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+260971230001","Text":""}`,
		`{"SessionID":"s","serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`,
		`{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+260971230001","text":"","text":"1"}`, // which one?
		`{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+260971230001","Text":"1","text":""}`,
		`{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+260971230001","te\u0078t":"1","more":[{}],"text":""}`,
		`{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+260971230001","text":{"a":""}}`,
		`{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+260971230001","text":"",}`,
		field("sessionId", "a\u202eb"), field("sessionId", "a\u2066b"), field("sessionId", "\u200fa"), // they turn lists around
	}
	for _, body := range bad {
		if r := g.post(body); r.status != 200 || r.body != invalid || r.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%.80q: %d %q", body, r.status, r.body)
		}
	}
	for _, media := range []string{"text/plain", "application/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"} {
		if r := g.do(http.MethodPost, "/api/ussd", media, field("text", "")); r.status != 200 || r.body != invalid {
			t.Errorf("%s: %+v", media, r)
		}
	}
}

func TestTheHundredAndFirstRequestOfAMinuteIsRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{limit: 100})
	for i := range 100 {
		if r := g.get("/api/ussd/sessions"); i%2 == 0 && r.status != 200 {
			t.Fatalf("request %d: %+v", i, r)
		}
	}
	r := g.post(`{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`)
	if r.status != 429 || r.body != unavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("%+v", r)
	}
	r = g.get("/api/ussd/sessions")
	var body map[string]any
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || r.status != 429 || body["retryAfter"] == nil ||
		r.header.Get("Retry-After") == "" {
		t.Errorf("%+v", r)
	}
}

func TestGatewaysAreExemptFromTheLimit(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{
		limit: 1, proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		exempt: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")},
	})
	body := `{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`
	for range 5 {
		if r := g.do(http.MethodPost, "/api/ussd", "application/json", body, "X-Forwarded-For", "203.0.113.9"); r.status != 200 {
			t.Fatalf("%+v", r)
		}
	}
	for i, want := range []int{200, 429} {
		if r := g.do(http.MethodPost, "/api/ussd", "application/json", body, "X-Forwarded-For", "198.51.100.7"); r.status != want {
			t.Errorf("request %d: %+v", i, r)
		}
	}
}

func TestOperatorsSeeSessions(t *testing.T) {
	t.Parallel()
	clock := ussdtest.NewClock()
	g := newGateway(t, options{change: []func(*ussd.Config){clock.Set}})
	g.send("s1", alice, "")
	var debug ussdhttp.DebugRecord
	decode := func(r reply, status int, v any) {
		t.Helper()
		if err := json.Unmarshal([]byte(r.body), v); err != nil || r.status != status {
			t.Fatalf("%+v (%v)", r, err)
		}
	}
	decode(g.get("/api/ussd/debug/s1"), 200, &debug)
	c := debug.DebugInfo.Context
	if debug.SessionID != "s1" || debug.DebugInfo.State != "preMenu" || debug.DebugInfo.Status != "active" ||
		c.SessionID != "s1" ||
		c.Phone != alice || "CON "+c.Message != welcome || c.Authenticated ||
		!cmp.Equal(debug.ActiveSessions, []string{"s1"}) {
		t.Errorf("%+v", debug)
	}
	g.send("s1", alice, "1")
	decode(g.get("/api/ussd/debug/s1"), 200, &debug)
	if debug.DebugInfo.State != "knowMoreService" || !strings.HasPrefix(debug.DebugInfo.Context.Message, "What would") {
		t.Errorf("%+v", debug)
	}
	g.send("s1", alice, "1**")
	decode(g.get("/api/ussd/debug/s1"), 200, &debug)
	if debug.DebugInfo.State != "closeSession" || debug.DebugInfo.Status != "done" || len(debug.ActiveSessions) != 0 {
		t.Errorf("%+v", debug)
	}
	var list ussdhttp.ActiveList
	g.send("s2", alice, "")
	decode(g.get("/api/ussd/sessions"), 200, &list)
	if want := (ussdhttp.ActiveList{ActiveSessions: []string{"s2"}, Count: 1, Total: 1}); !cmp.Equal(list, want) {
		t.Errorf("%+v", list)
	}
	clock.Jump(181 * time.Second)
	for _, id := range []string{"s1", "never"} {
		var gone map[string]any
		decode(g.get("/api/ussd/debug/"+id), 404, &gone)
		want := map[string]any{
			"error": "Session not found", "sessionId": id,
			"debugInfo": map[string]any{"error": "Session not found"}, "activeSessions": []any{},
		}
		if diff := cmp.Diff(want, gone); diff != "" {
			t.Error(diff)
		}
	}
	for _, path := range []string{"/api/ussd/debug/s1", "/api/ussd/sessions", "/api/ussd/live", "/api/ussd/timeline/s1", "/api/ussd/funnel", "/api/ussd/graph", "/api/ussd/locks"} {
		if r := g.do(http.MethodGet, path, "", ""); r.status != 401 {
			t.Errorf("%s without a token: %+v", path, r)
		}
	}
}

func TestOperatorsSeeHowTheMenuIsUsed(t *testing.T) {
	t.Parallel()
	metrics := telemetry.NewMetrics()
	g := newGateway(t, options{metrics: metrics, change: []func(*ussd.Config){func(c *ussd.Config) {
		c.Observer = ussdhttp.NewMetrics(metrics)
	}}})
	for i, text := range []string{"", "1", "1", "1*2", "1*2**"} {
		g.send("s1", alice, text)
		if i < 2 {
			g.send("s2", alice, text)
		}
	}
	var funnel ussdhttp.Funnel
	if err := json.Unmarshal([]byte(g.get("/api/ussd/funnel?days=1").body), &funnel); err != nil {
		t.Fatal(err)
	}
	if s := funnel.Steps[0]; s.Screen != "infoMenu" && s.Screen != "preMenu" || s.Shown != 2 {
		t.Errorf("%+v", funnel.Steps[:3])
	}
	if r := g.get("/api/ussd/graph"); !strings.Contains(r.body, `{"from":"preMenu","to":"infoMenu","label":"1 Know More","count":2}`) {
		t.Errorf("%+v", r)
	}
	if r := g.get("/api/ussd/live"); !strings.Contains(r.body, `"sessionId":"s2"`) || strings.Contains(r.body, alice) {
		t.Errorf("%+v", r)
	}
	if r := g.get("/api/ussd/timeline/s1"); !strings.Contains(r.body, `"input":"2","screen":"pricing"`) || strings.Contains(r.body, alice) {
		t.Errorf("%+v", r)
	}
	w := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`ussd_requests_total{dialect="default",result="moved"} 6`, `ussd_requests_total{dialect="default",result="replayed"} 1`,
		`ussd_answers_total{screen="infoMenu"} 3`, `ussd_hop_duration_seconds_count{dialect="default",result="moved"} 6`,
		"ussd_sessions_expired_total 0", "ussd_accounts_locked_total 0", // there before the first, or nobody can watch for it
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

func TestOperatorsSeeTheMenuAndNotTheCaller(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	text := ""
	g.send("s1", alice, text)
	for _, input := range []string{"2", "2", "Ann Wanjiru", "00", "70382", "70382"} {
		text = strings.TrimPrefix(text+"*"+input, "*")
		g.send("s1", alice, text)
	}
	for path, shown := range map[string]string{
		"/api/ussd/live":        "Welcome ***! Your account ID is ***. Write",
		"/api/ussd/timeline/s1": "Welcome ***! Your account ID is ***. Write",
		"/api/ussd/debug/s1":    "Welcome Ann Wanjiru! Your account ID is C", // the contract's record: the last text as it was
	} {
		r := g.get(path)
		if !strings.Contains(r.body, shown) || strings.HasPrefix(shown, "Welcome ***") && strings.Contains(r.body, "Ann") {
			t.Errorf("%s: %+v", path, r)
		}
		named := regexp.MustCompile(`"C[0-9A-F]{8}"`).MatchString(r.body) // beside the text
		if want := strings.Contains(path, "debug"); named != want {
			t.Errorf("%s: the account is in clear: %v, want %v: %s", path, named, want, r.body)
		}
	}
	for _, path := range []string{"/api/ussd/debug/s1", "/operator/ussd/debug/s1"} {
		r := g.do(http.MethodGet, path, "", "", "Authorization", "Bearer "+viewer)
		if r.status != http.StatusOK || !strings.Contains(r.body, "Welcome ***! Your account ID is ***. Write") ||
			strings.Contains(r.body, alice) || strings.Contains(r.body, "Ann") || regexp.MustCompile(`"C[0-9A-F]{8}"`).MatchString(r.body) {
			t.Errorf("%s to a viewer: %+v", path, r)
		}
	}
}

func TestOperatorsAreToldTheRangeOfANumber(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	for _, path := range []string{"funnel?days=0", "funnel?days=91", "graph?days=x", "live?limit=-1", "live?limit=501"} {
		if r := g.get("/api/ussd/" + path); r.status != http.StatusBadRequest || !strings.Contains(r.body, "must be a number from 1 to") {
			t.Errorf("%s: %+v", path, r)
		}
	}
	for _, path := range []string{"funnel?days=90", "graph", "live?limit=500"} {
		if r := g.get("/api/ussd/" + path); r.status != http.StatusOK {
			t.Errorf("%s: %+v", path, r)
		}
	}
}
