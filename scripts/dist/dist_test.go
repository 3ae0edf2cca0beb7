package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/cli/shipcli"
	"github.com/castalia-org/castalia/test/testenv"
)

// A release is packed here around a program that only says its arguments;
// test/ship has the real one.
const program = "#!/bin/sh\necho \"castalia of tests: $*\"\nexit \"${CODE:-0}\"\n"

// made is a packed release and what checks it.
type made struct {
	folder string
	key    minisign.PublicKey
	signer string // file
}

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func newSigner(t *testing.T) (minisign.PublicKey, string) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return public, write(t, filepath.Join(t.TempDir(), "release.key"), string(text), 0o600)
}

// packed packs a release of the version for every platform.
func packed(t *testing.T, key, url string) string {
	t.Helper()
	work := t.TempDir()
	source := sources(t)
	r := &release{
		stamp:  stamp{version: "1.2.3", commit: strings.Repeat("ab", 20), when: time.Date(2026, 11, 17, 2, 0, 0, 0, time.UTC)},
		source: source, out: filepath.Join(work, "dist"), log: io.Discard,
	}
	for name := range strings.SplitSeq(platforms, ",") {
		system, machine, _ := strings.Cut(name, "/")
		at := target{system: system, machine: machine}
		at.program = write(t, filepath.Join(work, at.String(), at.executable()), program, 0o755)
		r.targets = append(r.targets, at)
	}
	o := options{
		key: key, url: url,
		nfpm:  write(t, filepath.Join(work, "nfpm"), "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\necho package of \"$VERSION\" >\"$1\"\n", 0o755),
		roots: write(t, filepath.Join(work, "roots.crt"), "roots", 0o644),
	}
	if err := r.pack(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return r.out
}

// sources are those of this tree, with libraries that look as built ones do.
func sources(t *testing.T) string {
	t.Helper()
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	source := t.TempDir()
	for _, name := range []string{"LICENSE", "README.md", "changelog", "deploy", "docs", "scripts"} {
		if err := os.Symlink(filepath.Join(tree, name), filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range libraries() {
		folder := filepath.Join(source, "web", l)
		for _, name := range []string{"package.json", "README.md", "LICENSE"} {
			write(t, filepath.Join(folder, name), read(t, tree, "web", l, name), 0o644)
		}
		write(t, filepath.Join(folder, "dist", "index.js"), "export {};\n", 0o644)
		write(t, filepath.Join(folder, "dist", "deep", "part.js"), "export {};\n", 0o644)
		write(t, filepath.Join(folder, "src", "index.ts"), "export {};\n", 0o644)
		write(t, filepath.Join(folder, "styles.css"), "a {}\n", 0o644)
	}
	return source
}

func TestALibraryHasWhatItsPackageNames(t *testing.T) {
	t.Parallel()
	folder := newRelease(t, "https://castalia.example").folder
	for name, want := range map[string]struct {
		files []string
		says  string
		not   string
	}{
		"npm-oracles-client-0.1.0.tgz": {
			[]string{"CHANGELOG.md", "LICENSE", "README.md", "dist/deep/part.js", "dist/index.js", "package.json"},
			"have the passages that they point to", "CSS variables",
		},
		"npm-oracles-ui-0.1.0.tgz": {
			[]string{"CHANGELOG.md", "LICENSE", "README.md", "dist/deep/part.js", "dist/index.js", "package.json", "styles.css"},
			"CSS variables", "have the passages that they point to",
		},
	} {
		files := map[string]string{}
		unpacked, err := gzip.NewReader(strings.NewReader(read(t, folder, name)))
		if err != nil {
			t.Fatal(err)
		}
		for in := tar.NewReader(unpacked); ; {
			h, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			text, readErr := io.ReadAll(in)
			if err = errors.Join(err, readErr); err != nil {
				t.Fatal(err)
			}
			files[strings.TrimPrefix(h.Name, "package/")] = string(text)
		}
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want.files) {
			t.Errorf("%s has %q", name, got)
		}
		log := files["CHANGELOG.md"]
		if !strings.HasPrefix(log, "# @castalia/oracles-") || !strings.Contains(log, want.says) || strings.Contains(log, want.not) {
			t.Errorf("%s: %.200s", name, log)
		}
	}
}

func newRelease(t *testing.T, url string) made {
	t.Helper()
	key, signer := newSigner(t)
	return made{folder: packed(t, signer, url), key: key, signer: signer}
}

func TestAReleaseIsWholeSignedAndTheSameTwice(t *testing.T) {
	t.Parallel()
	m := newRelease(t, "https://castalia.example")
	var out bytes.Buffer
	if err := shipcli.RunVerify(t.Context(), []string{"--key", m.key.String(), m.folder}, shell.IO{Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"castalia_1.2.3_linux_amd64.tar.gz", "castalia_1.2.3_linux_arm64.tar.gz", "castalia_1.2.3_darwin_arm64.tar.gz", "castalia_1.2.3_windows_amd64.zip",
		"castalia_1.2.3_linux_amd64.deb", "castalia_1.2.3_linux_arm64.rpm", "castalia_1.2.3_linux_amd64.image.tar", "castalia_1.2.3_deploy.tar.gz",
		"npm-castalia-1.2.3.tgz", "npm-castalia-win32-x64-1.2.3.tgz",
		"npm-oracles-client-0.1.0.tgz", "npm-oracles-ui-0.1.0.tgz", "install.sh", "castalia.pub", "CHANGELOG.md",
	} {
		if !strings.Contains(out.String(), "ok  "+name+"\n") {
			t.Errorf("%s is missing in\n%s", name, out.String())
		}
	}
	again := packed(t, m.signer, "https://castalia.example")
	for _, name := range []string{"SHA256SUMS", "SHA256SUMS.minisig"} {
		if read(t, m.folder, name) != read(t, again, name) {
			t.Errorf("%s differs in a second release:\n%s\n%s", name, read(t, m.folder, name), read(t, again, name))
		}
	}
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNobodySigns holds that a release without a key has no install script.
func TestNobodySigns(t *testing.T) {
	t.Parallel()
	folder := packed(t, "", "https://castalia.example")
	for _, name := range []string{"install.sh", "SHA256SUMS.minisig"} {
		if _, err := os.Stat(filepath.Join(folder, name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// install runs the script as a user would whose PATH has these programs only.
func install(t *testing.T, m made, from string, without ...string) (string, string, error) {
	t.Helper()
	home, tools := t.TempDir(), t.TempDir()
	for _, name := range []string{
		"sh", "uname", "mktemp", "rm", "cp", "mv", "chmod", "mkdir", "tar", "gzip", "sed", "tr",
		"head", "tail", "wc", "cat", "cmp", "sha256sum", "curl", "openssl", "minisign",
	} {
		if path, err := exec.LookPath(name); err == nil && !slices.Contains(without, name) {
			if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(m.folder, "install.sh"))
	cmd.Env = []string{"HOME=" + home, "PATH=" + tools}
	if from != "" {
		cmd.Env = append(cmd.Env, "CASTALIA_FROM="+from)
	}
	said, err := cmd.CombinedOutput()
	return filepath.Join(home, ".local", "bin", "castalia"), string(said), err
}

func TestTheInstallScriptInstallsWhatWasSigned(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "openssl", "curl")
	var folder string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.StripPrefix("/releases/1.2.3/", http.FileServer(http.Dir(folder))).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	m := newRelease(t, server.URL+"/releases/")
	folder = m.folder
	for _, without := range [][]string{nil, {"minisign"}} {
		path, said, err := install(t, m, "", without...)
		if err != nil || !strings.Contains(said, "Castalia 1.2.3 is in "+path) || !strings.Contains(said, "not in your PATH") {
			t.Fatalf("without %v: %v\n%s", without, err, said)
		}
		if out, err := exec.CommandContext(t.Context(), path, "version").Output(); err != nil || string(out) != "castalia of tests: version\n" {
			t.Errorf("without %v it says %q, %v", without, out, err)
		}
	}
	if path, said, err := install(t, m, "", "minisign", "openssl"); err == nil || !strings.Contains(said, "cannot be checked") {
		t.Errorf("without a way to check: %v, %s", err, said)
	} else if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("it is installed unchecked")
	}
}

func TestTheInstallScriptRefusesWhatWasChanged(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "openssl")
	const archive = "castalia_1.2.3_linux_amd64.tar.gz"
	for name, change := range map[string]func(t *testing.T, folder string){
		"the archive": func(t *testing.T, f string) {
			t.Helper()
			write(t, filepath.Join(f, archive), "other", 0o644)
			write(t, filepath.Join(f, strings.Replace(archive, "amd64", "arm64", 1)), "other", 0o644)
		},
		"the sums": func(t *testing.T, f string) {
			t.Helper()
			write(t, filepath.Join(f, "SHA256SUMS"), strings.ReplaceAll(read(t, f, "SHA256SUMS"), "a", "b"), 0o644)
		},
		"the comment": func(t *testing.T, f string) {
			t.Helper()
			write(t, filepath.Join(f, "SHA256SUMS.minisig"), strings.Replace(read(t, f, "SHA256SUMS.minisig"), "castalia 1.2.3", "castalia 9.9.9", 1), 0o644)
		},
		"another key": func(t *testing.T, f string) {
			t.Helper()
			other := newRelease(t, "https://castalia.example")
			for _, name := range []string{"SHA256SUMS", "SHA256SUMS.minisig", archive} {
				write(t, filepath.Join(f, name), read(t, other.folder, name), 0o644)
			}
		},
		"no signature": func(t *testing.T, f string) { t.Helper(); _ = os.Remove(filepath.Join(f, "SHA256SUMS.minisig")) },
		"a short one": func(t *testing.T, f string) {
			t.Helper()
			write(t, filepath.Join(f, "SHA256SUMS.minisig"), "a\nb\nc\nd\n", 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newRelease(t, "https://castalia.example")
			change(t, m.folder)
			for _, without := range [][]string{nil, {"minisign"}} {
				path, said, err := install(t, m, m.folder, without...)
				if err == nil {
					t.Errorf("without %v it is installed: %s", without, said)
				}
				if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
					t.Errorf("without %v something was left: %v", without, err)
				}
			}
		})
	}
}

func TestNPXRunsTheProgramOfThePlatform(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "npm", "node")
	m := newRelease(t, "https://castalia.example")
	tarballs, err := filepath.Glob(filepath.Join(m.folder, "npm-castalia-*.tgz"))
	if err != nil || len(tarballs) != 6 {
		t.Fatalf("%v, %v", tarballs, err)
	}
	var ours []string
	for _, name := range tarballs {
		if strings.Contains(name, "npm-castalia-1") || strings.Contains(name, "linux-x64") ||
			strings.Contains(name, "linux-arm64") || strings.Contains(name, "darwin-arm64") {
			ours = append(ours, name)
		}
	}
	dir := t.TempDir()
	npm := func(name string, args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "npm_config_cache="+filepath.Join(dir, "cache"), "npm_config_offline=true", "CODE=7")
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return string(out), exit.ExitCode()
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(out), 0
	}
	// As optional ones, as a registry would give them: those of other platforms are left out.
	manifest := map[string]any{
		"name": "page", "version": "1.0.0",
		"dependencies": map[string]string{"castalia": "file:" + filepath.Join(m.folder, "npm-castalia-1.2.3.tgz")}, "optionalDependencies": map[string]string{},
	}
	for _, tarball := range ours {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(tarball), "-1.2.3.tgz"), "npm-castalia-"); ok {
			manifest["optionalDependencies"].(map[string]string)["@castalia/"+name] = "file:" + tarball
		}
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "package.json"), string(text), 0o644)
	if said, code := npm("npm", "install", "--no-audit", "--no-fund"); code != 0 {
		t.Fatalf("npm install: %d %s", code, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@castalia", "darwin-arm64")); !os.IsNotExist(err) {
		t.Errorf("a program of another platform is installed: %v", err)
	}
	if said, code := npm("npx", "castalia", "serve", "--port", "1"); code != 7 || said != "castalia of tests: serve --port 1\n" {
		t.Errorf("npx: exit %d: %q", code, said)
	}
	if err := os.RemoveAll(filepath.Join(dir, "node_modules", "@castalia")); err != nil {
		t.Fatal(err)
	}
	if said, code := npm("npx", "castalia", "serve"); code != 1 || !strings.Contains(said, "--omit=optional") {
		t.Errorf("without the optional package: exit %d: %s", code, said)
	}
}

func TestTheImageIsWhatItsNamesSay(t *testing.T) {
	t.Parallel()
	m := newRelease(t, "https://castalia.example")
	files := untar(t, []byte(read(t, m.folder, "castalia_1.2.3_linux_arm64.image.tar")))
	for name, content := range files {
		if hash, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && hash != "" && digest([]byte(content)) != "sha256:"+hash {
			t.Errorf("%s has another hash", name)
		}
	}
	var index, body manifest
	var config imageConfig
	if err := errors.Join(json.Unmarshal([]byte(files["index.json"]), &index),
		json.Unmarshal([]byte(files[blobPath(index.Manifests[0].Digest)]), &body)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(files[blobPath(body.Config.Digest)]), &config); err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "arm64" || config.Config.User != "65532:65532" || config.Config.Healthcheck.Test[2] != "health" {
		t.Errorf("%+v", config)
	}
	zipped, err := gzip.NewReader(strings.NewReader(files[blobPath(body.Layers[0].Digest)]))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(zipped)
	if err != nil || digest(layer) != config.RootFS.DiffIDs[0] {
		t.Errorf("the layer is not what the configuration says: %v", err)
	}
	if inside := untar(t, layer); inside["castalia"] != program || inside["etc/ssl/certs/ca-certificates.crt"] != "roots" {
		t.Errorf("%v", inside)
	}
}

func untar(t *testing.T, content []byte) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for in := tar.NewReader(bytes.NewReader(content)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "data/" && h.Uid != imageUser {
			t.Errorf("the user cannot write into /data: it belongs to %d", h.Uid)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}

func TestTheChangelogIsSortedByWhatPeopleMustActOn(t *testing.T) {
	t.Parallel()
	got, err := changelog("Castalia 1.2.3 (2026-11-17)", map[string]string{
		"b.md": "Fixed: no more noise.\n", "a.md": "Added: a door.\n\nIt opens.\nIt closes.\n", "c.md": "Security: a lock.\n", "d.md": "Added: a bell.\n",
	})
	want := "# Castalia 1.2.3 (2026-11-17)\n\n## Security\n\n- a lock.\n\n## Added\n\n- a bell.\n- a door.\n\n  It opens.\n  It closes.\n\n## Fixed\n\n- no more noise.\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := changelog("x", map[string]string{"e.md": "Improved: x\n"}); err == nil || !strings.Contains(err.Error(), "e.md") {
		t.Errorf("a fragment of no kind: %v", err)
	}
}

func TestAFolderWithSomethingInItIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old"), "x", 0o644)
	if err := run(t.Context(), []string{"-out", dir}, io.Discard); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"-out", filepath.Join(dir, "new"), "-platforms", "linux"},
		io.Discard); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Error(err)
	}
}

// TestAProgramThatDoesNotKnowItsCommitIsNotReleased reads this test's own stamp.
func TestAProgramThatDoesNotKnowItsCommitIsNotReleased(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := readStamp(self); err == nil {
		t.Error(fmt.Errorf("%+v", s))
	}
}
