package backup_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/backup"
)

// A schedule is what operators typed.
func FuzzSchedule(f *testing.F) {
	f.Add("every: 24h\nkeep: 7\n")
	f.Add("every: off\nkeep: off\n")
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := backup.ParseSchedule([]byte(text))
		if err == nil && (plan.Every < 0 || plan.Keep < 0) {
			t.Errorf("%q is %+v", text, plan)
		}
	})
}
