package ship_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestTheArchive(t *testing.T) {
	t.Parallel()
	began := time.Now()
	program := here(t)
	if said := do(t, program, "--version"); !regexp.MustCompile(`^castalia v\S+\ncommit   [0-9a-f]{12}\ndate     20\d\d-`).MatchString(said) {
		t.Error(said)
	}
	useful(t, "archive", began, []string{"CASTALIA_DATA=" + t.TempDir()}, program, "serve")
}

func TestTheInstallScript(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "curl")
	folder := release(t)
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	began, bin := time.Now(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(folder, "install.sh"))
	cmd.Env = append(os.Environ(), "CASTALIA_FROM="+server.URL, "CASTALIA_BIN="+bin)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	useful(t, "install script", began, []string{"CASTALIA_DATA=" + t.TempDir()}, filepath.Join(bin, "castalia"), "serve")
}

func TestNPX(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "npm", "node")
	began, dir := time.Now(), t.TempDir()
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file(t, "npm-castalia-[0-9]*.tgz")), "npm-castalia-"), ".tgz")
	dependencies := map[string]string{"castalia": "file:" + file(t, "npm-castalia-[0-9]*.tgz")}
	optional := map[string]string{}
	tarballs, err := filepath.Glob(filepath.Join(release(t), "npm-castalia-*-"+version+".tgz"))
	if err != nil || len(tarballs) == 0 {
		t.Fatalf("%v, %v", tarballs, err)
	}
	for _, path := range tarballs {
		optional["@castalia/"+strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "npm-castalia-"), "-"+version+".tgz")] = "file:" + path
	}
	text, err := json.Marshal(map[string]any{"name": "page", "version": "1.0.0", "dependencies": dependencies, "optionalDependencies": optional})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "package.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	do(t, "npm", "install", "--prefix", dir, "--cache", filepath.Join(dir, "cache"), "--offline", "--no-audit", "--no-fund")
	// npx itself would swallow the signal that ends it; what it starts is this.
	useful(t, "npx", began, []string{"CASTALIA_DATA=" + t.TempDir()}, filepath.Join(dir, "node_modules", ".bin", "castalia"), "serve")
	if said := do(t, "npx", "--prefix", dir, "--offline", "castalia", "version"); !strings.Contains(said, "castalia v"+version) {
		t.Error(said)
	}
}

