package castalia_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A program of one's own is built as the guide says: from a copy of the
// template in a folder of its own, outside this one.
func TestAProgramOfYourOwn(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("examples/own-program")); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
	edit := []string{"mod", "edit", "-replace", "github.com/castalia-org/castalia=" + here}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	// What this module replaces, the copy has to replace too: Go asks the main
	// module alone.
	for _, m := range regexp.MustCompile(`(?m)^replace (\S+) => (\S+) (\S+)$`).FindAllStringSubmatch(string(mod), -1) {
		edit = append(edit, "-replace", m[1]+"="+m[2]+"@"+m[3])
	}
	goTool(t, dir, edit...)
	goTool(t, dir, "build", "-mod=mod", "-o", "oracle", ".")

	program := filepath.Join(dir, "oracle")
	settings := exec.CommandContext(t.Context(), program, "config", "--set", "HOURS_TEXT=Always")
	out, err := settings.CombinedOutput()
	if err != nil || !regexp.MustCompile(`HOURS_TEXT +Always`).Match(out) || !regexp.MustCompile(`(?m)^ +hours +on`).Match(out) {
		t.Fatalf("config: %v\n%s", err, out)
	}

	serve := exec.CommandContext(t.Context(), program, "serve", "--port", "0", "--data", filepath.Join(dir, "data"))
	serve.Stderr = os.Stderr
	banner, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	features := askFeatures(t, banner)
	if !strings.Contains(features, `"hours"`) {
		t.Errorf("the server does not know the plugin: %s", features)
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, banner)
	if err := serve.Wait(); err != nil {
		t.Errorf("it did not stop cleanly: %v", err)
	}
}

// askFeatures reads from its banner where a server is, and asks it what it has.
func askFeatures(t *testing.T, banner io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(banner)
	for lines.Scan() {
		_, base, ok := strings.Cut(lines.Text(), "is up: ")
		if !ok {
			continue
		}
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/console/features.json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	t.Fatal("the server did not say where it is")
	return ""
}

func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
