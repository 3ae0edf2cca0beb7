package httpserver_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

func TestOpenCORS(t *testing.T) {
	t.Parallel()
	deny := func(httpserver.Handler) httpserver.Handler {
		return func(http.ResponseWriter, *http.Request) error { panic("preflights need no credential") }
	}
	surface := func(origins string) httpserver.Surface {
		return httpserver.Surface{
			Name: "oracle", CORS: httpserver.OpenCORS(origins), Prefixes: []string{"/sessions"},
			Authenticate: deny, Routes: []httpserver.Route{
				{Method: "DELETE", Pattern: "/sessions/{id}", Auth: httpserver.Principal, Handler: echo()}, get("/public", echo()),
			},
		}
	}
	const origin, credentials = "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"
	preflight := []string{"Origin: https://a.example", "Access-Control-Request-Method: DELETE", "Access-Control-Request-Headers: authorization"}

	t.Run("anybody", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, httpserver.Config{}, surface("*"))
		for _, path := range []string{"/sessions/1", "/sessions/1/none"} {
			a := do(t, s, "OPTIONS", path, preflight...)
			want := map[string]string{
				origin: "*", credentials: "", "Vary": "",
				"Access-Control-Allow-Methods":  "GET,POST,PUT,DELETE,PATCH,OPTIONS",
				"Access-Control-Allow-Headers":  "Content-Type,Authorization,x-ucan-delegation,x-matrix-access-token,x-matrix-homeserver,x-did,x-request-id,x-auth-type,x-timezone",
				"Access-Control-Expose-Headers": "X-Request-Id,X-Run-Id,Retry-After,X-Delegation-Required",
			}
			for name, value := range want {
				if got := strings.Join(a.Header[http.CanonicalHeaderKey(name)], "|"); got != value {
					t.Errorf("%s: %s is %q, want %q", path, name, got, value)
				}
			}
			if a.StatusCode != http.StatusNoContent || a.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s: got %d, request id %q", path, a.StatusCode, a.Header.Get("X-Request-Id"))
			}
		}
		if a := do(t, s, "GET", "/public"); a.Header.Get(origin) != "*" {
			t.Errorf("a plain answer has %s %q", origin, a.Header.Get(origin))
		}
	})
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, httpserver.Config{}, surface("https://a.example"))
		for _, from := range []string{"https://a.example", "https://b.example"} {
			a := do(t, s, "GET", "/public", "Origin: "+from)
			if a.Header.Get(origin) != "https://a.example" || a.Header.Get(credentials) != "true" ||
				!strings.Contains(strings.Join(a.Header["Vary"], ","), "Origin") {
				t.Errorf("from %s: got %v", from, a.Header)
			}
		}
	})
	t.Run("some", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, httpserver.Config{}, surface(" https://a.example , https://b.example/"))
		for from, want := range map[string]string{"https://a.example": "https://a.example", "https://b.example": "https://b.example", "https://c.example": "", "null": ""} {
			a := do(t, s, "GET", "/public", "Origin: "+from)
			if a.Header.Get(origin) != want || (a.Header.Get(credentials) == "true") != (want != "") ||
				!strings.Contains(strings.Join(a.Header["Vary"], ","), "Origin") {
				t.Errorf("from %s: got %v", from, a.Header)
			}
		}
	})
}

func TestClosedCORS(t *testing.T) {
	t.Parallel()
	s := newServer(
		t, httpserver.Config{},
		httpserver.Surface{Name: "closed", CORS: httpserver.CORSPolicy{}, Routes: []httpserver.Route{get("/api/ussd", echo())}},
		httpserver.Surface{Name: "opened", CORS: httpserver.OpenCORS("https://a.example,https://b.example"), Routes: []httpserver.Route{
			get("/cosmos", echo()),
			{Method: "GET", Pattern: "/query/status", Auth: httpserver.Operator, Handler: echo()},
		}},
	)
	for path, open := range map[string]bool{"/api/ussd": false, "/cosmos": true, "/query/status": false} {
		for _, method := range []string{"GET", "OPTIONS"} {
			a := do(t, s, method, path, "Origin: https://a.example", "Access-Control-Request-Method: GET")
			found := false
			for name := range a.Header {
				found = found || strings.HasPrefix(name, "Access-Control-")
			}
			if found != open {
				t.Errorf("%s %s: cross-origin headers are there: %v", method, path, found)
			}
		}
	}
}

