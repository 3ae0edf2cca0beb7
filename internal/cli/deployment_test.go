package cli_test

import (
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

// stream is one that a server writes to while a test reads it.
type stream struct {
	mu   sync.Mutex
	text strings.Builder
	// said is closed when the stream has this word.
	word string
	said chan struct{}
	once sync.Once
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if s.word != "" && strings.Contains(s.text.String(), s.word) {
		s.once.Do(func() { close(s.said) })
	}
	return len(p), nil
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// server is one that runs in this process.
type server struct {
	out, err *stream
	stop     func()
}

// serve starts a server on a data folder and waits until it is up.
func serve(t *testing.T, data string, settings ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{out: &stream{word: "drains and stops", said: make(chan struct{})}, err: &stream{}}
	args := []string{"serve", "--data", data, "--port", "0"}
	for _, set := range append([]string{"HOST=127.0.0.1"}, settings...) {
		args = append(args, "--set", set)
	}
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, args,
			cli.IO{In: strings.NewReader(""), Out: s.out, Err: s.err, Env: []string{"GOGC=100", "GOMAXPROCS=2", "LOG_FORMAT=json"}})
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("serve ended with %d: %s", code, s.err)
		}
	})
	select {
	case <-s.out.said:
	case code := <-ended:
		cancel()
		t.Fatalf("serve ended with %d: %s", code, s.err)
	}
	t.Cleanup(s.stop)
	return s
}

// deployed is a data folder in which a server ran once.
func deployed(t *testing.T, settings ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	serve(t, dir, settings...).stop()
	return dir
}

// onDeployments is every command that works on a deployment.
func onDeployments() [][]string {
	return [][]string{
		{"doctor"},
		{"doctor", "--deep"},
		{"doctor", "--repair"},
		{"members", "list"},
		{"members", "known"},
		{"members", "add", "did:key:z6MkoJdmFBwvY6ELzMNhhyTa4mC8mntyMwmZ1vxaCCppDrUN"},
		{"invite"},
		{"operators", "list"},
		{"setup-link"},
		{"usage"},
		{"usage", "--spenders"},
		{"rotate-keys"},
		{"migrate"},
		{"migrate", "--status"},
		{"backup", "--plain", "-"},
		{"chain", "list"},
		{"chain", "import", "-"},
	}
}

func TestNothingButServeAndRestoreMakesADeployment(t *testing.T) {
	t.Parallel()
	for _, args := range onDeployments() {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			missing, empty := filepath.Join(here, "missing"), filepath.Join(here, "empty")
			if err := os.Mkdir(empty, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{missing, empty} {
				out, errs, code := run(t, []string{"CASTALIA_DATA=" + dir}, args...)
				if code != 1 || !strings.Contains(errs, "there is no deployment in "+dir) ||
					!strings.Contains(errs, "CASTALIA_DATA") || !strings.Contains(errs, "castalia serve") {
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
	for _, args := range onDeployments()[:7] {
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
	s := serve(t, data)
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
	s.stop()
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
	for path, mode := range map[string]os.FileMode{
		data: 0o777, filepath.Join(data, "keys"): 0o755, key: 0o644,
		filepath.Join(data, sqldb.FileName): 0o666,
	} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, data)
	if !strings.Contains(s.err.String(), "others could reach the data folder") {
		t.Errorf("nobody is told: %s", s.err)
	}
	for path, mode := range map[string]os.FileMode{
		data: 0o700, filepath.Join(data, "keys"): 0o700, key: 0o600,
		filepath.Join(data, sqldb.FileName): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
