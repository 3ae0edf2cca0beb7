package system_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/test/system"
)

// menuFile is the built-in menu with another welcome, in a file that is replaced
// whole, as editors and deployments do.
type menuFile struct {
	t    *testing.T
	path string
}

func (m menuFile) write(welcome string, change ...string) {
	m.t.Helper()
	text := strings.ReplaceAll(string(ussd.DefaultMenuSource()), "Welcome to Castalia", welcome)
	text = strings.NewReplacer(change...).Replace(text)
	if err := os.WriteFile(m.path+".new", []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(m.path+".new", m.path); err != nil {
		m.t.Fatal(err)
	}
}

// lineOf is the line of the shipped menu on which a text first stands.
func lineOf(text string) int {
	before, _, _ := strings.Cut(string(ussd.DefaultMenuSource()), text)
	return strings.Count(before, "\n") + 1
}

// A menu that is changed serves new sessions, on every node, and leaves live ones
// alone; one that fails its check is named with its line and changes nothing.
func TestTheMenuIsReplacedWhileTelephonesTalk(t *testing.T) {
	t.Parallel()
	for _, shape := range []system.Shape{system.Embedded, system.Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			menu := menuFile{t, filepath.Join(t.TempDir(), "menu.yaml")}
			menu.write("Welcome to Delphi")
			w := system.Start(t, shape, "USSD_MENU="+menu.path)
			line, count := &telephone{world: w}, 0
			dialled := func(want string) {
				t.Helper()
				for range w.Nodes {
					system.Eventually(t, "a dial shows "+want, func() error {
						count++
						got, err := line.Send(t.Context(), fmt.Sprint("m", count), "*2233#", "+254700123987", "")
						if err == nil && !strings.HasPrefix(got, "CON "+want+"\n") {
							err = fmt.Errorf("%q", got)
						}
						return err
					})
				}
			}
			dialled("Welcome to Delphi")
			old := &caller{t: t, line: line, session: "old", phone: "+254700123456"}
			old.send()
			old.expect("1", "2. Pricing")
			menu.write("Welcome to Dodona", "Pricing", "What it costs")
			dialled("Welcome to Dodona")
			old.expect("9", "2. Pricing") // it finishes on the menu it began on
			menu.write("Welcome to Nowhere", "next: infoMenu}", "next: nowhere}")
			for i, n := range w.Nodes {
				system.Eventually(t, fmt.Sprintf("node %d names the mistake", i), func() error {
					if log := n.Log(); !strings.Contains(log, fmt.Sprint("menu.yaml:", lineOf("next: infoMenu}"))) || !strings.Contains(log, "nowhere") {
						return fmt.Errorf("its log does not")
					}
					return nil
				})
			}
			dialled("Welcome to Dodona")
		})
	}
	t.Run("a bad one at the start", func(t *testing.T) {
		t.Parallel()
		menu := menuFile{t, filepath.Join(t.TempDir(), "menu.yaml")}
		menu.write("Welcome to Nowhere", "next: infoMenu}", "next: nowhere}")
		out, code := system.Run(t,
			[]string{"USSD_MENU=" + menu.path, "PORT=0", "HOST=127.0.0.1", "CASTALIA_DATA=" + filepath.Join(t.TempDir(), "data")}, "serve")
		if code == 0 || !strings.Contains(out, fmt.Sprintf(`%s:%d: unknown target "nowhere"`, menu.path, lineOf("next: infoMenu}"))) {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}

// A menu that operators store is in force on every node, has its history, and goes
// back; sessions under way keep theirs, also over a kill; and a bad one is refused
// with its line.
func TestTheMenuIsPublishedAndRolledBack(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		line, count := &telephone{world: w, retries: 3}, 0
		dialled := func(want string) {
			t.Helper()
			for range w.Nodes {
				system.Eventually(t, "a dial shows "+want, func() error {
					count++
					got, err := line.Send(t.Context(), fmt.Sprint("p", count), "*2233#", "+254700123987", "")
					if err == nil && !strings.HasPrefix(got, "CON "+want+"\n") {
						err = fmt.Errorf("%q", got)
					}
					return err
				})
			}
		}
		token := "" // of who asks; without one it is somebody on this machine
		ask := func(method, path, match, body string, want int) system.Reply {
			t.Helper()
			header := http.Header{"Content-Type": {"application/json"}}
			if token != "" {
				header["Authorization"], header["X-Auth-Type"] = []string{"Bearer " + token}, []string{"ucan"}
			}
			if match != "" {
				header.Set("If-Match", match)
			}
			reply := w.Node(count).Do(t, system.Call{Method: method, Path: "/operator/documents/menu" + path, Body: body, Header: header})
			if reply.Status != want {
				t.Fatalf("%s %s: %d %.300s", method, path, reply.Status, reply.Body)
			}
			return reply
		}
		publish := func(change ...string) string {
			menu := strings.NewReplacer(change...).Replace(string(ussd.DefaultMenuSource()))
			text, err := json.Marshal(map[string]string{"text": menu, "note": "a test"})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		dialled("Welcome to Castalia")
		ask(http.MethodPut, "", `"0"`, publish("Welcome to Castalia", "Welcome to Delphi"), http.StatusOK)
		dialled("Welcome to Delphi")
		old := &caller{t: t, line: line, session: "old", phone: "+254700123456"}
		old.send()
		old.expect("1", "2. Pricing")
		ask(http.MethodPut, "", `"1"`, publish("Welcome to Castalia", "Welcome to Dodona", "Pricing", "What it costs"), http.StatusOK)
		dialled("Welcome to Dodona")
		for _, n := range w.Nodes {
			n.Kill()
			n.Start()
			n.WaitReady()
		}
		old.expect("9", "2. Pricing")
		refused := ask(http.MethodPut, "", `"2"`, publish("next: infoMenu}", "next: nowhere}"), http.StatusBadRequest)
		if !strings.Contains(string(refused.Body), fmt.Sprintf(`menu:%d: unknown target`, lineOf("next: infoMenu}"))) {
			t.Errorf("%.300s", refused.Body)
		}
		dialled("Welcome to Dodona")
		editor := identitytest.NewActor("editor of " + t.Name())
		if got := w.Node(0).Do(t, system.Call{
			Method: http.MethodPut, Path: "/operator/operators/" + editor.DID, Body: `{"role":"operator"}`,
			Header: http.Header{"Content-Type": {"application/json"}},
		}); got.Status != http.StatusOK {
			t.Fatalf("give a role: %d %s", got.Status, got.Body)
		}
		var document struct{ ID string }
		w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
		token = identitytest.Invocation(t, editor, document.ID, identitytest.Can("operator/*", operators.OperatorResource))
		ask(http.MethodPost, "/versions/1/restore", `"2"`, "{}", http.StatusOK)
		token = ""
		dialled("Welcome to Delphi")
		var history struct {
			Versions []struct {
				Version, Restores int64
				Author, Note      string
			}
		}
		ask(http.MethodGet, "/versions", "", "", http.StatusOK).JSON(t, &history)
		if len(history.Versions) != 3 || history.Versions[0].Restores != 1 ||
			history.Versions[0].Author != editor.DID || history.Versions[1].Author != "operator on this machine" ||
			history.Versions[1].Note != "a test" {
			t.Errorf("%+v", history)
		}
	})
}
