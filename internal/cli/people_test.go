package cli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/people"
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
		{0, "", []string{"fs", "mkdir", "--key", key, "/deep/none"}},
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
	found := unpacked(t, out)
	content, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range found {
		found[strings.SplitAfter(name, "conversations/")[0]] = text
	}
	for name, has := range map[string]string{
		"person.json": did, "files-0001.json": "/deep/mine", "files/deep/mine": string(content), "files/deep/none/": "",
		"conversations/":  "help",
		"links-0001.json": "/deep/mine", "calls-0001.json": "[]", "lost.json": "conversations",
		"app-keys.json": "", "webhooks.json": "", "collections.json": "", "plugins/memory.json": "", "plugins/preferences.json": "",
	} {
		if text, there := found[name]; !there || !strings.Contains(text, has) {
			t.Errorf("%s: %t, %q, want %q", name, there, text, has)
		}
	}
}

// unpacked returns the files of an export.
func unpacked(t *testing.T, name string) map[string]string {
	t.Helper()
	packed, err := os.Open(name)
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
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(all)
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = string(text)
	}
}

// A flipped bit in one file does not keep the others out of an export, which says what it
// lacks, in the archive and where it was asked for.
func TestAnExportGoesOnBehindADamagedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, key, out := filepath.Join(dir, "data"), filepath.Join(dir, "w.key"), filepath.Join(dir, "all.tar.gz")
	did, errs, code := run(t, nil, "key", "new", "--out", key)
	if code != 0 {
		t.Fatal(errs)
	}
	did = strings.TrimSpace(did)
	at := localAddress.FindString(serve(t, data).out.String())
	size := map[string]int{"/a-late": 300_000, "/b-early": 400_000, "/c-fine": 500_000}
	for name, n := range size {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, bytes.Repeat([]byte("word "), n/5), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := run(t, nil, "fs", "put", "--key", key, file, name, "--server", at); code != 0 {
			t.Fatal(errs)
		}
	}
	flip(t, data, size["/a-late"], 200_000)
	flip(t, data, size["/b-early"], 100)
	told, errs, code := run(t, nil, "people", "export", did, "--out", out, "--server", at)
	for _, want := range []string{`"/a-late" has its first `, `"/b-early" is not in the export`, "not whole: 2 files"} {
		if code != 1 || !strings.Contains(told+errs, want) || strings.Contains(told, "all that is kept") {
			t.Errorf("%d, without %q:\n%s%s", code, want, told, errs)
		}
	}
	found := unpacked(t, out)
	var lost people.Lost
	if err := json.Unmarshal([]byte(found[people.LostName]), &lost); err != nil || len(lost.Files) != 2 {
		t.Fatalf("%v %s", err, found[people.LostName])
	}
	late, early := lost.Files[0], lost.Files[1]
	if late.Path != "/a-late" || late.Good < 100_000 || late.Good > 200_000 || early.Path != "/b-early" || early.Good != 0 {
		t.Errorf("%+v", lost.Files)
	}
	whole := strings.Repeat("word ", 100_000)
	if found["files/c-fine"] != whole {
		t.Errorf("the file behind has %d bytes", len(found["files/c-fine"]))
	}
	want := whole[:late.Good] + strings.Repeat("\x00", size["/a-late"]-int(late.Good))
	if found["files/a-late"] != want {
		t.Errorf("the damaged one has %d bytes", len(found["files/a-late"]))
	}
	if _, is := found["files/b-early"]; is {
		t.Error("a file of which nothing is good is there")
	}
}

// flip changes a bit of the object that has a file of this size.
func flip(t *testing.T, data string, size, at int) {
	t.Helper()
	done := false
	if err := filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "castalia.db") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil || len(raw) < size || len(raw) > size+10_000 {
			return err
		}
		raw[at] ^= 1
		done = true
		return os.WriteFile(path, raw, 0o600)
	}); err != nil || !done {
		t.Fatalf("no object of %d bytes: %v", size, err)
	}
}
