package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/cli"
)

// castalia runs a command line and returns its output, errors and exit code.
func castalia(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs})
	return strings.TrimSpace(out.String()), errs.String(), code
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := castalia(t, args...)
	if code != 0 {
		t.Fatalf("castalia %s: exit %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

func TestKeyIsSecretAndNotOverwritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "alice.key")
	alice := mustRun(t, "key", "new", "--out", file)
	if !strings.HasPrefix(alice, "did:key:z6Mk") {
		t.Errorf("printed %q", alice)
	}
	if shown := mustRun(t, "key", "show", file); shown != alice {
		t.Errorf("show says %s, new said %s", shown, alice)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, _, code := castalia(t, "key", "new", "--out", file); code != 1 {
		t.Errorf("a second key over the first: exit %d", code)
	}
}

func TestKeyFromMnemonic(t *testing.T) {
	t.Parallel()
	phrase := filepath.Join(t.TempDir(), "phrase")
	text := "  test walk nut penalty hip pave soap entry language right filter choice\n"
	if err := os.WriteFile(phrase, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "did:key:z6Mkewi4Ko5asBsD3ihaHLAMYZJLx7DWJuRgkgPsme4yect7"
	if got := mustRun(t, "key", "show", phrase); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// typing runs a command with something on its standard input.
func typing(t *testing.T, text string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(text), Out: &out, Err: &errs})
	return strings.TrimSpace(out.String()), errs.String(), code
}

func TestKeyAsWordsThereAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	alice := mustRun(t, "key", "new", "--out", file("alice.key"))
	written := mustRun(t, "key", "words", file("alice.key"))
	if !strings.HasPrefix(written, "1. ") || !strings.Contains(written, "24. ") || strings.Count(written, "\n") != 5 {
		t.Errorf("words:\n%s", written)
	}
	got, errs, code := typing(t, written, "key", "import", "--out", file("back.key"))
	if code != 0 || got != alice || strings.Contains(errs, strings.Fields(written)[1]) {
		t.Errorf("back: %s, exit %d: %s", got, code, errs)
	}
	if info, err := os.Stat(file("back.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	if err := os.WriteFile(file("paper"), []byte(strings.ToUpper(written)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustRun(t, "key", "import", file("paper"), "--out", file("paper.key")); got != alice {
		t.Errorf("from a file: %s", got)
	}
	// As a key file it would be the phrase of a wallet, whose key is another.
	if _, errs, code := castalia(t, "key", "show", file("paper")); code != 1 || !strings.Contains(errs, "castalia key import") {
		t.Errorf("numbered words as a key file: exit %d: %s", code, errs)
	}
	if _, _, code := typing(t, written, "key", "import", "--out", file("alice.key")); code != 1 {
		t.Errorf("over another key: exit %d", code)
	}
}

func TestKeysOfTheConsoleAreImported(t *testing.T) {
	t.Parallel()
	const digits, want = "3e141609b97933b66a060dcddc71fad1d91677db872031e85f4c015c5e7e8982",
		"did:key:z6MkfB9ayHA7ssxDAcXTgjVnws2WWRE8eN1VE6K24TUGuHf4"
	file := filepath.Join(t.TempDir(), "key")
	if got, errs, code := typing(t, digits+"\n", "key", "import", "--out", file, "-"); code != 0 || got != want {
		t.Errorf("%s, exit %d: %s", got, code, errs)
	}
	code := mustRun(t, "key", "qr", file)
	if lines := strings.Count(code, "\n"); lines < 15 || strings.Contains(code, digits[:8]) || !strings.Contains(code, "▀") {
		t.Errorf("%d lines:\n%s", lines, code)
	}
}

func TestWordsThatAreNoKey(t *testing.T) {
	t.Parallel()
	const good = "dignity pass list indicate nasty swamp pool script soccer toe leaf photo " +
		"multiply desk host tomato cradle drill spread actor shine dismiss champion exotic"
	file := filepath.Join(t.TempDir(), "key")
	for text, want := range map[string]string{
		strings.Replace(good, "swamp", "swampy", 1):                              "word 6 is not on the list",
		strings.Replace(good, "exotic", "zoo", 1):                                "the checksum is wrong",
		"test walk nut penalty hip pave soap entry language right filter choice": "there are 12 words, and a key has 24",
		"":        "not a private key",
		"exotic ": "not a private key",
	} {
		out, errs, code := typing(t, text, "key", "import", "--out", file)
		if code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d: %s", text, code, errs)
		}
		if strings.Contains(errs, "swampy") || strings.Contains(errs, "dignity") {
			t.Errorf("%q is repeated: %s", text, errs)
		}
	}
	typed := append([]string{"key", "import"}, strings.Fields(good)...)
	if _, errs, code := castalia(t, typed...); code != 2 || !strings.Contains(errs, "history") {
		t.Errorf("words as arguments: exit %d: %s", code, errs)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written")
	}
}

func TestTokenRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	aliceKey, bobKey := filepath.Join(dir, "alice"), filepath.Join(dir, "bob")
	alice, bob := mustRun(t, "key", "new", "--out", aliceKey), mustRun(t, "key", "new", "--out", bobKey)
	home := "vfs://" + strings.ReplaceAll(alice, ":", "%3A")
	grant := mustRun(t, "ucan", "delegate", "--key", aliceKey, "--audience", bob, "--can", "fs/write", "--with", home,
		"--nb", `{"cids":["b","a"]}`, "--ttl", "7d")
	file := filepath.Join(dir, "grant")
	if err := os.WriteFile(file, []byte(grant), 0o600); err != nil {
		t.Fatal(err)
	}
	call := mustRun(t, "ucan", "invoke", "--key", bobKey, "--audience", "did:web:files.test", "--can", "fs/read",
		"--with", home+"/reports", "--proof", "@"+file, "--ttl", "1h") // The tests below wait for their turn.
	type verdict struct {
		Valid  bool
		Reason string
		Root   string
		CIDs   []string
	}
	tests := []struct {
		name string
		args []string
		want verdict
	}{
		{"own statement", nil, verdict{Valid: true, Root: alice, CIDs: []string{"a", "b"}}},
		{
			"asked below",
			[]string{"--can", "fs/list", "--with", home + "/reports/x"},
			verdict{Valid: true, Root: alice, CIDs: []string{"a", "b"}},
		},
		{"asked beside", []string{"--can", "fs/read", "--with", home + "/secret"}, verdict{Reason: "resource_mismatch"}},
		{"asked more", []string{"--can", "fs/write", "--with", home + "/reports"}, verdict{Reason: "ability_mismatch"}},
		{"too late", []string{"--at", "4102444800"}, verdict{Reason: "expired"}},
		{"not for us", []string{"--audience", "did:web:other.test"}, verdict{Reason: "wrong_audience"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := castalia(t, append([]string{"ucan", "verify", "--audience", "did:web:files.test", call}, test.args...)...)
			var got verdict
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%v: %s%s", err, out, errs)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if (code == 0) != got.Valid {
				t.Errorf("exit code %d", code)
			}
		})
	}
	forged, warning, code := castalia(t, "ucan", "invoke", "--key", bobKey, "--audience", "did:web:files.test", "--can", "fs/delete",
		"--with", home, "--proof", grant)
	if code != 0 || forged == "" || !strings.Contains(warning, "escalation_ability") {
		t.Errorf("it signs what it is told, with a warning: exit %d, %q", code, warning)
	}
	var shown struct {
		Proofs []struct{ Issuer string }
	}
	if err := json.Unmarshal([]byte(mustRun(t, "ucan", "inspect", call)), &shown); err != nil || len(shown.Proofs) != 1 ||
		shown.Proofs[0].Issuer != alice {
		t.Errorf("inspect shows %+v, %v", shown, err)
	}
}

func TestConformanceCommand(t *testing.T) {
	t.Parallel()
	out := mustRun(t, "ucan", "conformance", "--json", "../../spec/vectors/ucan")
	lines := strings.Split(out, "\n")
	if len(lines) < 100 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil || r["name"] == "" {
			t.Errorf("line %q: %v", line, err)
		}
		if len(r) != 4 {
			t.Errorf("line has other members: %s", line)
		}
	}
	if _, errs, code := castalia(t, "ucan", "conformance", "../../spec/vectors/ucan"); code != 0 {
		t.Errorf("exit %d: %s", code, errs)
	}
}
