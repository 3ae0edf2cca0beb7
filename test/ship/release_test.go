package ship_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

const root = "../.."

var made struct {
	once   sync.Once
	folder string
	err    error
}

// release returns the folder of a release.
func release(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv("CASTALIA_DIST"); folder != "" {
		return folder
	}
	testenv.Need(t, "long", "npm", "git")
	made.once.Do(func() { made.folder, made.err = makeRelease() })
	if made.err != nil {
		t.Fatal(made.err)
	}
	return made.folder
}

func makeRelease() (string, error) {
	dir, err := os.MkdirTemp("", "castalia-ship-")
	if err != nil {
		return "", err
	}
	_, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	text, err := private.MarshalText()
	if err != nil {
		return "", err
	}
	key, out := filepath.Join(dir, "release.key"), filepath.Join(dir, "dist")
	if err := os.WriteFile(key, text, 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.Background(), "go", "run", "./scripts/dist", "-key", key, "-out", out)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make a release: %w\n%s", err, said)
	}
	return out, nil
}

// file returns the one file of the release that matches.
func file(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(release(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// do runs a program to its end and fails when it does.
func do(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// here is the program of this machine, out of its archive.
func here(t *testing.T) string {
	t.Helper()
	f, err := os.Open(file(t, "castalia_*_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	path := filepath.Join(t.TempDir(), "castalia")
	if err := os.WriteFile(path, programOf(t, f), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func programOf(t *testing.T, r io.Reader) []byte {
	t.Helper()
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(unzipped); ; {
		h, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "castalia" {
			content, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			return content
		}
	}
}

// useful starts a server and asks what somebody who just got it would: is it up,
// does it have its console, does it answer a telephone? It prints how long that took.
func useful(t *testing.T, how string, began time.Time, env []string, name string, args ...string) {
	t.Helper()
	port := testenv.Port(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("PORT=%d", port), "HOST=127.0.0.1"), env...)
	cmd.Dir = t.TempDir()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said: %s", how, said.String())
		}
	}()
	answersTelephones(t, port)
	t.Logf("%s: from nothing installed to a useful answer in %s", how, time.Since(began).Round(10*time.Millisecond))
}

// answersTelephones waits for the menu, then looks at the console.
func answersTelephones(t *testing.T, port int) {
	t.Helper()
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	system.Eventually(t, "a telephone is answered", func() error {
		text, err := ask(t.Context(), http.MethodPost, base+"/api/ussd", `{"sessionId":"s1","serviceCode":"*2233#","phoneNumber":"+254700000001","text":""}`)
		if err == nil && !strings.HasPrefix(text, "CON Welcome") {
			err = fmt.Errorf("the telephone hears %q", text)
		}
		return err
	})
	if text, err := ask(t.Context(), http.MethodGet, base+"/console/", ""); err != nil || !strings.Contains(text, "<script") {
		t.Errorf("the console: %v %q", err, text)
	}
}

func ask(ctx context.Context, method, address, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

func TestTheReleaseIsSigned(t *testing.T) {
	t.Parallel()
	folder := release(t)
	if said := do(t, here(t), "verify", "--key", filepath.Join(folder, "castalia.pub"), folder); !strings.Contains(said, "ok  castalia_") {
		t.Error(said)
	}
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("minisign"); err == nil {
		do(t, "minisign", "-V", "-p", filepath.Join(folder, "castalia.pub"), "-m", filepath.Join(folder, "SHA256SUMS"))
	}
	for _, part := range []string{".deb", ".rpm", ".image.tar", ".cdx.json", "install.sh", "npm-castalia-", "_deploy.tar.gz", "CHANGELOG.md"} {
		if !strings.Contains(string(sums), part) {
			t.Errorf("nothing signed is called %s", part)
		}
	}
}

// TestEveryProgramIsStaticAndKnowsItsCommit reads the programs of all platforms.
func TestEveryProgramIsStaticAndKnowsItsCommit(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join(release(t), "castalia_*_*_*"))
	if err != nil {
		t.Fatal(err)
	}
	stamps := make(map[string]bool)
	for _, path := range archives {
		name := filepath.Base(path)
		var content []byte
		switch {
		case strings.HasSuffix(name, ".zip"):
			content = zipped(t, path)
		case strings.HasSuffix(name, ".tar.gz"):
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			content = programOf(t, f)
			_ = f.Close()
		default:
			continue
		}
		info, err := buildinfo.Read(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		stamp := info.Main.Version
		for _, s := range info.Settings {
			if strings.HasPrefix(s.Key, "vcs.") {
				stamp += " " + s.Value
			}
		}
		stamps[stamp] = true
		if err := inspect(name, content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %d bytes, %s", name, len(content), stamp)
	}
	if len(stamps) != 1 {
		t.Errorf("the programs are of different commits: %v", stamps)
	}
}

func zipped(t *testing.T, path string) []byte {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	f, err := archive.Open("castalia.exe")
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// inspect says what is wrong with a program for the platform in its name.
func inspect(name string, content []byte) error {
	arm := strings.Contains(name, "arm64")
	r := bytes.NewReader(content)
	switch {
	case strings.Contains(name, "_linux_"):
		f, err := elf.NewFile(r)
		if err != nil {
			return err
		}
		if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
			return fmt.Errorf("it needs %v", libraries)
		}
		if want := map[bool]elf.Machine{true: elf.EM_AARCH64, false: elf.EM_X86_64}[arm]; f.Machine != want {
			return fmt.Errorf("it is for %s", f.Machine)
		}
	case strings.Contains(name, "_darwin_"):
		f, err := macho.NewFile(r)
		if err != nil {
			return err
		}
		if want := map[bool]macho.Cpu{true: macho.CpuArm64, false: macho.CpuAmd64}[arm]; f.Cpu != want {
			return fmt.Errorf("it is for %s", f.Cpu)
		}
	case strings.Contains(name, "_windows_"):
		f, err := pe.NewFile(r)
		if err != nil {
			return err
		}
		if f.Machine != pe.IMAGE_FILE_MACHINE_AMD64 {
			return fmt.Errorf("it is for %#x", f.Machine)
		}
	default:
		return errors.New("for no platform")
	}
	return nil
}
