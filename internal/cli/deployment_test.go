package cli_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/tablecopy"
	"github.com/castalia-org/castalia/test/testenv"
)

// stream is one that a server writes to while a test reads it.
type stream struct {
	mu      sync.Mutex
	text    strings.Builder
	awaited map[string]chan struct{} // by word
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	for word, said := range s.awaited {
		if strings.Contains(s.text.String(), word) {
			close(said)
			delete(s.awaited, word)
		}
	}
	return len(p), nil
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// says returns what is closed as soon as the stream has a word, which one test alone awaits.
func (s *stream) says(word string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := make(chan struct{})
	if strings.Contains(s.text.String(), word) {
		close(said)
		return said
	}
	if s.awaited == nil {
		s.awaited = map[string]chan struct{}{}
	}
	s.awaited[word] = said
	return said
}

// server is one that runs in this process.
type server struct {
	out, err *stream
	end      func() error
	stop     func() // end, for a test
}

// start starts a server on a data folder and waits until it is up.
func start(data string, settings ...string) (*server, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{out: &stream{}, err: &stream{}}
	args := []string{"serve", "--data", data, "--port", "0"}
	for _, set := range append([]string{"HOST=127.0.0.1"}, settings...) {
		args = append(args, "--set", set)
	}
	up, ended := s.out.says("drains and stops"), make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, args,
			cli.IO{In: strings.NewReader(""), Out: s.out, Err: s.err, Env: []string{"GOGC=100", "GOMAXPROCS=2", "LOG_FORMAT=json"}})
	}()
	s.end = func() error {
		cancel()
		if code := <-ended; code != 0 {
			return fmt.Errorf("serve ended with %d: %s", code, s.err)
		}
		return nil
	}
	select {
	case <-up:
		return s, nil
	case code := <-ended:
		cancel()
		return nil, fmt.Errorf("serve ended with %d: %s", code, s.err)
	}
}

// serve starts a server on a data folder for a test.
func serve(t *testing.T, data string, settings ...string) *server {
	t.Helper()
	s, err := start(data, settings...)
	if err != nil {
		t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// deployed is a data folder in which a server ran once. A server that starts anew for each
// test is most of what those tests cost: one runs for all who ask for nothing special, and
// each gets a copy of what it left.
func deployed(t *testing.T, settings ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if len(settings) > 0 {
		serve(t, dir, settings...).stop()
		return dir
	}
	left, err := leftByAServer()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range left {
		path := filepath.Join(dir, one.path)
		if one.mode.IsDir() {
			err = os.Mkdir(path, one.mode.Perm())
		} else {
			err = os.WriteFile(path, one.content, one.mode.Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// leaving is a file or a folder that a server left.
type leaving struct {
	path    string
	mode    os.FileMode
	content []byte // of a file
}

// leftByAServer is all that a server leaves in a new data folder, folders before what is in
// them. It is kept in memory, since no test outlives all others.
var leftByAServer = sync.OnceValues(func() (left []leaving, err error) {
	home, err := os.MkdirTemp("", "castalia-deployed-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	dir := filepath.Join(home, "data")
	s, err := start(dir)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		one := leaving{mode: info.Mode()}
		if one.path, err = filepath.Rel(dir, path); err != nil {
			return err
		}
		switch {
		case info.Mode().IsRegular():
			one.content, err = os.ReadFile(path)
		case !info.IsDir():
			err = fmt.Errorf("a server left %s, which is neither a file nor a folder", path)
		}
		left = append(left, one)
		return err
	})
	return left, err
})

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
	empty, err := tablecopy.Empty(t.Context(), sqldbtest.Open(t, database, sqldb.Options{}))
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

// Each half of what the doctor tries is corrected elsewhere: models in their document, and
// services of speech also by variables of their own.
func TestTheDoctorNamesWhatCorrectsAServiceOfSpeech(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer refuses.Close()
	env := []string{"TEXT_TO_SPEECH_URL=" + refuses.URL, "TEXT_TO_SPEECH_MODEL=tts-1", "SPEECH_API_KEY=wrong"}
	out, errs, code := run(t, env, "doctor", "--data", deployed(t))
	lines := strings.Split(out, "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "FAULT  speech ") })
	if code != 1 || at < 0 || !strings.Contains(lines[at], "the key was refused") ||
		!strings.Contains(lines[at+1], "SPEECH_API_KEY") || strings.Contains(lines[at+1], "MODEL") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}
