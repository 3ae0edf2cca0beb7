package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/plugin"
)

// TestGuardsOfTheMachineCannotBeStored looks at every setting of the shipped plugins that, by its
// name, guards the network or is an address.
func TestGuardsOfTheMachineCannotBeStored(t *testing.T) {
	t.Parallel()
	guard := regexp.MustCompile(`_(PRIVATE|URL|HOST|ENDPOINT|DID)$|^MCP_SERVERS$`)
	seen := 0
	for _, s := range config.Declared(pluginconf.Parts(app.ShippedPlugins())) {
		if !guard.MatchString(s.Name) {
			continue
		}
		if seen++; !s.Machine {
			t.Errorf("operators can store %s: tag it machine:\"true\"", s.Name)
		}
	}
	if seen < 8 {
		t.Errorf("only %d settings were looked at", seen)
	}
}

// bells is a plugin that only some builds have.
type bells struct {
	cfg struct {
		Tune string `env:"BELLS_TUNE" doc:"What they play."`
	}
}

func (*bells) Describe() plugin.Description { return plugin.Description{Name: "bells"} }
func (b *bells) Config() any                { return &b.cfg }

// TestSettingsOfAPluginThatIsGone stores with one build and goes on with another.
func TestSettingsOfAPluginThatIsGone(t *testing.T) {
	t.Parallel()
	at := []string{"--data", deployed(t)}
	for i, step := range []struct {
		with []plugin.Plugin
		code int
		says string
		args []string
	}{
		{[]plugin.Plugin{&bells{}}, 0, "Stored as version 1", []string{"plugins", "set", "BELLS_TUNE=slow"}},
		{nil, 0, "BELLS_TUNE is stored, but no plugin of this build has it", []string{"plugins"}},
		{nil, 0, "Stored as version 2", []string{"plugins", "set", "MEMORY_IN_PROMPT=7"}},
		{nil, 0, "Stored as version 3", []string{"plugins", "unset", "BELLS_TUNE"}},
		{nil, 1, "BELLS_TUNE: no such setting of a plugin", []string{"plugins", "unset", "BELLS_TUNE"}},
	} {
		var out strings.Builder
		args := append(slices.Clip(step.args), at...)
		code := cli.Run(t.Context(), args, cli.IO{
			In: strings.NewReader(""), Out: &out, Err: &out, Env: []string{"USER=ada"}, Plugins: step.with,
		})
		if code != step.code || !strings.Contains(out.String(), step.says) {
			t.Errorf("step %d: %d\n%s\nwant %d with %q", i, code, out.String(), step.code, step.says)
		}
	}
}

// TestPluginSettings stores settings of a deployment that is not running.
func TestPluginSettings(t *testing.T) {
	t.Parallel()
	at := []string{"--data", deployed(t)}
	for _, step := range []struct {
		code int
		says string
		in   string
		args []string
	}{
		{0, "MEMORY_IN_PROMPT", "", []string{"plugins"}},
		{0, `Stored as version 1 of the document "plugins". It is in force on each node after its next start.`, "", []string{"plugins", "set", "MEMORY_IN_PROMPT=7"}},
		{0, "Stored as version 2", "very-secret\n", []string{"plugins", "set", "SLACK_SIGNING_SECRET"}},
		{0, "SLACK_SIGNING_SECRET        ********", "", []string{"plugins", "list"}},
		{0, "MEMORY_IN_PROMPT            7", "", []string{"plugins"}},
		{0, `SLACK_SIGNING_SECRET: "sealed:`, "", []string{"operator", "get", "plugins"}},
		{0, "environment, which rules over the database", "", []string{"plugins", "list"}},
		{1, `MEMORY_IN_PROMPT: given "99", allowed is a whole number from 0 to 20`, "", []string{"plugins", "set", "MEMORY_IN_PROMPT=99"}},
		{1, "NOPE: no such setting of a plugin", "", []string{"plugins", "set", "NOPE=1"}},
		{1, "PORT: no such setting of a plugin", "", []string{"plugins", "set", "PORT=1"}},
		{1, "CLAIMS_BATCH is set by the server's environment", "", []string{"plugins", "set", "CLAIMS_BATCH=2"}},
		{1, "MCP_USER_PRIVATE is set where the server runs and cannot be changed here", "", []string{"plugins", "set", "MCP_USER_PRIVATE=true"}},
		{0, "default, set where the server runs", "", []string{"plugins"}},
		{0, "Stored as version 4", "", []string{"plugins", "unset", "SLACK_SIGNING_SECRET", "MEMORY_IN_PROMPT"}},
		{2, "set takes at least one setting", "", []string{"plugins", "set"}},
		{2, "the value is empty", "", []string{"plugins", "set", "CLAIMS_URL="}},
		{2, "want NAME=VALUE", "", []string{"plugins", "set", "CLAIMS_URL=x", "CLAIMS_TOKEN"}},
		{2, `no subcommand "burn"`, "", []string{"plugins", "burn"}},
	} {
		env := []string{"USER=ada", "CLAIMS_BATCH=9"}
		if strings.Contains(step.says, "which rules") { // stored while nothing ruled
			run(t, []string{"USER=ada"}, append([]string{"plugins", "set", "CLAIMS_BATCH=3"}, at...)...)
		}
		var out, errs strings.Builder
		args := append(slices.Clip(step.args), at...)
		code := cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(step.in), Out: &out, Err: &errs, Env: env})
		if said := out.String() + errs.String(); code != step.code || !strings.Contains(said, step.says) ||
			strings.Contains(said, "very-secret") {
			t.Errorf("castalia %s: %d\n%s\nwant %d with %q", strings.Join(args, " "), code, said, step.code, step.says)
		}
	}
}
