package shipcli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli/shipcli"
)

func TestRetentionSaysWhatWouldGo(t *testing.T) {
	t.Parallel()
	url := server(t, http.StatusOK, `{"classes":[
		{"name":"runs","keep":"90d","due":[{"table":"oracle_runs","rows":10000,"more":true}]},
		{"name":"forms","due":[{"table":"ussd_submissions","rows":0}]}],
		"tables":[{"name":"oracle_runs","rows":12345,"bytes":2097152,"rowsADay":411,"day":"2026-11-18"}],"exported":true}`)
	text, err := call(t, shipcli.RunRetention, "--server", url, "--tables", "--keep", "runs=90d")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"runs 90d oracle_runs 10000 or more", "forms forever ussd_submissions 0", "oracle_runs 12345 2.0 MiB +411 2026-11-18",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	url = server(t, http.StatusOK, `{"classes":[{"name":"archive","keep":"90d","moves":true,"due":[{"table":"oracle_sessions","rows":3}]}],"exported":true,
		"archived":{"conversations":50,"bytes":4194304,"stored":1048576},"moved":3,"more":false,"now":{"conversations":53,"bytes":4194304,"stored":1048576}}`)
	for want, args := range map[string][]string{
		"archive 90d oracle_sessions 3, to the archive":                                                           {},
		"3 conversations were moved. 53 conversations are archived, in 1.0 MiB: as text their rows have 4.0 MiB.": {"--archive-now"},
	} {
		text, err := call(t, shipcli.RunRetention, append([]string{"--server", url}, args...)...)
		if said := strings.Join(strings.Fields(text), " "); err != nil || !strings.Contains(said, want) {
			t.Errorf("no %q in %s: %v", want, text, err)
		}
	}
	if _, err := call(t, shipcli.RunRetention, "--server", url, "--keep", "runs"); err == nil {
		t.Error("a rule without a duration was taken")
	}
}
