package oraclehttp

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/plugin"
)

// What users do wrong, or have not paid for, is no failure of ours, although a plugin
// says it: operators are not woken for it.
func TestRefusalsOfPluginsAreNoErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 402, 403, 404, 409, 422, 429, 500} {
		var log bytes.Buffer
		server, err := httpserver.New(httpserver.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		err = server.Mount(httpserver.Surface{Name: "oracle", Routes: []httpserver.Route{{
			Method: "GET", Pattern: "/refuses", Summary: "Refuses", Auth: httpserver.Public,
			Handler: translated(func(http.ResponseWriter, *http.Request) error { return plugin.Errorf(status, "No.") }),
		}}})
		if err != nil {
			t.Fatal(err)
		}
		server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/refuses", http.NoBody))
		if loud := strings.Contains(log.String(), "level=ERROR"); loud != (status == 500) {
			t.Errorf("%d: %s", status, log.String())
		}
	}
}
