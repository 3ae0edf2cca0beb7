package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/test/testenv"
)

// embedded makes a data folder with keys, tables and one row.
func embedded(t *testing.T) string {
	t.Helper()
	dir := deployed(t)
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(dir, sqldb.FileName), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := sqldb.NextFeedN(ctx, tx, "a feed", 41)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func lastNumber(t *testing.T, address string) (n int64) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Read().QueryRowContext(t.Context(), `SELECT last FROM platform_feeds WHERE name = 'a feed'`).Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}

func TestABackupIsRestored(t *testing.T) {
	t.Parallel()
	source := embedded(t)
	archive := filepath.Join(t.TempDir(), "castalia.tar")
	_, text, code := run(t, []string{"CASTALIA_DATA=" + source}, "backup", "--plain", archive)
	signer := regexp.MustCompile(`did:key:\w+`).FindString(text)
	if code != 0 || !strings.Contains(text, "3 keys") || signer == "" {
		t.Fatalf("backup: exit %d: %s", code, text)
	}
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive: %v, %v", info.Mode(), err)
	}
	if _, text, code := run(t, []string{"CASTALIA_DATA=" + source}, "backup", "--plain", archive); code != 1 || !strings.Contains(text, "exists") {
		t.Errorf("a second backup of the same name: exit %d: %s", code, text)
	}

	target := filepath.Join(t.TempDir(), "restored")
	env := []string{"CASTALIA_DATA=" + target}
	stranger, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	_, text, code = run(t, env, "restore", "--signer", string(stranger.DID()), archive)
	if code != 1 || !strings.Contains(text, "signed by "+signer) {
		t.Errorf("restore of somebody else's: exit %d: %s", code, text)
	}
	other := strings.Repeat("ab", 32)
	_, text, code = run(t, append(env, "ORACLE_KEY="+other), "restore", archive)
	if code != 1 || !strings.Contains(text, "signed by "+signer) {
		t.Errorf("restore into another deployment: exit %d: %s", code, text)
	}
	if _, err := os.Lstat(target); !os.IsNotExist(err) {
		t.Errorf("the target was touched: %v", err)
	}
	_, text, code = run(t, env, "restore", "--signer", signer, archive)
	if code != 0 || !strings.Contains(text, "is signed by "+signer) {
		t.Fatalf("restore: exit %d: %s", code, text)
	}
	if n := lastNumber(t, "sqlite:"+filepath.Join(target, sqldb.FileName)); n != 41 {
		t.Errorf("the feed is at %d, want 41", n)
	}
	for _, name := range []string{"ORACLE_KEY", "FILES_MASTER_KEY", "PIN_ENCRYPTION_KEY"} {
		was, errWas := os.ReadFile(filepath.Join(source, "keys", name))
		is, errIs := os.ReadFile(filepath.Join(target, "keys", name))
		if errWas != nil || errIs != nil || string(was) != string(is) {
			t.Errorf("%s was not restored: %v %v", name, errWas, errIs)
		}
	}
	if out, text, code := run(t, env, "doctor", "--deep"); code != 0 {
		t.Errorf("doctor: exit %d: %s%s", code, out, text)
	}
	if _, text, code := run(t, env, "restore", archive); code != 1 || !strings.Contains(text, "not empty") {
		t.Errorf("a second restore: exit %d: %s", code, text)
	}
}

// What a restore from standard input refuses at its end was stored by then: nothing starts on it.
func TestARefusedRestoreLeavesNothingToStartOn(t *testing.T) {
	t.Parallel()
	whole, text, code := run(t, []string{"CASTALIA_DATA=" + embedded(t)}, "backup", "--plain", "-")
	if code != 0 {
		t.Fatalf("backup: exit %d: %s", code, text)
	}
	stranger, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   string
		args []string
		want string
	}{
		"somebody else's": {whole, []string{"restore", "--signer", string(stranger.DID()), "-"}, "not by " + string(stranger.DID())},
		"cut off":         {whole[:len(whole)-2000], []string{"restore", "-"}, "cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"CASTALIA_DATA=" + filepath.Join(t.TempDir(), "half")}
			var told bytes.Buffer
			code := cli.Run(t.Context(), c.args, cli.IO{In: strings.NewReader(c.in), Out: io.Discard, Err: &told, Env: env})
			if code != 1 || !strings.Contains(told.String(), c.want) {
				t.Errorf("restore: exit %d: %s", code, told.String())
			}
			if _, text, code := run(t, env, "rotate-keys"); code != 1 || !strings.Contains(text, "throw it away") {
				t.Errorf("a start: exit %d: %s", code, text)
			}
		})
	}
}

func TestADamagedBackupTouchesNothing(t *testing.T) {
	t.Parallel()
	source := embedded(t)
	out, text, code := run(t, []string{"CASTALIA_DATA=" + source}, "backup", "--plain", "--without-keys", "-")
	if code != 0 || !strings.Contains(text, "0 keys") {
		t.Fatalf("backup: exit %d: %s", code, text)
	}
	archive := filepath.Join(t.TempDir(), "castalia.tar")
	if err := os.WriteFile(archive, []byte(strings.Replace(out, "a feed", "b feed", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "restored")
	if _, text, code := run(t, []string{"CASTALIA_DATA=" + target}, "restore", archive); code != 1 || !strings.Contains(text, "damaged") {
		t.Errorf("restore: exit %d: %s", code, text)
	}
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Errorf("the target was touched: %v", err)
	}
	if _, text, code := run(t, []string{"CASTALIA_DATA=" + target}, "backup", "--plain", "-"); code != 1 || !strings.Contains(text, "there is no deployment in "+target) {
		t.Errorf("backup of nothing: exit %d: %s", code, text)
	}
	if _, _, code := run(t, nil, "restore"); code != 2 {
		t.Errorf("restore of nothing: exit %d", code)
	}
}

func TestADataFolderBecomesAFleet(t *testing.T) {
	t.Parallel()
	bucket := testenv.S3(t)
	database := testenv.Postgres(t)
	source := embedded(t)
	archive := filepath.Join(t.TempDir(), "castalia.tar")
	if _, text, code := run(t, []string{"CASTALIA_DATA=" + source}, "backup", "--plain", archive); code != 0 {
		t.Fatalf("backup: exit %d: %s", code, text)
	}
	env := []string{
		"DATABASE_URL=" + database, "BLOB_URL=" + bucket.URL(),
		"AWS_ACCESS_KEY_ID=" + bucket.AccessKey, "AWS_SECRET_ACCESS_KEY=" + bucket.SecretKey,
	}
	if _, text, code := run(t, env, "restore", archive); code != 1 || !strings.Contains(text, "set FILES_MASTER_KEY") {
		t.Errorf("restore without keys: exit %d: %s", code, text)
	}
	for _, name := range []string{"ORACLE_KEY", "FILES_MASTER_KEY", "PIN_ENCRYPTION_KEY"} {
		key, err := os.ReadFile(filepath.Join(source, "keys", name))
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(key)))
	}
	if _, text, code := run(t, env, "restore", archive); code != 0 {
		t.Fatalf("restore: exit %d: %s", code, text)
	}
	if n := lastNumber(t, database); n != 41 {
		t.Errorf("the feed is at %d, want 41", n)
	}
	if out, text, code := run(t, env, "doctor", "--deep"); code != 0 {
		t.Errorf("doctor: exit %d: %s%s", code, out, text)
	}
}
