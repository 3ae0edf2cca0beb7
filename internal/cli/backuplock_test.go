package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

func TestABackupIsEncryptedUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	source, dir := embedded(t), t.TempDir()
	env := []string{"CASTALIA_DATA=" + source}
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("short"), []byte("too short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"backup", file("none")}, 2, "--plain"},
		{[]string{"backup", "--plain", "--to", "age1x", file("none")}, 2, "give one of"},
		{[]string{"backup", "--to", "nobody", file("none")}, 1, "--to: read recipient"},
		{[]string{"backup", "--passphrase-file", file("short"), file("none")}, 1, "at least 12"},
		{[]string{"backup", "--passphrase", file("none")}, 1, "no terminal"},
		{[]string{"backup", "--passphrase-file", file("missing"), file("none")}, 1, "read passphrase"},
	} {
		if _, errs, code := run(t, env, c.args...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d: %s", c.args, code, errs)
		}
	}
	if _, err := os.Lstat(file("none")); !os.IsNotExist(err) {
		t.Errorf("an archive was written: %v", err)
	}

	recipient, errs, code := run(t, nil, "key", "new", "--backup", "--out", file("backup.key"))
	if code != 0 || !strings.HasPrefix(recipient, "age1") {
		t.Fatalf("key new --backup: exit %d: %s%s", code, recipient, errs)
	}
	recipient = strings.TrimSpace(recipient)
	if err := os.WriteFile(file("recipients"), []byte("# the office\n"+recipient+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, code := run(t, nil, "key", "new", "--backup", "--out", file("other.key")); code != 0 {
		t.Fatal("key new --backup")
	}
	const passphrase = "CASTALIA_PASSPHRASE=correct horse battery"
	for name, c := range map[string]struct {
		backupEnv, restoreEnv string
		backup, restore       []string
		wrong                 []string
		wrongSays             string
	}{
		"recipient": {
			backup: []string{"--to", recipient}, restore: []string{"--identity", file("backup.key")},
			wrong: []string{"--identity", file("other.key")}, wrongSays: "not encrypted for this key",
		},
		"file": {
			backup:  []string{"--to", "@" + file("recipients")},
			restore: []string{"--identity", file("other.key"), "--identity", file("backup.key")}, wrongSays: "--identity",
		},
		"passphrase": {backupEnv: passphrase, restoreEnv: passphrase, wrongSays: "no terminal"},
		"flag wins":  {backupEnv: passphrase, backup: []string{"--plain"}, wrongSays: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := file(strings.ReplaceAll(name, " ", "-"))
			if _, errs, code := run(t, append(env, c.backupEnv),
				append(append([]string{"backup"}, c.backup...), archive)...); code != 0 || !strings.Contains(errs, "3 keys") {
				t.Fatalf("backup: exit %d: %s", code, errs)
			}
			text, err := os.ReadFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			if clear := bytes.Contains(text, []byte("FILES_MASTER_KEY")); clear != (name == "flag wins") {
				t.Errorf("in clear: %v", clear)
			}
			target := filepath.Join(t.TempDir(), "restored")
			there := []string{"CASTALIA_DATA=" + target}
			if c.wrongSays != "" {
				if _, errs, code := run(t, there, append(append([]string{"restore"}, c.wrong...), archive)...); code != 1 ||
					!strings.Contains(errs, c.wrongSays) {
					t.Errorf("restore without the key: exit %d: %s", code, errs)
				}
				cut := archive + ".cut"
				if err := os.WriteFile(cut, text[:len(text)-1], 0o600); err != nil {
					t.Fatal(err)
				}
				if _, errs, code := run(t, append(there, c.restoreEnv),
					append(append([]string{"restore"}, c.restore...), cut)...); code != 1 || !strings.Contains(errs, "cut off or damaged") {
					t.Errorf("restore of a cut archive: exit %d: %s", code, errs)
				}
				if _, err := os.Lstat(target); !os.IsNotExist(err) {
					t.Errorf("the target was touched: %v", err)
				}
			}
			if name == "flag wins" { // a stranger may have put a plain archive in the place of ours
				for _, given := range [][]string{{"", "--identity", file("backup.key")}, {passphrase}} {
					_, errs, code := run(t, append(there, given[0]), append(append([]string{"restore"}, given[1:]...), archive)...)
					if _, err := os.Lstat(target); code != 1 || !strings.Contains(errs, "not encrypted") || !os.IsNotExist(err) {
						t.Errorf("restore of a plain archive with %q: exit %d: %s", given, code, errs)
					}
				}
			}
			if _, errs, code := run(t, append(there, c.restoreEnv),
				append(append([]string{"restore"}, c.restore...), archive)...); code != 0 {
				t.Fatalf("restore: exit %d: %s", code, errs)
			}
			if n := lastNumber(t, "sqlite:"+filepath.Join(target, sqldb.FileName)); n != 41 {
				t.Errorf("the feed is at %d, want 41", n)
			}
		})
	}
}

// Whoever restores a replica with the settings that wrote it is not asked for its passphrase.
func TestAReplicaIsRestoredByTheSettingsThatWroteIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, key := filepath.Join(dir, "data"), filepath.Join(dir, "me.key")
	place := "file://" + filepath.Join(dir, "replica")
	env := []string{"REPLICA_URL=" + place, "REPLICA_PASSPHRASE=correct horse battery staple"}
	s := serve(t, data, env...)
	mustRun(t, "key", "new", "--out", key)
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "fs", "put", "--server", addressIn(t, s.out.String()), "--key", key, note, "/note.txt")
	<-s.err.says("replica.base") // its first whole copy is made beside the start
	if out, errs, code := run(t, append(env, "CASTALIA_DATA="+data), "replica", "status"); code != 0 || !strings.Contains(out, "restorable ") {
		t.Errorf("status: exit %d: %s%s", code, out, errs)
	}
	s.stop()
	again := filepath.Join(dir, "again")
	if _, errs, code := run(t, append(env, "CASTALIA_DATA="+again), "restore", "--from", place); code != 0 ||
		!strings.Contains(errs, "Restored the state of") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	s = serve(t, again, env...)
	if got := mustRun(t, "fs", "cat", "--server", addressIn(t, s.out.String()), "--key", key, "/note.txt"); got != "kept" {
		t.Errorf("restored: %q", got)
	}
}
