package app

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/config"
)

// Whoever may call from this machine may have it knock at its own doors.
func TestCallersAreOnThisMachineWhereItIsSomebodysOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env, host, database string
		want                bool
	}{
		{"development", "0.0.0.0", "", true},
		{"test", "0.0.0.0", "", true},
		{"production", "0.0.0.0", "", false},
		{"staging", "", "", false},
		{"production", "127.0.0.1", "", true},
		{"development", "0.0.0.0", "postgres://localhost/x", false},
		{"production", "localhost", "postgres://localhost/x", true},
	} {
		a := &App{}
		flags := map[string]string{"CASTALIA_ENV": c.env, "HOST": c.host, "DATABASE_URL": c.database}
		if c.database == "" {
			delete(flags, "DATABASE_URL")
		}
		if _, err := config.Load(&a.opt.Settings, config.Input{Flags: flags}); err != nil {
			t.Fatal(err)
		}
		if got := a.localCalls(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