// The libraries are installed from their tarballs into an empty folder, and draw there.
func TestTheLibraries(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "npm", "node")
	dir := t.TempDir()
	dependencies := map[string]string{
		"@castalia/oracles-client": "file:" + file(t, "npm-oracles-client-[0-9]*.tgz"),
		"@castalia/oracles-ui":     "file:" + file(t, "npm-oracles-ui-[0-9]*.tgz"),
	}
	modules, err := filepath.Abs("../../web/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	// What a registry would add is packed from what the tests of the web have.
	for _, name := range []string{"react", "react-dom", "scheduler", "marked"} {
		packed := do(t, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, filepath.Join(modules, name))
		dependencies[name] = "file:" + filepath.Join(dir, lastLine(packed))
	}
	text, err := json.Marshal(map[string]any{
		"name": "page", "version": "1.0.0", "dependencies": dependencies,
		"overrides": map[string]string{"marked": "$marked", "scheduler": "$scheduler"},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "package.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	do(t, "npm", "install", "--prefix", dir, "--cache", filepath.Join(dir, "cache"), "--offline", "--no-audit", "--no-fund")
	const draw = `const said = { id: "a", type: "ai", content: "**Hello** from afar." };
console.log(renderToString(createElement(FakeOraclesProvider, { oracle: new FakeOracle() }, createElement(Message, { message: said }))));
`
	for name, head := range map[string]string{
		"page.mjs": `import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { FakeOracle, FakeOraclesProvider } from "@castalia/oracles-client/testing";
import { Message } from "@castalia/oracles-ui";
`,
		"page.cjs": `const { createElement } = require("react");
const { renderToString } = require("react-dom/server");
const { FakeOracle, FakeOraclesProvider } = require("@castalia/oracles-client/testing");
const { Message } = require("@castalia/oracles-ui");
require.resolve("@castalia/oracles-ui/styles.css");
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(head+draw), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := do(t, "node", filepath.Join(dir, name)); !strings.Contains(said, "<strong>Hello</strong> from afar.") {
			t.Errorf("%s drew %s", name, said)
		}
	}
	for _, library := range []string{"oracles-client", "oracles-ui"} {
		log, err := os.ReadFile(filepath.Join(dir, "node_modules", "@castalia", library, "CHANGELOG.md"))
		if err != nil || !strings.HasPrefix(string(log), "# @castalia/"+library) {
			t.Errorf("changelog of %s: %.60q, %v", library, log, err)
		}
	}
}

// lastLine is what npm says when it is done complaining.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return lines[len(lines)-1]
}

func TestTheDebUnpacks(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "dpkg")
	deb, dir := file(t, "castalia_*_linux_amd64.deb"), t.TempDir()
	for _, name := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(dir, "var/lib/dpkg", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(dir, "var/lib/dpkg", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do(t, "dpkg", "--root="+dir, "--force-script-chrootless", "--force-not-root", "--force-depends", "--log="+filepath.Join(dir, "log"), "-i", deb)
	do(t, filepath.Join(dir, "usr/bin/castalia"), "version")
	if info, err := os.Stat(filepath.Join(dir, "etc/castalia/castalia.env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("settings: %v, %v", info, err)
	}
	unit, err := os.ReadFile(filepath.Join(dir, "usr/lib/systemd/system/castalia.service"))
	if err != nil || !strings.Contains(string(unit), "ExecStart=/usr/bin/castalia serve\n") {
		t.Errorf("%v\n%s", err, unit)
	}
	do(t, "dpkg", "--root="+dir, "--force-script-chrootless", "--force-not-root", "--log="+filepath.Join(dir, "log"), "-P", "castalia")
	if _, err := os.Stat(filepath.Join(dir, "usr/bin/castalia")); !os.IsNotExist(err) {
		t.Errorf("it stays: %v", err)
	}
}

// TestTheDebInstalls installs for real, as root, into a copy of this machine that
// is thrown away: an overlay over its root, in a mount namespace of its own.
func TestTheDebInstalls(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "dpkg", "unshare", "runuser")
	deb := file(t, "castalia_*_linux_amd64.deb")
	port := testenv.Port(t)
	began := time.Now()
	script := fmt.Sprintf(`set -e
mount -t tmpfs none "$1"
mkdir "$1/up" "$1/work" "$1/root"
cp "$2" "$1/castalia.deb"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1/root" 2>/dev/null || { echo NO OVERLAY; exit 0; }
mount -t proc proc "$1/root/proc"
mount -t tmpfs none "$1/root/tmp"
mount --bind "$1" "$1/root/mnt"
chroot "$1/root" sh -ec '
  dpkg -i --force-depends /mnt/castalia.deb
  dpkg -V castalia
  getent passwd castalia
  install -d -o castalia -m 0700 /var/lib/castalia
  runuser -u castalia -- env CASTALIA_DATA=/var/lib/castalia PORT=%d HOST=127.0.0.1 /usr/bin/castalia serve >/tmp/said 2>&1 & server=$!
  n=0
  until runuser -u castalia -- env PORT=%d /usr/bin/castalia health; do n=$((n+1)); [ $n -lt 600 ] || { cat /tmp/said; exit 1; }; sleep 0.1; done
  /usr/bin/castalia dial --server http://127.0.0.1:%d "*2233#" </dev/null || true
  date "+ANSWERED %%s%%N"
  kill $server; wait $server || true
  dpkg -P castalia
  test ! -e /usr/bin/castalia; test ! -e /etc/castalia/castalia.env; test -d /var/lib/castalia
  echo PURGED'
`, port, port, port)
	said := do(t, "unshare", "--mount", "sh", "-c", script, "sh", t.TempDir(), deb)
	stamp := regexp.MustCompile(`(?m)^ANSWERED (\d+)$`).FindStringSubmatch(said)
	switch {
	case strings.Contains(said, "NO OVERLAY"):
		testenv.Lacks(t, "overlay", "this machine mounts none over its root")
	case !strings.Contains(said, "PURGED") || !strings.Contains(said, "database") || !strings.Contains(said, "Know More"):
		t.Error(said)
	case stamp == nil:
		t.Errorf("nobody says when it answered: %s", said)
	default:
		answered, err := strconv.ParseInt(stamp[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("deb: from nothing installed to a useful answer in %s", time.Unix(0, answered).Sub(began).Round(10*time.Millisecond))
	}
}

func TestTheRPM(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "rpm")
	path, dir := file(t, "castalia_*_linux_amd64.rpm"), t.TempDir()
	if said := do(t, "rpm", "-K", "--nosignature", path); !strings.Contains(said, "digests OK") {
		t.Error(said)
	}
	do(t, "rpm", "--root", dir, "--dbpath", "/db", "-i", "--nodeps", "--noscripts", path)
	do(t, filepath.Join(dir, "usr/bin/castalia"), "version")
	if said := do(t, "rpm", "-qp", "--scripts", path); !strings.Contains(said, "useradd --system") {
		t.Error(said)
	}
}

// TestTheImage loads the image and runs it as its user, with a file system that
// cannot be written to.
func TestTheImage(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "podman", "runc")
	archive, store := file(t, "castalia_*_linux_amd64.image.tar"), t.TempDir()
	podman := func(args ...string) []string {
		return append([]string{"--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run"), "--storage-driver", "vfs", "--runtime", "runc"}, args...)
	}
	t.Cleanup(func() { _ = exec.Command("podman", podman("system", "reset", "--force")...).Run() })
	began := time.Now()
	name := regexp.MustCompile(`Loaded image: (\S+)`).FindStringSubmatch(do(t, "podman", podman("load", "-i", archive)...))
	if name == nil {
		t.Fatal("podman does not say what it loaded")
	}
	limits := []string{"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--read-only", "--cap-drop", "ALL"}
	data := filepath.Join(store, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, 65532, 65532); err != nil {
		testenv.Lacks(t, "root", "nobody else can hand a folder to the image's user: "+err.Error())
	}
	port := testenv.Port(t)
	args := append([]string{"run", "--detach", "--network=host", "-e", fmt.Sprintf("PORT=%d", port), "-e", "HOST=127.0.0.1", "-v", data + ":/data"}, limits...)
	id := strings.TrimSpace(do(t, "podman", podman(append(args, name[1])...)...))
	id = id[strings.LastIndexByte(id, '\n')+1:]
	answersTelephones(t, port)
	t.Logf("image: from nothing installed to a useful answer in %s", time.Since(began).Round(10*time.Millisecond))
	system.Eventually(t, "the health check passes", func() error {
		out, err := exec.CommandContext(t.Context(), "podman", podman("exec", id, "/castalia", "health")...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	do(t, "podman", podman("stop", "--time", "30", id)...)
}
