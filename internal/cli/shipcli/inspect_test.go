package shipcli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli/shipcli"
)

// server answers every request alike.
func server(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestWhatTheServerRefusesIsSaid: a wrong time is not a wrong token.
func TestWhatTheServerRefusesIsSaid(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]struct {
		run  runner
		args []string
	}{
		"settings": {shipcli.RunSettings, nil}, "logs": {shipcli.RunLogs, []string{"--level", "loud"}},
		"audit": {shipcli.RunAudit, []string{"--since", "yesterday"}}, "audit as CSV": {shipcli.RunAudit, []string{"--csv", "--since", "yesterday"}},
	} {
		for status, want := range map[int]string{http.StatusBadRequest: "since is a time", http.StatusUnauthorized: "OPERATOR_TOKEN"} {
			args := append([]string{"--server", server(t, status, `{"message":"since is a time"}`)}, look.args...)
			if out, err := call(t, look.run, args...); err == nil || !strings.Contains(err.Error(), want) || out != "" {
				t.Errorf("%s, %d: %q %v", name, status, out, err)
			}
		}
	}
}

// TestLongLogsAreReadWhole: as many lines as can be asked for, and long ones.
func TestLongLogsAreReadWhole(t *testing.T) {
	t.Parallel()
	lines := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"msg":%q},`, strings.Repeat("rain ", 500)), 1000), ",")
	out, err := call(t, shipcli.RunLogs, "--limit", "1000", "--server", server(t, http.StatusOK, `{"lines":[`+lines+`],"more":true}`))
	if err != nil || strings.Count(out, "\n") != 1001 || !strings.HasPrefix(out, "there are earlier lines") {
		t.Errorf("%.200s (%d lines), %v", out, strings.Count(out, "\n"), err)
	}
}
