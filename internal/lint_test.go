package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	nolint        = regexp.MustCompile(`//nolint:([a-z,]+)`)
	enabledLinter = regexp.MustCompile(`(?m)^ {4}- ([a-z]+)$`)
	serviceRule   = regexp.MustCompile(`(?m)^ {8}service-([a-z]+):$`)
)

func linterConfig(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// submatches returns the first group of every match, in order.
func submatches(form *regexp.Regexp, text string) []string {
	var found []string
	for _, m := range form.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// TestExceptionsNameLintersThatRun keeps //nolint comments from outliving their
// linter: nolintlint only sees those of linters that are enabled.
func TestExceptionsNameLintersThatRun(t *testing.T) {
	t.Parallel()
	enabled := submatches(enabledLinter, linterConfig(t))
	if len(enabled) < 20 {
		t.Fatalf("read %d linters from .golangci.yml", len(enabled))
	}
	eachGoFile(t, func(path, text string) {
		for _, names := range submatches(nolint, text) {
			for name := range strings.SplitSeq(names, ",") {
				if !slices.Contains(enabled, name) {
					t.Errorf("%s: //nolint:%s, and that linter is not enabled", path, name)
				}
			}
		}
	})
}

// TestEveryServiceHasItsRule finds services that depguard does not know.
func TestEveryServiceHasItsRule(t *testing.T) {
	t.Parallel()
	folders, err := os.ReadDir("service")
	if err != nil {
		t.Fatal(err)
	}
	var services []string
	for _, f := range folders {
		services = append(services, f.Name())
	}
	config := linterConfig(t)
	rules := submatches(serviceRule, config)
	slices.Sort(rules)
	if !slices.Equal(rules, services) {
		t.Errorf("depguard has rules for %v, the services are %v", rules, services)
	}
	for _, name := range services {
		if got, want := strings.Count(config, "internal/service/"+name+","), len(services)-1; got != want {
			t.Errorf("%d rules keep others from %s, want %d", got, name, want)
		}
	}
}

// eachGoFile calls visit with every Go file of the repository.
func eachGoFile(t *testing.T, visit func(path, text string)) {
	t.Helper()
	for _, dir := range []string{"../cmd", "../internal", "../plugin", "../scripts", "../test"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			visit(strings.TrimPrefix(path, "../"), string(text))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
