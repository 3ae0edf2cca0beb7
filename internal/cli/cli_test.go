package cli_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
)

// run executes a command line and returns both streams and the exit code.
func run(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &out, Err: &err, Env: env})
	return out.String(), err.String(), code
}

func TestHelpListsEveryCommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"help"}, {"--help"}} {
		out, _, code := run(t, nil, args...)
		if code != 0 {
			t.Errorf("%v: exit %d", args, code)
		}
		for _, name := range []string{"serve", "config", "migrate", "doctor", "version"} {
			if !strings.Contains(out, "\n  "+name+" ") {
				t.Errorf("%v: no %s in\n%s", args, name, out)
			}
		}
	}
}

func TestAnUnknownCommandIsNamed(t *testing.T) {
	t.Parallel()
	_, text, code := run(t, nil, "srve")
	if code != 2 || !strings.Contains(text, `no command "srve"`) {
		t.Errorf("exit %d: %s", code, text)
	}
}

func TestConfigShowsWhereValuesComeFromAndHidesSecrets(t *testing.T) {
	t.Parallel()
	out, _, code := run(t, []string{"PORT=4000", "OPERATOR_TOKEN=hush"}, "config", "--set", "ORACLE_NAME=Delphi")
	if code != 0 || strings.Contains(out, "hush") {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	for _, want := range [][]string{
		{"PORT", "4000", "environment"},
		{"ORACLE_NAME", "Delphi", "flag"},
		{"OPERATOR_TOKEN", "********", "environment"},
		{"HOST", "default"},
	} {
		found := false
		for line := range strings.Lines(out) {
			found = found || strings.Join(strings.Fields(line), " ") == strings.Join(want, " ")
		}
		if !found {
			t.Errorf("no line %v in\n%s", want, out)
		}
	}
}

func TestConfigHidesCredentialsInAddresses(t *testing.T) {
	t.Parallel()
	out, _, code := run(t, []string{
		"SUBSCRIPTION_URL=https://u:hush@pay.example/x", "MCP_SERVERS=maps=https://maps.example?token=hush,news=https://hush@news.example",
		"DATABASE_URL=postgres://u@h/db?password=hush&sslmode=require", "QUERY_UPSTREAMS=node:9090?tls=1&sig=hush", "CLAIMS_URL=https://h/?hush",
	}, "config")
	if code != 0 || strings.Contains(out, "hush") || !strings.Contains(out, "news.example") || !strings.Contains(out, "sslmode=require") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if _, errs, code := run(t, []string{"PORT=https://u:hush@h"}, "config"); code != 1 || strings.Contains(errs, "hush") {
		t.Errorf("a bad value: exit %d: %s", code, errs)
	}
}

func TestConfigSaysWhichPluginsAreOnAndWhy(t *testing.T) {
	t.Parallel()
	out, _, code := run(t, []string{"FEATURES=memory=false", "MCP_SERVERS=maps=https://maps.example", "MCP_BEARERS=maps=hush"}, "config")
	if code != 0 || strings.Contains(out, "hush") {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	for _, want := range []string{
		"preferences on on by default", "memory off switched off", "credits off off unless FEATURES=credits=true", "mcp on MCP_SERVERS names a server",
	} {
		if !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
			return strings.Join(strings.Fields(line), " ") == want
		}) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	if _, _, code := run(t, []string{"FEATURES=teamchat=true"}, "config"); code == 0 {
		t.Error("a plugin that cannot work was switched on")
	}
	if _, _, code := run(t, []string{"FEATURES=momory=true"}, "config"); code == 0 {
		t.Error("a switch of no plugin was accepted")
	}
}

func TestABadFlagIsAUsageError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"config", "--nope"}, {"config", "extra"}, {"serve", "extra"}} {
		if _, _, code := run(t, nil, args...); code != 2 {
			t.Errorf("%v: exit %d, want 2", args, code)
		}
	}
}
