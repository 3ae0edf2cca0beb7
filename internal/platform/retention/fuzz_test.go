package retention_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/retention"
)

// Rules are what operators typed: no class is kept for less than no time.
func FuzzRules(f *testing.F) {
	f.Add("conversations: 365d\n")
	f.Add("audit: off\nforms: 1h\n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := retention.ParseRules([]byte(text))
		for class, keep := range rules {
			if err == nil && keep < 0 {
				t.Errorf("%q keeps %v for %v", text, class, keep)
			}
		}
	})
}
