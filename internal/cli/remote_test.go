package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAServerIsChangedFromElsewhere: with the key of somebody who has a role, in place of the token.
func TestAServerIsChangedFromElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, modelKey, data := filepath.Join(dir, "ada.key"), filepath.Join(dir, "model.key"), filepath.Join(dir, "data")
	if err := os.WriteFile(modelKey, []byte("sk-very-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	did, errs, code := run(t, nil, "key", "new", "--out", key)
	if code != 0 {
		t.Fatal(errs)
	}
	did = strings.TrimSpace(did)
	at := localAddress.FindString(serve(t, data, "OPERATOR_TOKEN=hush", "HTTPS_PORT=0").out.String())
	role := func(name string) []string { return []string{"operators", "add", "--role", name, did, "--data", data} }
	asked := func(args ...string) []string { return append(args, "--key", key, "--server", at) }
	const endpoint, other = "http://127.0.0.1:9/v1", "http://127.0.0.1:8/v1"
	for _, step := range []struct {
		code int
		says string
		args []string
	}{
		{1, "not signed in as an operator", asked("access")},
		{0, "viewer now", role("viewer")},
		{0, "open: everybody", asked("access")},
		{0, "flag, a change needs a restart", asked("settings")},
		{1, "role", asked("access", "invite")},
		{0, "operator now", role("operator")},
		{0, "access: version 1 is stored", asked("access", "invite", "--note", "friends first")},
		{0, "(version 1 by " + did + ")", asked("access")},
		{0, "invite: members", []string{"access", "--token", "hush", "--server", at}},
		{0, "friends first", asked("operator", "history", "access")},
		{0, "database, version 1 by " + did, asked("operator", "docs")},
		{1, "There is no such document", asked("operator", "get", "poem")},
		{0, "PUT /operator/documents/{name}", asked("audit", "--actor", did)},

		{0, "not set: links are relative", asked("address")},
		{0, "waits for a restart: links", asked("address", "set", "--url", "https://oracle.example.org")},
		{0, "https://oracle.example.org (database)", asked("address", "show")},
		{1, "nobody gives out certificates below .local", asked("address", "set", "--https", "oracle.local")},
		{1, "allowed are names such as oracle.example.org", asked("address", "set", "--https", "10.0.0.7")},
		{0, "waits for a restart: the port of HTTPS is opened", asked("address", "set", "--https", "oracle.example.org,www.example.org", "--url", "none")},
		{0, "chosen by operators, in the document address", asked("settings")},
		{0, "www.example.org  no certificate yet", asked("address")},
		{0, "not set", asked("address", "set", "--https", "none")},
		{2, "set takes --url, --https, or both", asked("address", "set")},
		{2, "did you mean show", asked("address", "shwo")},

		{0, "guide (built in)", asked("models")},
		{0, "openai m1 at " + endpoint + ", with a key (version 1)", asked("models", "set", "openai", "--model", "m1", "--address", endpoint, "--key-file", modelKey)},
		{0, "openai m2 at " + endpoint + ", with a key (version 2)", asked("models", "set", "openai", "--model", "m2", "--address", endpoint)},
		{0, "openai m2 at " + other + " (version 3)", asked("models", "set", "openai", "--model", "m2", "--address", other)},
		{1, "nothing listens there", asked("models", "test")},
		{1, "nothing listens there", asked("models", "try", "openai", "--model", "m3", "--address", endpoint)},
		{0, "models: version 4 is stored", asked("models", "restore", "1", "--note", "back")},
		{0, "as version 1", asked("models", "history")},
		{0, "openai m1 at " + endpoint + ", with a key (version 4)", asked("models", "show")},
		{0, "key: sealed:", asked("operator", "get", "models")},
		{0, "guide (version 5)", asked("models", "set", "guide")},
		{2, "--model names the model", asked("models", "set", "openai")},
		{2, "the guide takes no key", asked("models", "set", "guide", "--key-file", modelKey)},
		{1, "no such file", asked("models", "set", "openai", "--model", "m", "--key-file", modelKey+"x")},
		{2, "no subcommand \"burn\"", asked("models", "burn")},
		{1, "its plugin is off", asked("claims")},
		{1, "turns cost no credits", asked("claims", "balances")},
		{1, "read key", []string{"models", "--key", key + "x", "--server", at}},
		{0, "Nobody is found", asked("people", "list", did)},
		{1, "not signed in as an operator", []string{"models", "--key", otherSigner(t, dir), "--server", at}},
	} {
		out, errs, code := run(t, nil, step.args...)
		if said := out + errs; code != step.code || !strings.Contains(said, step.says) || strings.Contains(said, "sk-very-secret") {
			t.Errorf("castalia %s: %d\n%s\nwant %d with %q", strings.Join(step.args, " "), code, said, step.code, step.says)
		}
	}
}

// TestCreditsAndClaimsOfAServer: what somebody has is found by their DID.
func TestCreditsAndClaimsOfAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := localAddress.FindString(serve(t, filepath.Join(dir, "data"), "FEATURES=credits=true").out.String())
	key := otherSigner(t, dir)
	did, _, _ := run(t, nil, "key", "show", key)
	did = strings.TrimSpace(did)
	for _, step := range []struct {
		code int
		says string
		args []string
	}{
		{0, "/mine", []string{"fs", "put", "--key", key, key, "/mine"}},
		{0, "", []string{"claims"}},
		{0, "", []string{"claims", "failed"}},
		{1, "There is no such claim", []string{"claims", "retry", "claim_x"}},
		{0, did + "  0 available  0 held  0 spent  0 owed", []string{"claims", "balances", did[:20]}},
		{2, "no subcommand", []string{"claims", "burn"}},
		{2, "claims retry takes", []string{"claims", "retry"}},
	} {
		out, errs, code := run(t, nil, append(step.args, "--server", at)...)
		if code != step.code || !strings.Contains(out+errs, step.says) {
			t.Errorf("castalia %s: %d\n%s%s\nwant %d with %q", strings.Join(step.args, " "), code, out, errs, step.code, step.says)
		}
	}
}

// otherSigner is the key of somebody without a role.
func otherSigner(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "bob.key")
	if _, errs, code := run(t, nil, "key", "new", "--out", name); code != 0 {
		t.Fatal(errs)
	}
	return name
}