func TestOperatorRoutes(t *testing.T) {
	t.Parallel()
	surface := httpserver.Surface{
		Name:   "op",
		Routes: []httpserver.Route{{Method: "GET", Pattern: "/metrics", Auth: httpserver.Operator, Handler: echo()}},
	}
	const here, there = "127.0.0.1:5", "203.0.113.9:5"
	for name, tc := range map[string]struct {
		token, peer string
		headers     []string
		want        int
		strict      bool // no address is believed
	}{
		"production, direct":           {peer: here, want: 404, strict: true},
		"production, by localhost":     {peer: here, headers: []string{"Host: localhost:3000"}, want: 404, strict: true},
		"production, a bearer":         {peer: here, headers: []string{"Authorization: Bearer "}, want: 404, strict: true},
		"production, empty bearer":     {peer: here, headers: []string{"Authorization: Bearer x"}, want: 404, strict: true},
		"production, our own page":     {peer: here, headers: []string{"Host: localhost:3000", "Origin: http://localhost:3000", "Sec-Fetch-Site: same-origin"}, want: 404, strict: true},
		"production, token":            {token: "s3cret", peer: there, headers: []string{"Authorization: Bearer s3cret"}, want: 200, strict: true},
		"production, token is missing": {token: "s3cret", peer: here, want: 401, strict: true},
		"direct":                       {peer: here, want: 200},
		"direct by IPv6":               {peer: "[::1]:5", headers: []string{"Host: [::1]:3000"}, want: 200},
		"by localhost":                 {peer: here, headers: []string{"Host: localhost:3000"}, want: 200},
		"by address":                   {peer: here, headers: []string{"Host: 192.168.1.5:3000"}, want: 200},
		"rebound name":                 {peer: here, headers: []string{"Host: evil.example:3000"}, want: 404},
		"other peer":                   {peer: there, want: 404},
		"through a proxy":              {peer: here, headers: []string{"X-Forwarded-For: 127.0.0.1"}, want: 404},
		"through another":              {peer: here, headers: []string{"Forwarded: for=127.0.0.1"}, want: 404},
		"with a needless bearer":       {peer: there, headers: []string{"Authorization: Bearer x"}, want: 404},
		"another site's page":          {peer: here, headers: []string{"Sec-Fetch-Site: cross-site"}, want: 403},
		"a sibling site's page":        {peer: here, headers: []string{"Sec-Fetch-Site: same-site"}, want: 403},
		"another origin":               {peer: here, headers: []string{"Origin: https://evil.example"}, want: 403},
		"opaque origin":                {peer: here, headers: []string{"Origin: null"}, want: 403},
		"our own page":                 {peer: here, headers: []string{"Host: localhost:3000", "Origin: http://localhost:3000", "Sec-Fetch-Site: same-origin"}, want: 200},
		"typed into the browser":       {peer: here, headers: []string{"Sec-Fetch-Site: none"}, want: 200},
		"token":                        {token: "s3cret", peer: there, headers: []string{"Authorization: Bearer s3cret"}, want: 200},
		"token through a proxy":        {token: "s3cret", peer: there, headers: []string{"Authorization: bearer s3cret", "X-Forwarded-For: 1.2.3.4", "Host: x.example"}, want: 200},
		"token missing on loopback":    {token: "s3cret", peer: here, want: 401},
		"token wrong":                  {token: "s3cret", peer: here, headers: []string{"Authorization: Bearer s3cre"}, want: 401},
		"token as another scheme":      {token: "s3cret", peer: here, headers: []string{"Authorization: Basic s3cret"}, want: 401},
		"token on another site":        {token: "s3cret", peer: here, headers: []string{"Authorization: Bearer s3cret", "Sec-Fetch-Site: cross-site"}, want: 403},
		"empty token never is a key":   {token: "s3cret", peer: here, headers: []string{"Authorization: Bearer "}, want: 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, httpserver.Config{OperatorToken: tc.token, LocalOperator: !tc.strict}, surface)
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.RemoteAddr = tc.peer
				s.ServeHTTP(w, r)
			})
			a := do(t, h, "GET", "/metrics", append([]string{"Host: 127.0.0.1:3000"}, tc.headers...)...)
			if a.StatusCode != tc.want {
				t.Errorf("got %d, want %d: %s", a.StatusCode, tc.want, a.body)
			}
			// Whoever may not ask is not told either which methods there are.
			otherwise := tc.want
			if tc.want == http.StatusOK {
				otherwise = http.StatusMethodNotAllowed
			}
			if a := do(t, h, "POST", "/metrics", append([]string{"Host: 127.0.0.1:3000"}, tc.headers...)...); a.StatusCode != otherwise {
				t.Errorf("another method: got %d, want %d", a.StatusCode, otherwise)
			}
		})
	}
}

