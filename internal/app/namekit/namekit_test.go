package namekit_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/namekit"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		namekit.Text("Mama Maji"): "Mama Maji", namekit.Text("\"Äpfel\" & مياه"): "\"Äpfel\" & مياه", "name:  Baba \n": "Baba",
		namekit.Text(strings.Repeat("ä", 80)): strings.Repeat("ä", 80),
	} {
		if got, err := namekit.Parse([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	for text, why := range map[string]string{
		"": "missing", "name: \"  \"": "missing", namekit.Text(strings.Repeat("a", 81)): "at most 80",
		namekit.Text("a\nb"): "one line", namekit.Text("a\u202eb"): "one line", "called: x": "", "- x": "",
	} {
		if got, err := namekit.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %q %v, want %q", text, got, err, why)
		}
	}
}

// TestTheSettingRules: a document that a variable holds says what the variable says, however long.
func TestTheSettingRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100)
	set := func(from config.Source) []config.Setting {
		return []config.Setting{{Name: "ORACLE_NAME", Source: from}}
	}
	if d := namekit.Document(long, set(config.FromDefault)); d.Text != "" {
		t.Errorf("nobody set it, and it says %q", d.Text)
	}
	for _, from := range []config.Source{config.FromEnvironment, config.FromFile, config.FromFlag} {
		d := namekit.Document(long, set(from))
		if got, err := d.Parse([]byte(d.Text), operatordoc.FromEnvironment); d.Text == "" || err != nil || got != long {
			t.Errorf("%s: %q %v", from, got, err)
		}
	}
}
