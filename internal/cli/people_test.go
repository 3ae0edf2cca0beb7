package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

func TestPeopleAreFoundAndKeptOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "w.key")
	did, errs, code := run(t, nil, "key", "new", "--out", key)
	if code != 0 {
		t.Fatal(errs)
	}
	did = strings.TrimSpace(did)
	at := localAddress.FindString(serve(t, filepath.Join(dir, "data")).out.String())
	for _, step := range []struct {
		code int
		says string
		args []string
	}{
		{0, "/mine", []string{"fs", "put", "--key", key, key, "/mine"}},
		{0, did + "  no member", []string{"people"}},
		{0, did + " is blocked", []string{"people", "block", "--note", "spam", did}},
		{0, "(spam)", []string{"people", "list", did}},
		{1, "has blocked you", []string{"fs", "ls", "--key", key}},
		{0, "may come in again", []string{"people", "unblock", did}},
		{0, "mine", []string{"fs", "ls", "--key", key}},
		{0, "as everybody", []string{"people", "quota", did}},
		{0, "their own; everybody: no limit", []string{"people", "quota", did, "--bytes", "10", "--messages", "3"}},
		{1, "may hold 10 bytes", []string{"fs", "put", "--key", key, key, "/more"}},
		{0, "messages today    0", []string{"people", "quota", did, "--bytes", "off"}},
		{0, "/more", []string{"fs", "put", "--key", key, key, "/more"}},
		{2, "allowed is an amount in US dollars", []string{"people", "quota", did, "--cost", "much"}},
		{2, "takes everything back", []string{"people", "quota", did, "usual"}},
		{0, "model cost today", []string{"people", "quota", did, "auto"}},
		{1, "is not a DID", []string{"people", "quota", "Ann"}},
		{1, "not blocked", []string{"people", "unblock", did}},
		{1, "is not a DID", []string{"people", "block", "Ann"}},
		{0, "", []string{"people", "list", identitytest.Alice.DID}},
		{2, "takes one argument", []string{"people", "block"}},
		{2, "no subcommand", []string{"people", "burn"}},
	} {
		out, errs, code := run(t, nil, append(step.args, "--server", at)...)
		if code != step.code || !strings.Contains(out+errs, step.says) {
			t.Errorf("castalia %s: %d\n%s%s\nwant %d with %q", strings.Join(step.args, " "), code, out, errs, step.code, step.says)
		}
	}
}
