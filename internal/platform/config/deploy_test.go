package config_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/test/testenv"
)

// The files of deploy/ are read here, not run: they must be YAML, and what they
// hand to the program must be settings that it has.

const root = "../../../"

// documents reads every YAML document of a file.
func documents(t *testing.T, file string) []map[string]any {
	t.Helper()
	f, err := os.Open(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []map[string]any
	for in := yaml.NewDecoder(f); ; {
		var d map[string]any
		if err := in.Decode(&d); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
}

// at walks down to what lies at the path.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch key := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			l, _ := v.([]any)
			if key >= len(l) {
				t.Fatalf("%v: nothing there", path)
			}
			v = l[key]
		}
	}
	if v == nil {
		t.Fatalf("%v: nothing there", path)
	}
	return v
}

// known fails for names that the configuration reference does not have.
func known(t *testing.T, file string, names []string) {
	t.Helper()
	reference, err := os.ReadFile(filepath.Join(root, "docs/reference/config.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(string(reference), "`"+name+"`") {
			t.Errorf("%s: there is no setting %s", file, name)
		}
	}
}

func TestTheComposeFileFits(t *testing.T) {
	t.Parallel()
	const file = "deploy/compose.yaml"
	services := at(t, documents(t, file)[0], "services")
	secrets, err := os.ReadFile(filepath.Join(root, "deploy/secrets"))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"node1", "node2"} {
		env, _ := at(t, services, node, "environment").(map[string]any)
		var names []string
		for name, value := range env {
			names = append(names, name)
			text, _ := value.(string)
			for _, ref := range regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`).FindAllStringSubmatch(text, -1) {
				if !strings.Contains(string(secrets), "\n"+ref[1]+"=") {
					t.Errorf("%s: deploy/secrets does not write %s", file, ref[1])
				}
			}
		}
		if !slices.Contains(names, "ACCESS") {
			t.Errorf("%s: %s does not say who may come in, and would not start", file, node)
		}
		if !slices.Contains(names, "DATABASE_URL") || !slices.Contains(names, "NODE_URL") {
			t.Errorf("%s: %s is given %v only", file, node, names)
		}
		known(t, file, names)
		waits, _ := at(t, services, node, "depends_on").(map[string]any)
		for other := range waits {
			at(t, services, other)
		}
	}
}

// fitsPostgres holds the connections of all nodes, and of those that replace them,
// to what PostgreSQL has as it comes, less what it keeps for its operators.
func fitsPostgres(t *testing.T, deployment any, env []any) {
	t.Helper()
	const stock, kept = 100, 10
	pool := 0
	for _, e := range env {
		if at(t, e, "name") == "DATABASE_POOL" {
			pool, _ = strconv.Atoi(fmt.Sprint(at(t, e, "value")))
		}
	}
	nodes := 0
	for _, path := range [][]any{{"spec", "replicas"}, {"spec", "strategy", "rollingUpdate", "maxSurge"}} {
		n, err := strconv.Atoi(fmt.Sprint(at(t, deployment, path...)))
		if err != nil {
			t.Fatal(err)
		}
		nodes += n
	}
	if pool == 0 || nodes*pool > stock-kept {
		t.Errorf("%d nodes with %d connections each do not fit %d", nodes, pool, stock-kept)
	}
}

func TestTheManifestsFit(t *testing.T) {
	t.Parallel()
	const file = "deploy/kubernetes/castalia.yaml"
	all := documents(t, file)
	container := at(t, all[0], "spec", "template", "spec", "containers", 0)
	var names []string
	env, _ := at(t, container, "env").([]any)
	for _, e := range env {
		if name, _ := at(t, e, "name").(string); name != "POD_IP" {
			names = append(names, name)
		}
	}
	known(t, file, names)
	if len(names) < 4 || !slices.Contains(names, "ACCESS") {
		t.Errorf("%s: given %v only", file, names)
	}
	fitsPostgres(t, all[0], env)
	labels := at(t, all[0], "spec", "template", "metadata", "labels", "app")
	if service := at(t, all[1], "spec", "selector", "app"); service != labels {
		t.Errorf("the service selects %v, and the pods are %v", service, labels)
	}
	for probe, path := range map[string]string{"readinessProbe": "/ready", "livenessProbe": "/"} {
		if got := at(t, container, probe, "httpGet", "path"); got != path {
			t.Errorf("%s asks %v, want %s", probe, got, path)
		}
	}
}

// The file of secrets is its owner's alone whatever the caller's umask is, and one
// that is there is left as it is.
func TestTheSecretsAreWrittenForTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "bash")
	script, err := filepath.Abs(filepath.Join(root, "deploy/secrets"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	secrets := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", `umask 000; exec "$0" "$@"`, script}, args...)...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	for name, args := range map[string][]string{"castalia.env": nil, "other.env": {"other.env"}} {
		if said, err := secrets(args...); err != nil || strings.Contains(said, "ORACLE_KEY") {
			t.Fatalf("%v: %v: %s", args, err, said)
		}
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
		before, _ := os.ReadFile(file)
		if !regexp.MustCompile(`(?m)^FILES_MASTER_KEY=[0-9a-f]{64}$`).Match(before) {
			t.Errorf("%s holds no key", name)
		}
		if said, err := secrets(args...); err == nil || !strings.Contains(said, name+" exists already") {
			t.Errorf("a second time: %v: %s", err, said)
		}
		if after, _ := os.ReadFile(file); string(after) != string(before) {
			t.Errorf("%s was overwritten", name)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"a", "b"}, {"--help"}, {"folder"}, {"missing/file"}} {
		if said, err := secrets(args...); err == nil {
			t.Errorf("%v: %s", args, said)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 3 {
		t.Errorf("left %v", left)
	}
}

// npm refuses a lock file that knows more workspaces than it finds.
func TestTheImageGetsEveryWorkspace(t *testing.T) {
	t.Parallel()
	image, err := os.ReadFile(filepath.Join(root, "deploy/Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	workspaces, _ := at(t, documents(t, "web/package.json")[0], "workspaces").([]any) // JSON is YAML
	if len(workspaces) == 0 {
		t.Fatal("web/package.json names no workspaces")
	}
	for _, w := range workspaces {
		name, _ := w.(string)
		if !strings.Contains(string(image), "COPY web/"+name+"/package.json "+name+"/\n") {
			t.Errorf("deploy/Dockerfile does not copy web/%s/package.json before npm ci", name)
		}
	}
}

func TestTheUnitAndTheSecretsFit(t *testing.T) {
	t.Parallel()
	for file, pattern := range map[string]string{
		"deploy/castalia.service": `(?:Environment=| )([A-Z][A-Z0-9_]+)=`,
		"deploy/secrets":          `(?m)^([A-Z][A-Z0-9_]+)=`,
		"deploy/Dockerfile":       `(?m)^ENV ([A-Z][A-Z0-9_]+)=`,
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			if m[1] != "POSTGRES_PASSWORD" && m[1] != "S3_SECRET" { // the other servers' own
				names = append(names, m[1])
			}
		}
		if len(names) == 0 {
			t.Errorf("%s: no setting found", file)
		}
		known(t, file, names)
	}
}
