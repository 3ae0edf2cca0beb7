package cli_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
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

// Everything of somebody is taken along, and then destroyed.
func TestSomebodyIsExportedAndErased(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, other, out := filepath.Join(dir, "w.key"), filepath.Join(dir, "o.key"), filepath.Join(dir, "all.tar.gz")
	dids := map[string]string{}
	for _, path := range []string{key, other} {
		did, errs, code := run(t, nil, "key", "new", "--out", path)
		if code != 0 {
			t.Fatal(errs)
		}
		dids[path] = strings.TrimSpace(did)
	}
	did := dids[key]
	end := did[len(did)-6:]
	at := localAddress.FindString(serve(t, filepath.Join(dir, "data")).out.String())
	for _, step := range []struct {
		code int
		says string
		args []string
	}{
		{0, "/deep/mine", []string{"fs", "put", "--key", key, key, "/deep/mine"}},
		{0, "/mine", []string{"fs", "put", "--key", other, key, "/mine"}},
		{0, "", []string{"chat", "--key", key, "--message", "help"}},
		{0, "", []string{"fs", "share", "--key", key, "/deep/mine"}},
		{0, "all that is kept of them", []string{"people", "export", did, "--out", out}},
		{1, "--out names another file", []string{"people", "export", did, "--out", out}},
		{1, "the end of the DID", []string{"people", "erase", did, "--confirm", "nobody"}},
		{1, "the end of the DID", []string{"people", "erase", did}}, // nothing is typed
		{0, "1 files", []string{"people", "erase", did, "--confirm", end}},
		{0, "0 conversations", []string{"people", "erase", did, "--confirm", end}},
		{0, "BLOCKED", []string{"people", "list", did}},
		{0, "may come in again", []string{"people", "unblock", did}},
		{0, "", []string{"fs", "ls", "--key", key}},
		{0, "mine", []string{"fs", "ls", "--key", other}}, // what others have stays
	} {
		out, errs, code := run(t, nil, append(step.args, "--server", at)...)
		if code != step.code || !strings.Contains(out+errs, step.says) {
			t.Errorf("castalia %s: %d\n%s%s\nwant %d with %q", strings.Join(step.args, " "), code, out, errs, step.code, step.says)
		}
		if len(step.args) == 4 && step.args[0] == "fs" && step.args[3] == key && strings.Contains(out, "mine") {
			t.Errorf("what was erased is there: %s", out)
		}
	}
	packed, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for all := tar.NewReader(plain); ; {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(all)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.SplitAfter(h.Name, "conversations/")[0]] = string(text)
	}
	content, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, has := range map[string]string{
		"person.json": did, "files-0001.json": "/deep/mine", "files/deep/mine": string(content), "conversations/": "help",
		"links-0001.json": "/deep/mine", "calls-0001.json": "[]", "lost.json": "conversations",
		"app-keys.json": "", "webhooks.json": "", "collections.json": "", "plugins/memory.json": "", "plugins/preferences.json": "",
	} {
		if text, there := found[name]; !there || !strings.Contains(text, has) {
			t.Errorf("%s: %t, %q, want %q", name, there, text, has)
		}
	}
}
