package model_test

import (
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
)

func TestModelsThatEndAreWarnedOf(t *testing.T) {
	t.Parallel()
	at := func(day string) time.Time {
		d, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		provider, id, day string
		warned, ended     bool
	}{
		{"anthropic", "claude-sonnet-4-5", "2026-11-16", true, false},
		{"anthropic", "claude-sonnet-4-5", "2026-11-30", true, true},
		{"openai", "gpt-4o-mini", "2026-09-01", false, false},
		{"openai", "gpt-4o-mini", "2027-02-01", true, true},
		{"openai", "", "2026-12-01", false, false}, // the default
		{"anthropic", "", "2026-12-01", false, false},
		{"anthropic", "", "2028-01-01", true, false}, // nobody has looked since
	} {
		k, ok := model.Lookup(c.provider, c.id)
		text, ended := k.Warning(at(c.day))
		if !ok || (text != "") != c.warned || ended != c.ended {
			t.Errorf("%+v: %q %v %v", c, text, ended, ok)
		}
	}
	if _, ok := model.Lookup("openai", "my-own"); ok {
		t.Error("a stranger is known")
	}
}
