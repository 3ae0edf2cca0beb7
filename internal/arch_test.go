package internal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/castalia-org/castalia"

// tiers from the bottom up. A package may reach packages of lower tiers only,
// and platform and protocol do not know each other.
var tiers = []string{"internal/protocol", "internal/platform", "internal/identity", "internal/service", "internal/app", "internal/cli", "cmd"}

// drivers names who may import a third party that belongs to one adapter.
var drivers = map[string][]string{
	"modernc.org/sqlite":                    {"internal/platform/sqldb"},
	"github.com/jackc/pgx":                  {"internal/platform/sqldb"},
	"github.com/minio/minio-go":             {"internal/platform/blob/blobs3"},
	"github.com/nats-io/nats.go":            {"internal/platform/bus/busnats"},
	"github.com/gorilla/websocket":          {"internal/protocol/socketio", "internal/service/oracle/call/callspeech", "internal/cli"},
	"github.com/modelcontextprotocol":       {"internal/service/filestore/filestoremcp", "internal/service/knowledge/knowledgemcp", "internal/service/oracle", "internal/plugins/mcp/oauth", "internal/cli"},
	"google.golang.org/grpc":                {"internal/service/query"},
	"github.com/pion":                       {"internal/service/oracle/call/callrtc"},
	"maunium.net/go/mautrix":                {"internal/service/oracle"},
	"github.com/prometheus/client_golang":   {"internal/platform/telemetry", "internal/platform/httpserver"},
	"go.opentelemetry.io":                   {"internal/platform/telemetry", "internal/platform/httpserver"},
	"github.com/decred/dcrd/dcrec/secp256k": {"internal/protocol/did"},
	"github.com/yuin/goldmark":              {"internal/app/guides"},
}

// httpInProtocol lists the protocols whose wire is HTTP itself.
var httpInProtocol = []string{"internal/protocol/socketio"}

var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "shared", "models", "types", "misc", "base", "lib"}

const (
	maxFileLines    = 600
	maxWiringLines  = 200
	maxPackageLines = 3000 // tests apart
)

// oversized are the packages that are still too long, with the lines that each
// had when it was last cut. A row is only ever made smaller, or removed.
var oversized = map[string]int{}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Name, Doc, Dir string
	GoFiles, CgoFiles          []string
	TestGoFiles, XTestGoFiles  []string
	Imports, Deps              []string
}

func (p listed) path() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

func list(t *testing.T, dir string, args ...string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=ImportPath,Name,Doc,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,Deps"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			t.Fatalf("go list output: %v", err)
		}
		all = append(all, p)
	}
	return all
}

func TestTheTreeKeepsItsRules(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range check(t, list(t, root, "./..."), oversized) {
		t.Error(violation)
	}
}

