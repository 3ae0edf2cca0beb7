package cli_test

import (
	"strings"
	"testing"
)

func TestRotatedKeysAreTakenAndUnknownOnesRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first, second := strings.Repeat("11", 32), strings.Repeat("22", 32)
	rotate := func(settings ...string) (string, string, int) {
		args := []string{"rotate-keys", "--data", data}
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		return run(t, nil, args...)
	}
	if out, errs, code := rotate("PIN_ENCRYPTION_KEY=" + first); code != 0 || !strings.Contains(out, "0 sealed anew") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	if _, errs, code := rotate("PIN_ENCRYPTION_KEY=" + second); code != 1 || !strings.Contains(errs, "PIN_ENCRYPTION_KEY: another key") {
		t.Errorf("a foreign key: %d %s", code, errs)
	}
	if out, errs, code := rotate("PIN_ENCRYPTION_KEY="+second, "PIN_ENCRYPTION_KEYS_OLD="+first); code != 0 || !strings.Contains(out, "sealed anew") {
		t.Errorf("%d %s %s", code, out, errs)
	}
}
