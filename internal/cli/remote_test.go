package cli_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
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
		{0, "", asked("knowledge", "publish")},
		{0, "There are none.", asked("knowledge", "questions", "--operator")},
		{1, "question", asked("knowledge", "answer", "--operator", "none", "It is closed.")},
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

// TestPeopleAndPluginsOfAServerAreKeptFromElsewhere: what the commands do with a deployment's own
// records, they do at a server that is named.
func TestPeopleAndPluginsOfAServerAreKeptFromElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	ann, ben := identitytest.NewActor("ann").DID, identitytest.NewActor("ben").DID
	at := localAddress.FindString(serve(t, data, "OPERATOR_TOKEN=hush", "ACCESS_DIDS="+ben, "CLAIMS_BATCH=9").out.String())
	asked := func(args ...string) []string { return append(args, "--token", "hush", "--server", at) }
	for _, step := range []struct {
		code int
		says string
		args []string
	}{
		{1, "not signed in as an operator", []string{"members", "list", "--key", otherSigner(t, dir), "--server", at}},
		{0, ann + ": added", asked("members", "add", "--note", "treasurer", ann)},
		{0, ann + ": is a member already", asked("members", "add", ann)},
		{0, "treasurer", asked("members", "list")},
		{0, "ACCESS_DIDS of the server names 1 more.", asked("members", "list")},
		{0, "treasurer", []string{"members", "list", "--data", data}},
		{1, "named by ACCESS_DIDS", asked("members", "remove", ben)},
		{0, ann + ": removed", asked("members", "remove", ann)},
		{1, "The DID is not a member.", asked("members", "remove", ann)},
		{1, "is not a DID", asked("members", "add", "ann")},
		{2, "castalia people list", asked("members", "known")},

		{0, at + "/console/invite#", asked("invite", "--uses", "3", "--for", "2d", "--note", "harvest")},
		{0, "0 of 3 used", asked("invite", "list")},
		{1, "from 1 to 10000", asked("invite", "--uses", "10001")},
		{1, "no such invitation", asked("invite", "revoke", "none")},
		{0, "https://o.example/console/invite#", []string{"invite", "--server", "https://o.example", "--data", data}},

		{0, ann + " is viewer now", asked("operators", "add", "--note", "looks", ann)},
		{0, "looks", asked("operators", "list")},
		{0, "has no role any more", asked("operators", "remove", ann)},
		{1, "The DID has no role.", asked("operators", "remove", ann)},

		{0, "MEMORY_IN_PROMPT", asked("plugins")},
		{0, "memory: stored", asked("plugins", "set", "MEMORY_IN_PROMPT=7")},
		{0, "changes with the next start", asked("plugins", "list")},
		{1, "allowed is a whole number", asked("plugins", "set", "MEMORY_IN_PROMPT=99")},
		{1, "CLAIMS_BATCH is set by the server's", asked("plugins", "set", "CLAIMS_BATCH=3")},
		{1, "NOPE: no such setting of a plugin", asked("plugins", "set", "NOPE=1", "MEMORY_IN_PROMPT=6")},
		{0, "memory: stored", asked("plugins", "unset", "MEMORY_IN_PROMPT")},

		{0, "Nothing was asked.", asked("usage")},
		{0, "Nothing was asked.", asked("usage", "--spenders")},
		{1, "not signed in as an operator", []string{"usage", "--token", "wrong", "--server", at}},
	} {
		out, errs, code := run(t, nil, step.args...)
		if code != step.code || !strings.Contains(out+errs, step.says) {
			t.Errorf("castalia %s: %d\n%s%s\nwant %d with %q", strings.Join(step.args, " "), code, out, errs, step.code, step.says)
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

// TestTelephonesOfAServer: operators look at sessions and locks, and let an account try again.
func TestTelephonesOfAServer(t *testing.T) {
	t.Parallel()
	at := localAddress.FindString(serve(t, filepath.Join(t.TempDir(), "data")).out.String())
	dial := func(id, text string) {
		t.Helper()
		body := strings.NewReader(`{"sessionId":"` + id + `","serviceCode":"*2233#","phoneNumber":"+254733333377","text":"` + text + `"}`)
		resp, err := http.Post(at+"/api/ussd", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	for i := range 5 {
		for _, text := range []string{"", "2", "2*1", "2*1*C00000000", "2*1*C00000000*48293"} {
			dial("guess-"+strconv.Itoa(i), text)
		}
	}
	dial("last", "")
	out, errs, code := run(t, nil, "ussd", "locks", "--server", at)
	fields := strings.Fields(out)
	if code != 0 || len(fields) < 2 || fields[0] != "telephone" || strings.Contains(out, "254733333377") {
		t.Fatalf("locks: %d %s%s", code, out, errs)
	}
	for _, step := range []struct {
		code int
		says string
		args []string
	}{
		{0, "last", []string{"ussd", "sessions"}},
		{0, "Welcome", []string{"ussd", "sessions", "last"}},
		{1, "", []string{"ussd", "sessions", "none"}},
		{0, "", []string{"ussd", "funnel", "1"}},
		{0, "can try again", []string{"ussd", "unlock", fields[1]}},
		{0, "was not locked", []string{"ussd", "unlock", "+254733333377"}},
		{1, "", []string{"ussd", "unlock", "C99999999"}},
		{2, "takes one argument", []string{"ussd", "unlock"}},
	} {
		out, errs, code := run(t, nil, append(step.args, "--server", at)...)
		if code != step.code || !strings.Contains(out+errs, step.says) || strings.Contains(out, "254733333377") {
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
