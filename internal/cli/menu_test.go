package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

func runTyped(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(in), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMenuCheckNamesFileAndLine(t *testing.T) {
	t.Parallel()
	code, source, _ := runTyped(t, "", "menu", "show")
	if code != 0 {
		t.Fatal("menu show failed")
	}
	good := writeFile(t, "good.yaml", source)
	if code, out, _ := runTyped(t, "", "menu", "check", good); code != 0 || !strings.Contains(out, "good.yaml: ok, 48 screens") {
		t.Errorf("good menu: %d %q", code, out)
	}
	broken := strings.Replace(source, "next: infoMenu}", "next: infoMenü}", 1)
	at := strings.Count(broken[:strings.Index(broken, "infoMenü")], "\n") + 1
	bad := writeFile(t, "bad.yaml", broken)
	code, out, _ := runTyped(t, "", "menu", "check", "--json", bad)
	var issues []struct {
		File, Message string
		Line          int
	}
	if err := json.Unmarshal([]byte(out), &issues); err != nil || code != 1 {
		t.Fatalf("%d %v: %s", code, err, out)
	}
	if len(issues) != 1 || issues[0].File != bad || issues[0].Line != at || issues[0].Message != `unknown target "infoMenü"` {
		t.Errorf("issues = %+v, want line %d", issues, at)
	}
}

func TestMenuFormatWritesTheFormOfTheEditor(t *testing.T) {
	t.Parallel()
	_, source, _ := runTyped(t, "", "menu", "show")
	file := writeFile(t, "menu.yaml", source)
	code, formatted, _ := runTyped(t, "", "menu", "format", file)
	if code != 0 || formatted == source || !strings.HasPrefix(formatted, "# yaml-language-server") {
		t.Fatalf("%d %.200q", code, formatted)
	}
	for range 2 {
		if code, out, errs := runTyped(t, "", "menu", "format", "--write", file); code != 0 || out != "" {
			t.Fatalf("%d %q %q", code, out, errs)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != formatted {
			t.Errorf("the file is %.200q, %v", text, err)
		}
	}
	if code, out, _ := runTyped(t, "", "menu", "check", file); code != 0 || !strings.Contains(out, "48 screens") {
		t.Errorf("formatted: %d %q", code, out)
	}
	if code, _, errs := runTyped(t, "", "menu", "format", writeFile(t, "none.yaml", "name: [")); code == 0 || errs == "" {
		t.Errorf("no menu: %d %q", code, errs)
	}
}

func TestMenuGraphDrawsMermaid(t *testing.T) {
	t.Parallel()
	code, out, _ := runTyped(t, "", "menu", "graph")
	if code != 0 || !strings.HasPrefix(out, "flowchart TD\n") || !strings.Contains(out, `preMenu -->|"1 Know More"| infoMenu`) {
		t.Errorf("%d %q", code, out)
	}
}

const shortFlow = `flows:
  - name: hello
    steps:
      - dial: true
        screen: preMenu
      - input: "1"
        contains: %s
`

func TestMenuTestPlaysFlows(t *testing.T) {
	t.Parallel()
	good := writeFile(t, "good.yaml", strings.Replace(shortFlow, "%s", "Pricing", 1))
	if code, out, errs := runTyped(t, "", "menu", "test", good); code != 0 || !strings.Contains(out, "ok    "+good+": hello, 2 steps") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	bad := writeFile(t, "bad.yaml", strings.Replace(shortFlow, "%s", "Weather", 1))
	if code, out, _ := runTyped(t, "", "menu", "test", bad); code != 1 || !strings.Contains(out, `flow "hello", step 2 (input 1)`) {
		t.Errorf("%d %q", code, out)
	}
}

// Lists are read from the folder of the menu.
func TestMenuTestReadsLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"prices.csv": "Crop,Price\nMaize,3200\nBeans,9000\n",
		"menu.yaml": `name: Prices
languages: [en]
start: home
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {word: {max: 24}, rows: {max: 100, rows: true}, found: {max: 5}}
lists: {prices: {file: prices.csv, show: {en: "{{Crop}} {{Price}}"}}}
screens:
  home: {text: {en: Prices}, exit: true, options: [{key: "1", label: {en: Beans}, set: {word: bean}, next: find}]}
  found: {text: {en: "{{rows}}"}, back: home}
  none: {text: {en: None}, back: home}
  bye: {end: true, text: {en: Bye}}
actions:
  find: {run: readList, list: prices, on: {ok: found, none: none, failed: none}}
`,
		"flows.yaml": "menu: menu.yaml\nflows:\n  - name: prices\n    steps:\n      - dial: true\n      - input: \"1\"\n        answer: \"CON Beans 9000\\n0. Back\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, errs := runTyped(t, "", "menu", "test", filepath.Join(dir, "flows.yaml")); code != 0 {
		t.Errorf("%d %s %s", code, out, errs)
	}
}

