package cli_test

import (
	"strings"
	"testing"
)

func TestRotatedKeysAreTakenAndUnknownOnesRefused(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("11", 32), strings.Repeat("22", 32)
	for name, old := range map[string]string{"PIN_ENCRYPTION_KEY": "PIN_ENCRYPTION_KEYS_OLD", "FILES_MASTER_KEY": "FILES_MASTER_KEYS_OLD"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := deployed(t, name+"="+first)
			rotate := func(settings ...string) (string, string, int) {
				args := []string{"rotate-keys", "--data", data}
				for _, s := range settings {
					args = append(args, "--set", s)
				}
				return run(t, nil, args...)
			}
			if out, errs, code := rotate(name + "=" + first); code != 0 || !strings.Contains(out, "0 re-encrypted") {
				t.Fatalf("%d %s %s", code, out, errs)
			}
			if _, errs, code := rotate(name + "=" + second); code != 1 || !strings.Contains(errs, name+": another key") {
				t.Errorf("a foreign key: %d %s", code, errs)
			}
			// Nodes that know the new key only as another one go on meanwhile.
			if _, errs, code := rotate(name+"="+first, old+"="+second); code != 0 {
				t.Errorf("before the change: %d %s", code, errs)
			}
			if out, errs, code := rotate(name+"="+second, old+"="+first); code != 0 || !strings.Contains(out, old+" may be dropped") {
				t.Errorf("%d %s %s", code, out, errs)
			}
			if _, errs, code := rotate(name + "=" + second); code != 0 {
				t.Errorf("afterwards: %d %s", code, errs)
			}
		})
	}
}
