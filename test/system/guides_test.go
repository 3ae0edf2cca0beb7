package system_test

import (
	"cmp"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// walk is how a reader follows one guide; testdata/guides.yaml says what each member is.
type walk struct {
	Files   map[string]string
	Before  []string
	Instead map[string]string
	Learn   []struct{ From, Find, As string }
	Prepare map[string][]string
	Refused []string
	Leave   []struct{ Command, Why string }
}

var (
	goesOn    = regexp.MustCompile(`\\\n\s*`)
	isCommand = regexp.MustCompile(`^(castalia |curl |make |go |npm |printf |tar |export |deploy/|cp |\./|[A-Za-z_]+=\$\(|([A-Z_]+=\S+ )+castalia )`)
	isSetting = regexp.MustCompile(`^(export |[A-Za-z_]+=\$\()`)
	remark    = regexp.MustCompile(`\s+#\s.*$|\s{3,}.*$`)
)

// commandsOf are the commands that a guide shows: indented, or in a block of shell.
func commandsOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	block := ""
	for line := range strings.SplitSeq(goesOn.ReplaceAllString(string(text), " "), "\n") {
		if mark, is := strings.CutPrefix(line, "```"); is {
			if block == "" {
				block = cmp.Or(mark, "plain")
			} else {
				block = ""
			}
			continue
		}
		code, indented := strings.CutPrefix(line, "    ")
		if block == "sh" {
			code, indented = line, true
		}
		if !indented || block != "" && block != "sh" || !isCommand.MatchString(code) {
			continue
		}
		for one := range strings.SplitSeq(remark.ReplaceAllString(code, ""), " · ") {
			all = append(all, strings.TrimSpace(one))
		}
	}
	return all
}

// reader follows a guide.
type reader struct {
	newcomer
	walk
	env      []string
	settings string // what was exported and set so far
	learned  map[string]string
}

// replaced has the reader's own texts in place of the guide's, the longest first.
func replaced(text string, by map[string]string) string {
	longestFirst := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, old := range slices.SortedFunc(maps.Keys(by), longestFirst) {
		text = strings.ReplaceAll(text, old, by[old])
	}
	return text
}

// types runs a command of the guide. What curl was refused is a failure too.
func (r *reader) types(t *testing.T, shown string) {
	t.Helper()
	address := strings.TrimPrefix(r.world.URL(), "http://")
	command := replaced(replaced(shown, r.Instead), r.learned)
	command = strings.NewReplacer("curl ", "curl --fail-with-body -sS ", "localhost:3000", address, "127.0.0.1:3000", address).Replace(command)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", r.settings+command)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	refused := slices.ContainsFunc(r.Refused, func(p string) bool { return strings.HasPrefix(shown, p) })
	if (err != nil) != refused {
		t.Errorf("%s\n(as %s): %v\n%s", shown, command, err, out)
	}
	if isSetting.MatchString(command) {
		r.settings += command + "\n"
	}
	for _, l := range r.Learn {
		if l.From != shown {
			continue
		}
		found := regexp.MustCompile(l.Find).FindStringSubmatch(string(out))
		if found == nil {
			t.Errorf("%s prints nothing like %s:\n%s", shown, l.Find, out)
			continue
		}
		r.learned[l.As] = found[1]
	}
}

// follow runs all commands of a guide, but those that are left out for a reason.
func (r *reader) follow(t *testing.T, commands []string) {
	t.Helper()
	for name, text := range r.Files {
		full := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range r.Before {
		r.types(t, command)
	}
	left := map[string]bool{}
	for _, command := range commands {
		leaves := func(l struct{ Command, Why string }) bool { return strings.HasPrefix(command, l.Command) }
		if i := slices.IndexFunc(r.Leave, leaves); i >= 0 {
			left[r.Leave[i].Command] = true
			continue
		}
		for before, first := range r.Prepare {
			if strings.HasPrefix(command, before) {
				for _, one := range first {
					r.types(t, one)
				}
			}
		}
		r.types(t, command)
	}
	for _, l := range r.Leave {
		if !left[l.Command] || l.Why == "" {
			t.Errorf("%q is left out, and either the guide does not show it or nobody says why", l.Command)
		}
	}
}

// guideToken is the operator's in a guide.
const guideToken = "a-token-of-the-readers-own"

// TestEveryCommandOfEveryGuide follows each guide by its own text, as a reader would
// who has the program, a folder and a server that runs.
func TestEveryCommandOfEveryGuide(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/guides.yaml")
	if err != nil {
		t.Fatal(err)
	}
	walks := map[string]walk{}
	if err := yaml.UnmarshalWithOptions(raw, &walks, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	seen := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		commands := commandsOf(t, file)
		seen += len(commands)
		w, known := walks[name]
		if len(commands) == 0 {
			if known {
				t.Errorf("%s shows no command", name)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNewcomer(t, "OPERATOR_TOKEN="+guideToken, "PROFILING_ENABLED=true", "WEBHOOKS_ALLOW_PRIVATE=true")
			r := &reader{newcomer: *n, walk: w, learned: map[string]string{}, env: []string{
				"PATH=" + n.path + ":" + os.Getenv("PATH"), "HOME=" + n.dir, "CASTALIA_URL=" + n.world.URL(), "CASTALIA_DATA=" + n.world.Data,
				"CASTALIA_ENV=development", "OPERATOR_TOKEN=" + guideToken, "ROOT=" + root, "RECEIVER=" + receiver.URL,
			}}
			r.follow(t, commands)
		})
	}
	if seen < 100 {
		t.Errorf("only %d commands were found: the pattern is wrong", seen)
	}
}
