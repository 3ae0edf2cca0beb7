package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// banner hears when a server is up.
type banner struct {
	mu   sync.Mutex
	text bytes.Buffer
	up   chan struct{}
	once sync.Once
}

func (b *banner) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(p)
	if bytes.Contains(b.text.Bytes(), []byte("drains and stops")) {
		b.once.Do(func() { close(b.up) })
	}
	return len(p), nil
}

func (b *banner) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// serve starts a server on a data folder and returns what it printed, and how to
// stop it.
func serve(t *testing.T, data string, settings ...string) (printed *banner, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	printed = &banner{up: make(chan struct{})}
	var errs bytes.Buffer
	args := []string{"serve", "--data", data, "--port", "0"}
	for _, set := range append([]string{"HOST=127.0.0.1"}, settings...) {
		args = append(args, "--set", set)
	}
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, args, cli.IO{In: strings.NewReader(""), Out: printed, Err: &errs, Env: []string{"GOGC=100", "GOMAXPROCS=2", "LOG_FORMAT=json"}})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("serve ended with %d: %s", code, errs.String())
		}
	})
	select {
	case <-printed.up:
	case code := <-ended:
		cancel()
		t.Fatalf("serve ended with %d: %s", code, errs.String())
	}
	t.Cleanup(stop)
	return printed, stop
}

// deployed is a data folder in which a server ran once.
func deployed(t *testing.T, settings ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	_, stop := serve(t, dir, settings...)
	stop()
	return dir
}

// Every command that works on a deployment.
var onDeployments = [][]string{
	{"doctor"}, {"doctor", "--deep"}, {"doctor", "--repair"}, {"rotate-keys"}, {"migrate"}, {"migrate", "--status"},
	{"backup", "-"}, {"chain", "list"}, {"chain", "import", "-"},
}

func TestNothingButServeAndRestoreMakesADeployment(t *testing.T) {
	t.Parallel()
	for _, args := range onDeployments {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			missing, empty := filepath.Join(here, "missing"), filepath.Join(here, "empty")
			if err := os.Mkdir(empty, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{missing, empty} {
				out, errs, code := run(t, []string{"CASTALIA_DATA=" + dir}, args...)
				if code != 1 || !strings.Contains(errs, "there is no deployment in "+dir) || !strings.Contains(errs, "CASTALIA_DATA") || !strings.Contains(errs, "castalia serve") {
					t.Errorf("exit %d: %s%s", code, out, errs)
				}
			}
			if _, err := os.Lstat(missing); !os.IsNotExist(err) {
				t.Errorf("it made the folder: %v", err)
			}
			if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
				t.Errorf("it left %v in the folder, %v", left, err)
			}
		})
	}
}

func TestNothingButServeAndRestoreMakesAFleet(t *testing.T) {
	t.Parallel()
	bucket := testenv.S3(t)
	database := testenv.Postgres(t)
	env := []string{
		"DATABASE_URL=" + database, "BLOB_URL=" + bucket.URL(), "AWS_ACCESS_KEY_ID=" + bucket.AccessKey, "AWS_SECRET_ACCESS_KEY=" + bucket.SecretKey,
	}
	for _, name := range []string{"ORACLE_KEY", "FILES_MASTER_KEY", "PIN_ENCRYPTION_KEY"} {
		env = append(env, name+"="+strings.Repeat("11", 32))
	}
	for _, args := range onDeployments[:7] {
		_, errs, code := run(t, env, args...)
		if code != 1 || !strings.Contains(errs, "there is no deployment in the database") || strings.Contains(errs, "folder with --data") {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
	empty, err := sqldbtest.Open(t, database, sqldb.Options{}).Empty(t.Context())
	if err != nil || !empty {
		t.Errorf("the database has tables now: %v", err)
	}
}

func TestTheDoctorLooksBesideARunningServer(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, stop := serve(t, data)
	for _, args := range [][]string{{"doctor", "--data", data}, {"doctor", "--deep", "--data", data}} {
		out, errs, code := run(t, nil, args...)
		if code != 0 || !strings.Contains(out, "every key is the one") || !strings.Contains(errs, "Looking at "+data) {
			t.Errorf("%v: exit %d: %s%s", args, code, out, errs)
		}
	}
	if _, errs, code := run(t, nil, "doctor", "--repair", "--data", data); code != 1 || !strings.Contains(errs, "is in use by process") {
		t.Errorf("a repair beside the server: exit %d: %s", code, errs)
	}
	if _, errs, code := run(t, nil, "rotate-keys", "--data", data); code != 1 || !strings.Contains(errs, "is in use by process") {
		t.Errorf("a rotation beside the server: exit %d: %s", code, errs)
	}
	stop()
	if out, errs, code := run(t, nil, "doctor", "--repair", "--data", data); code != 0 {
		t.Errorf("afterwards: exit %d: %s%s", code, out, errs)
	}
}

func TestAMissingKeyIsNamedAndNotMade(t *testing.T) {
	t.Parallel()
	data := deployed(t)
	key := filepath.Join(data, "keys", "FILES_MASTER_KEY")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	out, _, code := run(t, nil, "doctor", "--data", data)
	if code != 1 || !strings.Contains(out, "FILES_MASTER_KEY: read key") || !strings.Contains(out, "\n1 problem found.\n") {
		t.Errorf("doctor: exit %d: %s", code, out)
	}
	if _, errs, code := run(t, nil, "rotate-keys", "--data", data); code != 1 || !strings.Contains(errs, "FILES_MASTER_KEY: read key") {
		t.Errorf("rotate-keys: exit %d: %s", code, errs)
	}
	if _, err := os.Lstat(key); !os.IsNotExist(err) {
		t.Errorf("a key was made: %v", err)
	}
}

func TestAnOpenDataFolderIsTightenedAtTheStart(t *testing.T) {
	t.Parallel()
	data := deployed(t)
	key := filepath.Join(data, "keys", "FILES_MASTER_KEY")
	for path, mode := range map[string]os.FileMode{data: 0o777, filepath.Join(data, "keys"): 0o755, key: 0o644, filepath.Join(data, sqldb.FileName): 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	_, stop := serve(t, data)
	defer stop()
	for path, mode := range map[string]os.FileMode{data: 0o700, filepath.Join(data, "keys"): 0o700, key: 0o600, filepath.Join(data, sqldb.FileName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