func check(t *testing.T, all []listed, caps map[string]int) []string {
	t.Helper()
	var found []string
	for _, p := range all {
		found = append(found, checkTiers(p)...)
		found = append(found, checkPurity(p)...)
		found = append(found, checkDrivers(p)...)
		found = append(found, checkName(p)...)
		found = append(found, checkFiles(t, p, caps)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func under(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

func tier(path string) int {
	return slices.IndexFunc(tiers, func(folder string) bool { return under(path, folder) })
}

// service returns the name of the service that a path belongs to.
func service(path string) string {
	rest, ok := strings.CutPrefix(path, "internal/service/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func isTestHelper(p listed) bool {
	return strings.HasSuffix(p.Name, "test") || strings.HasPrefix(p.path(), "test/")
}

func checkTiers(p listed) []string {
	var found []string
	mine := p.path()
	for _, dep := range p.Deps {
		theirs, ours := strings.CutPrefix(dep, module+"/")
		if !ours {
			continue
		}
		from, to := tier(mine), tier(theirs)
		switch {
		case from >= 0 && to > from:
			found = append(found, fmt.Sprintf("%s reaches up to %s", mine, theirs))
		case tier(mine) == 1 && tier(theirs) == 0:
			found = append(found, fmt.Sprintf("%s (platform) reaches %s (protocol)", mine, theirs))
		case service(mine) != "" && service(theirs) != "" && service(mine) != service(theirs):
			found = append(found, fmt.Sprintf("%s reaches sideways to %s", mine, theirs))
		case under(mine, "internal/plugins") && !isTestHelper(p) && theirs != "plugin" && !under(theirs, "plugin") && !sameFolder(mine, theirs, 3):
			found = append(found, fmt.Sprintf("%s reaches %s: a plugin knows only plugin/", mine, theirs))
		case under(mine, "plugin") && !under(theirs, "plugin"):
			found = append(found, fmt.Sprintf("%s reaches %s: the public contract imports nothing of ours", mine, theirs))
		case mine == "cmd/castalia" && tier(theirs) == -1 && under(theirs, "test"):
			found = append(found, fmt.Sprintf("%s reaches %s: test code in the program", mine, theirs))
		}
	}
	if !isTestHelper(p) {
		for _, dep := range p.Imports {
			theirs, ours := strings.CutPrefix(dep, module+"/")
			if ours && (strings.HasSuffix(theirs, "test") || under(theirs, "test")) {
				found = append(found, fmt.Sprintf("%s imports %s: test code in production", mine, theirs))
			}
		}
	}
	return found
}

func sameFolder(a, b string, depth int) bool {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	return len(x) >= depth && len(y) >= depth && slices.Equal(x[:depth], y[:depth])
}

// checkPurity keeps transports and databases out of the packages that hold
// rules and formats, however long the way there.
func checkPurity(p listed) []string {
	mine := p.path()
	pure := under(mine, "internal/protocol") ||
		mine == "internal/identity" ||
		service(mine) != "" && strings.Count(mine, "/") == 2
	if !pure {
		return nil
	}
	var found []string
	for _, banned := range []string{"net/http", "database/sql"} {
		if banned == "net/http" && slices.ContainsFunc(httpInProtocol, func(f string) bool { return under(mine, f) }) {
			continue
		}
		if slices.Contains(p.Deps, banned) {
			found = append(found, fmt.Sprintf("%s reaches %s", mine, banned))
		}
	}
	return found
}

func checkDrivers(p listed) []string {
	var found []string
	for _, dep := range p.Imports {
		for driver, homes := range drivers {
			if under(dep, driver) || strings.HasPrefix(dep, driver) {
				if !slices.ContainsFunc(homes, func(home string) bool { return under(p.path(), home) }) && !isTestHelper(p) {
					found = append(found, fmt.Sprintf("%s imports %s, which belongs to %s", p.path(), dep, strings.Join(homes, ", ")))
				}
			}
		}
	}
	return found
}

func checkName(p listed) []string {
	var found []string
	if slices.Contains(bannedNames, p.Name) {
		found = append(found, fmt.Sprintf("%s: the name %q says nothing", p.path(), p.Name))
	}
	if p.Doc == "" && len(p.GoFiles) > 0 {
		found = append(found, fmt.Sprintf("%s has no package doc", p.path()))
	}
	return found
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func checkFiles(t *testing.T, p listed, caps map[string]int) []string {
	t.Helper()
	var found []string
	total := 0
	for _, file := range slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(p.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if generated.Match(text) {
			continue
		}
		limit := maxFileLines
		if p.path() == "internal/app" && !strings.HasSuffix(file, "_test.go") {
			limit = maxWiringLines
		}
		found = append(found, checkWidth(p.path()+"/"+file, text)...)
		lines := bytes.Count(text, []byte("\n"))
		if lines > limit {
			found = append(found, fmt.Sprintf("%s/%s has %d lines, at most %d", p.path(), file, lines, limit))
		}
		if !strings.HasSuffix(file, "_test.go") {
			total += lines
		}
	}
	limit, listed := caps[p.path()]
	switch {
	case listed && total <= maxPackageLines:
		found = append(found, fmt.Sprintf("%s has %d lines: remove it from the oversized", p.path(), total))
	case !listed && isTestHelper(p):
	case total > max(limit, maxPackageLines):
		found = append(found, fmt.Sprintf("%s has %d lines, at most %d", p.path(), total, max(limit, maxPackageLines)))
	}
	return found
}

// TestPlantedViolationsAreCaught builds a small tree with one fault of each
// kind and expects exactly those to be named.
func TestPlantedViolationsAreCaught(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("\n", maxFileLines+1)
	wiring := strings.Repeat("\n", maxWiringLines+1)
	most := strings.Repeat("\n", maxFileLines-3) // in one file
	words := strings.Repeat("x", maxColumns)
	wordy := "const a = \"" + words + "\"\nconst b = `" + words + "\n" + words + "`\n// " + words + "\n"
	imports := func(name string, paths ...string) string {
		text := "// Package " + name + " is planted.\npackage " + name + "\n"
		for _, path := range paths {
			text += "import _ \"" + path + "\"\n"
		}
		return text
	}
	files := map[string]string{
		"go.mod":                                 "module " + module + "\n\ngo 1.26\n",
		"internal/protocol/up/up.go":             imports("up", module+"/internal/platform/disk"),
		"internal/protocol/talks/talks.go":       imports("talks", "net/http"),
		"internal/platform/disk/disk.go":         imports("disk"),
		"internal/platform/means/means.go":       imports("means", module+"/internal/protocol/fine"),
		"internal/protocol/fine/fine.go":         imports("fine"),
		"internal/service/one/one.go":            imports("one", module+"/internal/service/one/deep"),
		"internal/service/one/deep/deep.go":      imports("deep", module+"/internal/service/two"),
		"internal/service/two/two.go":            imports("two", module+"/internal/platform/web"),
		"internal/platform/web/web.go":           imports("web", "net/http"),
		"internal/service/three/three.go":        imports("three", "database/sql"),
		"internal/service/three/driven/drive.go": imports("driven", "modernc.org/sqlite"),
		"internal/platform/util/util.go":         imports("util"),
		"internal/platform/mute/mute.go":         "package mute\n",
		"internal/platform/wordy/wordy.go":       imports("wordy") + wordy,
		"internal/platform/long/long.go":         imports("long") + long,
		"internal/platform/long/gen.go":          "// Code generated by hand. DO NOT EDIT.\n\npackage long\n" + long,
		"internal/app/app.go":                    imports("app") + wiring,
		"internal/platform/wide/wide_test.go":    "package wide\n" + most,
		"internal/plugins/nosy/nosy.go":          imports("nosy", module+"/internal/platform/disk"),
		"plugin/plugin.go":                       imports("plugin", module+"/internal/platform/disk"),
		"internal/platform/prod/prod.go":         imports("prod", module+"/internal/platform/disktest"),
		"internal/platform/disktest/disktest.go": imports("disktest"),
	}
	for i := range maxPackageLines/maxFileLines + 1 {
		files[fmt.Sprintf("internal/platform/wide/wide%d.go", i)] = imports("wide") + most
	}
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"internal/app has 203 lines: remove it from the oversized",
		"internal/app/app.go has 203 lines, at most 200",
		"internal/platform/long/long.go has 603 lines, at most 600",
		"internal/platform/means (platform) reaches internal/protocol/fine (protocol)",
		"internal/platform/mute has no package doc",
		"internal/platform/prod imports internal/platform/disktest: test code in production",
		"internal/platform/util: the name \"util\" says nothing",
		"internal/platform/wide has 3594 lines, at most 3000",
		"internal/platform/wordy/wordy.go:6 is 123 columns wide, at most 120",
		"internal/plugins/nosy reaches internal/platform/disk: a plugin knows only plugin/",
		"internal/protocol/talks reaches net/http",
		"internal/protocol/up reaches up to internal/platform/disk",
		"internal/service/one reaches net/http",
		"internal/service/one reaches sideways to internal/service/two",
		"internal/service/one/deep reaches sideways to internal/service/two",
		"internal/service/three reaches database/sql",
		"internal/service/three/driven imports modernc.org/sqlite, which belongs to internal/platform/sqldb",
		"internal/service/two reaches net/http",
		"plugin reaches internal/platform/disk: the public contract imports nothing of ours",
	}
	if got := check(t, list(t, dir, "./..."), map[string]int{"internal/app": 3237}); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
