package system_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
					if log := n.Log(); !strings.Contains(log, "menu.yaml:38") || !strings.Contains(log, "nowhere") {
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
		out, code := system.Run(t, []string{"USSD_MENU=" + menu.path, "PORT=0", "HOST=127.0.0.1", "CASTALIA_DATA=" + filepath.Join(t.TempDir(), "data")}, "serve")
		if code == 0 || !strings.Contains(out, menu.path+`:38: unknown target "nowhere"`) {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}
