package fault_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// byKind are the codes that the console says by their kind, with the server's own words:
// programs meet them, or the words name what no other could.
var byKind = []string{
	"ability_mismatch", "ambiguous_namespace", "answer_restarted", "app_key_budget", "app_key_expired", "app_key_life",
	"app_key_not_taken", "app_key_revoked", "app_key_scope", "app_key_unknown", "approval_needs_content",
	"approval_needs_person", "bad_digest", "block_mismatch", "block_missing", "bound_key", "broken_chain", "bus_busy",
	"bus_closed", "changes_erased", "cid_mismatch", "cid_not_granted", "cid_scoped", "conversation_too_long", "delegation_not_for_oracle",
	"did_unresolved", "escalation_ability", "escalation_resource", "export_busy", "export_too_large", "folder_not_empty", "invalid_delegation",
	"invalid_signature", "invocation_needed", "key_reused", "malformed", "malformed_capability", "member_removed", "missing_proof",
	"model_not_found", "named_by_setting", "no_expiry", "no_file", "no_oracle", "no_place", "no_resolver", "no_responder",
	"no_rule", "noncanonical", "not_all_services", "not_bound", "not_did_key", "not_files", "not_linked", "not_the_owner",
	"panic", "previous_response_not_found", "readers_changed", "replay", "request_id_reused", "request_too_early",
	"request_too_old", "resource_mismatch", "role_lent", "slow_body", "token_is_narrow", "token_restricted_to_cids",
	"too_many_changes", "too_many_locks", "too_many_pairs", "too_many_properties", "too_many_secrets", "too_many_versions", "ttl_exceeds_max",
	"unauthorized_root", "under_way", "upload_final", "upload_not_finished", "withdrawn", "wrong_audience",
}

// aCode finds the codes of the sources: given to errors, and the constants that are.
var aCode = regexp.MustCompile(`WithCode\("([a-z_]+)"\)|\b[cC]ode[A-Z]\w*\s*=\s*"([a-z_]+)"`)

// aReason finds why tokens do not hold, which are codes too.
var aReason = regexp.MustCompile(`^\s+\w+\s+Reason = "([a-z_]+)"`)

// TestTheConsoleSaysEveryCode holds the console's words to the codes that there are: a
// new code gets words there, or a line above.
func TestTheConsoleSaysEveryCode(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "web", "console", "languages", "en.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Errors map[string]string `json:"errors"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"says": true} // puts the server's words beside ours
	for _, kind := range fault.Kinds() {
		known[kind.String()] = true
		if file.Errors[kind.String()] == "" {
			t.Errorf("the console has no words for the kind %s", kind)
		}
	}
	for code := range codes(t) {
		known[code] = true
		said, plain := file.Errors[code] != "", slices.Contains(byKind, code)
		if isKind := slices.ContainsFunc(fault.Kinds(), func(k fault.Kind) bool { return k.String() == code }); isKind {
			continue
		}
		switch {
		case !said && !plain:
			t.Errorf("%s: add errors.%s to web/console/languages and src/words/errors.ts, or name it in byKind", code, code)
		case said && plain:
			t.Errorf("%s has words of its own: take it out of byKind", code)
		}
	}
	for code := range file.Errors {
		if !known[code] {
			t.Errorf("errors.%s of the console: the server has no such code", code)
		}
	}
	for _, code := range byKind {
		if !known[code] {
			t.Errorf("byKind names %s, which the server does not have", code)
		}
	}
}

// codes are all that the program gives to errors.
func codes(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasSuffix(filepath.Dir(name), "test") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			for _, m := range aCode.FindAllStringSubmatch(line, -1) {
				found[m[1]+m[2]] = true
			}
			if m := aReason.FindStringSubmatch(line); m != nil && filepath.Base(filepath.Dir(name)) == "ucan" {
				found[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 100 {
		t.Fatalf("only %d codes were found", len(found))
	}
	return found
}