// Programs that a menu calls are played by the flow file, which also says what they
// must be told.
func TestMenuTestPlaysWebhooks(t *testing.T) {
	t.Parallel()
	menu := writeFile(t, "menu.yaml", string(ussdtest.HookMenu(ussdtest.HookEndpoint)))
	flows := func(order string) string {
		return writeFile(t, "flows.yaml", "flows:\n  - name: order\n    webhooks:\n      price: {answer: {price: '40'}, gets: {crop: maize}}\n"+order+
			"    steps:\n      - dial: true\n      - input: maize\n        contains: maize is 40\n      - input: '7'\n        contains: Ordered\n")
	}
	for order, want := range map[string]int{
		"      order: {answer: {why: '-'}, gets: {crop: maize, bags: '7'}}\n": 0, "      order: {answer: {why: '-'}, gets: {crop: beans, bags: '7'}}\n": 1,
		"": 1, "      order: {status: 422}\n": 1, "      order: {status: 0}\n": 1,
	} {
		if code, out, errs := runTyped(t, "", "menu", "test", "--menu", menu, flows(order)); code != want {
			t.Errorf("%q: %d %s %s", order, code, out, errs)
		}
	}
}

// The flows that come with the program are played by the command, as the guide
// says, and all of them hold.
func TestMenuTestPlaysTheProjectsOwnFlows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../service/ussd/ussdscript/testdata/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("flow files: %v %v", files, err)
	}
	code, out, errs := runTyped(t, "", append([]string{"menu", "test"}, files...)...)
	if code != 0 || strings.Contains(out, "FAIL") || !strings.Contains(out, "flows are answered as they should") {
		t.Errorf("%d %s %s", code, out, errs)
	}
}

// The menu, the flow and the dialect that the guide shows are good as they stand there.
func TestTheGuidesFilesAreGood(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/guides/ussd.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := func(begin string) string {
		t.Helper()
		_, rest, found := strings.Cut(string(guide), "\n    "+begin)
		if !found {
			t.Fatalf("the guide shows no %q", begin)
		}
		text := begin
		for line := range strings.Lines(rest) {
			if len(text) > len(begin) && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "    ") {
				break
			}
			text += strings.TrimPrefix(line, "    ")
		}
		return writeFile(t, "shown.yaml", text)
	}
	menu := shown("name: Our cooperative\n")
	for _, command := range [][]string{
		{"menu", "check", menu},
		{"menu", "test", "--menu", menu, shown("flows:\n")},
		{"ussd", "dialect", "check", shown("name: ours ")},
	} {
		if code, out, errs := runTyped(t, "", command...); code != 0 {
			t.Errorf("%v: %d %s %s", command, code, out, errs)
		}
	}
}

// A gateway that shows the text it was sent.
func fakeGateway(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		answer := "CON " + body["serviceCode"] + " [" + body["text"] + "]"
		if strings.HasSuffix(body["text"], "*9") {
			answer = "END bye"
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestDialIsATelephone(t *testing.T) {
	t.Parallel()
	url := fakeGateway(t)
	code, out, errs := runTyped(t, "3\n9\n", "dial", "--server", url, "*2233*1*2#")
	if code != 0 || out != "*2233# [1*2]\n\n*2233# [1*2*3]\n\nbye\n\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if code, _, errs := runTyped(t, "", "dial", "--phone", "0711", "*2233#"); code != 2 || !strings.Contains(errs, "not a telephone number") {
		t.Errorf("%d %q", code, errs)
	}
	if code, _, errs := runTyped(t, "", "dial", "hello"); code != 2 || !strings.Contains(errs, "not a USSD code") {
		t.Errorf("%d %q", code, errs)
	}
	script := writeFile(t, "s.yaml", "flows: [{name: a, steps: [{dial: true, answer: 'CON *2233# []'}, {input: '9', contains: nine}]}]")
	own := writeFile(t, "own.yaml", "flows: [{name: a, oracle: Rain., steps: [{dial: true, answer: 'CON no'}]}]")
	if code, out, _ := runTyped(t, "", "dial", "--server", url, "--script", own); code != 0 || !strings.HasPrefix(out, "skip  a") {
		t.Errorf("%d %q", code, out)
	}
	if code, out, _ := runTyped(t, "", "dial", "--server", url, "--script", script); code != 1 || !strings.Contains(out, `step 2 (input 9)`) {
		t.Errorf("%d %q", code, out)
	}
}

// A gateway that is busy is waited for; one that is not there is said once, and
// is no failed flow.
func TestDialWaitsForABusyGateway(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = w.Write([]byte("END bye"))
	}))
	t.Cleanup(srv.Close)
	if code, out, errs := runTyped(t, "", "dial", "--server", srv.URL, "*1#"); code != 0 || out != "bye\n\n" || !strings.Contains(errs, "waiting") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	script := writeFile(t, "s.yaml", "flows: [{name: a, steps: [{dial: true}]}, {name: b, steps: [{dial: true}]}]")
	code, out, errs := runTyped(t, "", "dial", "--server", "http://127.0.0.1:1", "--script", script)
	if code != 1 || out != "" || strings.Count(errs, "no gateway at") != 1 {
		t.Errorf("%d %q %q", code, out, errs)
	}
}
