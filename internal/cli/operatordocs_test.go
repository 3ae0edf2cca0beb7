package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
)

// TestOperatorDocuments changes documents of a deployment that is not running.
func TestOperatorDocuments(t *testing.T) {
	t.Parallel()
	at := []string{"--data", deployed(t)}
	file := filepath.Join(t.TempDir(), "instructions.md")
	if err := os.WriteFile(file, []byte("Be kind.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const models = "endpoints:\n  far: {kind: openai, base_url: 'http://127.0.0.1:9/v1', key: sk-very-secret}\nmodels:\n- {id: m, endpoint: far}\n"
	for _, step := range []struct {
		code int
		says string
		in   string
		args []string
	}{
		{0, "instructions  built in", "", []string{"operator", "docs"}},
		{0, "instructions: version 1 is stored", "", []string{"operator", "set", "instructions", file, "--note", "a start"}},
		{0, "Be kind.\n", "", []string{"operator", "get", "instructions"}},
		{0, "instructions: version 2 is stored", "---\ntone: warm\n---\n", []string{"operator", "set", "instructions", "-"}},
		{0, "instructions  database, version 2 by command line (ada)", "", []string{"operator", "docs"}},
		{0, "instructions: version 3 is stored", "", []string{"operator", "restore", "instructions", "1"}},
		{0, "9 bytes, as version 1", "", []string{"operator", "history", "instructions"}},
		{0, "tone: warm", "", []string{"operator", "get", "instructions", "--version", "2"}},
		{0, "instructions: version 4 is stored", "", []string{"operator", "remove", "instructions"}},
		{1, "castalia operator: The oracle's instructions: front matter: line 2: unknown key \"mood\"", "---\nmood: bad\n---\n", []string{"operator", "set", "instructions", "-"}},
		{1, "There is no version 9", "", []string{"operator", "restore", "instructions", "9"}},
		{1, "is set by the variable ORACLE_INSTRUCTIONS", "x", []string{"operator", "set", "instructions", "-", "--set", "ORACLE_INSTRUCTIONS=outside"}},
		{1, "comes from the file " + file + " (ORACLE_INSTRUCTIONS_FILE)", "x", []string{"operator", "set", "instructions", "-", "--set", "ORACLE_INSTRUCTIONS_FILE=" + file}},
		{0, "models: version 1 is stored", models, []string{"operator", "set", "models", "-"}},
		{0, "key: sealed:", "", []string{"operator", "get", "models"}},
		{0, "open: everybody who makes a key (as it is without a choice", "", []string{"access", "--note", ""}},
		{0, "access: version 1 is stored", "", []string{"access", "invite", "--note", "friends first"}},
		{0, "invite: members, and who has an invitation (version 1 by command line (ada))", "", []string{"access", "--note", ""}},
		{0, "closed: members alone (set by ACCESS)", "", []string{"access", "--set", "ACCESS=closed"}},
		{1, "is set by the variable ACCESS", "", []string{"access", "open", "--set", "ACCESS=closed"}},
		{1, "cannot be removed", "", []string{"operator", "remove", "access"}},
		{1, "allowed is open, invite or closed", "access: all", []string{"operator", "set", "access", "-"}},
		{2, "want open, invite or closed", "", []string{"access", "everybody"}},
		{1, "There is no such document; there are instructions, models", "x", []string{"operator", "set", "poem", "-"}},
		{1, "no such file", "", []string{"operator", "set", "models", file + "x"}},
		{2, "want docs, get, set, history, restore or remove", "", []string{"operator"}},
		{2, "no subcommand", "", []string{"operator", "burn"}},
		{2, "set takes 2 arguments, given are 1", "", []string{"operator", "set", "models"}},
		{2, "is not the number of a version", "", []string{"operator", "restore", "models", "x"}},
	} {
		args := slices.Clip(step.args)
		if len(args) > 1 {
			args = append(args, at...)
		}
		var out, errs strings.Builder
		code := cli.Run(t.Context(), args,
			cli.IO{In: strings.NewReader(step.in), Out: &out, Err: &errs, Env: []string{"USER=ada"}})
		if said := out.String() + errs.String(); code != step.code || !strings.Contains(said, step.says) ||
			strings.Contains(said, "sk-very-secret") {
			t.Errorf("castalia %s: %d\n%s\nwant %d with %q", strings.Join(args, " "), code, said, step.code, step.says)
		}
	}
}
