package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var localAddress = regexp.MustCompile(`http://(?:localhost|127\.0\.0\.1):\d+`)

func TestBackupsOfAServerAreMadeTriedAndScheduled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, place := filepath.Join(dir, "backup.key"), filepath.Join(dir, "place")
	recipient, errs, code := run(t, nil, "backups", "key", "--out", key)
	if code != 0 || !strings.HasPrefix(recipient, "age1") {
		t.Fatalf("%d: %s%s", code, recipient, errs)
	}
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	s := serve(t, filepath.Join(dir, "data"), "BACKUP_URL=file://"+place,
		"BACKUP_RECIPIENTS="+strings.TrimSpace(recipient))
	at := localAddress.FindString(s.out.String())
	backups := func(code int, want string, args ...string) string {
		t.Helper()
		out, errs, got := run(t, nil, append([]string{"backups"}, append(args, "--server", at)...)...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Fatalf("castalia backups %s: %d\n%s%s\nwant %d with %q", strings.Join(args, " "), got, out, errs, code, want)
		}
		return strings.TrimSpace(out)
	}
	name := backups(0, "tries a restore", "make")
	backups(0, "not checked")
	backups(0, "all of its bytes are there", "check", name)
	backups(0, "bytes checked", "list")
	backups(1, "not encrypted for this key", "check", name, "--identity", otherKey(t, dir))
	backups(0, "bytes checked", "list") // another key says nothing of the backup
	backups(0, name+" can be restored", "check", name, "--identity", key)
	backups(0, "restored for trial", "list")
	backups(0, "every 1d, keep the newest 14", "schedule")
	backups(0, "every: 2d, keep: 14", "schedule", "--every", "48h")
	backups(0, "every 2d, keep the newest 14", "schedule")
	backups(2, "--every: given \"5m\"", "schedule", "--every", "5m")
	backups(1, "No such backup", "check", "none")
	file := filepath.Join(dir, "archive")
	backups(0, "restores it", "get", name, file)
	out, errs, code := run(t, nil, "restore", "--identity", key, "--set", "CASTALIA_DATA="+filepath.Join(dir, "again"), file)
	if code != 0 || !strings.Contains(errs, "Restored") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}

func otherKey(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "other.key")
	if out, errs, code := run(t, nil, "backups", "key", "--out", file); code != 0 {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	return file
}
