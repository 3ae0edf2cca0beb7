package datadir_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/datadir"
)

// open makes files that everybody may read and write, whatever the umask is.
func open(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte("x"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o777)
		}
		return os.Chmod(path, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func modeOf(t *testing.T, elements ...string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestAnOpenFolderIsTightened(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	open(t, dir, "keys/ORACLE_KEY", "lock", "records.db", "records.db-wal", "objects/a")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	changed, err := datadir.Tighten(link, "records.db", "objects")
	if err != nil || len(changed) != 7 || !slices.Contains(changed, filepath.Join(dir, "keys", "ORACLE_KEY")) {
		t.Fatalf("%v, %v", changed, err)
	}
	for name, want := range map[string]fs.FileMode{".": 0o700, "keys": 0o700, "keys/ORACLE_KEY": 0o600, "records.db": 0o600, "records.db-wal": 0o600, "objects": 0o700} {
		if got := modeOf(t, dir, name); got != want {
			t.Errorf("%s has mode %04o, want %04o", name, got, want)
		}
	}
	if changed, err := datadir.Tighten(dir, "records.db", "objects"); err != nil || len(changed) > 0 {
		t.Errorf("a second time: %v, %v", changed, err)
	}
}

func TestAFolderOfOthersTooIsLeftToThem(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	open(t, dir, "keys/ORACLE_KEY", "records.db", "letters/to-a-friend")
	_, err := datadir.Tighten(dir, "records.db", "objects")
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "CASTALIA_DATA") {
		t.Errorf("nobody is told: %v", err)
	}
	for name, want := range map[string]fs.FileMode{".": 0o777, "letters": 0o777, "letters/to-a-friend": 0o666, "keys": 0o700, "keys/ORACLE_KEY": 0o600, "records.db": 0o600} {
		if got := modeOf(t, dir, name); got != want {
			t.Errorf("%s has mode %04o, want %04o", name, got, want)
		}
	}
}

func TestWhatALinkLeadsToIsNamed(t *testing.T) {
	t.Parallel()
	dir, elsewhere := filepath.Join(t.TempDir(), "data"), t.TempDir()
	open(t, elsewhere, "secret")
	open(t, dir, "keys/PIN_ENCRYPTION_KEY")
	if err := os.Symlink(filepath.Join(elsewhere, "secret"), filepath.Join(dir, "keys", "ORACLE_KEY")); err != nil {
		t.Fatal(err)
	}
	_, err := datadir.Tighten(dir)
	if err == nil || !strings.Contains(err.Error(), "ORACLE_KEY") || modeOf(t, elsewhere, "secret") != 0o666 {
		t.Errorf("%v, mode %04o", err, modeOf(t, elsewhere, "secret"))
	}
}
