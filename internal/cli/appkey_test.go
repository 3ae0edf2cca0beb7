package cli_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAppKeysByCommand makes, lists and revokes at a server of its own, and is told
// what is wrong before any server is asked.
func TestAppKeysByCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.key")
	mustRun(t, "key", "new", "--out", mine)
	s := serve(t, filepath.Join(dir, "data"))
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(s.out.String())
	at := []string{"--server", address, "--key", mine}
	nobody := []string{"--server", "http://127.0.0.1:1", "--key", mine}
	var key string
	for _, step := range []struct {
		code      int
		out, errs string
		where     []string
		args      []string
	}{
		{2, "", "--for NAME is needed", nobody, []string{"key", "app"}},
		{2, "", "--days must be from 1 to 366", nobody, []string{"key", "app", "--for", "x", "--days", "367"}},
		{2, "", "must not be less than 0", nobody, []string{"key", "app", "--for", "x", "--tokens", "-1"}},
		{2, "", "must not be less than 0", nobody, []string{"key", "app", "--for", "x", "--dollars", "NaN"}},
		{2, "", "expected oracle, knowledge, files", nobody, []string{"key", "app", "--for", "x", "--can", "everything"}},
		{2, "", "oracle has no parts", nobody, []string{"key", "app", "--for", "x", "--can", "oracle:/x"}},
		{2, "", "files can be read or write", nobody, []string{"key", "app", "--for", "x", "--can", "files:eat:/x"}},
		{2, "", "a path begins with /", nobody, []string{"key", "app", "--for", "x", "--can", "files:write:x"}},
		{2, "", "expected the name of one app key", nobody, []string{"key", "revoke"}},
		{2, "", "did you mean revoke?", nobody, []string{"key", "revok"}},
		{1, "", "reach the server", nobody, []string{"key", "apps"}},
		{0, "You have no app keys.", "", at, []string{"key", "apps"}},
		{0, "cak_", "castalia key revoke desk", at, []string{"key", "app", "--for", "desk", "--can", "files:write:/a b:c", "--can", "files", "--can", "knowledge", "--dollars", "2.5"}},
		{1, "", "revoke it first", at, []string{"key", "app", "--for", "desk"}},
		{1, "", "name must be 1 to 40", at, []string{"key", "app", "--for", "My Desk"}},
		{0, "desk  active  files:write:/a b:c, files, knowledge, $2.50 of $2.50 left", "", at, []string{"key", "apps"}},
		{0, `"costMicros": 2500000`, "", at, []string{"key", "apps", "--json"}},
		{1, "", `no app key "chair" that counts`, at, []string{"key", "revoke", "chair"}},
		{0, `App key "desk" is revoked`, "", at, []string{"key", "revoke", "desk"}},
		{0, "desk  revoked", "", at, []string{"key", "apps"}},
	} {
		out, errs, code := castalia(t, append(step.args, step.where...)...)
		if code != step.code || !strings.Contains(out, step.out) || !strings.Contains(errs, step.errs) {
			t.Errorf("castalia %s: %d\n%s\n%s\nwant %d with %q and %q", strings.Join(step.args, " "), code, out, errs, step.code, step.out, step.errs)
		}
		if key != "" && strings.Contains(out+errs, key) {
			t.Errorf("castalia %s shows the key again", strings.Join(step.args, " "))
		}
		if strings.HasPrefix(out, "cak_") {
			key = out // alone, so that it can be piped
		}
	}
	if !regexp.MustCompile(`^cak_[a-z2-7]{40}$`).MatchString(key) {
		t.Errorf("the key was printed as %q", key)
	}
}
