package oraclehttp_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// tally counts wrong secrets and refuses after three.
type tally struct{ wrong int }

func (c *tally) Guessed(context.Context) error {
	if c.wrong++; c.wrong > 3 {
		return ratelimit.Refusal(time.Minute)
	}
	return nil
}

// door is a plugin with a route that checks a secret.
type door struct{}

func (door) Describe() plugin.Description {
	return plugin.Description{
		Name: "door", Manifest: plugin.Manifest{Title: "Door", Summary: "Door.", Visibility: plugin.Silent},
	}
}

func (door) PublicRoutes() []plugin.RoutePattern { return []plugin.RoutePattern{{Path: "/door"}} }

func (door) Routes() []pluginhttp.Route {
	return []pluginhttp.Route{{
		Method: "POST", Pattern: "/door",
		Handler: func(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
			if err := pluginhttp.CheckBearer(r, "sesame", "closed"); err != nil {
				return err
			}
			return pluginhttp.WriteJSON(w, 200, "open")
		},
	}}
}

// Wrong secrets at a plugin's route count as failed authentications.
func TestWrongSecretsAreCounted(t *testing.T) {
	t.Parallel()
	count := &tally{}
	n := oracletest.Start(t, nil, func(d *oraclekit.Deps) { d.Plugins, d.Guesses = []plugin.Plugin{door{}}, count })
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
		{"Bearer wrong", 429},  // too many wrong ones came from here
		{"Bearer sesame", 200}, // which is no reason to refuse a right one
		{"", 401},              // without a secret nothing is tried
	} {
		if got := try(c.authorization); got != c.want {
			t.Errorf("%d: %q: %d, want %d", i, c.authorization, got, c.want)
		}
	}
}
