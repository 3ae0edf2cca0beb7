package cli_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// addressIn is where a server's banner says that it is.
func addressIn(t *testing.T, banner string) string {
	t.Helper()
	m := regexp.MustCompile(`is up: (http://\S+)`).FindStringSubmatch(banner)
	if m == nil {
		t.Fatalf("no address in %s", banner)
	}
	return m[1]
}

// A proxy on the same machine that adds no header and writes its own Host looks
// just like somebody who sits at the machine: in production nobody is an operator
// by address.
func TestAProxyOnTheMachineMakesNobodyAnOperator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		bearer   string
		want     int
		warned   bool
	}{
		"no token":       {settings: []string{"CASTALIA_ENV=production", "ACCESS=open"}, want: 404, warned: true},
		"any other name": {settings: []string{"CASTALIA_ENV=staging", "ACCESS=open"}, want: 404, warned: true},
		"token missing":  {settings: []string{"CASTALIA_ENV=production", "ACCESS=open", "OPERATOR_TOKEN=s3cret"}, want: 401},
		"token":          {settings: []string{"CASTALIA_ENV=production", "ACCESS=open", "OPERATOR_TOKEN=s3cret"}, bearer: "s3cret", want: 200},
		"development":    {want: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, filepath.Join(t.TempDir(), "data"), c.settings...)
			target, err := url.Parse(addressIn(t, s.out.String()))
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
			defer proxy.Close()
			for _, path := range []string{"/metrics", "/operator/plugins", "/api/ussd/sessions", "/query/status"} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if c.bearer != "" {
					req.Header.Set("Authorization", "Bearer "+c.bearer)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != c.want {
					t.Errorf("%s: %d, want %d", path, resp.StatusCode, c.want)
				}
			}
			log := s.err.String()
			if said := strings.Contains(log, "operator routes are closed") && strings.Contains(log, "OPERATOR_TOKEN"); said != c.warned {
				t.Errorf("the start says that the routes are closed: %v\n%s", said, log)
			}
		})
	}
}
