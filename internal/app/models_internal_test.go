package app

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
)

func TestNamedModels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings config.Oracle
		want     string // ids with their wires
		fails    string
	}{
		"a default that is known":   {config.Oracle{Provider: "openai"}, "gpt-6-luna responses 1050000", ""},
		"another's default":         {config.Oracle{Provider: "anthropic"}, "claude-sonnet-5-5  200000", ""},
		"chosen":                    {config.Oracle{Provider: "openai", Model: "a, b", Wires: []string{"b=responses"}}, "a  128000,b responses 128000", ""},
		"against the table":         {config.Oracle{Provider: "openai", Wires: []string{"gpt-6-luna=chat"}}, "gpt-6-luna  1050000", ""},
		"a wire of a stranger":      {config.Oracle{Provider: "openai", Model: "a", Wires: []string{"b=responses"}}, "", "b is not among"},
		"a wire that nobody speaks": {config.Oracle{Provider: "openai", Model: "a", Wires: []string{"a=smoke"}}, "", "is not MODEL=responses"},
		"the other provider":        {config.Oracle{Provider: "anthropic", Model: "a", Wires: []string{"a=responses"}}, "", "one wire only"},
	} {
		models, err := namedModels(c.settings)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var got []string
		for _, m := range models {
			got = append(got, strings.Join([]string{m.ID, m.Wire, strconv.Itoa(m.Window)}, " "))
		}
		if text := strings.Join(got, ","); err != nil || text != c.want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestOperatorsAreWarnedOfTheirModels(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	warnings := modelWarnings(config.Oracle{Provider: "anthropic", Model: "claude-sonnet-4-5"}, now)
	if len(warnings) != 2 || !strings.Contains(warnings[0].Error(), "ended on 2026-11-30") || !strings.Contains(warnings[1].Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("%v", warnings)
	}
	if warnings := modelWarnings(config.Oracle{Provider: "guide"}, now); len(warnings) != 0 {
		t.Errorf("%v", warnings)
	}
}
