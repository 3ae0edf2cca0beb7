package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/retention"
)

// TestTheConsoleHasATitleForAllThatIsNamed holds the console's titles to the settings, documents, plugins
// and kinds of records that there are. Its own tests see that no language lacks one.
func TestTheConsoleHasATitleForAllThatIsNamed(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "web", "console", "languages", "en.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Titles map[string]string `json:"titles"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	var settings config.Settings
	all, err := config.Load(&settings, config.Input{}, pluginconf.Parts(app.ShippedPlugins())...)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, s := range all {
		named[s.Name] = true
	}
	for _, c := range retention.Classes() {
		named["kept_"+c.Name], named["keptDoc_"+c.Name] = true, true
	}
	for _, p := range app.ShippedPlugins() {
		name := p.Describe().Name
		named["plugin_"+name], named["pluginDoes_"+name] = true, true
	}
	out, errs, code := run(t, nil, "operator", "docs", "--data", deployed(t))
	if code != 0 {
		t.Fatal(errs)
	}
	for line := range strings.Lines(out) {
		if name, _, ok := strings.Cut(line, " "); ok && strings.TrimSpace(name) != "" {
			named["document_"+name] = true
		}
	}
	for name := range named {
		if file.Titles[name] == "" {
			t.Errorf("%s: add titles.%s to web/console/languages", name, name)
		}
	}
	for name := range file.Titles {
		if !named[name] {
			t.Errorf("titles.%s of the console: the program names nothing so", name)
		}
	}
}