func TestGuessingTheOperatorTokenIsLimited(t *testing.T) {
	t.Parallel()
	s := newServer(t, httpserver.Config{
		OperatorToken: "s3cret", FailedAuth: ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 3}),
	},
		httpserver.Surface{
			Name:   "op",
			Routes: []httpserver.Route{{Method: "GET", Pattern: "/metrics", Auth: httpserver.Operator, Handler: echo()}},
		})
	for i, want := range []int{401, 401, 401, 429, 429} {
		a := do(t, s, "GET", "/metrics", "Authorization: Bearer guess")
		if a.StatusCode != want || (want == 429) != (a.Header.Get("Retry-After") != "") {
			t.Errorf("guess %d: got %d, Retry-After %q", i, a.StatusCode, a.Header.Get("Retry-After"))
		}
	}
	if a := do(t, s, "GET", "/metrics", "Authorization: Bearer s3cret"); a.StatusCode != http.StatusOK {
		t.Errorf("the operator at an address that others guess from: %d", a.StatusCode)
	}
}

func TestClientIP(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		trust     bool
		peer      string
		forwarded []string
		want      string
	}{
		{false, "203.0.113.1:9", nil, "203.0.113.1"},
		{false, "203.0.113.1:9", []string{"8.8.8.8"}, "203.0.113.1"},
		{true, "10.0.0.1:9", nil, "10.0.0.1"},
		{true, "10.0.0.1:9", []string{"8.8.8.8"}, "8.8.8.8"},
		{true, "10.0.0.1:9", []string{"6.6.6.6, 8.8.8.8"}, "8.8.8.8"}, // the client may write the left part
		{true, "10.0.0.1:9", []string{"6.6.6.6, 8.8.8.8, 10.1.2.3, 127.0.0.1, 169.254.1.1, fd00::1"}, "8.8.8.8"},
		{true, "10.0.0.1:9", []string{"6.6.6.6", "8.8.8.8, 192.168.0.1"}, "8.8.8.8"},
		{true, "10.0.0.1:9", []string{"192.168.7.7, 10.0.0.2"}, "192.168.7.7"}, // all inside: the left-most
		{true, "10.0.0.1:9", []string{"8.8.8.8:1234"}, "8.8.8.8"},
		{true, "10.0.0.1:9", []string{"[2001:db8::1]:1234"}, "2001:db8::1"},
		{true, "10.0.0.1:9", []string{"2001:db8::1"}, "2001:db8::1"},
		{true, "10.0.0.1:9", []string{"::ffff:8.8.8.8"}, "8.8.8.8"},
		{true, "10.0.0.1:9", []string{"unknown"}, "10.0.0.1"},
		{true, "10.0.0.1:9", []string{"8.8.8.8, garbage, 10.0.0.3"}, "10.0.0.3"},
		{true, "10.0.0.1:9", []string{""}, "10.0.0.1"},
	} {
		var got netip.Addr
		var cfg httpserver.Config
		if tc.trust {
			cfg.Proxies = inside
		}
		s := newServer(t, cfg, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			get("/", func(_ http.ResponseWriter, r *http.Request) error {
				got = httpserver.ClientIP(r.Context())
				return nil
			}),
		}})
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.RemoteAddr = tc.peer
		r.Header["X-Forwarded-For"] = tc.forwarded
		s.ServeHTTP(httptest.NewRecorder(), r)
		if got.String() != tc.want {
			t.Errorf("trust %v, peer %s, forwarded %q: got %s, want %s", tc.trust, tc.peer, tc.forwarded, got, tc.want)
		}
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	var inside string
	s := newServer(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/", func(_ http.ResponseWriter, r *http.Request) error {
			inside = httpserver.RequestID(r.Context())
			return nil
		}),
	}})
	for given, kept := range map[string]bool{
		"abc-123_x.y:z": true, "": false, "has space": false, "new\nline": false, strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false, "é": false, "<script>": false,
	} {
		a := do(t, s, "GET", "/", "X-Request-Id: "+given)
		got := a.Header.Get("X-Request-Id")
		if (got == given) != kept || got == "" || got != inside {
			t.Errorf("given %q: got %q, inside %q", given, got, inside)
		}
		if !kept && (len(got) != 36 || got[14] != '7') {
			t.Errorf("minted %q is not a UUIDv7", got)
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	html := func(w http.ResponseWriter, _ *http.Request) error {
		_, err := w.Write([]byte("<!doctype html><p>hello"))
		return err
	}
	s := newServer(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{get("/html", html)}})
	for _, path := range []string{"/html", "/none"} {
		a := do(t, s, "GET", path)
		if a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Referrer-Policy") != "no-referrer" || a.Header.Get("Server") != "" {
			t.Errorf("%s: got %v", path, a.Header)
		}
		policy := a.Header.Get("Content-Security-Policy")
		// Only pages may do anything at all, such as to be styled.
		if page := strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"); page != strings.Contains(policy,
			"style-src") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: content %s has policy %q", path, a.Header.Get("Content-Type"), a.Header.Get("Content-Security-Policy"))
		}
	}
}

