package ship_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/test/testenv"
)

// longRun is a tree with scripts/ci-long in it, and programs of ours for what it runs.
type longRun struct {
	t   *testing.T
	dir string
}

func newLongRun(t *testing.T) longRun {
	t.Helper()
	testenv.Need(t, "bash", "git")
	r := longRun{t, t.TempDir()}
	script, err := os.ReadFile(filepath.Join(root, "scripts", "ci-long"))
	if err != nil {
		t.Fatal(err)
	}
	r.write("scripts/ci-long", string(script))
	r.write("scripts/fuzz", `#!/bin/sh
[ -z "$LIST" ] || { printf 'a FuzzOne\na FuzzTwo\nb FuzzThree\n'; exit; }
[ "$ONLY" != "$BAD" ] || { echo "FAILED a FuzzTwo 5 tried, 0 new"; exit 1; }
echo "ok     ${ONLY% *}     ${ONLY#* }        70000 tried, 2 new"
echo "1 targets for $1 each: 70000 inputs tried, 0 failed"
`)
	r.write("bin/make", "#!/bin/sh\nprintf '    x.go:1: everybody was served again %ss after everything was healed\\n' 9.5 10.2 8.0\n")
	r.write("bin/go", "#!/bin/sh\n[ -z \"$EDIT\" ] || echo changed >> \"$EDIT\"\n")
	r.write("docs/reference/long-run.md", "# The long run\n\n| step | outcome | took | commit | day |\n|---|---|---|---|---|\n"+
		"| cross | not run yet | | | |\n| faults | not run yet | | | |\n| fuzz | not run yet | | | |\n")
	r.write("docs/reference/long-run-parts.tsv", "step\tpart\toutcome\tseconds\tcommit\tday\tfigure\n")
	r.git("init", "--quiet")
	r.commit()
	return r
}

func (r longRun) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o755)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r longRun) git(args ...string) string {
	r.t.Helper()
	return strings.TrimSpace(do(r.t, "git", append([]string{"-C", r.dir, "-c", "user.name=a", "-c", "user.email=a@castalia.example"}, args...)...))
}

// commit makes a new one and returns its name.
func (r longRun) commit() string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--no-verify", "--message", "more")
	return r.git("rev-parse", "--short", "HEAD")
}

// run runs steps and returns their rows, without how long they took.
func (r longRun) run(fails bool, env ...string) (rows string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "bash", filepath.Join(r.dir, "scripts", "ci-long"))
	cmd.Env = append(append(os.Environ(), "PATH="+filepath.Join(r.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH")), env...)
	if said, err := cmd.CombinedOutput(); (err != nil) != fails {
		r.t.Fatalf("%v: %v\n%s", env, err, said)
	}
	text := r.read("long-run.md")
	rows = text[strings.LastIndex(text, "|---|")+len("|---|\n"):]
	rows = regexp.MustCompile(`\d+ min \d+ s`).ReplaceAllString(rows, "T")
	return regexp.MustCompile(`20\d\d-\d\d-\d\d`).ReplaceAllString(rows, "DAY")
}

func (r longRun) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "docs", "reference", name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

func (r longRun) has(rows, row string) {
	r.t.Helper()
	if !strings.Contains(rows, row+"\n") {
		r.t.Errorf("no row\n%s\nin\n%s", row, rows)
	}
}

func TestPartsOfTheLongRunAddUp(t *testing.T) {
	t.Parallel()
	r := newLongRun(t)
	first := r.git("rev-parse", "--short", "HEAD")
	rows := r.run(false, "STEPS=fuzz", "PARTS=2")
	r.has(rows, "| fuzz | 2 of 3 passed | T | "+first+" | DAY |")
	r.has(rows, "| cross | not run yet | | | |")
	second := r.commit()
	r.has(r.run(true, "STEPS=fuzz", "PARTS=2", "BAD=b FuzzThree"), "| fuzz | 2 of 3 passed, 1 failed | T | "+first+" to "+second+" | DAY |")
	r.has(r.run(false, "STEPS=fuzz", "PARTS=1"), "| fuzz | 2 of 3 passed, 1 failed | T | "+second+" | DAY |")
	r.has(r.run(false, "STEPS=fuzz"), "| fuzz | passed | T | "+second+" | DAY |")
	if parts := r.read("long-run-parts.tsv"); strings.Count(parts, "\n") != 4 || strings.Count(parts, "\t70000 inputs\n") != 3 {
		t.Errorf("the parts are\n%s", parts)
	}
	// A target that is new has not passed, and one that is gone does not count.
	r.write("scripts/fuzz", strings.Replace(readFile(t, filepath.Join(r.dir, "scripts", "fuzz")), "a FuzzOne", "c FuzzNew", 1))
	third := r.commit()
	r.has(r.run(false, "STEPS=fuzz", "PARTS=0"), "| fuzz | 2 of 3 passed | T | "+second+" | DAY |")
	r.has(r.run(false, "STEPS=fuzz", "PARTS=1"), "| fuzz | passed | T | "+second+" to "+third+" | DAY |")
}

func TestSchedulesOfTheLongRunSayHowSoonAllWereServed(t *testing.T) {
	t.Parallel()
	r := newLongRun(t)
	r.has(r.run(false, "STEPS=faults", "PARTS=3"), "| faults | 3 of 20 passed | T | "+r.git("rev-parse", "--short", "HEAD")+" | DAY |")
	if parts := r.read("long-run-parts.tsv"); !regexp.MustCompile(`(?m)^faults\t1020\tpassed\t\d+\t[0-9a-f]+\t[0-9-]+\tserved again after at most 10\.2 s$`).MatchString(parts) {
		t.Errorf("the parts are\n%s", parts)
	}
}

// A step is of the commit with which it began.
func TestTheLongRunKnowsWhatItTried(t *testing.T) {
	t.Parallel()
	r := newLongRun(t)
	commit := r.git("rev-parse", "--short", "HEAD")
	r.has(r.run(false, "STEPS=cross"), "| cross | passed | T | "+commit+" | DAY |")
	r.has(r.run(false, "STEPS=cross", "EDIT="+filepath.Join(r.dir, "scripts", "fuzz")), "| cross | passed | T | "+commit+" with changes | DAY |")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
