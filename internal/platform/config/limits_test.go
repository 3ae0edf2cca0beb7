package config_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/config"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	const auto = 77
	for text, want := range map[string]int64{
		"": auto, "auto": auto, "off": 0, "0": 0, "1": 1_000_000, "0.5": 500_000,
		"2.000001": 2_000_001, "1000000": 1e12,
	} {
		s, _ := load(t, config.Input{Env: []string{"MODEL_COST_PER_DAY=" + text}})
		if got := s.Access.Cost.Or(auto); got != want {
			t.Errorf("MODEL_COST_PER_DAY=%s is %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int64{"": auto, "off": 0, "0": 0, "12": 12} {
		s, _ := load(t, config.Input{Env: []string{"MESSAGES_PER_DAY=" + text}})
		if got := s.Access.Messages.Or(auto); got != want {
			t.Errorf("MESSAGES_PER_DAY=%s is %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int64{"": auto, "off": 0, "0": 0, "1KiB": 1024, "12": 12} {
		s, _ := load(t, config.Input{Env: []string{"FILES_QUOTA=" + text}})
		if got := s.Files.Quota.Or(auto); got != want {
			t.Errorf("FILES_QUOTA=%s is %d, want %d", text, got, want)
		}
	}
	for _, line := range []string{
		"MODEL_COST_PER_DAY=-1", "MODEL_COST_PER_DAY=1.0000001", "MODEL_COST_PER_DAY=a", "MODEL_COST_PER_DAY=1000001", "MODEL_COST_PER_DAY=1.-2",
		"MESSAGES_PER_DAY=-1", "MESSAGES_PER_DAY=1KiB", "FILES_QUOTA=-1", "FILES_QUOTA=much", "ACCESS=private",
	} {
		var s config.Settings
		if _, err := config.Load(&s, config.Input{Env: []string{line}}); err == nil {
			t.Errorf("%s was taken", line)
		}
	}
}
