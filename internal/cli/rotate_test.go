package cli_test

import (
	"path/filepath"
	"regexp"
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
			if _, errs, code := rotate(name + "=" + second); code != 1 || !strings.Contains(errs, name+": not the key") {
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

// A change of keys that was begun and not ended leaves files under the former key. Whoever
// asks before they drop it is told, and so is whoever dropped it.
func TestWhatIsUnderADroppedKeyIsTold(t *testing.T) {
	t.Parallel()
	first, second := "FILES_MASTER_KEY="+strings.Repeat("11", 32), "FILES_MASTER_KEY="+strings.Repeat("22", 32)
	former := "FILES_MASTER_KEYS_OLD=" + strings.Repeat("11", 32)
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data, first)
	key := filepath.Join(t.TempDir(), "a.key")
	if _, errs, code := run(t, nil, "key", "new", "--out", key); code != 0 {
		t.Fatal(errs)
	}
	at := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(s.out.String())
	if _, errs, code := run(t, nil, "fs", "put", "--server", at, "--key", key, key, "/f"); code != 0 {
		t.Fatal(errs)
	}
	s.stop()
	doctor := func(settings ...string) (string, int) {
		args := []string{"doctor", "--data", data}
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		out, _, code := run(t, nil, args...)
		return out, code
	}
	serve(t, data, second, former).stop()
	if out, code := doctor(second, former); code != 0 || !strings.Contains(out, "files are under an earlier key") {
		t.Errorf("with both: %d %s", code, out)
	}
	if out, code := doctor(second); code != 1 || !strings.Contains(out, "files are under keys that were not given") {
		t.Errorf("without the former: %d %s", code, out)
	}
	s = serve(t, data, second)
	s.stop()
	if !strings.Contains(s.err.String(), "key.missing") {
		t.Errorf("the start says nothing: %s", s.err)
	}
	if _, errs, code := run(t, nil, "rotate-keys", "--data", data, "--set", second, "--set", former); code != 0 {
		t.Fatal(errs)
	}
	if out, code := doctor(second); code != 0 || !strings.Contains(out, "everything is under the newest keys") {
		t.Errorf("afterwards: %d %s", code, out)
	}
}
