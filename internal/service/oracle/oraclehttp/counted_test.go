package oraclehttp_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// tally counts refusals and blocks after three.
type tally struct{ refused int }

func (c *tally) Refused(context.Context) { c.refused++ }

func (c *tally) Blocked(context.Context) (time.Duration, bool) {
	return time.Minute, c.refused >= 3
}

// door is a plugin with a route that checks a secret.
type door struct{}

func (door) Describe() plugin.Description {
	return plugin.Description{Name: "door", Manifest: plugin.Manifest{Title: "Door", Summary: "Door.", Visibility: plugin.Silent}}
}

func (door) PublicRoutes() []plugin.RoutePattern { return []plugin.RoutePattern{{Path: "/door"}} }

func (door) Routes() []pluginhttp.Route {
	return []pluginhttp.Route{{Method: "POST", Pattern: "/door", Handler: func(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
		if err := pluginhttp.CheckBearer(r, "sesame", "closed"); err != nil {
			return err
		}
		return pluginhttp.WriteJSON(w, 200, "open")
	}}}
}

// Wrong secrets at a plugin's route count as failed authentications.
func TestWrongSecretsAreCounted(t *testing.T) {
	t.Parallel()
	count := &tally{}
	n := oracletest.Start(t, nil, func(d *oraclekit.Deps) { d.Plugins, d.Failures = []plugin.Plugin{door{}}, count })
	try := func(authorization string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/door", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for i, c := range []struct {
		authorization string
		want          int
	}{
		{"Bearer sesame", 200},
		{"bearer  sesame ", 200},
		{"Bearer wrong", 401},
		{"", 401},
		{"Basic sesame", 401},
		{"Bearer sesame", 429}, // too many wrong ones came from here
		{"", 401},              // without a secret nothing is tried
	} {
		if got := try(c.authorization); got != c.want {
			t.Errorf("%d: %q: %d, want %d", i, c.authorization, got, c.want)
		}
	}
}