// One limiter spans surfaces and routes; the surface writes the refusal.
func TestSharedLimiter(t *testing.T) {
	t.Parallel()
	l := ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 3})
	health := get("/health", echo())
	health.Limiter = l
	s := newServer(t, httpserver.Config{}, httpserver.Surface{
		Name: "ussd", Limiter: l, Prefixes: []string{"/api/ussd"},
		Routes: []httpserver.Route{route("POST", "/api/ussd", echo())},
		Errors: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte("END Please try again later"))
		},
	}, httpserver.Surface{Name: "app", Routes: []httpserver.Route{health, get("/free", echo())}})

	do(t, s, "POST", "/api/ussd")
	do(t, s, "GET", "/health")
	do(t, s, "GET", "/api/ussd/nothing") // what is missing counts too
	if a := do(t, s, "POST", "/api/ussd"); a.StatusCode != http.StatusTooManyRequests || a.body != "END Please try again later" {
		t.Errorf("got %d %s", a.StatusCode, a.body)
	}
	a := do(t, s, "GET", "/health")
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || a.body != `{"message":"ThrottlerException: Too Many Requests","statusCode":429}` {
		t.Errorf("got %d %v %s", a.StatusCode, a.Header, a.body)
	}
	if a := do(t, s, "GET", "/free"); a.StatusCode != http.StatusOK {
		t.Errorf("a route without the limiter got %d", a.StatusCode)
	}
}
