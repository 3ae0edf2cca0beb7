package system_test

import (
	"bytes"
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/test/testenv"
)

// shownRoute is a route of /docs with the programs that the page writes for it.
type shownRoute struct {
	Route, Auth, URL, Credential, Problem string
	Snippets                              map[string]string
}

// pageSnippets has the page's own code write the snippets of every route.
func pageSnippets(t *testing.T, n *newcomer) []shownRoute {
	t.Helper()
	page, err := filepath.Abs("../../internal/platform/apidocs/page/snippets.js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/snippets.mjs", page, n.world.URL())
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []shownRoute
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 200 {
		t.Fatalf("the page shows %d routes", len(all))
	}
	return all
}

// runs executes a program in the reader's folder, with the credential that they made.
func (n *newcomer) runs(t *testing.T, token, stdin, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = n.dir, strings.NewReader(stdin)
	cmd.Env = slices.Concat(os.Environ(), n.world.Env, []string{
		"PATH=" + n.path + ":" + os.Getenv("PATH"), "CASTALIA_TOKEN=" + token, "GOFLAGS=-mod=mod",
	})
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	if err != nil {
		return complaint.String() + out.String(), err
	}
	return out.String(), nil
}

// obtain follows the commands that the page shows for a credential. What is done once is
// done once.
func (n *newcomer) obtain(t *testing.T, commands string, done map[string]string) string {
	t.Helper()
	if token, had := done[commands]; had || commands == "" {
		return token
	}
	var script strings.Builder
	for line := range strings.SplitSeq(commands, "\n") {
		if _, had := done[line]; had && strings.Contains(line, "# once") {
			continue
		}
		done[line] = ""
		script.WriteString(line + "\n")
	}
	text, err := n.runs(t, "", "", "sh", "-ec", script.String()+`printf '\n%s' "$CASTALIA_TOKEN"`)
	if err != nil {
		t.Fatalf("%s\n%v\n%s", commands, err, text)
	}
	token := text[strings.LastIndexByte(text, '\n')+1:]
	if token == "" {
		t.Fatalf("%s\ngave no token:\n%s", commands, text)
	}
	done[commands] = token
	return token
}

var statusLine = regexp.MustCompile(`(?:HTTP/[0-9.]+ )?(\d{3})\b`)

// tried are routes whose examples succeed on a new server, in this order. The marked ones are
// run in Go too, which takes longer.
var tried = []struct {
	route string
	inGo  bool
}{
	{"GET /health", true},
	{"GET /.well-known/did.json", false},
	{"GET /models", false},
	{"POST /sessions", true},
	{"GET /sessions", false},
	{"PUT /api/fs/content", true},
	{"GET /api/fs/content", false},
	{"GET /api/fs/stat", false},
	{"GET /api/fs/files", false},
	{"GET /api/fs/glob", false},
	{"POST /memory", false},
	{"PUT /user-preferences", false},
	{"POST /knowledge/search", false},
	{"POST /api/ussd", true},
	{"POST /mcp", false},
	{"PUT /dav/{path}", false},
	{"GET /v1/key", false},
	{"GET /v1/models", false},
	{"POST /v1/chat/completions", true},
	{"POST /ag-ui", false},
	{"GET /operator/settings", true},
	{"GET /operator/plugins", false},
	{"GET /query/status", false},
	{"GET /ixo/entity/params", false},
}

// What /docs shows as programs are programs: all of them can be read by their languages, and a
// sample does what it says against the server that showed it, with the credential that the
// shown commands make.
func TestSnippetsRun(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "node", "curl", "sh")
	n := newNewcomer(t)
	all := pageSnippets(t, n)
	byRoute := map[string]shownRoute{}
	var shells strings.Builder
	for _, s := range all {
		byRoute[s.Route] = s
		if s.Problem != "" {
			t.Errorf("%s in JavaScript: %s\n%s", s.Route, s.Problem, s.Snippets["javascript"])
		}
		formatted, err := format.Source([]byte(s.Snippets["go"]))
		if err != nil || string(formatted) != s.Snippets["go"] {
			t.Errorf("%s in Go: %v; it is not as gofmt writes it:\n%s", s.Route, err, s.Snippets["go"])
		}
		if strings.Contains(s.URL, "{") || !strings.HasPrefix(s.URL, n.world.URL()+"/") {
			t.Errorf("%s: the example's address is %s", s.Route, s.URL)
		}
		if (s.Auth == "public") != (s.Credential == "") {
			t.Errorf("%s is for %s, and the credential is %q", s.Route, s.Auth, s.Credential)
		}
		shells.WriteString(s.Snippets["curl"])
	}
	if text, err := n.runs(t, "", shells.String(), "sh", "-n"); err != nil {
		t.Errorf("curl: %v\n%s", err, text)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "go.mod"), []byte("module example\n\ngo 1.24\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := map[string]string{}
	for _, c := range tried {
		s, ok := byRoute[c.route]
		if !ok {
			t.Errorf("%s is not shown", c.route)
			continue
		}
		token := n.obtain(t, s.Credential, done)
		check := func(language, text string, err error) {
			if status := statusLine.FindStringSubmatch(text); err != nil || status == nil || status[1][0] != '2' {
				t.Errorf("%s in %s: %v\n%s\n%s", c.route, language, err, text, s.Snippets[language])
			}
		}
		text, err := n.runs(t, token, "", "sh", "-c", s.Snippets["curl"])
		check("curl", text, err)
		text, err = n.runs(t, token, s.Snippets["javascript"], "node", "--input-type=module", "-")
		check("javascript", text, err)
		if python, err := exec.LookPath("python3"); err == nil { // nobody needs it here
			text, err = n.runs(t, token, s.Snippets["python"], python, "-")
			check("python", text, err)
		}
		if !c.inGo {
			continue
		}
		if err := os.WriteFile(filepath.Join(n.dir, "main.go"), []byte(s.Snippets["go"]), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := n.runs(t, token, "", "go", "vet", "main.go"); err != nil {
			t.Errorf("%s: vet: %v\n%s", c.route, err, text)
		}
		text, err = n.runs(t, token, "", "go", "run", "main.go")
		check("go", text, err)
	}
}
