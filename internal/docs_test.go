package internal

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tracked returns the files of the repository that match the patterns, by path
// from its root.
func tracked(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"ls-files", "-z", "--"}, patterns...)...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list tracked files: %v", err)
	}
	files := make(map[string]string)
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	if len(files) == 0 {
		t.Fatalf("no file matches %q", patterns)
	}
	return files
}

var (
	fence  = regexp.MustCompile("(?ms)^```.*?^```")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	scheme = regexp.MustCompile(`^[a-z]+:`)
)

func TestLinksBetweenDocumentsResolve(t *testing.T) {
	t.Parallel()
	linked := make(map[string]bool)
	files := tracked(t, "*.md")
	for name, text := range files {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || scheme.MatchString(target) {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", path.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
			if page := path.Join(path.Dir(name), target); page != name {
				linked[page] = true
			}
		}
	}
	for name := range files {
		if (under(name, "docs/guides") || under(name, "docs/reference")) && !linked[name] {
			t.Errorf("no document links to %s: docs/README.md has the list", name)
		}
	}
}

var (
	reference = regexp.MustCompile(`\b(?:ADRs?[ -]|docs/adr/|\]\((?:\.\./)?adr/)(\d{1,4})\b`)
	bare      = regexp.MustCompile(`\b(0[0-9]{3})\b`)                // how decisions name each other
	span      = regexp.MustCompile(`\bADR (\d{4}) to ADR (\d{4})\b`) // and all between
	fragment  = regexp.MustCompile(`^(Added|Changed|Fixed|Security|Removed): \S.*\n`)
)

func TestDecisionsAreNumberedOnceAndExist(t *testing.T) {
	t.Parallel()
	numbers := make(map[string]string)
	for name, text := range tracked(t, "docs/adr/[0-9]*.md") {
		number, _, _ := strings.Cut(path.Base(name), "-")
		if before, ok := numbers[number]; ok {
			t.Errorf("%s and %s have the same number", before, name)
		}
		numbers[number] = name
		if !strings.HasPrefix(text, "# "+number) || !strings.Contains(text, "Status") {
			t.Errorf("%s does not begin with its number, a title and a status", name)
		}
	}
	named := make(map[string]bool)
	for name, text := range tracked(t, "*.md", "*.go", "*.ts", "*.tsx") {
		found := reference.FindAllStringSubmatch(text, -1)
		if under(name, "docs/adr") && path.Base(name) != "README.md" {
			found = append(found, bare.FindAllStringSubmatch(text, -1)...)
		}
		for _, m := range found {
			number := fmt.Sprintf("%04s", m[1])
			if numbers[number] == "" {
				t.Errorf("%s refers to decision %s, which is not there", name, number)
			}
			named[number] = named[number] || !under(name, "docs/adr")
		}
		for _, m := range span.FindAllStringSubmatch(text, -1) {
			for number := range numbers {
				named[number] = named[number] || m[1] <= number && number <= m[2]
			}
		}
	}
	for number, name := range numbers {
		if !named[number] {
			t.Errorf("nothing says %s: name it where somebody would undo it", name)
		}
	}
}

func TestChangelogFragmentsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, text := range tracked(t, "changelog/unreleased/*.md") {
		if !fragment.MatchString(text) {
			t.Errorf("%s does not begin as changelog/TEMPLATE says: %.60q", name, text)
		}
	}
}

// TestTheMapNamesEveryPackage keeps ARCHITECTURE.md in step: every package that
// is not a part of tests is named there, by its last word or by a rule of its
// service (Xhttp, Xsql, Xclient).
func TestTheMapNamesEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	byRule := regexp.MustCompile(`(http|sql|client|test)$|^internal$|/plugins/|^(scripts|examples|spec|test|docs|cmd)(/|$)`)
	for _, p := range list(t, "..", "./...") {
		name := path.Base(p.path())
		if byRule.MatchString(p.path()) {
			continue
		}
		if !regexp.MustCompile("[`/]" + regexp.QuoteMeta(name) + "[`/]").Match(text) {
			t.Errorf("ARCHITECTURE.md does not name %s", p.path())
		}
	}
}

var (
	code     = regexp.MustCompile("(?m)`[^`\n]+`|^    .+$")
	said     = regexp.MustCompile(`(?:^|[^\w/.-])((?:make|castalia) [a-z][a-z-]*)`)
	target   = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	commands = regexp.MustCompile(`(?m)name:\s+"([a-z][a-z-]*)"`)
)

// TestDocumentsNameRealCommands: what a document shows as code is a target of the
// Makefile or a command of the program.
func TestDocumentsNameRealCommands(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for name, text := range tracked(t, "Makefile", "internal/cli/*.go") {
		tool, list := "castalia ", commands
		if name == "Makefile" {
			tool, list = "make ", target
		}
		for _, m := range list.FindAllStringSubmatch(text, -1) {
			known[tool+m[1]] = true
		}
	}
	seen := 0
	for name, text := range tracked(t, "*.md") {
		// Decisions say what was true then, and formats have labels like commands.
		if under(name, "docs/adr") || under(name, "changelog") || name == "docs/reference/sealed-format.md" {
			continue
		}
		for _, span := range code.FindAllString(text, -1) {
			for _, m := range said.FindAllStringSubmatch(span, -1) {
				if seen++; !known[m[1]] {
					t.Errorf("%s shows %q in %q, which is not there", name, m[1], span)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands are shown: the pattern is wrong", seen)
	}
}
